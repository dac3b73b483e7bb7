"""Verdicts on groups, and the metrics of a snapshot, for snapshots made by hand; tests/kafka/test_verify.py has real ones."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from service.cli.live.cluster_metrics import GAUGES, Bounds, ClusterCollector, measure, measure_keys, skew
from service.cli.live.verification import check_groups
from service.cli.local_client import LocalApp

Json = dict[str, Any]


@pytest.fixture(scope="module")
def app() -> LocalApp:
    """One app for all questions."""
    return LocalApp()


def owned(*partition_ids: int) -> list[Json]:
    """Partitions of the topic orders."""
    return [{"topic_name": "orders", "partition_ids": list(partition_ids)}]


def member(member_id: str, *partition_ids: int, version: int = 3) -> Json:
    """A member of a classic group that has just joined for the first time."""
    return {
        "member_id": member_id,
        "topic_names": ["orders"],
        "owned_partitions": owned(*partition_ids),
        "subscription": {"version": version, "owned_partitions": []},
    }


def snapshot(**group: Any) -> Json:
    """One topic of four partitions on two brokers, and one group."""
    placements = [{"partition_id": i, "replicas": [1, 2], "in_sync_replicas": [1], "leader": 1 + i % 2} for i in range(4)]
    topic = {
        "topic_name": "orders",
        "partitions_count": 4,
        "internal": False,
        "placements": placements,
        "partition_bytes": [100, 100, 100, 500],
        "log_start_offsets": [0, 0, 0, 10],
        "log_end_offsets": [10, 10, 10, 60],
    }
    brokers = [{"broker_id": i, "rack_id": None, "fenced": False, "capacity_bytes": 1000, "used_bytes": 250} for i in (1, 2)]
    defaults = {"group_id": "billing", "group_protocol": "classic", "assignor": "range", "group_state": "Stable"}
    return {"brokers": brokers, "topics": [topic], "groups": [{**defaults, **group}], "not_known": []}


RIGHT = [member("a", 0, 1), member("b", 2, 3)]
WRONG = [member("a", 0, 3), member("b", 1, 2)]


@pytest.mark.parametrize(
    ("group", "verdict", "reason"),
    [
        ({"members": RIGHT, "assignment_version": 3}, "alike", "as its leader computed it"),
        ({"members": WRONG, "assignment_version": 3}, "differs", "not as the assignor of this name computes it"),
        ({"members": WRONG, "assignment_version": 1}, "differs", "librdkafka"),
        (
            {"members": [{name: each[name] for name in ("member_id", "topic_names", "owned_partitions")} for each in WRONG]},
            "differs",
            "not as the assignor",
        ),
        (
            {"members": [member("a", 3, version=0), member("b", 0, 1, 2, version=0)]},
            "differs",
            "2 members send an old subscription",
        ),
        ({"members": [member("a", 0, 1), member("b", 2)]}, "alike", "when it knew 3 of 4 partitions of orders"),
        ({"members": RIGHT, "assignor": "house-rules"}, "not_checked", "house-rules"),
        ({"group_state": "PreparingRebalance"}, "not_checked", "PreparingRebalance"),
        ({"members": RIGHT, "group_epoch": 5, "assignment_epoch": 4}, "not_checked", "has not assigned epoch 5"),
        (
            {"members": RIGHT, "group_protocol": "consumer", "assignor": "uniform", "metadata_hash": 0},
            "not_checked",
            "does not know the group's topics",
        ),
        (
            {
                "members": [{**each, "assigned_partitions": []} for each in RIGHT],
                "group_protocol": "consumer",
                "assignor": "uniform",
            },
            "alike",
            "2 members have not reached their target yet",
        ),
        (
            {"members": [member("a", 0), member("b", 1)], "group_protocol": "share", "assignor": "simple"},
            "not_checked",
            "initialized",
        ),
        (
            {
                "members": [{**member("a", 0, 1, 2, 3), "member_epoch": 1}, {**member("b", 2, 3), "member_epoch": 2}],
                "group_protocol": "share",
                "assignor": "simple",
                "group_epoch": 2,
                "assignment_epoch": 2,
            },
            "not_checked",
            "1 members do not have the assignment of epoch 2 yet",
        ),
    ],
)
def test_verdicts(app: LocalApp, group: Json, verdict: str, reason: str) -> None:
    """Each verdict has its reason."""
    (finding,) = check_groups(snapshot(**group), (), app.ask)
    assert finding.verdict == verdict
    assert reason in finding.reason
    assert (finding.differences_count > 0) == (verdict == "differs")


def test_measures(app: LocalApp) -> None:
    """Skew, lag and moves, with rates from the snapshot before."""
    now = snapshot(members=WRONG, committed_offsets=[{**owned(0, 3)[0], "offsets": [4, 30]}])
    before = snapshot(members=WRONG)
    before["topics"][0]["log_end_offsets"] = [10, 10, 10, 20]
    samples = measure(now, before, 10.0, Bounds(1, 1), app.ask)
    topic, group = "allocator_cluster_topic_skew_ratio", "allocator_cluster_group_skew_ratio"
    assert samples[topic, ("orders", "records")] == 50 * 4 / 80
    assert samples[topic, ("orders", "bytes")] == 500 * 4 / 800
    assert samples[topic, ("orders", "records_per_second")] == 4
    assert samples[topic, ("orders", "leaders")] == samples[topic, ("orders", "replicas")] == 1
    assert samples["allocator_cluster_broker_bytes", ("1",)] == 800
    assert samples["allocator_cluster_broker_used_ratio", ("2",)] == 0.25
    assert samples["allocator_cluster_group_lag", ("billing",)] == 6 + 30
    assert samples[group, ("billing", "lag")] == 2  # all of it is the first member's
    assert samples[group, ("billing", "partitions")] == 1
    assert samples["allocator_cluster_group_next_moves", ("billing",)] == 2
    assert samples["allocator_cluster_group_differs", ("billing",)] == 1
    measure_keys(now["topics"][0], [(b"hot", 1)] * 3 + [(b"cold", 2)], samples)
    assert samples["allocator_cluster_topic_hottest_key_ratio", ("orders",)] == 0.75
    assert samples["allocator_cluster_topic_key_skew_ratio", ("orders",)] == 3


def test_series_are_bounded(app: LocalApp) -> None:
    """What does not fit is counted, and every sample is one of the documented metrics."""
    samples = measure(snapshot(members=RIGHT), None, 0.0, Bounds(0, 0), app.ask)
    assert samples["allocator_cluster_dropped", ("topic",)] == samples["allocator_cluster_dropped", ("group",)] == 1
    assert not any("topic_" in name or "group_" in name for name, _ in samples)
    collector, registry = ClusterCollector(), CollectorRegistry()
    registry.register(collector)
    collector.succeed(samples, 1.0, 2.0)
    text = generate_latest(registry).decode()
    assert "allocator_cluster_up 1.0" in text
    assert {name for name, _ in samples} <= GAUGES.keys()
    collector.fail()
    assert "allocator_cluster_broker_bytes{" not in generate_latest(registry).decode()


def test_skew_of_nothing_is_one() -> None:
    """As everywhere in the service."""
    assert skew([]) == skew([0, 0]) == skew([None]) == 1.0
