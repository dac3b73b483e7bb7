"""A snapshot of a real broker equals what was set up, field by field."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from service.descriptions.leaders import leader_of
from service.live.client import ClusterClient
from service.live.snapshot import SnapshotExtent, take_snapshot
from tests.live.clients import ASSIGNORS, Members, eventually, members_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.live.conftest import SecuredBroker
    from tests.support.broker import Broker

pytestmark = pytest.mark.slow

GROUPS = ("java-range", "java-static", "java-regex", "java-share", "librdkafka-range", "kafka-python-range")


def look(broker: Broker, *group_ids: str, with_offsets_topic: bool = False) -> dict[str, Any]:
    """A snapshot of these groups, or of all."""
    with ClusterClient(broker.bootstrap, {}) as client:
        return take_snapshot(client, SnapshotExtent((), group_ids, 0.0, with_offsets_topic))


def group_of(snapshot: dict[str, Any], group_id: str) -> dict[str, Any]:
    """One group of a snapshot."""
    return next(group for group in snapshot["groups"] if group["group_id"] == group_id)


def are_settled(snapshot: dict[str, Any]) -> bool:
    """Has every group two members that together own everything, and has every member reached its target?"""
    groups = snapshot["groups"]
    return len(groups) == len(GROUPS) and all(
        group["group_state"] == "Stable"
        and len(group.get("members", ())) == 2
        and all(member["owned_partitions"] for member in group["members"])
        and all(
            member.get("assigned_partitions", member["owned_partitions"]) == member["owned_partitions"]
            for member in group["members"]
        )
        for group in groups
    )


@pytest.fixture(scope="module")
def topics(secured: SecuredBroker) -> tuple[str, str]:
    """Topics of six and four partitions; the first has 60 records."""
    first, second = secured.plain.topic(6), secured.plain.topic(4)
    secured.plain.produce(first, [(f"key-{i}", "x" * 100) for i in range(60)])
    return first, second


@pytest.fixture(scope="module")
def snapshot(secured: SecuredBroker, topics: tuple[str, str]) -> Iterator[dict[str, Any]]:
    """What a snapshot tells while six groups, of two members each, are at work."""
    broker, (first, second) = secured.plain, topics
    for seconds in (30, 150):  # on a busy machine, a member of kafka-python can stay outside of its group; others then join
        with members_of(broker) as members:
            _join(members, first, second)
            try:
                settled = eventually(lambda: look(broker, *GROUPS, with_offsets_topic=True), are_settled, seconds)
            except AssertionError:
                if seconds == 30:
                    continue
                raise
            yield settled
            return


def _join(members: Members, first: str, second: str) -> None:
    for i in range(2):
        classic = {"group_protocol": "classic", "client_rack": "rack-a", "client_id": f"client-{i}"}
        members.java("java-range", [first, second], partition_assignment_strategy=f"{ASSIGNORS}.RangeAssignor", **classic)
        members.java(
            "java-static",
            [first],
            partition_assignment_strategy=f"{ASSIGNORS}.CooperativeStickyAssignor",
            group_protocol="classic",
            group_instance_id=f"instance-{i}",
        )
        members.java("java-share", [second], share=True, client_rack="rack-a")
        members.librdkafka("librdkafka-range", [first], partition_assignment_strategy="range")
        members.kafka_python("kafka-python-range", [second])
    members.java("java-regex", f"({first}|{second})", group_protocol="consumer", client_rack="rack-a")
    members.java("java-regex", [first], group_protocol="consumer", group_instance_id="fixed", group_remote_assignor="range")


def test_brokers(snapshot: dict[str, Any]) -> None:
    """The one broker, with its rack and its disk."""
    (broker,) = snapshot["brokers"]
    assert (broker["broker_id"], broker["rack_id"], broker["fenced"]) == (1, "rack-a", False)
    assert 0 < broker["used_bytes"] < broker["capacity_bytes"]
    (of_broker,) = snapshot["log_dirs"]
    assert of_broker["broker_id"] == 1
    (log_dir,) = of_broker["log_dirs"]
    assert (log_dir["capacity_bytes"], log_dir["used_bytes"], log_dir["cordoned"]) == (
        broker["capacity_bytes"],
        broker["used_bytes"],
        False,
    )
    replicas = {row["topic_name"]: row for row in log_dir["replicas"]}
    for topic in snapshot["topics"]:
        assert replicas[topic["topic_name"]]["partition_ids"] == list(range(topic["partitions_count"]))
        assert replicas[topic["topic_name"]]["partition_bytes"] == topic["partition_bytes"]
    assert snapshot["kafka_version"] == "4.3"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", snapshot["taken_at"])


def test_topics(secured: SecuredBroker, snapshot: dict[str, Any], topics: tuple[str, str]) -> None:
    """Ids as Java's own Admin tells them, placements, sizes, and the end offsets of what was written."""
    described = {topic["topic_name"]: topic for topic in snapshot["topics"]}
    first = described[topics[0]]
    java = secured.plain.java
    properties = java.java.util.Properties()
    properties.put("bootstrap.servers", secured.plain.bootstrap)
    admin = java.org.apache.kafka.clients.admin.Admin.create(properties)
    names = java.java.util.List.of(topics[0])
    assert first["topic_id"] == admin.describeTopics(names).allTopicNames().get().get(topics[0]).topicId().toString()
    admin.close()
    assert first["partitions_count"] == 6
    assert not first["internal"]
    assert first["placements"] == [{"partition_id": i, "replicas": [1], "in_sync_replicas": [1], "leader": 1} for i in range(6)]
    assert sum(first["log_end_offsets"]) == 60
    assert first["log_start_offsets"] == [0] * 6
    assert all(size > 0 for size in first["partition_bytes"])
    assert described["__consumer_offsets"]["internal"]


def test_classic_group(snapshot: dict[str, Any], topics: tuple[str, str]) -> None:
    """Java's range assignor: racks, subscriptions and both assignments; the generation comes from __consumer_offsets."""
    group = group_of(snapshot, "java-range")
    assert (group["group_protocol"], group["assignor"], group["assignment_version"]) == ("classic", "range", 3)
    assert (group["assignment_user_data"], group["assignment_echoes_subscription"]) == ("none", True)
    assert group["leader"] in {member["member_id"] for member in group["members"]}
    assert group["generation_id"] >= 1
    members = sorted(group["members"], key=lambda member: member["client_id"])
    assert [member["client_id"] for member in members] == ["client-0", "client-1"]
    for i, member in enumerate(members):
        assert member["rack_id"] == "rack-a"
        assert member["host"] == "/127.0.0.1"
        assert member["instance_id"] is None
        assert sorted(member["topic_names"]) == sorted(topics)
        assert member["generation_id"] == group["generation_id"]
        assert member["owned_partitions"] == [
            {"topic_name": topics[0], "partition_ids": [3 * i, 3 * i + 1, 3 * i + 2]},
            {"topic_name": topics[1], "partition_ids": [2 * i, 2 * i + 1]},
        ]


def test_static_members(snapshot: dict[str, Any]) -> None:
    """Instance ids, and a cooperative member's own generation."""
    group = group_of(snapshot, "java-static")
    assert group["assignor"] == "cooperative-sticky"
    assert sorted(member["instance_id"] for member in group["members"]) == ["instance-0", "instance-1"]
    assert any("generation_id" in member["subscription"] for member in group["members"])


def test_consumer_group(snapshot: dict[str, Any], topics: tuple[str, str]) -> None:
    """A regular expression is resolved; epochs, racks, instance ids and each member's own assignor are there."""
    group = group_of(snapshot, "java-regex")
    assert group["group_protocol"] == "consumer"
    assert group["group_epoch"] == group["assignment_epoch"] > 0
    assert group["metadata_hash"] != 0
    fixed, pattern = sorted(group["members"], key=lambda member: member["instance_id"] is None)
    assert fixed["instance_id"] == "fixed"
    assert fixed["server_assignor"] == "range"
    assert fixed["topic_names"] == [topics[0]]
    assert pattern["topic_regex"] == f"({topics[0]}|{topics[1]})"
    assert pattern["topic_names"] == sorted(topics)
    assert pattern["rack_id"] == "rack-a"
    for member in (fixed, pattern):
        assert member["member_type"] == "consumer"
        assert member["member_epoch"] == group["group_epoch"]
        assert member["owned_partitions"] == member["assigned_partitions"]
        assert member["revoking_partitions"] == []


def test_share_group(snapshot: dict[str, Any], topics: tuple[str, str]) -> None:
    """A share group, which confluent-kafka calls dead."""
    group = group_of(snapshot, "java-share")
    assert (group["group_protocol"], group["assignor"], group["group_state"]) == ("share", "simple", "Stable")
    assert group["initialized_partitions"] == [{"topic_name": topics[1], "partition_ids": [0, 1, 2, 3]}]
    assert [member["rack_id"] for member in group["members"]] == ["rack-a"] * 2
    shared = [i for member in group["members"] for part in member["owned_partitions"] for i in part["partition_ids"]]
    assert sorted(set(shared)) == [0, 1, 2, 3]


def test_other_leaders(snapshot: dict[str, Any]) -> None:
    """What the leader wrote, and client ids, tell whose library it uses."""
    for client in ("librdkafka", "kafka-python"):
        group = group_of(snapshot, f"{client}-range")
        assert (group["assignment_version"], group["assignment_user_data"]) == (0, "empty")
        leader = leader_of(group)
        assert leader is not None
        assert leader.candidates == (client,), group
        assert {i for member in group["members"] for part in member["owned_partitions"] for i in part["partition_ids"]}


def test_what_is_not_known(secured: SecuredBroker, snapshot: dict[str, Any]) -> None:
    """Everything but the patch release is known; without __consumer_offsets, not the generation either."""
    assert [entry["field"] for entry in snapshot["not_known"]] == ["kafka_version"]
    missing = look(secured.plain, "no-such-group")
    assert {"field": "groups[]", "names": ["no-such-group"]}.items() <= missing["not_known"][-1].items()
    json.dumps(snapshot)


def test_committed_offsets_and_rates(secured: SecuredBroker, topics: tuple[str, str]) -> None:
    """Committed offsets are the group's, and what is written between two looks gives rates."""
    broker, (first, _) = secured.plain, topics
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "committer"})
    consumer.commit(offsets=[TopicPartition(first, 1, 5), TopicPartition(first, 4, 7)], asynchronous=False)
    consumer.close()
    with ClusterClient(broker.bootstrap, {}) as client:
        snapshot = take_snapshot(client, SnapshotExtent((first,), ("committer",), 0.5))
    group = group_of(snapshot, "committer")
    assert group["committed_offsets"] == [{"topic_name": first, "partition_ids": [1, 4], "offsets": [5, 7]}]
    assert group["group_state"] == "Empty"
    (topic,) = snapshot["topics"]
    assert topic["records_per_second"] == topic["bytes_per_second"] == [0.0] * 6
