"""What a real broker has written into ``__consumer_offsets`` is what it says of its groups itself."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, TopicPartition

from service.cli import main
from service.pipeline.spark.tasks import coordinator_records as offset_records
from service.pipeline.spark.tasks import group_requests

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from flask.testing import FlaskClient

    from tests.support.broker import Broker

pytestmark = pytest.mark.slow

OFFSETS_TOPIC = "__consumer_offsets"


def raw_records(broker: Broker) -> pa.Table:
    """Every record of the topic, as the job's executors get them."""
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    count = len(reader.list_topics(OFFSETS_TOPIC).topics[OFFSETS_TOPIC].partitions)
    places = [TopicPartition(OFFSETS_TOPIC, partition, 0) for partition in range(count)]
    wanted = sum(reader.get_watermark_offsets(place, timeout=120)[1] for place in places)
    reader.assign(places)
    records: list[Any] = []
    deadline = time.monotonic() + 120
    while len(records) < wanted and time.monotonic() < deadline:
        records += reader.consume(wanted - len(records), timeout=1)
    reader.close()
    return pa.table(
        {
            "key": pa.array([message.key() for message in records], pa.binary()),
            "value": pa.array([message.value() for message in records], pa.binary()),
            "log_partition": pa.array([message.partition() for message in records], pa.int32()),
            "log_offset": pa.array([message.offset() for message in records], pa.int64()),
            "timestamp": pa.array([message.timestamp()[1] for message in records], pa.int64()),
            "fault": pa.nulls(len(records), pa.string()),
            "line": pa.nulls(len(records), pa.string()),
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
        assert len(consumer.consume(200, timeout=120)) == 200
        consumer.commit(asynchronous=False)

        latest: dict[Any, dict[str, Any]] = {}
        for row in pa.Table.from_batches(offset_records.read_records(raw_records(broker).to_batches())).to_pylist():
            assert row["reason"] is None, row
            if row["group"] == group:
                latest[row["type"], row["member"], row["topic"], row["partition"]] = row
        told = consumer.committed([TopicPartition(topic, partition) for partition in range(3)], timeout=120)
        expected = {(place.topic, place.partition): place.offset for place in told if place.offset >= 0}
        commits = [row for row in latest.values() if row["type"] == offset_records.COMMIT_TYPE and not row["tombstone"]]
        assert {(row["topic"], row["partition"]): row["committed_offset"] for row in commits} == expected
        assert sum(expected.values()) == 200

        records = [{**row, "at": 0} for row in latest.values() if row["type"] in group_requests.TYPES and not row["tombstone"]]
        head, *rows = group_requests.read_group(pa.Table.from_pylist(records)).to_pylist()
        assert (head["protocol"], head["empty"], head["subscribed"]) == (protocol, False, [topic])
        (member,) = json.loads(head["members"])
        assert member["member_id"] == consumer.memberid()
        assert sorted(row["partition"] for row in rows if row["partition"] is not None) == sorted(
            place.partition for place in consumer.assignment()
        )


def test_the_lag_of_a_live_group_is_a_question_that_the_service_answers(
    broker: Broker, client: FlaskClient, tmp_path: Path, watched: Callable[[str], AbstractContextManager[None]]
) -> None:
    """Groups of both protocols have committed a part of what there is, and Spark reads the topic from the broker."""
    topic, groups = broker.topic(3), ("lagging-classic", "lagging-consumer")
    for partition in range(3):
        broker.produce(topic, [(None, "value")] * (100 + 50 * partition), partition=partition)
    config = {"bootstrap.servers": broker.bootstrap, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    with ExitStack() as stack:
        for group in groups:
            protocol = group.partition("-")[2]
            consumer = stack.enter_context(closing(Consumer({**config, "group.id": group, "group.protocol": protocol})))
            consumer.subscribe([topic])
            assert consumer.consume(1, timeout=120)
            places = [TopicPartition(topic, partition, 40 * partition) for partition in range(3)]
            consumer.commit(offsets=places, asynchronous=False)
        ends = [consumer.get_watermark_offsets(place, timeout=120)[1] for place in places]
        rows = [f"{topic},{partition},{end}" for partition, end in enumerate(ends)]
        (tmp_path / "ends.csv").write_text("\n".join(("topic,partition,log_end_offset", *rows)))
        source = f"kafka://{broker.bootstrap}/{OFFSETS_TOPIC}?kafka.isolation.level=read_committed"
        command = ["pipeline", "offsets", source, "--log-end", str(tmp_path / "ends.csv"), "--into", str(tmp_path / "out")]
        with watched("offsets"):
            done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    lags = [100, 110, 120]
    found = {(row["group"], row["partition"]): row for row in pq.read_table(tmp_path / "out" / "offsets.parquet").to_pylist()}
    for group in groups:
        assert [found[group, partition]["committed_offset"] for partition in range(3)] == [0, 40, 80]
        assert [found[group, partition]["lag"] for partition in range(3)] == lags
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    questions = {question["group_id"]: question for question in summary["group_assignments"]}
    for group in groups:
        assert questions[group]["topics"] == [{"topic_name": topic, "partitions_count": 3, "partition_weights": lags}]
        answer = client.post("/v1/group-assignments", json=questions[group])
        assert answer.status_code == 200, answer.text
        assert answer.json["weighted_member_load"]["totals"] == [sum(lags)]
    assert questions["lagging-classic"]["members"][0]["owned_partitions"] == [{"topic_name": topic, "partition_ids": [0, 1, 2]}]
