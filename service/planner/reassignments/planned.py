"""A plan, its moves, each with its reason, and its figures: what its sentences are made of.

Kafka copies a replica from the partition's leader. So a replica that stays on its rack crosses racks all the same, unless it is
the leader's own: with a replica on each rack, every copy of a follower comes from another rack.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.measures import Load
from service.core.model import NONE, Bools, Int32s, Ragged
from service.core.printable import all_of, counted, first_few
from service.planner.reassignments.batches.schedule import Batches, BatchTiming, Detour, Pace, Steps
from service.planner.reassignments.feasibility.start import pairs_of
from service.planner.reassignments.leaders import Leadership
from service.planner.reassignments.model import Brokers, Goal, Placements, Plan
from service.planner.reassignments.sets import Permits, added, reach

# The moves of a plan, one by one, each with its reason.

DRAINS, FENCED, GONE, REPLACES, RACK, ROOM, EVENS, FACTOR, LEADER, MAKES_ROOM, WAS_FULL, DEMOTES, OUTSIDE, LEADS = range(14)
REASONS: Final = (
    "drains broker {source}",
    "broker {source} is fenced",
    "broker {source} is not in brokers",
    "replaces broker {source}",
    "rack rule",
    "limits of broker {source}",
    "evens out broker {target}",
    "replication factor",
    "leader",
    "makes room on broker {source}",
    "broker {target} was full before",
    "demotes broker {source}",
    "broker {source} is outside the broker set",
    "leaders of the topic on broker {target}",
)
"""The text of each reason; MAKES_ROOM and WAS_FULL are those of detours."""


_TO_REPLACEMENT, _TO_SAME_RACK, _TO_ANY, _REST = range(4)
"""Turns in which replicas that leave are paired with those that come."""


@dataclass(frozen=True)
class ReplicaMoves:
    """Replicas that move, and leaders that change, partition by partition.

    partitions : int32[moves]
    sources, targets : int32[moves]   brokers; NONE where a replica is only added, or only removed
    reasons : int8[moves]             indices into REASONS
    batches : int32[moves]
    """

    partitions: Int32s
    sources: Int32s
    targets: Int32s
    reasons: np.ndarray  # type: ignore[type-arg]
    batches: Int32s


def moves_of(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, batches: Batches) -> ReplicaMoves:
    """What changes from the current replicas to these, and why."""
    permits, now = Permits.of(brokers, placements), placements.replicas
    every = np.arange(len(placements), dtype=np.int32)
    strict = np.int32(goal.racks == "strict")
    racks_usable = strict * reach(permits, every, (now.offsets, now.values), placements.replication_factors).racks
    why = np.full(len(brokers), EVENS if goal.objective == "even" else ROOM, np.int8)
    why[brokers.replaced_by != NONE] = DRAINS
    why[brokers.draining] = DRAINS
    why[brokers.cluster.fenced] = FENCED
    why[~brokers.listed] = GONE
    lists = now.offsets, now.values, replicas.offsets, replicas.values
    rows = _moves(lists, permits, brokers.usable, racks_usable, brokers.replaced_by, why)
    moves = ReplicaMoves(*rows, batches.batch_of[rows[0]])
    moves = _with_detours(moves, replicas, batches.detours) if batches.detours else moves
    moves.reasons[(moves.reasons == LEADER) & brokers.demoted[moves.sources]] = DEMOTES
    if placements.topic_leaders is not None:
        leads = replicas.values[replicas.offsets[moves.partitions]] == moves.targets
        leads &= pairs_of(placements.topic_leaders, placements.topics[moves.partitions], moves.targets) != NONE
        moves.reasons[leads & np.isin(moves.reasons, (EVENS, ROOM))] = LEADS
    return moves


def _with_detours(moves: ReplicaMoves, replicas: Ragged, detours: tuple[Detour, ...]) -> ReplicaMoves:
    """The moves, those by a detour in two: away from the broker that it makes room on, and then on to the broker of the plan."""
    columns = [moves.partitions, moves.sources, moves.targets, moves.reasons, moves.batches]
    rows = dict[int, list[tuple[int, ...]]]()
    for detour in detours:
        between = dict(zip(replicas.row(detour.partition).tolist(), detour.replicas.tolist(), strict=True))
        first, last = np.searchsorted(moves.partitions, [detour.partition, detour.partition + 1]).tolist()
        sources = moves.sources[first:last].tolist()
        for row in range(first, last):
            partition, source, target, reason, batch = (int(column[row]) for column in columns)
            broker = between.get(target, target)
            if reason == LEADER or broker in sources or (target == NONE and source in between.values()):
                continue
            rows[row] = [(partition, source, broker, reason, detour.batch)]
            if broker != target:
                why = MAKES_ROOM if reason == EVENS else reason
                rows[row] = [(partition, source, broker, why, detour.batch), (partition, broker, target, WAS_FULL, batch)]
    lengths = np.ones(len(moves.partitions), np.int64)
    lengths[list(rows)] = [len(some) for some in rows.values()]
    ends = np.cumsum(lengths)
    columns = [np.repeat(column, lengths) for column in columns]
    for row, some in rows.items():
        for i, values in enumerate(some):
            for column, value in zip(columns, values, strict=True):
                column[ends[row] - len(some) + i] = value
    return ReplicaMoves(*columns)


@kernel
def _moves(  # noqa: C901, PLR0912, PLR0915 (a kernel)
    rows: tuple[Int32s, Int32s, Int32s, Int32s],
    permits: Permits,
    usable: Bools,
    racks_usable: Int32s,
    replaced_by: Int32s,
    why: np.ndarray,  # type: ignore[type-arg]
) -> tuple[Int32s, Int32s, Int32s, np.ndarray]:  # type: ignore[type-arg]
    """The arrays of ``Moves``. why : int8[brokers], the reason to leave each

    racks_usable : int32[partitions], the racks that each may be on, of the strict rule; otherwise 0
    """
    now_of, now, then_of, then = rows
    most = len(now) + len(then)
    partitions, reasons = np.empty(most, np.int32), np.empty(most, np.int8)
    sources, targets = np.empty(most, np.int32), np.empty(most, np.int32)
    at = 0
    for partition in range(len(now_of) - 1):
        old, new = now[now_of[partition] : now_of[partition + 1]], then[then_of[partition] : then_of[partition + 1]]
        left, right = _without(old, new), _without(new, old)
        keeps = permits.keeps[permits.sets[partition]]
        # Does the strict rack rule keep the partition from leaving all replicas that may stay where they are, or are replaced?
        stay = on_racks = 0
        homes = np.empty(len(old), np.int32)
        for broker in old:
            home = broker if keeps[broker] else replaced_by[broker]
            if home != NONE:
                homes[stay] = home
                new_rack = True
                for j in range(stay):
                    new_rack &= permits.racks[homes[j]] != permits.racks[home]
                stay += 1
                on_racks += new_rack
        crowded = min(len(new), racks_usable[partition]) - on_racks > len(new) - min(stay, len(new))
        begin = at
        enough = len(right) >= len(left)
        # Replaced brokers; then targets on the source's rack; then others to be left, and the rest, which may get no target.
        for turn in (_TO_REPLACEMENT, _TO_SAME_RACK, _TO_ANY, _REST):
            for i in range(len(left)):
                source = left[i]
                if source == NONE or (keeps[source] and (turn == _TO_ANY or (turn == _TO_SAME_RACK and not enough))):
                    continue
                target = NONE
                for j in range(len(right)):
                    on_rack = turn != _TO_SAME_RACK or permits.racks[source] == permits.racks[right[j]]
                    if right[j] != NONE and on_rack and (turn != _TO_REPLACEMENT or replaced_by[source] == right[j]):
                        target, right[j] = right[j], NONE
                        break
                if target == NONE and turn != _REST:
                    continue
                left[i] = NONE
                reason = why[source]
                if target == NONE:
                    reason = FACTOR if keeps[source] or len(new) < len(old) else reason
                elif replaced_by[source] == target:
                    reason = REPLACES
                elif keeps[source] and crowded:
                    reason = RACK
                elif usable[source] and not keeps[source]:
                    reason = OUTSIDE
                partitions[at], sources[at], targets[at], reasons[at] = partition, source, target, reason
                at += 1
        for target in right:
            if target != NONE:
                partitions[at], sources[at], targets[at], reasons[at] = partition, NONE, target, FACTOR
                at += 1
        taken_along = False
        for i in range(begin, at):
            taken_along |= sources[i] == old[0] and targets[i] == new[0]
        if old[0] != new[0] and not taken_along:
            partitions[at], sources[at], targets[at], reasons[at] = partition, old[0], new[0], LEADER
            at += 1
    return partitions[:at], sources[:at], targets[:at], reasons[:at]


@inner_kernel
def _without(brokers: Int32s, others: Int32s) -> Int32s:
    """The brokers that are not among the others."""
    left = np.empty(len(brokers), np.int32)
    count = 0
    for broker in brokers:
        known = False
        for other in others:
            known |= other == broker
        if not known:
            left[count] = broker
            count += 1
    return left[:count]


NAMED: Final = 3
"""Brokers with a sentence of their own, and names in a sentence, at most."""


@dataclass(frozen=True)
class Planned:
    """A plan.

    loads : of the brokers, before and after
    racks_accepted : does the question say that racks are not known?
    """

    brokers: Brokers
    placements: Placements
    goal: Goal
    plan: Plan
    batches: Batches
    moves: ReplicaMoves
    loads: tuple[Load, Load]
    leadership: Leadership
    timing: BatchTiming
    pace: Pace
    racks_accepted: bool = False

    @property
    def copies(self) -> int:
        """The replicas copied."""
        return int(self.batches.moves.sum())

    @property
    def left(self) -> Bools:
        """bool[brokers], those that somebody wants to be empty."""
        leaving: Bools = self.brokers.draining | (self.brokers.replaced_by != NONE)
        return leaving

    @property
    def changed(self) -> Int32s:
        """int32[...], the partitions whose list changes."""
        return np.flatnonzero(self.batches.batch_of != NONE).astype(np.int32)

    @property
    def rates_known(self) -> bool:
        """Is it known what producers write meanwhile?"""
        return self.placements.rates is not None

    @property
    def racks_matter(self) -> bool:
        """Could racks change the plan?"""
        several = self.placements.replication_factors[~self.placements.excluded] > 1
        return self.goal.racks != "none" and not self.goal.only_leaders and bool(several.any())

    def broker(self, broker: int) -> str:
        """``broker 7``."""
        return f"broker {self.brokers.cluster.broker_ids[broker]}"

    def names(self, partitions: Int32s) -> str:
        """``orders-0 and orders-1``."""
        return all_of([self.placements.name(partition) for partition in partitions.tolist()], NAMED)

    def topics_of(self, partitions: Int32s) -> str:
        """The names of their topics."""
        return first_few([self.placements.topic_names[i] for i in np.unique(self.placements.topics[partitions]).tolist()], NAMED)

    @property
    def topics(self) -> str:
        """``the 40 topics given``."""
        return f"the {counted(len(self.placements.topic_names), 'topic')} given"

    def on(self, broker: int, *, after: bool) -> Int32s:
        """int32[...], the partitions with a replica on this broker."""
        rows = self.plan.replicas if after else self.placements.replicas
        partitions: Int32s = rows.row_of_each_value()[rows.values == broker]
        return partitions

    def dead_before(self) -> Int32s:
        """int32[...], the brokers to which a rollback copies, and that are gone, fenced, or in sync with nothing."""
        now, gone = self.placements.replicas, ~self.brokers.live | self.placements.lagging(self.brokers)
        back = np.bincount(now.values[added(self.plan.replicas, now)], minlength=len(self.brokers)) > 0
        return np.flatnonzero(back & gone).astype(np.int32)


@dataclass(frozen=True)
class PlanRackTraffic:
    """What crosses racks.

    changes : replicas that move to another rack
    copies, amount : replicas, and bytes, copied from a leader on another rack
    """

    changes: int
    copies: int
    amount: int


def rack_traffic(brokers: Brokers, placements: Placements, replicas: Ragged, steps: Steps) -> PlanRackTraffic | None:
    """The traffic of a plan (replicas, and steps of its batches); None where no broker has a rack."""
    if not len(brokers.cluster.rack_ids):
        return None
    comes = added(steps.before, steps.after)
    step = steps.after.row_of_each_value()[comes]
    racks = brokers.racks()
    crosses = racks[steps.after.values[comes]] != racks[steps.sources[step]]
    amount = int(placements.bytes_of_each()[steps.partitions[step]][crosses].sum())
    return PlanRackTraffic(rack_changes(brokers, placements.replicas, replicas), int(np.count_nonzero(crosses)), amount)


def rack_changes(brokers: Brokers, before: Ragged, after: Ragged) -> int:
    """The replicas that move to another rack; a broker that is gone is on no rack."""
    racks, width = np.where(brokers.listed, brokers.racks(), NONE), len(brokers) + 1
    keys = [rows.row_of_each_value().astype(np.int64) * width + racks[rows.values] for rows in (before, after)]
    keys = [key[racks[rows.values] != NONE] for key, rows in zip(keys, (before, after), strict=True)]
    pairs, index = np.unique(np.concatenate(keys), return_inverse=True)  # of a partition and a rack
    more = np.bincount(index, np.repeat([-1, 1], [len(keys[0]), len(keys[1])]), len(pairs))
    come, go = (np.bincount(pairs // width, np.maximum(each, 0), len(before)) for each in (more, -more))
    return int(np.minimum(come, go).sum())
