"""Clusters that no test machine can run: large ones, and ones that lose a broker in the middle."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kafka.protocol.admin import DescribeGroupsRequest, DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest

from service.cli import main
from service.live.client import ClusterClient
from service.live.snapshot import SnapshotExtent, take_snapshot
from service.live.verification import check_groups
from tests.live.stub_cluster import VERSIONS, StubCluster, stub_cluster


@pytest.mark.slow
def test_time_and_memory(tmp_path: Path) -> None:
    """2,000 topics of 20 partitions and 200 groups of 10 members: in 12 s of one core, 330 MB and some 60 requests."""
    with stub_cluster(StubCluster(6, 2000, 20, 200, 10)) as cluster:
        command = [sys.executable, "-m", "service", "snapshot", "--bootstrap-server", cluster.bootstrap]
        process = subprocess.Popen([*command, "--out", str(tmp_path / "snapshot.json")])
        peak = 0
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            # Not ru_maxrss, which begins with the memory of the process that forked this one.
            high_water = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            peak = max(peak, int(high_water[1]) if high_water else 0)
            time.sleep(0.02)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        assert sum(cluster.requests.values()) < 120
    assert usage.ru_utime + usage.ru_stime < 12
    assert 100_000 < peak < 330_000  # KiB
    snapshot = json.loads((tmp_path / "snapshot.json").read_text())
    assert (len(snapshot["topics"]), len(snapshot["groups"])) == (2000, 200)
    assert {len(topic["log_end_offsets"]) for topic in snapshot["topics"]} == {20}
    assert [entry["field"] for entry in snapshot["not_known"]] == ["kafka_version", "groups[].generation_id"]


LOST = [
    (DescribeGroupsRequest, "groups[]", ["group-0002"]),
    (OffsetFetchRequest, "groups[].committed_offsets", ["group-0002"]),
    (DescribeLogDirsRequest, "brokers[].used_bytes", ["3"]),
    (ListOffsetsRequest, "topics[].log_end_offsets", None),
]
"""Requests, and what is not known of the snapshot if a broker hangs up on one: the field and the names."""


@pytest.mark.parametrize(("request_type", "field", "names"), LOST)
def test_broker_that_goes_away_in_the_middle(tmp_path: Path, request_type: type, field: str, names: list[str] | None) -> None:
    """What the others tell is there, and what this one would have told is in not_known."""
    (tmp_path / "client.properties").write_text("default.api.timeout.ms=300\n")
    with stub_cluster(StubCluster(hang_up_on=(request_type,))) as cluster:
        options = ("--bootstrap-server", cluster.bootstrap, "--command-config", str(tmp_path / "client.properties"))
        done = CliRunner().invoke(main, ["snapshot", *options])
    assert (done.exit_code, done.stderr) == (0, "")
    snapshot = json.loads(done.stdout)
    entries = [entry for entry in snapshot["not_known"] if entry["field"] == field]
    assert entries
    assert all("KafkaConnectionError" in entry["reason"] or "NodeNotReadyError" in entry["reason"] for entry in entries)
    assert names is None or entries[0]["names"] == names
    assert (len(snapshot["brokers"]), len(snapshot["topics"])) == (3, 10)


def test_broker_that_goes_away_is_not_in_a_log(tmp_path: Path) -> None:
    """The client's own messages are in not_known, whatever it was about to ask."""
    (tmp_path / "client.properties").write_text("default.api.timeout.ms=300\n")
    with stub_cluster(StubCluster(hang_up_on=tuple(request_type for request_type, *_ in LOST))) as cluster:
        command = [sys.executable, "-m", "service", "snapshot", "--bootstrap-server", cluster.bootstrap]
        done = subprocess.run([*command, "--command-config", tmp_path / "client.properties"], capture_output=True, check=True)
    assert {"brokers[].used_bytes", "groups"} <= {entry["field"] for entry in json.loads(done.stdout)["not_known"]}
    assert done.stderr == b""


@pytest.mark.parametrize(("settles_after", "first"), [(5, 5), (1_000, None)])
def test_topic_that_has_just_been_created(settles_after: int, first: int | None) -> None:
    """Its brokers do not lead it yet. What they do not lead after a while is in not_known."""
    with stub_cluster(StubCluster(settles_after=settles_after)) as cluster, ClusterClient(cluster.bootstrap, {}) as client:
        snapshot = take_snapshot(client, SnapshotExtent())
    assert [topic["log_end_offsets"] for topic in snapshot["topics"]] == [[first, 5, 5, 5]] * 10
    refused = {entry["field"] for entry in snapshot["not_known"] if entry["reason"] == "NOT_LEADER_FOR_PARTITION"}
    assert refused == (set() if first else {"topics[].log_start_offsets", "topics[].log_end_offsets"})


def test_groups_of_the_stub_are_alike() -> None:
    """Its range assignments are Java's, so that the other tests are about real answers."""
    with stub_cluster(StubCluster()) as cluster, ClusterClient(cluster.bootstrap, {}) as client:
        snapshot = take_snapshot(client, SnapshotExtent())
    assert [finding.verdict for finding in check_groups(snapshot, ())] == ["alike"] * 4


def test_cordoned_brokers() -> None:
    """A broker is cordoned if all its log directories that are online are; brokers before Kafka 4.3 do not tell."""

    class TwoDirectories(StubCluster):
        def _DescribeLogDirsRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802 - as the request
            response = super()._DescribeLogDirsRequest(broker_id, request)
            more = DescribeLogDirsResponse.DescribeLogDirsResult
            error, is_cordoned = {1: (0, True), 2: (0, False), 3: (56, False)}[broker_id]
            response.results.append(
                more(error_code=error, log_dir="/2", topics=[], total_bytes=1, usable_bytes=1, is_cordoned=is_cordoned)
            )
            return response

    with stub_cluster(TwoDirectories(cordoned=(1, 2, 3))) as cluster, ClusterClient(cluster.bootstrap, {}) as client:
        snapshot = take_snapshot(client, SnapshotExtent())
    assert [broker["cordoned"] for broker in snapshot["brokers"]] == [True, False, True]


def test_brokers_that_cannot_tell_whether_they_are_cordoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is in not_known, with the brokers."""
    monkeypatch.setitem(VERSIONS, DescribeLogDirsRequest, (DescribeLogDirsResponse, 4))
    with stub_cluster(StubCluster()) as cluster, ClusterClient(cluster.bootstrap, {}) as client:
        snapshot = take_snapshot(client, SnapshotExtent())
    assert not any("cordoned" in broker for broker in snapshot["brokers"])
    entry = {"field": "brokers[].cordoned", "names": ["1", "2", "3"], "reason": "Brokers before Kafka 4.3 do not report it."}
    assert entry in snapshot["not_known"]
