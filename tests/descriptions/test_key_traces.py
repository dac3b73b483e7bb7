"""``trace``: the way of a key, against what its parts answer on their own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import partition_allocator as pa

CLUSTER = Path(__file__).parents[1] / "cases" / "operators-cluster"
TEXTS = [(CLUSTER / name).read_text() for name in ("topics.txt", "members.txt", "racks.csv")]
KEYS = [f"ACME-{i:04d}" for i in range(60)]
SNAPSHOT = {
    "brokers": [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2}],
    "topics": [
        {
            "topic_name": "orders",
            "partitions_count": 2,
            "placements": [
                {"partition_id": 0, "replicas": [1, 2], "leader": None, "in_sync_replicas": []},
                {"partition_id": 1, "replicas": [2, 1], "leader": 2, "in_sync_replicas": [2]},
            ],
            "log_end_offsets": [50, 100],
        }
    ],
    "groups": [
        {
            "group_id": "billing",
            "assignor": "range",
            "members": [
                {"member_id": "a", "host": "10.0.0.1", "topic_names": ["orders"], "owned_partitions": [
                    {"topic_name": "orders", "partition_ids": [1]}]},
            ],
            "committed_offsets": [{"topic_name": "orders", "partition_ids": [0, 1], "offsets": [None, 93]}],
        },
        {"group_id": "others", "assignor": "range", "members": [
            {"member_id": "b", "topic_names": ["payments"], "owned_partitions": []}]},
    ],
}  # fmt: skip


def snapshot(**changes: object) -> str:
    return json.dumps(SNAPSHOT | changes)


def test_each_part_is_what_the_cluster_and_the_partitioner_say():
    read = pa.read(*TEXTS)["snapshot"]
    topic = next(topic for topic in read["topics"] if topic["topic_name"] == "orders")
    racks = {broker["broker_id"]: broker["rack_id"] for broker in read["brokers"]}
    for key, partition_id in zip(KEYS[:12], pa.partitions(KEYS[:12], 48).tolist(), strict=True):
        now = pa.trace(key, TEXTS, "orders")["now"]
        placement = topic["placements"][partition_id]
        assert (now["partition_id"], now["leader"]) == (partition_id, placement["leader"])
        assert [(each["broker_id"], each["rack_id"]) for each in now["replicas"]] == [
            (broker, racks[broker]) for broker in placement["replicas"]
        ]
        owners = [
            member["member_id"]
            for member in read["groups"][0]["members"]
            for part in member["owned_partitions"]
            if part["topic_name"] == "orders" and partition_id in part["partition_ids"]
        ]
        assert [reader["member_id"] for reader in now["readers"]] == owners


def test_a_planned_count_moves_keys_and_readers_as_assign_says():
    body = pa.read(*TEXTS, bodies=True)["bodies"]["group_assignments"][0]
    body["topics"] = [{**t, "partitions_count": 96} if t["topic_name"] == "orders" else t for t in body["topics"]]
    assigned = pa.assign(**{name: body[name] for name in ("topics", "members", "group_protocol", "assignor") if name in body})
    owner = {
        ("orders", partition_id): each["member_id"]
        for each in assigned["assignments"]
        for part in each["partitions"]
        if part["topic_name"] == "orders"
        for partition_id in part["partition_ids"]
    }
    for key in KEYS[:6]:
        answer = pa.trace(key, TEXTS, "orders", planned_partitions_count=96)
        partition_id = int(pa.partitions([key], 96)[0])
        assert answer["planned"]["partition_id"] == partition_id
        assert [reader["member_id"] for reader in answer["planned"]["readers"]] == [owner["orders", partition_id]]
        stays = f"Records that were written before stay in orders-{answer['now']['partition_id']}." in answer["conclusion"]
        assert stays is (answer["now"]["partition_id"] != partition_id)
        assert (answer["planned"]["replicas"] is None) is (partition_id >= 48), "new partitions are not placed yet"


def keys_of(partition_id: int) -> str:
    return next(key for key in KEYS if pa.partitions([key], 2)[0] == partition_id)


def test_what_is_not_known_is_said_and_not_filled_in():
    answer = pa.trace(keys_of(0), snapshot(), "orders")
    assert answer["conclusion"].endswith(
        "orders-0 of 2 partitions (java) → no leader, replicas 1 (rack a), 2, in sync: none → no member of group billing."
    )
    assert answer["now"]["readers"][0]["lag"] is None
    assert answer["warnings"] == ["The rack of broker 2 is not known."]
    led = pa.trace(keys_of(1), snapshot(), "orders")
    assert led["conclusion"].endswith(
        "orders-1 of 2 partitions (java) → leader 2, replicas 2, 1 (rack a), in sync: 2 → a at 10.0.0.1 in group billing, lag 7."
    )
    without = pa.trace("a", topic_name="orders", partitions_count=3)
    assert without["conclusion"].endswith("its brokers are not known → no group that reads it is described.")
    unlisted = snapshot(groups=[{"group_id": "billing", "committed_offsets": SNAPSHOT["groups"][0]["committed_offsets"]}])
    assert pa.trace(keys_of(1), unlisted, "orders")["now"]["readers"][0]["basis"] == "unknown"
    empty = snapshot(groups=[SNAPSHOT["groups"][0] | {"members": []}])
    assert pa.trace(keys_of(1), empty, "orders")["now"]["readers"][0]["basis"] == "none"


def test_a_log_end_that_is_not_known_is_no_lag_of_0():
    topic = SNAPSHOT["topics"][0] | {"log_end_offsets": [-1, -1]}
    assert pa.trace(keys_of(1), snapshot(topics=[topic]), "orders")["now"]["readers"][0]["lag"] is None


def test_a_topic_that_is_no_longer_subscribed_has_offsets_and_no_reader():
    """Its offsets stay until they expire; whatever is planned, the assignor gives it to no member."""
    members = [{"member_id": "a", "topic_names": ["payments"]}]
    topics = [*SNAPSHOT["topics"], {"topic_name": "payments", "partitions_count": 1}]
    text = snapshot(topics=topics, groups=[SNAPSHOT["groups"][0] | {"members": members}])
    for planned in ({}, {"planned_partitions_count": 5}, {"planned_members_count": 3}):
        answer = pa.trace("a", text, "orders", **planned)
        paths = [path for path in (answer["now"], answer["planned"]) if path]
        assert [reader["basis"] for path in paths for reader in path["readers"]] == ["none"] * len(paths)


def test_the_only_topic_needs_no_name_where_its_partitions_are_given():
    text = "Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    assert pa.trace("a", text, partitions_count=3)["topic_name"] == "t"


def test_a_reassignment_changes_brokers_and_a_leader_only_if_it_leaves():
    key = keys_of(1)
    for replicas, leader in (([3, 2], 2), ([3, 1], 3)):
        change = {"version": 1, "partitions": [{"topic": "orders", "partition": 1, "replicas": replicas}]}
        planned = pa.trace(key, snapshot(), "orders", reassignment=change)["planned"]
        assert [each["broker_id"] for each in planned["replicas"]] == replicas
        assert planned["leader"] == leader
        assert planned["readers"][0] == {
            "group_id": "billing",
            "basis": "owned",
            "member_id": "a",
            "client_id": None,
            "host": "10.0.0.1",
            "lag": 7,
        }


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"partitioner": "sarama:round-robin"}, "/partitioner: A key has no partition of its own: sarama:round-robin ignores"),
        ({"key": "", "partitioner": "librdkafka"}, "/key: librdkafka:consistent_random writes records with an empty key to any"),
        ({"planned_partitions_count": 1}, "/planned_partitions_count: Kafka removes no partitions; orders has 2."),
        ({"topic_name": "nix"}, "The partition count of topic 'nix' is not known"),
        ({"group_id": "nix"}, "No group 'nix'"),
        ({"planned_members_count": 2, "texts": [snapshot(groups=[])]}, "/group_id: 0 groups read 'orders'; name the one"),
        ({"reassignment": {"version": 1, "partitions": [{"topic": "x", "partition": 0, "replicas": [1]}]}}, "not name topic"),
        ({"key": "x", "key_format": "int"}, "/key: 'x' is not a valid int."),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_with_the_reason(fields, sentence):
    with pytest.raises(pa.Rejected, match=re.escape(sentence)):
        pa.trace(**{"key": "a", "texts": [snapshot()], "topic_name": "orders"} | fields)


def test_members_that_join_make_the_reader_a_draw():
    answer = pa.trace(keys_of(1), snapshot(), "orders", group_id="billing", planned_members_count=2)
    assert answer["planned"]["readers"][0]["basis"] == "assigned"
    assert any("who gets it depends on the ids that 1 new member draws" in sentence for sentence in answer["warnings"])
