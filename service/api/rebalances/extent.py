"""How large a simulation can become: known before it starts, and limited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from service.core.timelines.clock import STEP_CELLS
from service.core.timelines.groups import MEMBER_CELLS, REBALANCE_CELLS
from service.decisions.groups.rows import partitions_total
from service.web.context import check_limit

if TYPE_CHECKING:
    from service.core.timelines.model import Timeline

ROWS_PER_SHARE: Final = 64
"""Members and events of a body, in a KiB or more, for which a simulation may spend ``max_simulated_cells``. Of the slowest shapes
measured that takes 5 s."""

LONG_CELLS: Final = 2_000_000
"""A tenth of a second: more makes a request a long one (``AdmissionControl``)."""

RESTARTS: Final = {"rolling_restart": 1, "assignor_changes": 2}
"""Events that restart all members: how often. A change of the protocol does once."""


@dataclass(frozen=True)
class Extent:
    """What the events of a body can lead to.

    partitions : at any time; members : at any time; incarnations : starts of clients in all
    changes : of the group by single members or by topics, each of which can cause a rebalance
    """

    partitions: int
    members: int
    incarnations: int
    changes: int
    rows: int

    @classmethod
    def of(cls, body: dict[str, Any]) -> Extent:
        """The extent of a body."""
        partitions, members = partitions_total(body["topics"]), len(body["members"])
        incarnations, changes = members, 1
        for event in body["events"]:
            kind, scaled = event["type"], event.get("members_count", 0)
            partitions += event.get("partitions_count", 0) + event.get("topic", {}).get("partitions_count", 0)
            restarted = (1 if "group_protocol" in event else RESTARTS.get(kind, 0)) * members
            started = restarted + scaled + (kind in ("member_joins", "member_restarts", "member_stalls"))
            incarnations += started
            changes += 1 + 2 * restarted + (kind in ("member_restarts", "member_stalls"))
            members = max(members + (kind == "member_joins"), scaled)
        return cls(partitions, members, incarnations, changes, members_and_events(body))

    def most_rebalances(self) -> int:
        """More than there can be, unless a group never comes to rest."""
        return 4 * (self.changes + 2 * self.incarnations) + 8

    def check(self, timelines: list[Timeline]) -> bool:
        """Will it take long to simulate all of these? Raises LimitExceeded if it would take more than the body may ask for."""
        rebalances = sum(self._rebalances(timeline) * timeline.cost() for timeline in timelines)
        each = REBALANCE_CELLS + MEMBER_CELLS * self.members + self.partitions
        cells = rebalances * each + len(timelines) * self.incarnations * STEP_CELLS
        check_cells(cells, self.rows)
        return cells > LONG_CELLS

    def _rebalances(self, timeline: Timeline) -> int:
        """As many as the events cause, one after the other, in this way to run the group."""
        if timeline.assignor.name == "cooperative-sticky":
            return self.changes * 3 // 2
        at_once = timeline.group_protocol != "classic" and timeline.timing.assignment_interval_ms == 0
        return self.changes + (self.incarnations if at_once else 0)


def members_and_events(body: dict[str, Any]) -> int:
    """The rows of a body."""
    return len(body["members"]) + len(body["events"])


def check_cells(cells: int, rows: int) -> None:
    """Raise LimitExceeded for a simulation that spends more cells than a body of so many members and events may ask for."""
    shares = 1 + rows // ROWS_PER_SHARE
    what = f"rebalances × ({REBALANCE_CELLS} + {MEMBER_CELLS} × members + partitions) per {ROWS_PER_SHARE} members and events"
    check_limit("max_simulated_cells", -(-cells // shares), what, "events")
