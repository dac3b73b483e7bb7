"""kafka-python: its group leader's assignors, all of the classic protocol.

Source: kafka.coordinator.assignors of each of RELEASES. Before 2.3.0 the leader does not know instance_ids.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from service.clients.python_sticky.library import Library
from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

classic_ranges = Later("service.core.assignors.classic.ranges")
classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
names = Later("service.clients.names")
range_ = Later("service.clients.kafka_python.range")
roundrobin = Later("service.clients.kafka_python.roundrobin")
sticky = Later("service.clients.python_sticky.sticky")

RELEASES: Final = ("1.4.7", "2.0.2", "2.0.6", "2.2.21", "2.3.3", "3.0.0", "3.0.11", "3.0.12")
RELEASE: Final = RELEASES[-1]

STICKY: Final = Library(
    "kafka-python",
    undoes=True,
    sorts=False,
    key_error="({!r}, ())",
    no_members=("TypeError", "'NoneType' object is not subscriptable"),
)
COOPERATIVE_STICKY: Final = replace(STICKY, sorts=True)
STICKY_UNTIL_3_0_11: Final = replace(STICKY, undoes=False)

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="kafka-python:range",
        run=range_.assign,
        implementation=Implementation("kafka-python", RELEASE, "kafka.coordinator.assignors.range.RangePartitionAssignor"),
        client_releases=RELEASES,
        forms={"2.3.0": {}, "1.4.7": {"run": partial(classic_ranges.ranges_by, names.by_member_id), "warnings": None}},
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
        client_releases=RELEASES,
        forms={"2.3.0": {}, "1.4.7": {"run": partial(classic_roundrobin.turns_by, names.by_member_id), "warnings": None}},
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
        client_releases=RELEASES[1:],
        forms={
            "3.0.12": {},
            "2.0.3": {"run": partial(sticky.assign, library=STICKY_UNTIL_3_0_11)},
            "2.0.2": {"run": partial(sticky.assign, library=replace(STICKY_UNTIL_3_0_11, rejoins=False))},
        },
        summary="As even as subscriptions allow, with few moves: the algorithm of Java's first sticky assignor.",
        setting="partition_assignment_strategy=[StickyPartitionAssignor]",
    ),
    Assignor(
        name="kafka-python:cooperative-sticky",
        run=partial(sticky.assign_cooperatively, library=COOPERATIVE_STICKY),
        implementation=Implementation(
            "kafka-python", RELEASE, "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor"
        ),
        client_releases=RELEASES[-3:],
        forms={
            "3.0.12": {},
            "3.0.0": {"run": partial(sticky.assign_cooperatively, library=replace(COOPERATIVE_STICKY, undoes=False))},
        },
        summary="As its sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        setting="partition_assignment_strategy=[CooperativeStickyAssignor]",
    ),
)
