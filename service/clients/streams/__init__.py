"""What Kafka Streams' groups are assigned: tasks → members."""

from functools import partial
from typing import Final

from service.clients.streams import sticky
from service.clients.streams.model import StreamsAssignor
from service.core.kafka_versions import LATEST
from service.core.registry import Implementation

BROKERS: Final = (
    StreamsAssignor(
        name="sticky",
        run=sticky.assign,
        summary="Tasks stay with members that have them or their state, as far as loads are even; the rest to the least loaded.",
        implementation=Implementation("broker", LATEST, "org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor"),
        forms={"4.4.0": {}, "4.3.1": {"run": partial(sticky.assign, release=sticky.UNTIL_4_3)}},
        setting="group.streams.assignor.name=sticky",
        is_default=True,
    ),
)
"""The task assignors of brokers (KIP-1071)."""
