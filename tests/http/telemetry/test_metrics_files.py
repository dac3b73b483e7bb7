"""Metrics of several worker processes: the folder that the environment names, and what a full one costs."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from service.core.partitioners import PARTITIONERS
from service.http.telemetry import metrics_files
from tests.support.serving import serving

pytestmark = pytest.mark.slow


def test_the_environment_names_the_folder(tmp_path):
    """As the chart's pods do."""
    folder = tmp_path / "metrics"
    with serving(forked=True, PROMETHEUS_MULTIPROC_DIR=str(folder)) as server:
        assert requests.get(f"{server.url}/v1/partitions?key=a&partitions_count=3", timeout=120).ok
        assert server.metric("partition_allocator_http_request_duration_seconds_count", route="/v1/partitions") == 1
        assert server.metric("partition_allocator_metrics_free_bytes") > 0
        assert list(folder.glob("histogram_*.db"))


def test_a_file_that_has_grown_is_mapped_once(tmp_path):
    """Each mapping has a descriptor."""
    with serving(forked=True, PROMETHEUS_MULTIPROC_DIR=str(tmp_path), ALLOCATOR_WORKERS="1") as server:

        def decide(topic: str, partitions_count: int) -> None:
            body = {"topic_name": topic, "partitions_count": partitions_count, "keys": ["a", "a"]}
            assert session.post(f"{server.url}/v1/partitions", json=body, timeout=120).ok

        session = requests.Session()
        topics = [f"{i}-" + "t" * 240 for i in range(400)]
        for topic in topics:
            decide(topic, 2)
        decide(topics[0], 3)
        assert server.metric("partition_allocator_subject_skew_ratio", subject=topics[0]) == 3
        (worker,) = server.workers()
        file = tmp_path / f"gauge_mostrecent_{worker}.db"
        assert file.stat().st_size > 2 * metrics_files.STEP_BYTES
        assert Path(f"/proc/{worker}/maps").read_text().count(str(file)) == 1


@pytest.fixture
def small_folder(tmp_path):
    """A tmpfs of 640 KiB: less than the files of a parent and two workers, more than those of a parent and one."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=640k", "none", folder], capture_output=True, check=False).returncode:
        pytest.skip("mounting a tmpfs takes root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_folder_costs_metrics_and_neither_requests_nor_workers(small_folder):
    with serving(forked=True, PROMETHEUS_MULTIPROC_DIR=str(small_folder), ALLOCATOR_WORKERS="2") as server:
        while len(workers := server.workers()) < 2:
            time.sleep(0.05)
        session = requests.Session()
        for i in range(2_000):
            body = {"topic_name": f"{i}-" + "t" * 240, "partitions_count": 2, "keys": ["a"]}
            assert session.post(f"{server.url}/v1/partitions", json=body, timeout=120).ok
            if i % 20 == 19:
                session.close()  # so that both workers answer, sooner or later
                if i > 200 and server.metric("partition_allocator_metrics_free_bytes") < 2**16:
                    break
        assert requests.get(f"{server.url}/healthz", timeout=120).ok
        assert server.metric("partition_allocator_metrics_free_bytes") < 2**16
        assert server.workers() == workers
    assert 1 <= server.output.count("metrics are not recorded") <= 2, "once per worker"
    assert "No space left on device" in server.output


def test_metrics_are_right_again_when_there_is_space(small_folder):
    """The values of the time without space included."""
    filler = small_folder / "filler"
    partitioners = [name for name in PARTITIONERS.names() if name.startswith(("java", "kafka", "sarama", "franz-go", "pulsar"))]
    name, labels = "partition_allocator_skew_ratio_count", {"strategy": partitioners[-1]}
    with serving(forked=True, PROMETHEUS_MULTIPROC_DIR=str(small_folder), ALLOCATOR_WORKERS="1") as server:

        def decide() -> None:
            for partitioner in partitioners:
                body = {"partitioner": partitioner, "partitions_count": 3, "keys": ["a", "b"]}
                assert requests.post(f"{server.url}/v1/partitions", json=body, timeout=120).ok

        with suppress(OSError):
            filler.write_bytes(bytes(2**20))
        decide()
        assert server.metric(name, **labels) is None
        filler.unlink()
        time.sleep(metrics_files.RETRY_SECONDS)
        decide()
        assert server.metric(name, **labels) == 2
