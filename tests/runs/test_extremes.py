"""A short run of extreme values, and the named ones; ``python -m tests.runs.extremes`` is the long run."""

from __future__ import annotations

import pytest

from tests.runs.extremes import outcome, run, seeds, warm_app

PLAN = {"keys": ["a"], "partitions_counts": [12]}
STICKY = {"rule": "sticky", "partitions": [{"partition_id": 0, "leader_id": 1, "batch_records": 5e-324}]}
NAMED = [
    *(("/v1/partition-count-plans", {**PLAN, "current_partitions_count": n}) for n in (300_000_000, 500_000_000, 2**31 - 1)),
    ("/v1/partitioner-comparisons", {"keys": ["a"], "partitions_count": 12, "partitioners": ["librdkafka:random"]}),
    ("/v1/keyless-distributions", STICKY),
    ("/v1/keyless-distributions", {"partitions_count": 10_000_000}),
    ("/v1/keyless-distributions", {"partitions_count": 2, "producers": [{"rack_id": "\ud800"}]}),
    ("/v1/partitions", {"keys": ["a"], "partitions_count": 12, "topic_name": "\ud800"}),
    (
        "/v1/replica-placements",
        {"partitions_count": 1, "replication_factor": 1, "brokers": [{"broker_id": 0, "rack_id": "\ud800"}]},
    ),
]


def _group(group_protocol: str, assignor: str, partition_id: int) -> dict[str, object]:
    """Two members with different subscriptions that own a partition that does not exist."""
    owned = [{"topic_name": name, "partition_ids": [partition_id]} for name in ("t", "x")]
    return {
        "group_protocol": group_protocol,
        "assignor": assignor,
        "topics": [{"topic_name": name, "partitions_count": 2} for name in ("t", "u")],
        "members": [
            {"member_id": "a", "topic_names": ["t"], "owned_partitions": owned[:1]},
            {"member_id": "b", "topic_names": ["t", "u"], "owned_partitions": owned[1:]},
        ],
    }


ASSIGNORS = {
    "classic": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "consumer": ("range", "uniform"),
    "share": ("simple",),
}
GROUPS = [
    ("/v1/group-assignments", _group(protocol, assignor, partition_id))
    for protocol, assignors in ASSIGNORS.items()
    for assignor in assignors
    for partition_id in (300_000_000, 2**31 - 2, 2**31 - 1)
]


@pytest.fixture(scope="module")
def warmed():
    return warm_app(), seeds()


@pytest.mark.slow
def test_named_extremes_are_answered_or_refused(warmed):
    app, _ = warmed
    for path, body in (*NAMED, *GROUPS):
        case = outcome(app, path, body, explained=True)
        assert not case.fault, case
        assert case.status in (200, 413, 422), case


@pytest.mark.slow
def test_random_extremes_end_no_process_and_are_no_server_errors(warmed):
    assert [case for case in run(*warmed, 40, seed=20261122) if case.fault] == []
