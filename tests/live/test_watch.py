"""``watch`` of a cluster that is not there, comes, goes, and is another one when it is back."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JError

from service.live.client import ClusterClient
from service.live.snapshot import SnapshotExtent, take_snapshot
from tests.live.clients import ASSIGNORS, eventually, members_of, metrics_at
from tests.live.stub_cluster import StubCluster, stub_cluster
from tests.support.broker import running_broker
from tests.support.serving import free_port

if TYPE_CHECKING:
    from tests.support.broker import Broker

pytestmark = pytest.mark.slow

LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},WATCHED://127.0.0.1:{watched}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},WATCHED://127.0.0.1:{watched}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,WATCHED:PLAINTEXT
"""


def test_clusters_come_and_go() -> None:
    """Groups and topics of a real broker are there, then nothing of them is, then those of a cluster with more of them are."""
    watched, port = free_port(), free_port()
    command = [sys.executable, "-m", "service", "watch", "--bootstrap-server", f"127.0.0.1:{watched}", "--interval", "1s"]
    options = ["--port", str(port), "--max-topics", "3", "--max-groups", "2"]

    def metrics() -> dict[str, float]:
        return metrics_at(port)

    def is_gone(values: dict[str, float]) -> bool:
        return values.get("partition_allocator_cluster_up") == 0

    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        try:
            eventually(metrics, is_gone)
            with running_broker(LISTENERS.format(watched=watched)) as broker:
                topic = broker.topic(3)
                broker.produce(topic, [("hot", "")] * 30)
                with members_of(broker) as members:
                    config = {"group_protocol": "classic", "partition_assignment_strategy": f"{ASSIGNORS}.RangeAssignor"}
                    members.java("billing", [topic], auto_offset_reset="earliest", **config)
                    differs = 'partition_allocator_cluster_group_differs{group="billing"}'
                    values = eventually(metrics, lambda values: values.get(differs) == 0)
                assert values["partition_allocator_cluster_up"] == 1
                assert values[f'partition_allocator_cluster_topic_skew_ratio{{measure="records",topic="{topic}"}}'] == 3
                assert values['partition_allocator_cluster_broker_leaders{broker="1"}'] >= 3
                assert values['partition_allocator_cluster_group_next_moves{group="billing"}'] == 0
                _goes_away_within_a_snapshot(broker)
            gone = eventually(metrics, is_gone)
            assert not any("{" in name for name in gone)
            failures = gone["partition_allocator_cluster_snapshot_failures_total"]
            assert failures >= 1
            with stub_cluster(StubCluster(first_port=watched)):
                values = eventually(metrics, lambda values: values.get("partition_allocator_cluster_up") == 1)
            assert values['partition_allocator_cluster_broker_replicas{broker="1"}'] == 40
            assert values['partition_allocator_cluster_topic_skew_ratio{measure="records",topic="topic-00000"}'] == 1
            assert values['partition_allocator_cluster_group_lag{group="group-0000"}'] == 10 * 4 * 2
            assert values['partition_allocator_cluster_group_next_moves{group="group-0000"}'] == 0
            assert values['partition_allocator_cluster_group_differs{group="group-0000"}'] == 0
            assert values['partition_allocator_cluster_dropped{kind="topic"}'] == 7
            assert values['partition_allocator_cluster_dropped{kind="group"}'] == 2
            for name in ("group-0002", "topic-00003", "billing", topic):
                assert not any(f'"{name}"' in sample for sample in values)
            gone = eventually(metrics, is_gone)
            assert not any("topic-00000" in name for name in gone)
            assert gone["partition_allocator_cluster_snapshot_failures_total"] > failures
        finally:
            process.terminate()
        assert process.stderr is not None
        events = [json.loads(line)["event"] for line in process.stderr.read().splitlines()]
    assert process.returncode == 0
    assert {"watching", "no snapshot", "snapshot", "stopped"} <= set(events)
    assert events[-1] == "stopped"


def _goes_away_within_a_snapshot(broker: Broker) -> None:
    """Kill it between the two looks of a snapshot: what the first has shown is there."""
    with ClusterClient(broker.bootstrap, {"default_api_timeout_ms": 300}) as client, pytest.MonkeyPatch.context() as patch:
        topic = broker.topic(2)

        def kill(_: float) -> None:
            with pytest.raises(Py4JError):  # the JVM is gone before it can answer
                broker.java.java.lang.Runtime.getRuntime().halt(1)

        patch.setattr(client, "pause", kill)
        snapshot = take_snapshot(client, SnapshotExtent(interval_seconds=1))
    (described,) = (described for described in snapshot["topics"] if described["topic_name"] == topic)
    assert described["records_per_second"] == [None, None]
    assert "log_end_offsets" not in described
    assert {"topics[].log_end_offsets", "brokers[].used_bytes", "groups"} <= {entry["field"] for entry in snapshot["not_known"]}
