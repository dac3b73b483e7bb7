"""Sources → the history of a group: the question, and its answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from service.core.clock import looking
from service.core.errors import InvalidQuestion
from service.core.printable import all_of
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.histories.assignments import PastMoves, moves
from service.histories.causes import Why
from service.histories.checks import AssignorCheck, checks
from service.histories.clocks import Aligned, align
from service.histories.course import History, PastRebalance, gaps
from service.histories.differences import add_causes
from service.histories.names import MemberNames
from service.histories.otherwise import Otherwise, otherwise
from service.histories.patterns import Pattern, patterns
from service.histories.reading import HistorySource, SourcesRead, read
from service.histories.standstill import COOPERATIVE, EAGER, WithoutReader, standstill

NAMED: Final = 5
CHECKED_EVENTS: Final = 1_000
"""Events between two looks at the time."""


@dataclass(frozen=True)
class HistoryQuestion:
    """A group, and what tells of it: logs of coordinators and consumers, records of ``__consumer_offsets``, snapshots.

    group_id : empty: the only one that logs name
    otherwise : whether to replay the events for a group that is run in other ways
    """

    group_id: str
    sources: Sequence[HistorySource]
    otherwise: bool = False


@dataclass(frozen=True)
class Told:
    """A rebalance, and what follows from it.

    check : whether its assignor gives what it got; leads : the one whose second, cooperative step this is
    """

    rebalance: PastRebalance
    standstill: WithoutReader
    moves: PastMoves | None
    check: AssignorCheck | None
    leads: PastRebalance | None


@dataclass(frozen=True)
class HistoryAnswer:
    """The history of a group. missing : how many rebalances no source tells of, though others are numbered after them"""

    question: HistoryQuestion
    reading: SourcesRead
    aligned: Aligned
    course: History
    told: list[Told]
    names: MemberNames
    missing: int
    patterns: list[Pattern]
    otherwise: Otherwise | None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        return Figures(
            "history", {"rebalances": len(self.told), "events": len(self.reading.events)}, None, self.question.group_id
        )

    @property
    def span_ms(self) -> tuple[int, int] | None:
        """The first and the last time that is told of the group."""
        times = [at_ms for at_ms, _ in self.aligned.events if at_ms is not None]
        return (min(times), max(times)) if times else None

    @property
    def causes(self) -> Counter[Why]:
        """Kind of cause → how many rebalances came first of all for it."""
        return Counter(each.rebalance.causes[0].kind for each in self.told if each.rebalance.causes)


def answer(question: HistoryQuestion, budget: Budget) -> HistoryAnswer:
    """Read the sources. Raises InvalidQuestion if nothing in them tells of the group, and what the budget raises."""
    if not question.group_id:
        question = replace(question, group_id=_only_group(question.sources))
    reading = read(question.sources, question.group_id)
    budget.lengthen()
    if not reading.events:
        raise InvalidQuestion(_nothing(question, reading), "texts")
    aligned, course = align(reading), History()
    for at_ms, event in looking(aligned.events, CHECKED_EVENTS):
        course.take(at_ms, event)
    for event in aligned.unplaced:
        course.take(None, event, placed=False)
    course.name_topics(reading.topics)
    rebalances = course.rebalances()
    add_causes(rebalances)
    names = MemberNames(rebalances, course.members)
    missing = course.unnumbered + sum(after.number - before.number - 1 for before, after in gaps(rebalances))
    largest = budget._replace(reserve=budget.reserve_largest())
    checked = checks(rebalances, reading.topics, names, largest)
    told = _told(rebalances, course, list(moves(rebalances, names)), checked)
    replayed = otherwise(rebalances, course.members, names, budget) if question.otherwise else None
    return HistoryAnswer(question, reading, aligned, course, told, names, missing, patterns(rebalances, names), replayed)


def _told(
    rebalances: list[PastRebalance], course: History, moved: list[PastMoves | None], checks: dict[int, AssignorCheck | None]
) -> list[Told]:
    found, interrupted, open_ms = list[Told](), list[PastRebalance](), None
    seconds = [any(cause.kind == Why.REVOCATION for cause in each.causes) for each in rebalances]
    for i, rebalance in enumerate(rebalances):
        before = rebalances[i - 1] if i else None
        previous = before if before and (before.life, before.number + 1) == (rebalance.life, rebalance.number) else None
        leads = (found[-1].leads or previous) if seconds[i] and previous is not None else None
        known = {**dict.fromkeys(COOPERATIVE, True), **dict.fromkeys(EAGER, False)}.get(rebalance.assignor or "")
        cooperative = True if any(seconds[i : i + 2]) else known
        if _is_interrupted(rebalance, rebalances[i + 1 : i + 2]):
            began = previous.ended_ms if seconds[i] and previous is not None else rebalance.began_ms
            bounds, open_ms = WithoutReader(0, 0), open_ms if interrupted else began
            interrupted.append(rebalance)
        else:
            bounds = standstill(
                rebalance, previous, course.members, cooperative=cooperative, interrupted=interrupted, open_ms=open_ms
            )
            interrupted = []
        found.append(Told(rebalance, bounds.sound(), moved[i], checks.get(id(rebalance)), leads))
    return found


def _is_interrupted(rebalance: PastRebalance, following: list[PastRebalance]) -> bool:
    """Did the next rebalance begin before this one had an assignment?"""
    if not any(each.number == rebalance.number + 1 and each.began_ms for each in following):
        return False
    if rebalance.protocol == "consumer":
        return bool(rebalance.began_ms) and rebalance.joined_ms is None and any(each.joined_ms for each in following)
    return rebalance.ended_ms is None and rebalance.joined_ms is not None


def _only_group(sources: Sequence[HistorySource]) -> str:
    """The group that the sources tell of, which can be read twice. Raises InvalidQuestion unless it is one."""
    groups = sorted(read(sources, "\0").others)  # which no group is called
    if len(groups) != 1:
        of = f"The sources tell of {all_of(groups, NAMED)}." if groups else "No line of a log names one."
        raise InvalidQuestion(f"Which group? {of}", "group_id")
    for source in sources:
        source.file.seek(0)
    return groups[0]


def _nothing(question: HistoryQuestion, reading: SourcesRead) -> str:
    lines = sum(reading.lines)
    others = f" They tell of {all_of(sorted(reading.others), NAMED)}." if reading.others else ""
    faults = f" {reading.faults_count} lines of it cannot be read; the first: {reading.faults[0].why}." if reading.faults else ""
    return f"None of {lines:,} lines tells what happened to the group {question.group_id!r}.{others}{faults}"
