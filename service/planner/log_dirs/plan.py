"""The plan: on which disk of its broker each replica goes.

A directory is to the replicas of its broker what a broker is to partitions with one replica, and no broker matters to another. So
each broker is planned by ``planner.reassignments``, with its directories as the brokers: bytes are evened out over the disks
by their size, ``draining`` and ``cordoned`` mean the same, and batches keep ``capacity_bytes`` while a replica is on two disks.
What is on a disk besides the replicas is a partition that stays.
"""

from dataclasses import dataclass, fields, replace
from typing import Final, Self

import numpy as np

from service.core.clock import check_time
from service.core.errors import NoPlan
from service.core.model import NONE, Cluster, Float64s, Int32s, Ragged
from service.planner.log_dirs.exchanges import MOST_WORK, MOST_WORK_IN_ALL, improved
from service.planner.log_dirs.infeasibility import check_feasible, no_order
from service.planner.log_dirs.model import (
    DRAINS,
    EVENS,
    FREES,
    MAKES_ROOM,
    WAS_FULL,
    DirMoves,
    DirReplicas,
    LogDirPlan,
    LogDirs,
)
from service.planner.log_dirs.program import fewest_bytes
from service.planner.reassignments.batches.divide import in_batches
from service.planner.reassignments.batches.model import Batches, BatchLimits
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.evenness import fewest_bytes as fewest_bytes_as_even
from service.planner.reassignments.evenness import outside_band, squares
from service.planner.reassignments.feasibility.packing import Effort
from service.planner.reassignments.model import ROUNDING, Brokers, Goal, Placements, Plan, bytes_on

_ROUNDING: Final = 1e-9
"""A bound from floats is lowered by this share, so that it is one."""

_EVEN: Final = 1e-5
"""The gap of an evenness that is not worth a further search."""


@dataclass(frozen=True)
class BrokerDisks:
    """The question of one broker.

    brokers : its directories; placements : its replicas, and after them what else is on its disks
    first_dir, first_replica : where those of the broker begin
    most_work : moves and swaps that are tried to improve its plan
    """

    brokers: Brokers
    placements: Placements
    first_dir: int
    first_replica: int
    most_work: int

    @classmethod
    def of(cls, log_dirs: LogDirs, replicas: DirReplicas, weights: Float64s, broker: int) -> Self:
        """The question of a broker. weights : float64[dirs], see ``LogDirs.weights``"""
        first, last = log_dirs.offsets[broker : broker + 2].tolist()
        some = slice(*replicas.offsets[broker : broker + 2].tolist())
        count = last - first
        others = np.flatnonzero(log_dirs.other_bytes[first:last] > 0).astype(np.int32)
        dirs = np.concatenate([replicas.dirs[some] - first, others]).astype(np.int32)
        rows, stays = len(dirs), np.concatenate([replicas.stays[some], np.ones(len(others), np.bool_)])
        nothing = np.zeros(len(others), np.int32)
        cluster = Cluster(np.arange(count, dtype=np.int32), (), np.full(count, NONE, np.int32), np.zeros(count, np.bool_))
        brokers = replace(
            Brokers.of(cluster),
            draining=log_dirs.draining[first:last],
            weights=weights[first:last],
            capacity_bytes=log_dirs.capacity_bytes[first:last],
            cordoned=log_dirs.cordoned[first:last],
        )
        placements = Placements(
            replicas.topic_names,
            np.concatenate([replicas.topics[some], nothing]),
            np.concatenate([replicas.partition_ids[some], nothing]),
            Ragged(np.arange(rows + 1, dtype=np.int32), dirs),
            np.ones(rows, np.int32),
            np.concatenate([replicas.sizes[some], log_dirs.other_bytes[first:last][others]]),
            None,
            stays,
        )
        most_work = min(MOST_WORK, MOST_WORK_IN_ALL // len(log_dirs.broker_ids))
        return cls(brokers, placements, first, some.start, most_work)

    @property
    def rests(self) -> bool:
        """Do the replicas keep all rules where they are?"""
        brokers, placements = self.brokers, self.placements
        loads = bytes_on(placements.replicas, placements.bytes_of_each(), len(brokers))
        leaves = brokers.draining[placements.replicas.values] & ~placements.excluded
        return not leaves.any() and bool((loads <= brokers.capacity_bytes)[brokers.usable].all())

    def as_good_as_any(self, goal: Goal) -> bool:
        """Are the replicas, which keep all rules, as the goal wants them?"""
        if goal.objective == "fewest-moves" or np.count_nonzero(self.brokers.usable) < 2:
            return True
        now = self.placements.replicas
        if goal.tolerance is not None and not len(outside_band(self.brokers, self.placements, goal, now)):
            return True
        return self.evenness(now.values) <= self.least_evenness() * (1 + ROUNDING)

    def evenness(self, dirs: Int32s) -> float:
        """The sum of squares ÷ weight. dirs : int32[partitions], where each is"""
        return squares(self.brokers, np.bincount(dirs, self.placements.bytes_of_each(), len(self.brokers)))

    def least_evenness(self) -> float:
        """A bound of this sum that knows of large replicas; 0 where disks differ in weight.

        The k fullest disks together have at least as many bytes as the k largest replicas. The least sum under these rules has
        the largest ones alone on a disk each, as long as they are above the mean of the rest, which is divided at will.
        """
        usable, placements = self.brokers.usable, self.placements
        weights = self.brokers.weights[usable]
        if not len(weights) or (weights != weights[0]).any():
            return 0.0
        sizes = placements.bytes_of_each()
        stays_away = placements.excluded & ~usable[placements.replicas.values]
        sizes = np.sort(sizes[~stays_away])[::-1].astype(np.float64)
        rest, left, alone = float(sizes.sum()), len(weights), 0.0
        for size in sizes[: left - 1].tolist():
            if size * left <= rest:
                break
            alone, rest, left = alone + size**2, rest - size, left - 1
        return float((alone + rest**2 / left) / weights[0]) * (1 - _ROUNDING)


def plan_log_dirs(log_dirs: LogDirs, replicas: DirReplicas, goal: Goal, limits: BatchLimits) -> LogDirPlan:
    """The plan for each broker by itself.

    goal : in bytes and without racks; its limits of copies are of each broker, as are the limits of a batch
    Raises NoPlan for the first broker that has none.
    """
    dirs, outside = replicas.dirs.copy(), np.zeros(len(log_dirs), np.bool_)
    count, weights = len(log_dirs.broker_ids), log_dirs.weights()
    copied, lower_bound = np.zeros((2, count), np.int64)
    evenness, evenness_bound = np.zeros((2, count))
    moves, effort = list[DirMoves](), Effort()
    for broker in range(count):
        check_time()
        disks = BrokerDisks.of(log_dirs, replicas, weights, broker)
        if disks.rests and disks.as_good_as_any(goal):
            outside[outside_band(disks.brokers, disks.placements, goal, disks.placements.replicas) + disks.first_dir] = True
            evenness[broker] = evenness_bound[broker] = disks.evenness(disks.placements.replicas.values)
            continue
        best, batches = _planned(disks, log_dirs, broker, goal, limits)
        fewest = max(best.lower_bound, fewest_bytes_as_even(disks.brokers, disks.placements, goal, best))
        open_ = best.cost > fewest or len(best.outside) > 0
        if open_ and not goal.limited and (goal.objective != "even" or goal.tolerance is not None):
            best, batches, fewest = _proven(disks, goal, limits, (best, batches, fewest), effort)
        moves.append(_moves(disks, goal, best, batches))
        dirs[moves[-1].replicas] = moves[-1].targets  # those of later batches come later
        outside[best.outside + disks.first_dir] = True
        copied[broker], evenness[broker] = best.cost, best.evenness
        lower_bound[broker] = min(best.cost, fewest)
        evenness_bound[broker] = min(best.evenness, max(best.evenness_bound, disks.least_evenness()))
    return LogDirPlan(dirs, _joined(moves), copied, lower_bound, evenness, evenness_bound, outside)


def _planned(disks: BrokerDisks, log_dirs: LogDirs, broker: int, goal: Goal, limits: BatchLimits) -> tuple[Plan, Batches]:
    """The plan of a broker. Raises NoPlan."""
    names = [log_dirs.path(log_dir) for log_dir in range(*log_dirs.offsets[broker : broker + 2].tolist())]
    broker_id = int(log_dirs.broker_ids[broker])
    check_feasible(disks.brokers, disks.placements, (broker_id, names))
    with no_order(broker_id, rests=disks.rests):
        best, batches = plan_in_batches(disks.brokers, disks.placements, goal, limits)
        return _improved(disks, goal, limits, best) or (best, batches)


def _improved(disks: BrokerDisks, goal: Goal, limits: BatchLimits, best: Plan) -> tuple[Plan, Batches] | None:
    """The plan improved; None where nothing does, or where that has no batches without detours."""
    brokers, placements = disks.brokers, disks.placements
    if goal.objective == "even" and not (goal.copies_first or goal.limited) and best.evenness_gap < _EVEN:
        return None
    dirs = improved(brokers, placements, goal, best.replicas.values, disks.most_work)
    if (dirs == best.replicas.values).all():
        return None
    return _without_detours(disks, goal, limits, best, dirs)


def _proven(
    disks: BrokerDisks, goal: Goal, limits: BatchLimits, so_far: tuple[Plan, Batches, int], effort: Effort
) -> tuple[Plan, Batches, int]:
    """The plan, its batches and the fewest bytes of any, by a program if that is better."""
    best, batches, fewest = so_far
    dirs, bound = fewest_bytes(disks.brokers, disks.placements, goal, effort)
    if dirs is not None:
        dirs = improved(disks.brokers, disks.placements, goal, dirs, disks.most_work)
        other = _without_detours(disks, goal, limits, best, dirs)
        if other is not None and (len(other[0].outside), other[0].cost) < (len(best.outside), best.cost):
            best, batches = other
    if goal.tolerance is None or not len(best.outside):  # else the bound is that of plans within the tolerance
        fewest = max(fewest, bound)
    return best, batches, fewest


def _without_detours(
    disks: BrokerDisks, goal: Goal, limits: BatchLimits, best: Plan, dirs: Int32s
) -> tuple[Plan, Batches] | None:
    """The plan with other directories; None if that has no batches without detours."""
    brokers, placements = disks.brokers, disks.placements
    replicas = replace(best.replicas, values=dirs)
    try:
        batches = in_batches(brokers, placements, replicas, limits, goal.racks)
    except NoPlan:
        return None
    if batches.detours:
        return None
    outside, cost = outside_band(brokers, placements, goal, replicas), batches.cost("bytes")
    bound = 0.0 if goal.copies_first and cost > best.cost else best.evenness_bound
    changed = replace(best, replicas=replicas, cost=cost, evenness=disks.evenness(dirs), evenness_bound=bound, outside=outside)
    return changed, batches


def _moves(disks: BrokerDisks, goal: Goal, best: Plan, batches: Batches) -> DirMoves:
    """The moves of a broker, with those of detours."""
    steps = batches.steps
    sources, targets = steps.before.values, steps.after.values
    reasons = np.full(len(sources), EVENS if goal.objective == "even" else MAKES_ROOM, np.uint8)
    reasons[disks.brokers.draining[sources]] = DRAINS
    away = targets != best.replicas.values[steps.partitions]
    reasons[away & (reasons != DRAINS)] = FREES
    reasons[sources != disks.placements.replicas.values[steps.partitions]] = WAS_FULL
    first = np.int32(disks.first_dir)
    return DirMoves(steps.partitions + np.int32(disks.first_replica), steps.batches, sources + first, targets + first, reasons)


def _joined(moves: list[DirMoves]) -> DirMoves:
    """The moves of all brokers, batch by batch."""
    nothing = np.empty(0, np.int32)
    parts = [DirMoves(nothing, nothing, nothing, nothing, np.empty(0, np.uint8)), *moves]
    columns = [np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(DirMoves)]
    order = np.argsort(columns[1], kind="stable")
    return DirMoves(*(column[order] for column in columns))
