"""What a real broker has written into ``__consumer_offsets`` is what it says of its groups itself."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from service.spark import group_states, offset_records

if TYPE_CHECKING:
    from tests.broker import Broker

pytestmark = pytest.mark.slow

OFFSETS_TOPIC = "__consumer_offsets"


def raw_records(broker: Broker) -> pa.Table:
    """Every record of the topic, as the job's executors get them."""
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    count = len(reader.list_topics(OFFSETS_TOPIC).topics[OFFSETS_TOPIC].partitions)
    places = [TopicPartition(OFFSETS_TOPIC, partition, 0) for partition in range(count)]
    wanted = sum(reader.get_watermark_offsets(place, timeout=10)[1] for place in places)
    reader.assign(places)
    found: list[Any] = []
    deadline = time.monotonic() + 30
    while len(found) < wanted and time.monotonic() < deadline:
        found += reader.consume(wanted - len(found), timeout=1)
    reader.close()
    return pa.table(
        {
            "key": pa.array([message.key() for message in found], pa.binary()),
            "value": pa.array([message.value() for message in found], pa.binary()),
            "log_partition": pa.array([message.partition() for message in found], pa.int32()),
            "log_offset": pa.array([message.offset() for message in found], pa.int64()),
            "timestamp": pa.array([message.timestamp()[1] for message in found], pa.int64()),
            "line": pa.nulls(len(found), pa.string()),
        }
    )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commits_and_members_are_those_that_the_broker_tells(broker: Broker, protocol: str) -> None:
    """A group of the protocol reads a topic, commits and stays: its offsets, its member and its partitions."""
    topic, group = broker.topic(3), f"offsets-of-{protocol}"
    broker.produce(topic, [(f"key-{i}", "value") for i in range(200)])
    config = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "group.protocol": protocol,
    }
    with closing(Consumer({**config, "enable.auto.commit": False})) as consumer:
        consumer.subscribe([topic])
        assert len(consumer.consume(200, timeout=30)) == 200
        consumer.commit(asynchronous=False)

        latest: dict[Any, dict[str, Any]] = {}
        for row in pa.Table.from_batches(offset_records.read_records(raw_records(broker).to_batches())).to_pylist():
            assert row["reason"] is None, row
            if row["group"] == group:
                latest[row["type"], row["member"], row["topic"], row["partition"]] = row
        told = consumer.committed([TopicPartition(topic, partition) for partition in range(3)], timeout=30)
        expected = {(place.topic, place.partition): place.offset for place in told if place.offset >= 0}
        commits = [row for row in latest.values() if row["type"] == offset_records.COMMIT_TYPE and not row["tombstone"]]
        assert {(row["topic"], row["partition"]): row["committed_offset"] for row in commits} == expected
        assert sum(expected.values()) == 200

        records = [{**row, "at": 0} for row in latest.values() if row["type"] in group_states.TYPES and not row["tombstone"]]
        head, *rows = group_states.read_group(pa.Table.from_pylist(records)).to_pylist()
        assert (head["protocol"], head["empty"], head["subscribed"]) == (protocol, False, [topic])
        (member,) = json.loads(head["members"])
        assert member["member_id"] == consumer.memberid()
        assert sorted(row["partition"] for row in rows if row["partition"] is not None) == sorted(
            place.partition for place in consumer.assignment()
        )
