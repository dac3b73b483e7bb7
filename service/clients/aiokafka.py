"""aiokafka: its group leader's assignors. The leader drops instance_ids, so that static members count as any other.

Source: aiokafka.coordinator.assignors of each of RELEASES, and GroupCoordinator._perform_assignment.
"""

from functools import partial
from typing import Final

from service.clients.python_sticky import Library
from service.core.assignors.model import Assignor
from service.core.registry import Implementation, Later

classic_ranges = Later("service.core.assignors.classic.range")
classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
names = Later("service.clients.names")
sticky = Later("service.clients.python_sticky.sticky")

RELEASES: Final = ("0.10.0", "0.11.0", "0.12.0", "0.14.0")
RELEASE: Final = RELEASES[-1]

STICKY: Final = Library(
    "aiokafka",
    undoes=False,
    sorts=False,
    key_error="ConsumerSubscription(consumer={!r}, partitions=())",
    no_members=("ValueError", "sorted_current_subscriptions is empty"),
)


ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="aiokafka:range",
        run=partial(classic_ranges.ranges_by, names.by_member_id),
        implementation=Implementation("aiokafka", RELEASE, "aiokafka.coordinator.assignors.range.RangePartitionAssignor"),
        client_releases=RELEASES,
        summary="Kafka's range without racks; static members do not come first.",
        setting="partition_assignment_strategy=[RangePartitionAssignor]",
    ),
    Assignor(
        name="aiokafka:roundrobin",
        run=partial(classic_roundrobin.turns_by, names.by_member_id),
        implementation=Implementation(
            "aiokafka", RELEASE, "aiokafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor"
        ),
        client_releases=RELEASES,
        summary="Kafka's roundrobin; static members do not come first.",
        setting="partition_assignment_strategy=[RoundRobinPartitionAssignor]",
        is_default=True,
    ),
    Assignor(
        name="aiokafka:sticky",
        run=partial(sticky.assign, library=STICKY),
        implementation=Implementation(
            "aiokafka", RELEASE, "aiokafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor"
        ),
        client_releases=RELEASES,
        summary="As even as subscriptions allow, with few moves: the algorithm of Java's first sticky assignor.",
        setting="partition_assignment_strategy=[StickyPartitionAssignor]",
    ),
)
