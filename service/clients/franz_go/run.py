"""One run of franz-go's sticky balancers, every run of them, or the only one if nothing is left to chance.

Source: BalanceWithRacks in sticky.go (franz-go 1.22.2). Plain-Python twin: tests/reference/clients/franz_go.py.
"""

from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from service.clients.bags import add, no_items
from service.clients.franz_go.balance import balance_alike, balance_unlike
from service.clients.franz_go.fill import begin, fill_alike, fill_depends_on_order, fill_unlike
from service.clients.franz_go.repair import repair
from service.clients.franz_go.state import OPEN, SURE, UNSURE, Given, Run
from service.core.clock import NEVER, OUT_OF_TIME, Deadline, is_over
from service.core.kernels import kernel
from service.core.model import NONE, Bools, Int32s


@kernel
def one_run(
    given: Given,
    topics: Int32s,
    stale_order: Int32s,
    members_count: int,
    alike: bool,  # noqa: FBT001 (a kernel)
    certain: bool,  # noqa: FBT001 (a kernel)
    deadline: Deadline,
) -> tuple[Int32s, int]:
    """The owner of each partition, or NONE without subscribers, int32[partitions]; and how it ended: SURE, UNSURE, OUT_OF_TIME.

    topics : int32[...]        those with subscribers, as Go happens to number them
    stale_order : int32[...]   the order in which Go happens to go through ``given.stale``
    alike : do all members subscribe to all topics?
    certain : only what every order of topics leads to is asked for; UNSURE if this may be another
    """
    run = begin(given, topics, stale_order, members_count)
    if certain and fill_depends_on_order(given, run):
        return run.owners, UNSURE
    if alike:
        fill_alike(given, run)
        balance_alike(given, run, run.plan.size.copy())
        return run.owners, SURE if len(given.member_racks) == 0 else repair(given, run, certain, deadline)
    fill_unlike(given, run)
    status = balance_unlike(given, run, certain, deadline)
    return run.owners, repair(given, run, certain, deadline) if status == SURE else status


def every_run(
    given: Given,
    topics: Int32s,
    stale_orders: npt.NDArray[np.int32],
    rack_numbers: npt.NDArray[np.int32],
    members_count: int,
    alike: bool,  # noqa: FBT001
    only: Int32s,
) -> Int32s:
    """What all runs have in common: the owner of each partition, OPEN where they differ: int32[partitions].

    topics : int32[...], ascending
    stale_orders : int32[..., stale]   the orders in which Go may go through ``given.stale``
    rack_numbers : int32[..., racks + 1]   how it may number the racks; the columns are those of ``given.leader_racks``
    only : int32[topics]   the only subscriber of each topic, or NONE: if all others are open no further run is needed
    """
    runs = (
        one_run(
            given._replace(leader_racks=numbers[given.leader_racks]),
            np.array(order, np.int32),
            stale_order,
            members_count,
            alike,
            False,
            NEVER,  # as many runs as take some tenths of a second
        )[0]
        for order, numbers, stale_order in product(permutations(topics), rack_numbers, stale_orders)
    )
    common, of_several = next(runs), only[given.topic_of] == NONE
    for owners in runs:
        common[common != owners] = OPEN
        if not (of_several & (common >= 0)).any():
            break
    return common


@kernel
def settled(given: Given, sizes: Int32s, deadline: Deadline) -> tuple[Bools, int]:  # noqa: C901 (a kernel)
    """Which stale partitions go back to their older claimants in whatever order they are looked at; and is that SURE of all?

    Otherwise UNSURE, or OUT_OF_TIME.

    sizes : int32[members]   how many each keeps at first
    Numbers lie between bounds: each of those not known to stay may have come or gone before.
    """
    stays = np.zeros(len(given.stale), np.bool_)
    while True:
        if is_over(deadline):
            return ~stays, OUT_OF_TIME
        least, most = sizes.copy(), sizes.copy()
        for i in range(len(given.stale)):
            if not stays[i]:
                most[given.claimant[i]] += 1
                if given.kept[given.stale[i]] != NONE:
                    least[given.kept[given.stale[i]]] -= 1
        changed, certain = False, SURE
        for i in range(len(given.stale)):
            owner, claimant = given.kept[given.stale[i]], given.claimant[i]
            if stays[i] or owner == NONE:
                continue
            if least[claimant] + 1 >= most[owner]:
                stays[i] = changed = True
            elif most[claimant] > least[owner]:  # it has not moved itself when it is looked at
                certain = UNSURE
        if not changed:
            return ~stays, certain


@kernel
def even_out(given: Given, topics: Int32s, owners: Int32s, sizes: Int32s) -> None:
    """Even out the numbers if all members subscribe to all topics; updates ``owners``, which may be OPEN of those that give none.

    sizes : int32[members]   how many each has
    """
    plan, fewest = no_items(len(sizes), len(owners)), sizes.min()
    for topic in topics:
        for partition in range(given.first[topic], given.first[topic + 1]):
            if owners[partition] >= 0 and sizes[owners[partition]] > fewest + 1:
                add(plan, owners[partition], partition)
    balance_alike(given, Run(topics, topics, topics, owners, owners, plan), sizes)
