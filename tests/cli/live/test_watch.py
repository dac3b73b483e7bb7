"""What ``watch`` serves: samples of a snapshot."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from kafka.protocol.admin import DescribeLogDirsRequest
from prometheus_client import CollectorRegistry, generate_latest

from service.cli.live.watch import _Watcher
from service.decisions.member_counts.answer import Need
from service.live.cluster_metrics import Bounds, ClusterCollector, measure
from service.live.snapshot import SnapshotExtent
from tests.live.stub_cluster import StubCluster, stub_cluster

if TYPE_CHECKING:
    from pathlib import Path

OWNED = [{"topic_name": "t", "partition_ids": [0, 1]}]
MEMBER = {"member_id": "a", "topic_names": ["t"], "owned_partitions": OWNED}


def snapshot_of(**group: Any) -> dict[str, Any]:
    """Two partitions of three brokers, one of which leads nothing; one group."""
    placements = [
        {"partition_id": 0, "leader": 1, "replicas": [1, 2], "in_sync_replicas": [1, 2]},
        {"partition_id": 1, "leader": None, "replicas": [2, 3], "in_sync_replicas": [2]},
    ]
    topic = {"topic_name": "t", "partitions_count": 2, "placements": placements, "log_end_offsets": [10, 20]}
    offsets = [{"topic_name": "t", "partition_ids": [0, 1], "offsets": [7, 20]}]
    whole = {"group_id": "g", "group_protocol": "classic", "assignor": "range", "committed_offsets": offsets, **group}
    return {"brokers": [{"broker_id": i} for i in (1, 2, 3)], "topics": [topic], "groups": [whole], "not_known": []}


def samples_of(**group: Any) -> dict[tuple[str, tuple[str, ...]], float]:
    """Without the common beginning of their names."""
    samples = measure(snapshot_of(**group), None, 0, Bounds(10, 10, 10))
    return {(name.removeprefix("partition_allocator_cluster_"), labels): value for (name, labels), value in samples.items()}


def test_a_group_without_members_keeps_its_lag() -> None:
    """When the last consumer dies, an alert on lag must not end."""
    with_member = samples_of(group_state="Stable", members=[MEMBER])
    without = samples_of(group_state="Empty", members=[])
    assert with_member["group_lag", ("g",)] == without["group_lag", ("g",)] == 3
    assert (with_member["group_members", ("g",)], without["group_members", ("g",)]) == (1, 0)
    assert not [name for name, _ in without if name in ("group_skew_ratio", "group_differs", "group_next_moves")]


def test_how_many_members_a_group_needs() -> None:
    """Without a rate the fewest that have no more partitions each than now; with one, those that work off the lag in time."""
    idle = [{"member_id": name, "topic_names": ["t"], "owned_partitions": []} for name in "bc"]
    name = "partition_allocator_cluster_group_recommended_members", ("g",)
    stable = snapshot_of(group_state="Stable", members=[MEMBER, *idle])
    assert measure(stable, None, 0, Bounds(1, 1, 1))[name] == 1
    lagging = [{"topic_name": "t", "partition_ids": [0, 1], "offsets": [0, 10]}]
    behind = snapshot_of(group_state="Stable", members=[MEMBER], committed_offsets=lagging)
    assert measure(behind, None, 0, Bounds(1, 1, 1), Need(1.0, 20.0))[name] == 1
    assert measure(behind, None, 0, Bounds(1, 1, 1), Need(1.0, 10.0))[name] == 2
    assert name not in measure(behind, None, 0, Bounds(1, 1, 1), Need(1.0, 9.0))
    unknown = snapshot_of(group_state="Stable", members=[MEMBER], committed_offsets=[])
    assert name not in measure(unknown, None, 0, Bounds(1, 1, 1), Need(1.0, 9.0))


def test_a_group_that_rebalances_is_not_empty() -> None:
    """Its members are not known, so there is no number of them."""
    samples = samples_of(group_state="PreparingRebalance")
    assert ("group_members", ("g",)) not in samples
    assert samples["group_lag", ("g",)] == 3


def test_partitions_that_are_offline_or_not_replicated() -> None:
    """They are counted over all topics, and replicas that are not in sync by broker."""
    samples = samples_of(members=[])
    assert samples["offline_partitions", ()] == samples["under_replicated_partitions", ()] == 1
    assert [samples["broker_out_of_sync_replicas", (str(i),)] for i in (1, 2, 3)] == [0, 0, 1]


def test_before_the_first_snapshot() -> None:
    """The cluster is not up, which is a sample and not a gap."""
    registry = CollectorRegistry()
    registry.register(ClusterCollector())
    assert "\npartition_allocator_cluster_up 0.0\n" in generate_latest(registry).decode()


def test_a_bootstrap_server_that_is_gone(tmp_path: Path) -> None:
    """The brokers of the last snapshot take its place."""
    (tmp_path / "client.properties").write_text("default.api.timeout.ms=200\n")
    with stub_cluster(StubCluster(brokers_count=2, hang_up_on=(DescribeLogDirsRequest,))) as cluster:
        bootstrap = f"127.0.0.1:{cluster.ports[-1]}"
        watcher = _Watcher((bootstrap, tmp_path / "client.properties", 30.0), SnapshotExtent(), Bounds(10, 10, 10), 0)
        watcher.look()
        assert watcher.collector.up  # although the broker has closed its socket meanwhile
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", cluster.ports[-1]))
        watcher.look()
        assert watcher.collector.up
        assert watcher.collector.failures == 0


def test_an_interrupt_that_the_client_keeps_ends_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coroutine of the Kafka client takes it for its own result, so that it does not reach the loop."""
    watcher = _Watcher(("127.0.0.1:1", None, 1.0), SnapshotExtent(), Bounds(1, 1, 1), 0)

    def look() -> None:
        with suppress(KeyboardInterrupt):
            watcher.stop()

    monkeypatch.setattr(watcher, "look", look)
    watcher.run(86_400)
