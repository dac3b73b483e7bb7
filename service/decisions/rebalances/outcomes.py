"""What depends on the ids that Kafka draws for new members: the figures of a timeline over several draws."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.core.errors import KafkaAssignorFails
from service.decisions.groups.outcomes import Range

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.planner.timelines.model import Timeline, TimelineOutcome, Totals

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
