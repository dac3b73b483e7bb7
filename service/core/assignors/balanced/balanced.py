"""``balanced``: the provably best assignment. No class of Kafka's does this.

*Rules*, in this order:

1. Every partition of a topic with subscribers goes to one of them.
2. The numbers of partitions are as even as subscriptions allow: for every k, the k members with the most have together as few as
   can be. So the maximum is least, and so is the variance.
3. The fewest partitions move: go to a member that does not claim them, though another does.
4. The most partitions are read on the reader's rack, if partitions and members have racks.

*Algorithm*: where all subscribe alike, nobody claims what another does and racks do not matter, a formula (``alike``). Else two
flows, through what nothing tells apart: ``levels`` finds how much each member must read, ``transport`` who reads what.

With weights or capacities that differ, 2. is the least maximum of load ÷ capacity, then the next, as far as it can be found:
``weighing``.

Ties go by member_id, topic name and partition id, so the order of members and topics in the request does not matter. What nothing
decides is dealt in turns, which spreads the partitions of a topic. A claim counts whatever its generation, as in ``movement``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.assignors.balanced.alike import assign_alike
from service.core.assignors.balanced.levels import levels
from service.core.assignors.balanced.transport import Kinds, ship
from service.core.assignors.balanced.weighing import weigh
from service.core.certificate import Certificate, Objective
from service.core.jvm.sorting import java_order
from service.core.kinds import claimed_once, rows_below
from service.core.measures import occurrences
from service.core.model import NONE, Assignment
from service.core.ragged import grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.assignors.balanced.levels import Levels
    from service.core.model import Bools, Group, Int32s, Int64s, Ragged

BY_FORMULA = "All members subscribe alike: each gets the average, rounded down or up, and keeps what it owns up to that."
BY_FLOW = (
    "A largest flow finds how many partitions each member must read, and a minimum-cost flow which. The bounds of loads follow "
    "from topics that only some members read, the others from the dual of the flow."
)

BY_TRIAL = "Every assignment that could be better was looked through."
BY_SEARCH = (
    "A search, within a number of steps. The bound of the largest load ÷ capacity follows from the heaviest partitions, and from "
    "topics that only some members read; that of moves from what members own beyond this largest load."
)


SUBSCRIPTION_BYTES: Final = 180
SUBSCRIPTION_WITH_RACKS_BYTES: Final = 380
PARTITION_BYTES: Final = 60
RACK_BYTES: Final = 60
"""Most memory of the networks for each subscription, without and with racks, and of the kinds for each partition and each rack of
a partition, beyond what any assignment takes. Measured: 156, 345, 23 and less."""


def unlimited(*_: int) -> None:
    """Neither time nor memory is limited."""


def assign(group: Group, check_time: Callable[[], None] = unlimited, reserve: Callable[[int], None] = unlimited) -> Assignment:
    """The best assignment, with its certificate.

    check_time : is called after each piece of work of a second or less; raises what ends it
    reserve : takes the bytes that are about to be allocated; raises if there are too few
    """
    if not len(group):
        nothing = np.empty(0, np.int64)
        return Assignment(grouped(np.empty(0, np.int32), 0), certificate=_certified(nothing, nothing, [], BY_FORMULA))
    order = java_order(group.member_ids)
    if _is_weighed(group):
        _reserve(group, reserve)
        weighed = weigh(group, order, check_time)
        method = BY_TRIAL if weighed.exact else BY_SEARCH
        return Assignment(_rows(weighed.holders, order), certificate=Certificate(weighed.objectives, method))
    racks_matter = group.topics.racks is not None and bool((group.racks != NONE).any())
    counting = _subscribed_by_all(group)
    if counting is not None and not racks_matter:
        claims, unique = claimed_once(group.owned.offsets, group.owned.values, counting)
        if unique:
            holders, moved = assign_alike(group.owned.offsets, group.owned.values, order, counting, claims)
            rows = grouped(holders, len(group))
            loads = rows.lengths().astype(np.int64)
            even = _even(np.array([loads.sum()]), np.array([len(group)]))
            stays = int(np.minimum(np.sort(claims), np.sort(even)).sum())
            certificate = _certified(loads, even, [Objective("moved_partitions", moved, int(claims.sum()) - stays)], BY_FORMULA)
            return Assignment(rows, certificate=certificate)

    _reserve(group, reserve)
    kinds = Kinds.of(group, order, racks_matter=racks_matter)
    bounds = levels(kinds.sizes, kinds.counts, kinds.subscribers, check_time)
    shipped = ship(group, order, kinds, bounds, check_time, racks_matter=racks_matter)
    rows = _rows(shipped.holders, order)
    near = int(kinds.sizes.sum()) - shipped.elsewhere
    cheapest = [
        Objective("moved_partitions", shipped.moves, shipped.moves if shipped.proven else 0),
        Objective("rack_local_partitions", near, near if shipped.proven else int(kinds.sizes.sum()), most=True),
    ]
    certificate = _certified(rows.lengths().astype(np.int64), _bound(kinds, bounds), cheapest[: 1 + racks_matter], BY_FLOW)
    return Assignment(rows, certificate=certificate)


def _reserve(group: Group, reserve: Callable[[int], None]) -> None:
    topics = group.topics
    subscriptions = len(group.subscriptions.values)
    count = SUBSCRIPTION_BYTES * subscriptions
    if topics.racks is not None:
        count = SUBSCRIPTION_WITH_RACKS_BYTES * subscriptions + RACK_BYTES * len(topics.racks.values)
    reserve(count + PARTITION_BYTES * topics.partitions_count)


def _rows(holders: Int32s, order: Int32s) -> Ragged:
    """The assignment of partitions to members by their places in ``order``."""
    members = np.where(holders == NONE, NONE, order[holders]).astype(np.int32)
    return grouped(members, len(order))


def _is_weighed(group: Group) -> bool:
    """Do members have different capacities, or partitions different weights?"""
    given = (group.capacities, group.topics.weights)
    return any(values is not None and len(values) > 0 and bool((values != values[0]).any()) for values in given)


def _subscribed_by_all(group: Group) -> Bools | None:
    """bool[partitions], those of topics with subscribers, if all members subscribe to these; else None."""
    topics = len(group.topics)
    subscribers = occurrences(rows_below(group.subscriptions, topics).values, topics)
    if ((subscribers != 0) & (subscribers != len(group))).any():
        return None
    return np.repeat(subscribers > 0, group.topics.partitions_counts())


def _certified(loads: Int64s, even: Int64s, cheapest: list[Objective], method: str) -> Certificate:
    """The certificate. loads : int64[members]; even : the same, as no assignment can be more even, in any order"""
    return Certificate(
        (
            Objective("unassigned_partitions", int(even.sum() - loads.sum()), 0),
            Objective("largest_load", int(loads.max(initial=0)), int(even.max(initial=0))),
            Objective("sum_of_squared_loads", int(loads @ loads), int(even @ even)),
            *cheapest,
        ),
        method,
    )


def _even(partitions: Int64s, members: Int64s) -> Int64s:
    """int64[members of all classes], the loads if each class shares its partitions evenly. partitions, members : of each class"""
    each, more = np.divmod(partitions, members)
    of_each = np.repeat(np.arange(len(members)), members)
    places = np.arange(len(of_each)) - np.repeat(np.cumsum(members) - members, members)
    even: Int64s = each[of_each] + (places < more[of_each])
    return even


def _bound(kinds: Kinds, bounds: Levels) -> Int64s:
    """int64[members], the loads of classes that share evenly what no member of a lower level may read."""
    classes, of_members = np.unique(bounds.members, return_inverse=True)
    lowest = np.full(len(kinds.sizes), bounds.members.max(initial=0))
    np.minimum.at(lowest, kinds.subscribers.row_of_each_value(), bounds.members[kinds.subscribers.values])
    partitions = np.bincount(np.searchsorted(classes, lowest), kinds.sizes, len(classes)).astype(np.int64)
    return _even(partitions, np.bincount(of_members, kinds.counts, len(classes)).astype(np.int64))
