"""kafka-python: its group leader's assignors, all of the classic protocol.

Source: kafka.coordinator.assignors (3.0.12).
"""

from dataclasses import replace
from functools import partial
from typing import Final

from service.clients.python_sticky.library import Library
from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

range_ = Later("service.clients.kafka_python.range")
roundrobin = Later("service.clients.kafka_python.roundrobin")
sticky = Later("service.clients.python_sticky.sticky")

RELEASE: Final = "3.0.12"

STICKY: Final = Library(
    "kafka-python",
    undoes=True,
    sorts=False,
    key_error="({!r}, ())",
    no_members=("TypeError", "'NoneType' object is not subscriptable"),
)
COOPERATIVE_STICKY: Final = replace(STICKY, sorts=True)

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="kafka-python:range",
        run=range_.assign,
        implementation=Implementation("kafka-python", RELEASE, "kafka.coordinator.assignors.range.RangePartitionAssignor"),
        client_releases=(RELEASE,),
        summary="Kafka's range without racks; where static and dynamic members mix, some get nothing.",
        warnings=range_.warnings,
        setting="partition_assignment_strategy=[RangePartitionAssignor]",
        is_default=True,
    ),
    Assignor(
        name="kafka-python:roundrobin",
        run=roundrobin.assign,
        implementation=Implementation(
            "kafka-python", RELEASE, "kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor"
        ),
        client_releases=(RELEASE,),
        summary="Partitions go in turn to the members; fails on most groups whose subscriptions differ.",
        warnings=roundrobin.warnings,
        setting="partition_assignment_strategy=[RoundRobinPartitionAssignor]",
    ),
    Assignor(
        name="kafka-python:sticky",
        run=partial(sticky.assign, library=STICKY),
        implementation=Implementation(
            "kafka-python", RELEASE, "kafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor"
        ),
        client_releases=(RELEASE,),
        summary="As even as subscriptions allow, with few moves: the algorithm of Java's first sticky assignor.",
        setting="partition_assignment_strategy=[StickyPartitionAssignor]",
        is_timed=True,
        reserves=True,
    ),
    Assignor(
        name="kafka-python:cooperative-sticky",
        run=partial(sticky.assign_cooperatively, library=COOPERATIVE_STICKY),
        implementation=Implementation(
            "kafka-python", RELEASE, "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor"
        ),
        client_releases=(RELEASE,),
        summary="As its sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        setting="partition_assignment_strategy=[CooperativeStickyAssignor]",
        is_timed=True,
        reserves=True,
    ),
)
