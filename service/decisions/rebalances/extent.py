"""How large a simulation can become: known before it starts, and limited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.decisions.groups.rows import partitions_total
from service.planner.timelines.course import MEMBER_CELLS, REBALANCE_CELLS, STEP_CELLS

if TYPE_CHECKING:
    from service.decisions.budget import Budget
    from service.decisions.rebalances.question import RebalancesQuestion
    from service.planner.timelines.model import Timeline

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
