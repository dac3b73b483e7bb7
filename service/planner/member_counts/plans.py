"""What a group with each of several numbers of members would be: the worst load, what moves, and which numbers gain anything.

24 partitions among 9, 10 or 11 members: one of them has 3, as among 8. So 9, 10 and 11 do not *gain*; 12 does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.core.assignors import Assignor
from service.core.clock import check_time
from service.core.measures.zone_traffic import ZoneTraffic, zone_traffic
from service.core.model import Float64s, Group, Int64s, LeftOpen, Ragged
from service.core.ragged import transposed
from service.planner.rebalances.rebalance import final_rows, movement

ALIKE: Final = 1 - 1e-9
"""A load gains on another if it is below this share of it: sums of the same weights in another order differ by less."""


@dataclass(frozen=True)
class LoadBounds:
    """What there is to read of each partition, float64[partitions] each: the least and the most that it can be.

    is_unbounded : have some partitions no most? They have the least there
    """

    least: Float64s
    most: Float64s
    is_unbounded: bool = False

    @classmethod
    def of(cls, group: Group) -> LoadBounds:
        """The weights of a group, all known."""
        weights = np.ones(group.topics.partitions_count) if group.topics.weights is None else group.topics.weights
        return cls(weights, weights)

    @property
    def are_known(self) -> bool:
        """Is there no doubt about any?"""
        return not self.is_unbounded and bool((self.least == self.most).all())


@dataclass(frozen=True)
class MembersLoad:
    """How much the members of a group have to read.

    worst, mean : of the members, in partitions, or in the unit of the partitions' weights, divided by the member's capacity. A
        partition that several members share counts for each as its share. Of what is not known the least counts
    worst_at_most : with the most that is not known
    most_partitions : of one member
    idle_members : those without a partition
    traffic : between zones; None without racks
    """

    worst: float
    worst_at_most: float
    mean: float
    most_partitions: int
    idle_members: int
    traffic: ZoneTraffic | None


@dataclass(frozen=True)
class MembersPlan:
    """The group with a number of members.

    moved : partitions that go to a member other than their present owner
    unread : partitions that no member subscribes to, though one of more members would
    bound : the least worst load with this number of members, if the assignor has proven anything
    gains : are all partitions read, and is the worst load lower than with every smaller number with which they are?
    left_open : what the assignor leaves to chance; the figures are those of one run
    """

    members_count: int
    load: MembersLoad
    moved: int
    unread: int
    bound: float | None
    gains: bool
    left_open: LeftOpen | None


def load_of(group: Group, rows: Ragged, of_partitions: LoadBounds | None = None) -> MembersLoad:
    """The load of an assignment of a group. rows : Ragged member → partitions; of_partitions : None: the group's weights"""
    weights = of_partitions or LoadBounds.of(group)
    capacities = np.ones(len(rows)) if group.capacities is None else group.capacities
    loads, counts = _shares(rows, weights.least)
    most = loads if weights.are_known else _shares(rows, weights.most)[0]
    return MembersLoad(
        float((loads / capacities).max(initial=0.0)),
        float((most / capacities).max(initial=0.0)),
        float(loads.sum() / capacities.sum()) if len(rows) else 0.0,
        int(counts.max(initial=0)),
        int(np.count_nonzero(counts == 0)),
        None if group.topics.racks is None else zone_traffic(group, transposed(rows, group.total_partitions)),
    )


def _shares(rows: Ragged, weights: Float64s) -> tuple[Float64s, Int64s]:
    """The weight of each member, float64[members], and the number of its partitions, int64[members].

    rows : Ragged member → partitions; those from ``len(weights)`` on do not exist
    weights : float64[partitions]   each is divided among the members that have the partition
    """
    known = rows.below(len(weights))
    share = weights / np.maximum(1, np.bincount(known.values, minlength=len(weights)))
    loads = np.bincount(known.row_of_each_value(), share[known.values], len(rows))
    return loads.astype(np.float64, copy=False), known.lengths().astype(np.int64)


def plans(group: Group, current: int, counts: Iterable[int], assignor: Assignor, loads: LoadBounds) -> list[MembersPlan]:
    """A plan for each number of members.

    group : with as many members as the largest number; the first ``current`` are those of now, with what they own
    counts : ascending, none twice
    """
    now, read = group.first_members(current), _read_by_first(group)
    made = []
    for count in counts:
        check_time()
        made.append(_plan(group.first_members(count), now, int(read[-1] - read[count]), assignor, loads))
    return _with_gains(made)


def at_most(made: Sequence[MembersPlan]) -> list[MembersPlan]:
    """The plans with the most that is to be read, where that is not known."""
    return _with_gains([replace(plan, load=replace(plan.load, worst=plan.load.worst_at_most)) for plan in made])


def _with_gains(made: Sequence[MembersPlan]) -> list[MembersPlan]:
    least, judged = np.inf, []
    for plan in made:
        gains = not plan.unread and plan.load.worst < ALIKE * least
        if gains:
            least = plan.load.worst
        judged.append(replace(plan, gains=gains))
    return judged


def _read_by_first(group: Group) -> Int64s:
    """int64[members + 1], the partitions of the topics that the first 0, 1, 2 … members subscribe to."""
    subscribed, topics = group.subscriptions.below(len(group.topics)), group.topics
    known, first = np.unique(subscribed.values, return_index=True)
    new = np.bincount(subscribed.row_of_each_value()[first], topics.partitions_counts()[known], len(group))
    return np.append(0, np.cumsum(new)).astype(np.int64)


def _plan(group: Group, now: Group, unread: int, assignor: Assignor, loads: LoadBounds) -> MembersPlan:
    assignment = assignor.run(group)
    rows = final_rows(assignment)
    moves = movement(now, transposed(rows, group.total_partitions))
    bound = assignment.certificate.load.bound if assignment.certificate and loads.are_known else None
    load = load_of(group, rows, loads)
    return MembersPlan(len(group), load, moves.moved, unread, bound, gains=False, left_open=assignment.left_open)


def useful_counts(partitions: int) -> list[int]:
    """The numbers of members with which the largest share of the partitions is less than with every smaller number.

    There are fewer than 2 √partitions. 24 → 1, 2, 3, 4, 5, 6, 8, 12, 24
    """
    counts, count = [], 1
    while count <= partitions:
        counts.append(count)
        share = -(-partitions // count)
        if share == 1:
            break
        count = -(-partitions // (share - 1))
    return counts


def smallest(plans: Sequence[MembersPlan], meets: Sequence[bool]) -> int | None:
    """The smallest number of members that meets what it must."""
    return next((plan.members_count for plan, met in zip(plans, meets, strict=True) if met), None)
