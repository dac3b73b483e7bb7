"""The broker that other tests use is a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition

if TYPE_CHECKING:
    from tests.support.broker import Broker

pytestmark = pytest.mark.slow


def test_what_clients_write_is_where_they_were_told_it_is(broker: Broker) -> None:
    """Each record is read back from the partition and offset that its producer got, with its key, value and timestamp."""
    topic = broker.topic(4)
    records = [(f"key-{i}", f"value-{i}") for i in range(50)] + [(None, "no key"), ("no value", None)]
    places = broker.produce(topic, records, timestamps=range(1_700_000_000_000, 1_700_000_000_052))
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(4)])
    read = consumer.consume(len(records), timeout=120)
    consumer.close()
    written = {
        (message.partition(), message.offset()): (message.key(), message.value(), message.timestamp()[1]) for message in read
    }
    assert written == {
        place: (key and key.encode(), value and value.encode(), 1_700_000_000_000 + i)
        for i, (place, (key, value)) in enumerate(zip(places, records, strict=True))
    }


def test_librdkafka_and_java_place_keys_differently_by_default(broker: Broker) -> None:
    """The same keys by librdkafka's default, by its ``murmur2_random`` and by the Java client: the last two agree."""
    topic = broker.topic(6)
    records = [(f"key-{i}", "") for i in range(100)]
    librdkafka, murmur2 = (broker.produce(topic, records, **choice) for choice in ({}, {"partitioner": "murmur2_random"}))
    java = broker.produce_with_java(topic, records)
    assert [partition for partition, _ in java] == [partition for partition, _ in murmur2]
    assert [partition for partition, _ in java] != [partition for partition, _ in librdkafka]
