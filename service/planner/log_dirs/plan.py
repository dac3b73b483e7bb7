"""The plan: on which disk of its broker each replica goes.

A directory is to the replicas of its broker what a broker is to partitions with one replica, and no broker matters to another. So
each broker is planned by ``planner.reassignments``, with its directories as the brokers: bytes are evened out over the disks
by their size, ``draining`` and ``cordoned`` mean the same, and batches keep ``capacity_bytes`` while a replica is on two disks.
What is on a disk besides the replicas is a partition that stays.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from math import ceil, gcd
from typing import Final, Self

import numpy as np

from service.core.budget import check_time
from service.core.errors import Clash, Infeasible, NoPlan, NotFound
from service.core.model import NONE, Cluster, Float64s, Int32s, Ragged
from service.core.printable import first_few
from service.planner.log_dirs.exchanges import MOST_WORK, MOST_WORK_IN_ALL, improved
from service.planner.log_dirs.model import DRAINS, EVENS, FREES, MAKES_ROOM, WAS_FULL, DirMoves, DirReplicas, LogDirPlan, LogDirs
from service.planner.reassignments.batches.plan import in_batches, plan_in_batches
from service.planner.reassignments.batches.schedule import Batches, BatchLimits
from service.planner.reassignments.evenness import band, outside_band, squares
from service.planner.reassignments.evenness import fewest_bytes as fewest_bytes_as_even
from service.planner.reassignments.feasibility.infeasibility import RulesQuestion
from service.planner.reassignments.feasibility.packing import IMPOSSIBLE, LARGEST, PACKED, Effort, Formulas, solve
from service.planner.reassignments.model import NO_LIMIT, ROUNDING, Brokers, Goal, Placements, Plan, bytes_on

# The fewest bytes that bring the directories of one small broker below their limits, or within a tolerance: an integer program.
#
# As in ``feasibility.packing``, a program is bounded by its size and by the nodes of its search, and the time limit ends it only
# together with the answer.
#
# Source: HiGHS by ``scipy.optimize.milp``, branch and cut.

MOST_CELLS: Final = 500
"""Replicas × directories of a program at most. Of more replicas, the search comes near enough."""

MOST_NODES: Final = 100
"""Nodes of a program's search at most."""

_START: Final = 1_000
"""What a program costs of the effort before it begins."""


def fewest_bytes(brokers: Brokers, placements: Placements, goal: Goal, effort: Effort) -> tuple[Int32s | None, int]:
    """int32[partitions], where each replica goes, or None if nothing is found; and the bytes that any such plan copies at least.

    brokers, placements : the directories of a broker, and its replicas; goal : "fewest-moves", or with a tolerance
    """
    free, width = np.flatnonzero(~placements.excluded), len(brokers)
    cells = len(free) * width
    nodes = min(MOST_NODES, (effort.left - _START) // max(1, cells))
    if not 0 < cells <= MOST_CELLS or nodes < 1:
        return None, 0
    sizes, homes = placements.bytes_of_each()[free], placements.replicas.values[free]
    low, high = _room(brokers, placements, goal)
    unit = max(float(gcd(*sizes.tolist())), 1.0, float(sizes.max()) / LARGEST)
    amounts = np.repeat(sizes / unit, width)
    may = np.tile(brokers.receiving, (len(free), 1))
    may[np.arange(len(free)), homes] = brokers.usable[homes]
    at_home = np.zeros(may.shape, np.bool_)
    at_home[np.arange(len(free)), homes] = True
    rows, each = np.arange(cells) // width, np.ones(len(free))
    formulas = Formulas(
        np.where(at_home.ravel(), 0.0, amounts),
        (np.zeros(cells), may.ravel().astype(np.float64)),
        (
            np.tile(np.arange(cells), 2),
            np.concatenate([rows, len(free) + np.arange(cells) % width]),
            np.concatenate([np.ones(cells), amounts]),
        ),
        np.concatenate([each, low / unit]),
        np.concatenate([each, high / unit]),
    )
    solved = solve(formulas, nodes, mip_rel_gap=0.0)
    effort.left -= _START + cells * int(solved.mip_node_count or 0)
    bound = solved.mip_dual_bound
    fewest = (
        0
        if bound is None or not np.isfinite(bound)
        else max(0, ceil((bound * (1 - _PROGRAM_ROUNDING) - _PROGRAM_ROUNDING) * unit))
    )
    if solved.x is None:
        return None, fewest
    dirs = placements.replicas.values.copy()
    dirs[free] = solved.x.reshape(len(free), width).argmax(axis=1)
    moved = np.bincount(dirs[free], sizes, width)
    return (dirs if ((moved >= low) & (moved <= high)).all() else None), fewest


_PROGRAM_ROUNDING: Final = 1e-6
"""What the solver's tolerances leave open, in units."""


def _room(brokers: Brokers, placements: Placements, goal: Goal) -> tuple[Float64s, Float64s]:
    """float64[dirs] twice, the least and the most bytes of the replicas that may move."""
    sizes, homes = placements.bytes_of_each(), placements.replicas.values
    loads = bytes_on(placements.replicas, sizes, len(brokers))
    least, most = np.zeros(len(brokers)), np.where(brokers.capacity_bytes == NO_LIMIT, np.inf, brokers.capacity_bytes)
    if goal.tolerance is not None:
        loads[np.argmax(brokers.usable)] += sizes[~brokers.usable[homes] & ~placements.excluded].sum()
        low, high = band(brokers.usable, brokers.weights, loads, goal.tolerance)
        least, most = low.astype(np.float64), np.minimum(most, high)
    fixed = np.bincount(homes[placements.excluded], sizes[placements.excluded], len(brokers))
    return np.maximum(0.0, least - fixed), np.where(brokers.usable, most - fixed, np.inf)


# What cannot be: why the directories of a broker cannot have its replicas, and what would mend it.

NAMED: Final = 10
"""Directories that one sentence names at most."""

_GOAL: Final = Goal(racks="none", balance="bytes")


def check_feasible(brokers: Brokers, placements: Placements, names: tuple[int, list[str]]) -> None:
    """Raise NoPlan if the directories cannot have the replicas, or no way was found.

    brokers : the directories of one broker; names : its id, and their paths
    """
    question, (broker_id, paths) = RulesQuestion(brokers, placements, _GOAL, Effort()), names
    result = question.verdict()
    if result == PACKED:
        return
    limited = (brokers.capacity_bytes != NO_LIMIT)[brokers.usable]
    given = {"draining": brokers.draining, "cordoned": brokers.cordoned, "capacity_bytes": limited}
    rules = [rule for rule, which in given.items() if which.any()]
    clash = [rule for rule in rules if question.without(rule).feasible()] or rules
    proven = result == IMPOSSIBLE
    demands = [Clash(rule, _demand(brokers, placements, paths, rule)) for rule in clash]
    refusal = (
        f"The log directories of broker {broker_id} cannot hold all its replicas"
        if proven
        else f"No place was found for all replicas in the log directories of broker {broker_id}, though there may be one"
    )
    detail = f"{refusal}: {' '.join(each.detail for each in demands)}"
    remedies = [text for rule in clash for text in _remedy(question, paths, rule)]
    raise (Infeasible if proven else NotFound)(detail, tuple(demands), tuple(remedies))


@contextmanager
def no_order(broker_id: int, *, rests: bool) -> Iterator[None]:
    """Word the errors of batches for the directories of this broker. rests : keep the replicas all rules where they are?"""
    try:
        yield
    except NoPlan as error:
        if any(each.rule.startswith("max_") for each in error.clash):  # a limit of copies, whose words fit any holders
            raise type(error)(f"Broker {broker_id}: {error}", error.clash, error.remedies) from None
        detail = (
            f"The log directories of broker {broker_id} are too full: no order of moves was found that keeps their "
            "capacity_bytes: a replica is on both while it moves."
        )
        remedies = ("Set objective = fewest-moves, which moves nothing on this broker.",) if rests else ()
        raise NotFound(detail, (Clash("capacity_bytes", detail),), remedies) from None


def _demand(brokers: Brokers, placements: Placements, paths: list[str], rule: str) -> str:
    """What the rule demands, in a sentence."""
    loads = bytes_on(placements.replicas, placements.bytes_of_each(), len(brokers))
    if rule == "draining":
        return f"{_listed(paths, np.flatnonzero(brokers.draining))} draining, with {int(loads[brokers.draining].sum()):,} bytes."
    if rule == "cordoned":
        return f"{_listed(paths, np.flatnonzero(brokers.cordoned))} cordoned."
    limited = brokers.usable & (brokers.capacity_bytes != NO_LIMIT)
    room, used = sum(brokers.capacity_bytes[limited].tolist()), sum(loads[limited].tolist())
    where = "the other directories" if brokers.draining.any() else "the directories"
    return f"capacity_bytes and disk_threshold allow {room:,} bytes on {where}, which have {used:,} now."


def _listed(paths: list[str], dirs: np.ndarray) -> str:  # type: ignore[type-arg]
    return f"{first_few([paths[i] for i in dirs.tolist()], NAMED)} {'is' if len(dirs) == 1 else 'are'}"


def _remedy(question: RulesQuestion, paths: list[str], rule: str) -> Iterator[str]:
    """What would mend it alone, if anything does."""
    if not question.without(rule).feasible():
        return
    if rule == "draining":
        yield f"Keep {', '.join(paths[i] for i in np.flatnonzero(question.brokers.draining)[:NAMED].tolist())}."
    elif rule == "cordoned":
        yield "Let the cordoned directories receive replicas."
    elif percent := question.more_room():
        yield f"Add room for {percent}% more bytes on each directory."


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
