"""aiokafka: its group leader's assignors. The leader drops instance_ids, so that static members count as any other.

Source: aiokafka.coordinator.assignors (0.14.0), aiokafka.consumer.group_coordinator.GroupCoordinator._perform_assignment.
"""

from functools import partial
from typing import Final

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.range import owners_in_ranges
from service.core.assignors.classic.roundrobin import owners_in_turn
from service.core.assignors.clients.names import by_bytes
from service.core.assignors.clients.python_sticky.library import Library
from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.model import Assignment, Group
from service.core.ragged import grouped
from service.core.registry import Implementation

sticky = Later("service.core.assignors.clients.python_sticky.sticky")

RELEASE: Final = "0.14.0"

STICKY: Final = Library(
    "aiokafka",
    undoes=False,
    sorts=False,
    key_error="ConsumerSubscription(consumer={!r}, partitions=())",
    no_members=("ValueError", "sorted_current_subscriptions is empty"),
)


def assign_in_ranges(group: Group) -> Assignment:
    """Ragged member → partitions, ascending: Kafka's range over members in the order of their member_ids."""
    order = by_bytes(group.member_ids)
    subscribers = topic_subscribers(group, order)
    return Assignment(grouped(owners_in_ranges(order, subscribers.offsets, subscribers.values, group.topics.first), len(group)))


def assign_in_turn(group: Group) -> Assignment:
    """Ragged member → partitions, ascending: Kafka's roundrobin over members in the order of their member_ids."""
    order = by_bytes(group.member_ids)
    subscribers = topic_subscribers(group, order)
    return Assignment(grouped(owners_in_turn(order, subscribers.offsets, subscribers.values, group.topics.first), len(group)))


ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="aiokafka:range",
        run=assign_in_ranges,
        implementation=Implementation("aiokafka", RELEASE, "aiokafka.coordinator.assignors.range.RangePartitionAssignor"),
        summary="Kafka's range without racks; static members do not come first.",
        setting="partition_assignment_strategy=[RangePartitionAssignor]",
    ),
    Assignor(
        name="aiokafka:roundrobin",
        run=assign_in_turn,
        implementation=Implementation(
            "aiokafka", RELEASE, "aiokafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor"
        ),
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
        summary="As even as subscriptions allow, with few moves: the algorithm of Java's first sticky assignor.",
        setting="partition_assignment_strategy=[StickyPartitionAssignor]",
        is_timed=True,
    ),
)
