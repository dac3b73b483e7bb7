"""Small bodies with large answers, several at once: no process dies, and health is answered meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest
import requests

from tests.support.serving import Server, serving

M = 1_000_000
OTHER_BYTES = (300 + 512) * 2**20
"""What a worker holds at the start and what is in transit: its share of a pod's memory, less this, is its budget."""

BUDGET = (2 * 2**30 - OTHER_BYTES) // 2
"""Half of what a worker of the chart's pod has for decisions; the requests are half of the largest that are allowed."""

POD_BYTES = 2 * (BUDGET + OTHER_BYTES)
"""The memory limit of a pod of two workers of that budget."""

BROKERS = [{"broker_id": broker} for broker in range(6)]
ONES = b"[" + b"1," * (15 * M // 4 - 1) + b"1]"
LONG_NAMES = {"topics": [{"topic_name": "t" * 249, "partitions_count": 250_000}], "members": [{"member_id": "m" * 1_000}]}
EXTREMES = {
    "keyless": ("/v1/keyless-distributions", {"partitions_count": 5 * M}, 4, {200, 503}, "application/json"),
    "placements": (
        "/v1/replica-placements",
        {"partitions_count": 5 * M, "replication_factor": 1, "brokers": BROKERS},
        2,
        {200, 413, 503},
        "application/json",
    ),
    "placements as Arrow": (
        "/v1/replica-placements",
        {"partitions_count": 5 * M, "replication_factor": 1, "brokers": BROKERS},
        4,
        {200, 503},
        "application/vnd.apache.arrow.stream",
    ),
    "plans": (
        "/v1/partition-count-plans",
        {"keys": ["a"], "partitions_counts": [12], "current_partitions_count": 500 * M, "topic_name": "t"},
        8,
        {413, 422},
        "application/json",
    ),
    "ones": ("/v1/group-assignments", b'{"topics": [], "members": %s}' % ONES, 8, {422, 503}, "application/json"),
    "names": ("/v1/group-assignments", LONG_NAMES, 4, {200, 413, 503}, "text/csv"),
}


@pytest.fixture(scope="module")
def server():
    with serving(forked=True, ALLOCATOR_WORKERS="2", ALLOCATOR_MAX_DECISION_BYTES=str(BUDGET)) as running:
        while len(running.workers()) < 2:
            time.sleep(0.1)
        yield running


def peak_bytes(pid: int) -> int:
    """The largest resident memory of a process so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


def seconds_of_health(server: Server) -> float:
    """What it takes to be told that the server is ready."""
    start = time.monotonic()
    assert requests.get(server.url + "/readyz", timeout=120).ok
    return time.monotonic() - start


def _post(server: Server, path: str, body: object, media_type: str) -> int:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Accept": media_type}
    with requests.post(server.url + path, data=data, headers=headers, timeout=120, stream=True) as response:
        for _ in response.iter_content(2**20):
            pass
        return response.status_code


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMES)
def test_small_bodies_with_large_answers_end_no_process(server, name):
    path, body, parallel, allowed, media_type = EXTREMES[name]
    workers = server.workers()
    waits, done = [], threading.Event()

    def health() -> None:
        while not done.is_set():
            waits.append(seconds_of_health(server))
            time.sleep(0.05)

    with ThreadPoolExecutor() as threads:
        watch = threads.submit(health)
        start = time.monotonic()
        statuses = Counter(threads.map(lambda _: _post(server, path, body, media_type), range(parallel)))
        taken = time.monotonic() - start
        done.set()
        watch.result()
    assert statuses.keys() <= allowed, statuses
    assert server.workers() == workers
    # Of these each worker has one at a time; without a budget the four together take 1.4 GiB.
    most = 1.15 * 2**30 if name == "keyless" else POD_BYTES
    assert sum(map(peak_bytes, workers)) < most, [peak_bytes(pid) for pid in workers]
    assert median(waits) < max(1, taken / 4), (statuses, taken, "health does not wait for them, however busy the machine is")


@pytest.mark.slow
def test_a_response_that_is_not_read_keeps_its_memory_reserved_until_it_is_dropped():
    budget = 60 * M
    settings = {"ALLOCATOR_WORKERS": "1", "ALLOCATOR_MAX_DECISION_BYTES": str(budget)}
    body = {"partitions_count": 500_000}  # 55 MB, of which the response is 21
    with serving(forked=True, **settings) as server, suppress(requests.ConnectionError):
        path = "/v1/keyless-distributions"
        unread = requests.post(server.url + path, json=body, timeout=120, stream=True)
        assert unread.status_code == 200
        start = time.monotonic()
        assert _post(server, path, body, "application/json") == 200  # the unread response has been dropped
        assert time.monotonic() - start > 3
        unread.close()


@pytest.mark.slow
def test_the_largest_placement_fits_in_a_worker_of_three_gibibytes_as_json():
    """Broker ids of 9 digits make the longest answer, 1.1 GB; it is in memory once."""
    brokers = [{"broker_id": 100_000_000 + i} for i in range(6)]
    body = {"partitions_count": 10 * M, "replication_factor": 1, "brokers": brokers}
    with serving(forked=True, ALLOCATOR_WORKERS="1", ALLOCATOR_MAX_DECISION_BYTES=str(3 * 2**30 - OTHER_BYTES)) as server:
        (worker,) = server.workers()
        before = peak_bytes(worker)
        assert _post(server, "/v1/replica-placements", body, "application/json") == 200
        assert peak_bytes(worker) - before < 130 * 10 * M  # the arrays, and the answer once
        assert server.workers() == [worker]
