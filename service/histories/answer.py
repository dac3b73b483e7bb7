"""Sources → the history of a group: the question, and its answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from service.core.budget import Budget, Figures, looking
from service.core.errors import InvalidQuestion
from service.core.printable import all_of, counted
from service.histories.causes import Why
from service.histories.checks import checks
from service.histories.clocks import Aligned, align
from service.histories.course import History, add_causes
from service.histories.events import MemberNames, gaps
from service.histories.otherwise import Otherwise, otherwise
from service.histories.patterns import Pattern, patterns
from service.histories.reading import HistorySource, SourcesRead, read
from service.histories.told import Told, told_of

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
    largest = replace(budget, reserve=budget.reserve_largest())
    checked = checks(rebalances, reading.topics, names, largest)
    told = told_of(rebalances, course.members, names, checked)
    replayed = otherwise(rebalances, course.members, names, budget) if question.otherwise else None
    return HistoryAnswer(question, reading, aligned, course, told, names, missing, patterns(rebalances, names), replayed)


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
    first = reading.faults[0].why if reading.faults else ""
    faults = f" {counted(reading.faults_count, 'line')} of it cannot be read; the first: {first}." if first else ""
    return f"None of {counted(lines, 'line')} tells what happened to the group {question.group_id!r}.{others}{faults}"
