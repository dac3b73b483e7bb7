"""The answer: a plan in batches, what it moves, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from service.core.measures.zone_traffic import ZoneTraffic, placed_traffic
from service.decisions.figures import Figures
from service.decisions.reassignments.frontier import Frontier, frontier_of
from service.decisions.reassignments.question import ReassignmentQuestion, id_of, read
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.conclusions import conclusion
from service.planner.reassignments.effects import effects, warnings
from service.planner.reassignments.leadership import Leadership
from service.planner.reassignments.moves import moves_of
from service.planner.reassignments.planned import Planned, PlanRackTraffic, rack_traffic
from service.planner.reassignments.resources.loads import placed_loads

if TYPE_CHECKING:
    from service.decisions.budget import Budget
    from service.planner.reassignments.replacements import Replacements


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
        """Sentences: what the plan does besides, and how long it takes."""
        return list(effects(self))

    @property
    def warnings(self) -> list[str]:
        """Sentences: what to know before the plan is executed."""
        doubts = () if self.replacements is None else self.replacements.doubts(self.brokers)
        return [*doubts, *warnings(self)]


def answer(question: ReassignmentQuestion, budget: Budget) -> ReassignmentAnswer:
    """Plan the reassignment. Raises InvalidQuestion (all faults at once), NoPlan, and what the budget raises."""
    cluster = read(question, budget)
    brokers, placements, goal = cluster.brokers, cluster.placements, question.goal
    plan, batches = plan_in_batches(brokers, placements, goal, question.limits, budget.check_time)
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
        frontier=frontier_of(cluster, goal, budget) if question.frontier else None,
        replacements=cluster.replacements,
    )
