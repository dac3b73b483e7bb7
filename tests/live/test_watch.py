"""``watch`` beside a real broker that goes away and comes back; test_large_clusters.py has all metrics, of a stub."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.live.clients import ASSIGNORS, eventually, members_of, metrics_at
from tests.support.broker import running_broker
from tests.support.serving import free_port

pytestmark = pytest.mark.slow

LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},WATCHED://127.0.0.1:{watched}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},WATCHED://127.0.0.1:{watched}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,WATCHED:PLAINTEXT
"""


def test_a_broker_away_and_back() -> None:
    """Its groups and topics are there, then nothing of them is, then those of the new one are."""
    watched, port = free_port(), free_port()
    command = [sys.executable, "-m", "service", "watch", "--bootstrap-server", f"127.0.0.1:{watched}", "--interval", "1"]
    with subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.PIPE, text=True) as process:
        try:
            with running_broker(LISTENERS.format(watched=watched)) as broker:
                topic = broker.topic(3)
                broker.produce(topic, [("hot", "")] * 30)
                skew = f'allocator_cluster_topic_skew_ratio{{measure="records",topic="{topic}"}}'
                with members_of(broker) as members:
                    config = {"group_protocol": "classic", "partition_assignment_strategy": f"{ASSIGNORS}.RangeAssignor"}
                    members.java("billing", [topic], auto_offset_reset="earliest", **config)
                    differs = 'allocator_cluster_group_differs{group="billing"}'
                    values = eventually(lambda: metrics_at(port), lambda values: values.get(differs) == 0)
                assert values["allocator_cluster_up"] == 1
                assert values[skew] == 3
                assert values['allocator_cluster_broker_leaders{broker="1"}'] >= 3
                assert values['allocator_cluster_group_next_moves{group="billing"}'] == 0
            gone = eventually(lambda: metrics_at(port), lambda values: values["allocator_cluster_up"] == 0)
            assert not any("{" in name for name in gone)
            assert gone["allocator_cluster_snapshot_failures_total"] >= 1
            with running_broker(LISTENERS.format(watched=watched)) as broker:
                assert broker.topic(3) == topic
                back = eventually(lambda: metrics_at(port), lambda values: skew in values)
                assert back[skew] == back["allocator_cluster_up"] == 1
        finally:
            process.terminate()
        assert process.stderr is not None
        events = [json.loads(line)["event"] for line in process.stderr.read().splitlines()]
    assert process.returncode == 0
    assert events.index("no snapshot") < len(events) - 1
    assert events[-1] == "stopped"
