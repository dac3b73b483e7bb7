"""The answer: every rebalance that the events cause, and what other ways to run the group would have cost."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.core.budget import Budget, Figures, check_time
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.decisions.groups.answer import Range
from service.decisions.groups.rows import partitions_total, subscriptions_total, topic_names_bytes
from service.decisions.rebalances.question import RebalancesQuestion, at_pace, faults, read_timeline, variants
from service.decisions.rows import longest_name, longest_text, raise_all
from service.planner.timelines.course import MEMBER_CELLS, REBALANCE_CELLS, STEP_CELLS
from service.planner.timelines.simulation import Simulation, Variant, varied

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.planner.timelines.model import Timeline, TimelineOutcome, TimelineRebalance, Totals

MOST_DRAWS: Final = 100

MOST_CELLS: Final = 6_000_000
"""What all draws of an answer may cost together, in cells (see ``timelines.course.Clock``), but one draw in any case: 0.3 s."""

FIGURES: Final[dict[str, Callable[[Totals], float]]] = {
    "rebalances": lambda totals: totals.rebalances,
    "moved": lambda totals: totals.moved,
    "revoked": lambda totals: totals.revoked,
    "idle_partition_ms": lambda totals: totals.idle.sum_ms,
    "longest_idle_ms": lambda totals: totals.idle.longest_ms,
}
"""The figures of which an answer has the range."""


@dataclass(frozen=True)
class DrawRanges:
    """Timelines that differ in the ids that their members draw.

    count : how many; the first is the one that is answered; failed : in how many of them the assignor fails
    totals : the range of each of ``FIGURES`` over the others
    """

    count: int
    failed: int
    totals: dict[str, Range]


def draws(
    timeline: Timeline, first: TimelineOutcome, cells: int, simulate: Callable[[Timeline], TimelineOutcome]
) -> DrawRanges | None:
    """The timeline with further draws of ids; None if it draws none. cells : what these may cost together"""
    if not first.derived_ids:
        return None
    count = max(1, min(MOST_DRAWS, cells // max(1, first.cells)))
    totals = [first.totals]
    for i in range(1, count):
        with suppress(KafkaAssignorFails):
            totals.append(simulate(replace(timeline, draw=i, detail="totals", most_explained=0)).totals)
    ranges = {name: Range.of([figure(each) for each in totals]) for name, figure in FIGURES.items()}
    return DrawRanges(count, count - len(totals), ranges)


ROWS_PER_SHARE: Final = 48
"""Members and events, in 250 bytes of JSON or more, for which a simulation may spend ``max_simulated_cells``. That takes 2 s;
with the slowest assignors of other clients 5 s, where the limit on the CPU of a request ends it."""

LONG_CELLS: Final = 2_000_000
"""A tenth of a second: more makes a request a long one (``AdmissionControl``)."""

CELLS: Final = f"rebalances × ({REBALANCE_CELLS} + {MEMBER_CELLS} × members + partitions) per {ROWS_PER_SHARE} members and events"
"""What is limited, in words."""

RESTARTS: Final = {"rolling_restart": 1, "assignor_changes": 2}
"""Events that restart all members: how often. A change of the protocol does once."""


@dataclass(frozen=True)
class Extent:
    """What the events of a question can lead to.

    partitions : at any time; members : at any time; incarnations : starts of clients in all
    changes : of the group by single members or by topics, each of which can cause a rebalance
    rows : members and events of the question
    """

    partitions: int
    members: int
    incarnations: int
    changes: int
    rows: int

    @classmethod
    def of(cls, question: RebalancesQuestion) -> Extent:
        """The extent of a question."""
        partitions, members = partitions_total(question.topics), len(question.members)
        incarnations, changes = members, 1
        for event in question.events:
            kind, scaled = event["type"], event.get("members_count", 0)
            partitions += event.get("partitions_count", 0) + event.get("topic", {}).get("partitions_count", 0)
            restarted = (1 if "group_protocol" in event else RESTARTS.get(kind, 0)) * members
            started = restarted + scaled + (kind in ("member_joins", "member_restarts", "member_stalls"))
            incarnations += started
            changes += 1 + 2 * restarted + (kind in ("member_restarts", "member_stalls"))
            members = max(members + (kind == "member_joins"), scaled)
        return cls(partitions, members, incarnations, changes, len(question.members) + len(question.events))

    def most_rebalances(self) -> int:
        """More than there can be, unless a group never comes to rest."""
        return 4 * (self.changes + 2 * self.incarnations) + 8

    def check(self, timelines: list[Timeline], budget: Budget) -> bool:
        """Will it take long to simulate all of these? Raises LimitExceeded if it would take more than the question may."""
        rebalances = sum(self._rebalances(timeline) * timeline.cost() for timeline in timelines)
        each = REBALANCE_CELLS + MEMBER_CELLS * self.members + self.partitions
        cells = rebalances * each + len(timelines) * self.incarnations * STEP_CELLS
        self.check_cells(cells, budget)
        return cells > LONG_CELLS

    def _rebalances(self, timeline: Timeline) -> int:
        """As many as the events cause, one after the other, in this way to run the group."""
        if timeline.assignor.is_cooperative:
            return self.changes * 3 // 2
        at_once = timeline.group_protocol != "classic" and timeline.timing.assignment_interval_ms == 0
        return self.changes + (self.incarnations if at_once else 0)

    def check_cells(self, cells: int, budget: Budget) -> None:
        """Raise LimitExceeded for simulations that spend more cells than a question with its members and events may."""
        shares = 1 + self.rows // ROWS_PER_SHARE
        budget.check("max_simulated_cells", -(-cells // shares), CELLS, "events")


SLOW_POLL_MS: Final = 10_000
"""How often members poll where that takes long."""

MOST_MEMBERS: Final = 100_000
MOST_ASSIGNED: Final = 100_000
"""Partitions × rebalances up to which an answer has every assignment without being asked."""

UNEXPECTED: Final = 2
"""How many times as much a simulation may spend as could be expected before it began."""


@dataclass(frozen=True)
class Way:
    """One way to run the group.

    draws : of the ids of new members, if it has any
    slow : the same with members that poll seldom, if ways are compared
    static : of a way that is compared, see ``Variant``
    """

    timeline: Timeline
    outcome: TimelineOutcome
    draws: DrawRanges | None
    slow: tuple[Timeline, TimelineOutcome] | None
    static: bool | None = None


@dataclass(frozen=True)
class RebalancesAnswer:
    """The rebalances of a group.

    first : the group as it is; others : as the variants of the question have it, in their order, with totals only
    """

    question: RebalancesQuestion
    first: Way
    variants: tuple[Variant, ...]
    others: tuple[Way, ...]

    @property
    def figures(self) -> Figures:
        """See Figures."""
        timeline, totals = self.first.timeline, self.first.outcome.totals
        return Figures(
            f"{timeline.group_protocol}-{timeline.assignor.name}",
            {"partitions": int(timeline.world.counts.sum()), "members": len(timeline.group)},
            totals.worst_skew,
            self.question.group_id,
            totals.moved,
        )


def answer(question: RebalancesQuestion, budget: Budget) -> RebalancesAnswer:
    """Simulate the group. Raises InvalidQuestion, also for an event that cannot happen, and what the budget raises."""
    raise_all(faults(question))
    extent = Extent.of(question)
    timeline = read_timeline(question, _detail(question, extent, budget), budget.explained if question.explain else 0)
    others = variants(question)
    timelines = [timeline, *(varied(timeline, variant) for variant in others)]
    slow = [_slow(way) for way in (timelines if others else ())]
    if extent.check([*timelines, *slow], budget):
        budget.lengthen()
    meter = _Meter(extent, budget)
    outcomes = [_simulated(way, meter) for way in timelines]
    slow_ways = list(zip(slow, [_simulated(way, meter) for way in slow], strict=True)) if others else [None]
    drawn = _drawn(timelines, outcomes, meter, budget)
    statics = [None, *(variant.static for variant in others)]
    ways = [Way(*way) for way in zip(timelines, outcomes, drawn, slow_ways, statics, strict=True)]
    return RebalancesAnswer(question, ways[0], others, tuple(ways[1:]))


def _slow(way: Timeline) -> Timeline:
    """The same with members that poll seldom."""
    protocols = (way.group_protocol, *(event.group_protocol for event in way.events))
    return replace(way, timing=at_pace(way.timing, SLOW_POLL_MS, protocols), detail="totals", most_explained=0)


def _drawn(timelines: list[Timeline], outcomes: list[TimelineOutcome], meter: _Meter, budget: Budget) -> list[DrawRanges | None]:
    """The further draws of each way, within what they may cost."""
    if MOST_CELLS > LONG_CELLS and any(each.derived_ids for each in outcomes):
        budget.lengthen()
    meter.limited, cells = False, MOST_CELLS // len(timelines)
    return [
        draws(way, first, cells, lambda other: _simulated(other, meter)) for way, first in zip(timelines, outcomes, strict=True)
    ]


def _detail(question: RebalancesQuestion, extent: Extent, budget: Budget) -> str:
    """How much to answer; reserves its memory. Raises LimitExceeded, and InvalidQuestion for too many members."""
    partitions, members, most = extent.partitions, extent.incarnations, extent.most_rebalances()
    subscriptions = subscriptions_total(question.topics, question.members)
    budget.check("max_partitions", partitions, "partitions", "topics")
    budget.check("max_assignment_cells", partitions * members, "partitions × members")
    budget.check("max_subscriptions", subscriptions, "subscriptions", "members")
    if members > MOST_MEMBERS:
        raise InvalidQuestion(f"At most {MOST_MEMBERS} members and restarts are simulated, not {members}.", "events")
    answered = 0
    detail = question.detail or ("assignments" if most * (partitions + members) <= MOST_ASSIGNED else "rebalances")
    if detail == "assignments":
        budget.check("max_partitions", most * partitions, "partitions × rebalances", "detail")
        topic, member = _longest_names(question)
        explained = min(budget.explained, partitions) if question.explain else 0
        answered = partitions * (100 + topic) + members * (1_000 + member) + explained * (300 + topic + 2 * member)
    names = topic_names_bytes(question.topics, question.members)
    budget.reserve(most * (2_000 + answered) + 200 * partitions + 2_000 * members + names)
    return detail


def _longest_names(question: RebalancesQuestion) -> tuple[int, int]:
    """Bytes of the longest name of a topic, and of a member, in the answer."""
    events = question.events
    topics = [event["topic"]["topic_name"] for event in events if "topic" in event]
    members = [
        name for event in events for name in (event.get("member", {}).get(key) for key in ("member_id", "member_name")) if name
    ]
    restarted = [event["new_member_id"] for event in events if event.get("new_member_id")]
    return (
        max(longest_name(question.topics.field("topic_name")), longest_text(topics)),
        max(longest_name(question.members.field("member_id")), longest_text([*members, *restarted])),
    )


class _Meter:
    """Checked before each step: the time, and what the simulations of a question have spent while that is ``limited``."""

    def __init__(self, extent: Extent, budget: Budget) -> None:
        self.extent, self.budget, self.most_rebalances = extent, budget, extent.most_rebalances()
        self.rebalances: list[TimelineRebalance] = []
        self.spent = self.before = 0
        self.limited = True

    def begin(self, rebalances: list[TimelineRebalance]) -> None:
        """Another way to run the group. rebalances : grows while it is simulated"""
        self.rebalances, self.before = rebalances, self.before + self.spent

    def __call__(self, spent: int) -> None:
        """Raises OutOfTime, LimitExceeded, and InvalidQuestion for a group that never comes to rest."""
        check_time()
        self.spent = spent
        if self.limited:
            self.extent.check_cells((self.before + spent) // UNEXPECTED, self.budget)
        if len(self.rebalances) > self.most_rebalances:
            raise InvalidQuestion(f"The group is still not stable after {len(self.rebalances)} rebalances.", "events")


def _simulated(timeline: Timeline, meter: _Meter) -> TimelineOutcome:
    """A timeline's outcome, within the limits of a question."""
    with closing(Simulation(timeline)) as simulation:
        meter.begin(simulation.course.rebalances)
        simulation.run(meter)
        return simulation.outcome()
