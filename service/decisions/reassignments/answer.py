"""The answer: a plan in batches, what it moves, and how long it takes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget, Figures
from service.core.errors import NoPlan
from service.core.measures import GB, NOT_KNOWN, ZoneTraffic, placed_traffic, read_nearby
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.core.printable import counted
from service.decisions.reassignments.question import CurrentCluster, ReassignmentQuestion, id_of, read
from service.decisions.rows import NAME
from service.planner.log_dirs.model import DirMoves
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.batches.schedule import Batches
from service.planner.reassignments.conclusions import conclusion
from service.planner.reassignments.effects import effects, warnings
from service.planner.reassignments.leaders import Leadership
from service.planner.reassignments.model import Brokers, Goal, Placements, Plan, Replacements
from service.planner.reassignments.plan import frontier
from service.planner.reassignments.planned import REASONS, Planned, PlanRackTraffic, ReplicaMoves, moves_of, rack_traffic
from service.planner.reassignments.resources.loads import placed_loads


def ids_of(brokers: Brokers, indices: Int32s) -> pa.Array:
    """The broker ids of indices; null for NONE."""
    return pa.array(brokers.cluster.broker_ids[indices], pa.int32(), mask=indices == NONE)


def reasons_of(moves: ReplicaMoves | DirMoves, texts: Sequence[str], names_of: Callable[[Int32s], pa.Array]) -> pa.Array:
    """The reason of each move. texts : of all reasons; names_of : of what ``{source}`` or ``{target}`` in them stands for"""
    reasons = pa.nulls(len(moves.reasons), NAME)
    for reason, text in enumerate(texts):
        which = moves.reasons == reason
        if which.any():
            before, _, rest = text.partition("{")
            role, _, after = rest.partition("}")
            words = pa.scalar(text, NAME)
            if role:
                names = names_of(moves.sources if role == "source" else moves.targets).cast(NAME)
                words = pc.binary_join_element_wise(before, names, after, "")
            reasons = pc.if_else(pa.array(which), words, reasons)
    return reasons


def replica_reasons(brokers: Brokers, moves: ReplicaMoves) -> pa.Array:
    """The reason of each move of a reassignment."""
    return reasons_of(moves, REASONS, lambda indices: ids_of(brokers, indices))


def moves_table(brokers: Brokers, placements: Placements, moves: ReplicaMoves) -> pa.Table:
    """The columns topic_name, partition_id, from, to, reason and batch (from 1), a row for each move; a leader's change is one
    too.
    """
    names = pa.array(placements.topic_names, NAME)
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(placements.topics[moves.partitions]), names),
            "partition_id": pa.array(placements.partition_ids[moves.partitions]),
            "from": ids_of(brokers, moves.sources),
            "to": ids_of(brokers, moves.targets),
            "reason": replica_reasons(brokers, moves),
            "batch": pa.array(moves.batches + 1),
        }
    )


MOST_POINTS: Final = 200
"""Points that an answer has at most: of more, some at equal distances."""


@dataclass(frozen=True)
class Frontier:
    """The points in the order of their copies, from the fewest that the rules need to those of the evenest load.

    copies : int64[points], replicas; amounts : int64[points], bytes, or None where sizes are unknown
    spreads : float64[points], the most load of a broker less the least, each ÷ weight; load : replicas or bytes
    deviations : float64[points], the standard deviation of load ÷ weight
    proven : bool[points], whether no plan within this number of copies is more even
    """

    copies: Int64s
    amounts: Int64s | None
    spreads: Float64s
    deviations: Float64s
    proven: Bools

    def table(self) -> pa.Table:
        """The columns copies, bytes, spread, stddev and proven."""
        count = len(self.copies)
        return pa.table(
            {
                "copies": pa.array(self.copies),
                "bytes": pa.nulls(count, pa.int64()) if self.amounts is None else pa.array(self.amounts),
                "spread": pa.array(self.spreads),
                "stddev": pa.array(self.deviations),
                "proven": pa.array(self.proven),
            }
        )


def frontier_of(cluster: CurrentCluster, goal: Goal) -> Frontier:
    """The frontier of a cluster. Raises NoPlan."""
    curve, proven = frontier(cluster.brokers, cluster.placements, goal)
    last = len(curve) - 1
    shown = np.unique(np.linspace(0, last, min(last + 1, MOST_POINTS)).round().astype(np.int64))
    return Frontier(
        curve.copies[shown],
        None if cluster.placements.sizes is None else curve.amounts[shown],
        curve.most[shown] - curve.least[shown],
        curve.deviations[shown],
        proven[shown],
    )


@dataclass(frozen=True, kw_only=True)
class ReassignmentAnswer(Planned):
    """A plan.

    traffic : between zones, before and after; None without racks
    across_racks : what the plan takes across racks; None without
    frontier : copies against evenness; replacements : of brokers that are gone; None if the question does not ask for it
    """

    question: ReassignmentQuestion
    plan_id: str
    across_racks: PlanRackTraffic | None
    traffic: tuple[ZoneTraffic | None, ...]
    frontier: Frontier | None = None
    replacements: Replacements | None = None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        items = {"partitions": len(self.placements), "brokers": len(self.brokers)}
        return Figures(self.question.goal.objective, items, self.loads[1].spread().skew, tag=self.plan_id)

    @cached_property
    def conclusion(self) -> tuple[str, bool]:
        """What was asked, done or not, in sentences; and whether all of it is done."""
        return conclusion(self)

    @property
    def effects(self) -> list[str]:
        """Sentences: what the plan does besides, how long it takes, and what crosses racks."""
        before, after = ((each or NOT_KNOWN).figures(self.question.price_per_gb) for each in self.traffic)
        return [*effects(self), *self._copies_across_racks(), *(read_nearby(after, before) if before != after else ())]

    @property
    def copying_cost(self) -> float | None:
        """What copying across racks costs; None without racks, sizes or a price."""
        crossing, price = self.across_racks, self.question.price_per_gb
        return None if crossing is None or price is None or self.placements.sizes is None else crossing.amount / GB * price

    def _copies_across_racks(self) -> Iterator[str]:
        crossing = self.across_racks
        if crossing is None or not crossing.changes + crossing.copies:
            return
        comes = "comes" if crossing.changes == 1 else "come"
        changes = (
            f"{counted(crossing.changes, 'replica')} {comes} to another rack"
            if crossing.changes
            else "No replica changes its rack"
        )
        sized = "" if self.placements.sizes is None else f", {crossing.amount:,} bytes"
        cost = "" if self.copying_cost is None else f", which cost {self.copying_cost:,.2f}"
        are = "is" if crossing.copies == 1 else "are"
        yield f"{changes}; {crossing.copies:,} {are} copied from a leader on another rack{sized}{cost}."

    @property
    def warnings(self) -> list[str]:
        """Sentences: what to know before the plan is executed."""
        doubts = () if self.replacements is None else self.replacements.doubts(self.brokers)
        return [*doubts, *warnings(self)]


def _planned(cluster: CurrentCluster, question: ReassignmentQuestion) -> tuple[CurrentCluster, tuple[Plan, Batches]]:
    """The plan, in which a broker that is in sync with none of its replicas gets no others where that is possible."""
    brokers, placements, goal = cluster.brokers, cluster.placements, question.goal
    doubtful = placements.lagging(brokers) & brokers.receiving
    if doubtful.any() and not goal.only_leaders:
        cautious = replace(cluster, brokers=replace(brokers, cordoned=brokers.cordoned | doubtful))
        with suppress(NoPlan):
            return cautious, plan_in_batches(cautious.brokers, placements, goal, question.limits)
    return cluster, plan_in_batches(brokers, placements, goal, question.limits)


def answer(question: ReassignmentQuestion, budget: Budget) -> ReassignmentAnswer:
    """Plan the reassignment. Raises InvalidQuestion (all faults at once), NoPlan, and what the budget raises."""
    cluster = read(question, budget)
    placements, goal = cluster.placements, question.goal
    cluster, (plan, batches) = _planned(cluster, question)
    brokers = cluster.brokers
    budget.check_time()
    moves = moves_of(brokers, placements, goal, plan.replicas, batches)
    budget.check_time()
    leadership = Leadership.of(brokers, placements, goal, plan.replicas)
    timing = batches.timing(question.pace, question.throttle_bytes_per_second, question.duration_seconds)
    if timing.seconds is not None:  # Kafka waits for a copy that never begins
        stops = np.isin(np.arange(len(batches)), batches.batch_of[leadership.stuck])
        timing = replace(timing, seconds=np.where(stops, np.inf, timing.seconds))
    return ReassignmentAnswer(
        brokers=brokers,
        placements=placements,
        goal=goal,
        plan=plan,
        batches=batches,
        moves=moves,
        loads=placed_loads(brokers, placements, plan.replicas),
        leadership=leadership,
        timing=timing,
        pace=question.pace,
        racks_accepted=question.racks_accepted,
        question=question,
        plan_id=id_of(question, cluster),
        across_racks=rack_traffic(brokers, placements, plan.replicas, batches.steps),
        traffic=tuple(placed_traffic(brokers.cluster, rows, placements.rates) for rows in (placements.replicas, plan.replicas)),
        frontier=frontier_of(cluster, goal) if question.frontier else None,
        replacements=cluster.replacements,
    )
