"""What the leaders of classic Streams groups assign, in which every client is a process with threads."""

from typing import Final

from service.clients.streams.classic import high_availability, sticky
from service.clients.streams.classic.clients import LeadersAssignor
from service.core.kafka_versions import LATEST
from service.core.registry import Implementation

_PACKAGE: Final = "org.apache.kafka.streams.processor.internals.assignment"

LEADERS: Final = (
    LeadersAssignor(
        name="high-availability",
        run=high_availability.assign,
        summary="As balanced as can be; a task runs where its state is until the client that is to run it has caught up.",
        implementation=Implementation("streams", LATEST, f"{_PACKAGE}.HighAvailabilityTaskAssignor"),
        forms={"4.3.1": {}},
        setting="group.protocol=classic",
        is_default=True,
    ),
    LeadersAssignor(
        name="sticky",
        run=sticky.assign,
        summary="Tasks stay with their clients up to an even share, then go to those with their state, then to the least loaded.",
        implementation=Implementation("streams", LATEST, f"{_PACKAGE}.LegacyStickyTaskAssignor"),
        forms={"4.3.1": {}},
        setting=f"internal.task.assignor.class={_PACKAGE}.LegacyStickyTaskAssignor",
    ),
    LeadersAssignor(
        name="fallback-prior",
        run=sticky.assign_fallback,
        summary="As sticky, but every active task stays. Leaders use it by themselves if they do not know the lags of tasks.",
        implementation=Implementation("streams", LATEST, f"{_PACKAGE}.FallbackPriorTaskAssignor"),
        forms={"4.3.1": {}},
        setting=f"internal.task.assignor.class={_PACKAGE}.FallbackPriorTaskAssignor",
    ),
)
"""The task assignors of group leaders, the default first."""
