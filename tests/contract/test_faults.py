"""A rejected body: faults of single fields and faults of fields that do not fit together come in one answer."""

from __future__ import annotations

from itertools import combinations

import pytest

from service.core.errors import MAX_ERRORS
from tests.contract.test_examples import POSTS, example_of

GROUP = {"topics": [{"topic_name": "t", "partitions_count": 2}] * 2, "members": [{"member_id": "a"}]}
PLACEMENT = [{"partition_id": 0, "replicas": [1]}]
TOPICS = [{"topic_name": "t", "placements": PLACEMENT}]


@pytest.mark.parametrize(
    ("path", "body", "pointers"),
    [
        ("/v1/partitions", {"partitioner": "x", "partitions_count": 6, "keys": ["a", 5]}, ["/partitioner", "/keys/1"]),
        (
            "/v1/partitions",
            {"partitions_count": "6", "keys": ["a", 5], "chunk_size": 1, "colour": 1},
            ["/partitions_count", "/colour"],
        ),
        ("/v1/partitions", {"partitioner": "x"}, ["/partitions_count"]),
        ("/v1/partitions", {"partitions_count": 6, "keys": [5], "chunk_size": 1}, ["/chunk_size", "/keys/0"]),
        (
            "/v1/partitioner-comparisons",
            {"partitioners": ["x", "y"], "partitions_count": 6, "keys": [1]},
            ["/partitioners/0", "/partitioners/1", "/keys/0"],
        ),
        (
            "/v1/partitioner-fingerprints",
            {"observations": [], "partitioners": ["x"]},
            ["/partitioners/0", "/observations"],
        ),
        (
            "/v1/partitioner-fingerprints",
            {"observations": [{"key": 1, "partition_id": 7}], "partitions_count": 6},
            ["/observations/0/key", "/observations/0/partition_id"],
        ),
        (
            "/v1/partition-count-plans",
            {
                "partitioners": ["x", "java", "java"],
                "partitions_counts": [6, 6],
                "keys": ["a"],
                "histogram": [{"key": "a"}],
                "max_partition_records_per_second": 1,
                "max_partition_bytes_per_second": 1,
                "consumer_mb_per_second": 1,
            },
            [
                *("/consumer_mb_per_second", "/partitioners/0", "/partitioners/2", "/partitions_counts/1"),
                *("/max_partition_records_per_second", "/max_partition_bytes_per_second", "/histogram"),
            ],
        ),
        (
            "/v1/keyless-distributions",
            {
                "rule": "sticky",
                "brokers": [{"broker_id": 1}],
                "partitions": [
                    {"partition_id": 0, "leader_id": 2},
                    {"partition_id": 0, "leader_id": 1, "queue_size": 3},
                    {"partition_id": 3, "leader_id": 1},
                ],
            },
            [
                "/partitions/0/leader_id",
                "/partitions/1/partition_id",
                "/partitions/1/queue_size",
                "/partitions/2/partition_id",
            ],
        ),
        ("/v1/coordinators", {"colour": "g"}, ["/colour"]),
        ("/v1/coordinators", {"group_id": "g", "transactional_id": "t", "partitions_count": 0}, ["/partitions_count"]),
        (
            "/v1/co-partitionings",
            {
                "topics": [
                    {"partitions_count": 6, "partitioner": "x"},
                    {"partitions_count": 6, "partitioner": "java", "key_format": "int"},
                ],
            },
            ["/topics/0/partitioner"],
        ),
        (
            "/v1/decodings",
            {"kind": "assignment", "key_base64": "AAA=", "topics": [], "member_id": 1},
            ["/member_id", "/topics", "/key_base64", "/bytes_base64"],
        ),
        ("/v1/group-assignments", {**GROUP, "assignor": "x"}, ["/topics/1/topic_name", "/assignor"]),
        (
            "/v1/group-assignments",
            {"topics": [{"topic_name": "t", "partitions_count": "2"}], "members": GROUP["members"] * 2},
            ["/topics/0/partitions_count"],
        ),
        (
            "/v1/group-assignments",
            {"topics": GROUP["topics"], "members": [{"member_id": 1}]},
            ["/members/0/member_id"],
        ),
        (
            "/v1/group-rebalances",
            {"topics": [{"topic_name": 5, "partitions_count": 2}], "members": GROUP["members"] * 2, "events": [{"at_ms": 0}]},
            ["/topics/0/topic_name", "/events/0/type"],
        ),
        (
            "/v1/group-assignments",
            {**GROUP, "assignor": "x", "expected": [{"member_id": "b", "partitions": []}]},
            ["/assignor", "/topics/1/topic_name", "/expected/0/member_id"],
        ),
        (
            "/v1/group-rebalances",
            {
                **GROUP,
                "assignor": "x",
                "timing": {"session_timeout_ms": 1},
                "events": [
                    {"at_ms": 5, "type": "scales", "members_count": 2},
                    {"at_ms": 3, "type": "scales", "members_count": 2},
                ],
                "compare": [{"group_protocol": "a"}, {"assignor": "b"}],
            },
            [
                *("/assignor", "/timing/session_timeout_ms", "/timing/heartbeat_interval_ms", "/events/1/at_ms"),
                "/topics/1/topic_name",
            ],
        ),
        (
            "/v1/group-rebalances",
            {
                "topics": [{"topic_name": "t", "partitions_count": 2}],
                "members": [{"member_id": "a"}],
                "events": [{"at_ms": 5, "type": "assignor_changes", "assignors": ["x"]}],
                "compare": [{"group_protocol": "a"}, {"assignor": "b"}],
            },
            ["/events/0/assignors/0", "/compare/0/group_protocol", "/compare/1/assignor"],
        ),
        (
            "/v1/replica-placements",
            {
                "placer": "modulo",
                "kafka_version": "1.0",
                "brokers": [{"broker_id": 1, "weight": 2}],
                "topics": [{"topic_name": "t", "partitions_count": 1, "replication_factor": 1}] * 2,
            },
            ["/kafka_version", "/brokers/0/weight", "/topics/1/topic_name"],
        ),
        (
            "/v1/placement-audits",
            {"placer": "x", "brokers": [{"broker_id": 1}] * 2, "placements": PLACEMENT * 2},
            ["/placer", "/brokers/1/broker_id", "/placements/1/partition_id"],
        ),
        (
            "/v1/reassignments",
            {
                "brokers": [{"broker_id": 1}],
                "topics": TOPICS,
                "excluded_topics": ["a", "t", "b"],
                "balance": "bytes",
                "per_topic": True,
                "limits": {"bytes_in_flight": 1},
            },
            ["/excluded_topics/0", "/excluded_topics/2", "/per_topic", "/balance", "/limits/bytes_in_flight"],
        ),
        ("/v1/reassignments", {"brokers": [{"broker_id": "1"}]}, ["/brokers/0/broker_id"]),
        (
            "/v1/log-dir-plans",
            {
                "brokers": [
                    {"broker_id": 1, "log_dirs": [{"log_dir": "/a", "replicas": []}] * 2},
                    {
                        "broker_id": 1,
                        "log_dirs": [
                            {"log_dir": "/a", "replicas": [{"topic_name": "t", "partition_ids": [0], "partition_bytes": []}]}
                        ],
                    },
                ],
                "topics": TOPICS * 2,
            },
            [
                "/brokers/1/broker_id",
                "/brokers/0/log_dirs/1/log_dir",
                "/brokers/1/log_dirs/0/replicas/0/partition_bytes",
                "/topics/1/topic_name",
            ],
        ),
        (
            "/v1/log-dir-plans",
            {
                "objective": "fewest-moves",
                "brokers": [{"broker_id": 1, "log_dirs": []}],
                "topics": TOPICS,
                "tolerance": 0.1,
                "max_moves": 1,
                "disk_threshold": 0.5,
                "included_topics": ["x*"],
            },
            ["/tolerance", "/tolerance", "/max_moves", "/disk_threshold", "/included_topics/0"],
        ),
        (
            "/v1/reassignments",
            {"brokers": [{"broker_id": 1}] * 3, "topics": TOPICS * 2},
            ["/brokers/1/broker_id", "/brokers/2/broker_id", "/topics/1/topic_name"],
        ),
        (
            "/v1/reassignments:lint",
            {"brokers": [{"broker_id": 1}] * 2, "topics": TOPICS, "reassignment": {"version": 1, "partitions": []}, "colour": 1},
            ["/colour"],
        ),
    ],
)
def test_all_faults_come_in_one_answer(client, path, body, pointers):
    response = client.post(path, json=body)
    assert response.status_code == 422
    assert sorted(error["pointer"] for error in response.json["errors"]) == sorted(pointers)
    assert response.json["detail"].endswith(f" (and {len(pointers) - 1} more)" if pointers[1:] else ".")


def test_a_query_has_all_its_faults_at_once(client):
    errors = client.get("/v1/partitions?partitioner=x&partitions_count=0&colour=1").json["errors"]
    assert [error["pointer"] for error in errors] == ["/partitions_count", "/colour"]


def test_at_most_so_many_faults_are_listed(client):
    names = [f"x{i}" for i in range(MAX_ERRORS)]
    body = {"partitioners": names, "partitions_count": 6, "keys": [1]}
    assert len(client.post("/v1/partitioner-comparisons", json=body).json["errors"]) == MAX_ERRORS
    rows = [{"partition_id": 0, "leader_id": 0} for _ in range(MAX_ERRORS + 2)]
    assert len(client.post("/v1/keyless-distributions", json={"partitions": rows}).json["errors"]) == MAX_ERRORS


@pytest.mark.parametrize("path", POSTS)
def test_broken_fields_in_pairs_are_each_named_once(client, path):
    example = example_of(POSTS[path])
    broken = [(name, value) for name in example for value in ([None, {}], "\ud800", -(2**63))] + [("colour", 1)]
    for several in combinations(broken, 2):
        response = client.post(path, json=example | dict(several))
        assert response.status_code in (200, 413, 422), response.text
        errors = [tuple(error.values()) for error in response.json.get("errors", ())]
        assert len(set(errors)) == len(errors), (several, errors)
        if ("colour", 1) in several:
            assert any(at == "/colour" for at, _ in errors)
    for missing in combinations(example, 2):
        response = client.post(path, json={name: value for name, value in example.items() if name not in missing})
        assert response.status_code in (200, 422), response.text
