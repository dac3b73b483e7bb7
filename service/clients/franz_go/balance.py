"""One run of franz-go's sticky balancers, every run of them, or the only one if nothing is left to chance.

Source: BalanceWithRacks in sticky.go (franz-go 1.22.2). Plain-Python twin: tests/reference/clients/franz_go.py.
"""

from itertools import permutations, product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.clients.franz_go.repair import repair
from service.clients.franz_go.state import (
    OPEN,
    SURE,
    UNSURE,
    Bags,
    Given,
    Run,
    add,
    begin,
    fill_alike,
    fill_depends_on_order,
    fill_unlike,
    no_items,
    replace_by_last,
    take,
)
from service.core.budget import NEVER, OUT_OF_TIME, Deadline, is_over
from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s
from service.core.ragged import grouped_arrays

# How franz-go's sticky balancers even out the numbers of partitions.
#
# *Alike*: if all members subscribe to all topics, those with the most give to those with the fewest, one each, until no two
# differ by more than one. A member gives up its partitions of the highest ids first.
#
# *Unlike*: otherwise the member with the fewest looks for the way to somebody who has at least two more: he takes a partition of
# one who takes one of another, and so on. The search goes on from the member with the most that was reached, of equals from the
# nearest, then from the first. Of the partitions that one could take of another the topic comes first whose number in Go is the
# lowest. Who finds no way takes no part any more.
#
# Source: balance, balanceComplex, reassignPartition in sticky.go, graph.go (franz-go 1.22.2).
# Plain-Python twin: tests/reference/clients/franz_go.py.

DISTANCE: Final = 1 << 17
"""More than the longest way, and more than there can be members, whom Go numbers in 16 bits."""


@inner_kernel
def _levels(sizes: Int32s) -> Bags:
    """Bags size → members with that number of partitions."""
    levels = no_items(sizes.max() + 2, len(sizes))
    for member in range(len(sizes)):
        add(levels, sizes[member], member)
    return levels


@borrowing_kernel
def _with_members(levels: Bags, level: int, step: int) -> int:
    """The first level with members, from this one on up (step 1) or down (-1); the one behind the last if there is none."""
    while 0 <= level < len(levels.size) and levels.size[level] == 0:
        level += step
    return level


@inner_kernel
def balance_alike(given: Given, run: Run, sizes: Int32s) -> None:  # noqa: C901 (a kernel)
    """Even out the numbers if all members subscribe to all topics; updates ``run``.

    sizes : int32[members]   how many partitions each has; those that are to give have all of them in ``run``
    """
    levels = _levels(sizes)
    low, high = _with_members(levels, 0, 1), _with_members(levels, len(levels.size) - 1, -1)
    if high <= low + 1:
        return
    ids = np.full(len(run.owners), NONE, np.int32)  # of the partitions of members that may give some
    for partition in range(len(run.owners)):
        owner = run.owners[partition]
        if owner >= 0 and sizes[owner] > low + 1:
            ids[partition] = partition - given.first[given.topic_of[partition]]
    _, by_id = grouped_arrays(ids, np.diff(given.first).max())  # and by their topics' names
    for member in range(len(sizes)):
        if sizes[member] > low + 1:
            run.plan.head[member] = run.plan.tail[member] = NONE
            run.plan.size[member] = 0
    for partition in by_id:
        add(run.plan, run.owners[partition], partition)
    while high > low + 1:
        giver, taker = levels.head[high], levels.head[low]
        pairs = min(levels.size[high], levels.size[low])
        for _ in range(pairs):
            partition = run.plan.tail[giver]
            take(run.plan, giver, partition)
            add(run.plan, taker, partition)
            run.owners[partition] = taker
            giver, taker = levels.after[giver], levels.after[taker]
        for level, to in ((low, low + 1), (high, high - 1)):
            for _ in range(pairs):
                member = levels.head[level]
                take(levels, level, member)
                add(levels, to, member)
        low, high = _with_members(levels, low, 1), _with_members(levels, high, -1)


class Graph(NamedTuple):
    """Who has partitions of which topic, and the search for a way.

    A topic's holders are in the order in which they first had any; ``subscribers_of[topic] + i`` is the i-th.

    holders : int32[topics]              how many there have been
    holder : int32[subscriptions]        the member that is the i-th holder of a topic
    place_of : int32[subscriptions]      the place of a topic's i-th subscriber among its holders, or NONE
    parts : Bags holder → its partitions of the topic
    searched : int32[topics], reached : int32[members]   the last search in which each was
    from_member, by_partition : int32[members] each      who takes which partition of it
    heap : int64[members]                whom to look at next
    """

    holders: Int32s
    holder: Int32s
    place_of: Int32s
    parts: Bags
    searched: Int32s
    reached: Int32s
    from_member: Int32s
    by_partition: Int32s
    heap: Int64s


@inner_kernel
def _slot(given: Given, topic: int, member: int) -> int:
    """The index of the member among all topics' subscribers."""
    start, stop = given.subscribers_of[topic], given.subscribers_of[topic + 1]
    return int(start + np.searchsorted(given.subscribers[start:stop], np.int32(member)))


@inner_kernel
def _holding(given: Given, graph: Graph, topic: int, member: int) -> int:
    """The bag of the member's partitions of the topic."""
    slot = _slot(given, topic, member)
    if graph.place_of[slot] == NONE:
        graph.place_of[slot] = graph.holders[topic]
        graph.holders[topic] += 1
        graph.holder[given.subscribers_of[topic] + graph.place_of[slot]] = member
    return int(given.subscribers_of[topic] + graph.place_of[slot])


@inner_kernel
def balance_unlike(given: Given, run: Run, certain: bool, deadline: Deadline) -> int:  # noqa: C901, FBT001 (a kernel)
    """Even out the numbers if subscriptions differ; updates ``run``. Returns SURE, UNSURE or OUT_OF_TIME.

    certain : give up, UNSURE, as soon as the order of topics decides what moves
    """
    levels = _levels(run.plan.size)
    low, high = _with_members(levels, 0, 1), _with_members(levels, len(levels.size) - 1, -1)
    if high <= low + 1:
        return SURE
    topics_count, members_count, subscriptions = len(given.first) - 1, len(run.plan.size), len(given.subscribers)
    graph = Graph(
        np.zeros(topics_count, np.int32),
        np.empty(subscriptions, np.int32),
        np.full(subscriptions, NONE, np.int32),
        no_items(subscriptions, len(run.owners)),
        np.zeros(topics_count, np.int32),
        np.zeros(members_count, np.int32),
        np.empty(members_count, np.int32),
        np.empty(members_count, np.int32),
        np.empty(members_count, np.int64),
    )
    for topic in run.topics:
        for partition in range(given.first[topic], given.first[topic + 1]):
            add(graph.parts, _holding(given, graph, topic, run.owners[partition]), partition)
    search = 0
    while high > low + 1:
        while levels.size[low] > 0 and levels.size[high] > 0:
            member = levels.head[low]
            search += 1
            if is_over(deadline):
                return OUT_OF_TIME
            giver = _richer(given, run, graph, member, search)
            if giver == NONE:
                replace_by_last(levels, low, member)
            while giver != NONE and giver != member:  # noqa: PLR1714 (a kernel)
                taker, partition = int(np.int64(graph.from_member[giver])), graph.by_partition[giver]
                if certain:
                    shared = 0  # of the giver's topics, those to which the taker subscribes
                    for i in range(run.interests_of[giver], run.interests_of[giver + 1]):
                        of_giver, of_taker = _slot(given, run.interests[i], giver), _slot(given, run.interests[i], taker)
                        start, stop = given.subscribers_of[run.interests[i]], given.subscribers_of[run.interests[i] + 1]
                        has_some = graph.place_of[of_giver] != NONE and graph.parts.size[start + graph.place_of[of_giver]] > 0
                        shared += has_some and of_taker < stop and given.subscribers[of_taker] == taker
                    if shared > 1:
                        return UNSURE
                topic = given.topic_of[partition]
                for one, change in ((giver, -1), (taker, 1)):
                    replace_by_last(levels, run.plan.size[one], one)
                    add(levels, run.plan.size[one] + change, one)
                replace_by_last(run.plan, giver, partition)
                add(run.plan, taker, partition)
                run.owners[partition] = taker
                replace_by_last(graph.parts, _holding(given, graph, topic, giver), partition)
                add(graph.parts, _holding(given, graph, topic, taker), partition)
                giver = taker
        low, high = _with_members(levels, low, 1), _with_members(levels, high, -1)
    return SURE


@inner_kernel
def _richer(given: Given, run: Run, graph: Graph, member: int, search: int) -> int:
    """The first member found that has at least two more, or NONE; the way is in the graph (findSteal).

    search : the number of this search
    """
    sizes = run.plan.size
    graph.reached[member] = search
    heap = graph.heap
    count = _push(heap, 0, sizes[member], 0, member)
    while count > 0:
        current, distance = heap[0] % DISTANCE, heap[0] // DISTANCE % DISTANCE
        if sizes[current] > sizes[member] + 1:
            return int(current)
        count -= 1
        key, node = heap[count], 0  # the last sinks from the top
        while 2 * node + 1 < count:
            child = 2 * node + 1
            if child + 1 < count and heap[child + 1] < heap[child]:
                child += 1
            if key <= heap[child]:
                break
            heap[node] = heap[child]
            node = child
        heap[node] = key
        for i in range(run.interests_of[current], run.interests_of[current + 1]):
            topic = run.interests[i]
            if graph.searched[topic] == search:  # all its holders have been reached
                continue
            graph.searched[topic] = search
            start = given.subscribers_of[topic]
            for holding in range(start, start + graph.holders[topic]):
                neighbour = graph.holder[holding]
                if graph.parts.size[holding] > 0 and graph.reached[neighbour] != search:
                    graph.reached[neighbour] = search
                    graph.from_member[neighbour] = current
                    graph.by_partition[neighbour] = graph.parts.head[holding]
                    count = _push(heap, count, sizes[neighbour], distance + 1, neighbour)
    return NONE


@inner_kernel
def _push(heap: Int64s, count: int, size: int, distance: int, member: int) -> int:
    """Add a member to the heap of ``count``; returns the new number. First those that have more, then the nearer, the first."""
    key = ((np.int64(1) << 29) - size) * DISTANCE * DISTANCE + distance * DISTANCE + member
    node = count
    while node > 0 and heap[(node - 1) // 2] > key:
        heap[node] = heap[(node - 1) // 2]
        node = (node - 1) // 2
    heap[node] = key
    return count + 1


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
