"""Once the service is warm, no request waits for a compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import requests

from tests.support.serving import serving

LOAD_AND_ASK = """
import gc
import json
from service.app import create_app
from service.config import Settings
from service.server import warm
from tests.support.warm_requests import Kernels, candidates

gc.disable()  # it would go through the vectors again and again, a fifth of the time
warm.load_kernels_of_large_requests()
client, kernels, needless = warm.client_of(Settings()), Kernels(), []
for line in warm.REQUESTS.read_text().splitlines():
    before = kernels.count()
    warm.send(client, json.loads(line))
    if kernels.count() == before:
        needless.append(line[:200])
loaded = kernels.loaded()
assert len(loaded) > 100
client = create_app().test_client()
for request in candidates():
    warm.send(client, request)
print(json.dumps([needless, sorted(kernels.loaded() - loaded)]))
"""

KERNEL = """
from numba import njit

@njit(cache=True)
def kernel(x, y):
    return x
"""

COMPILE = """
import time
from itertools import product
import numpy as np
from kernels import kernel
from numba.core.caching import IndexDataCacheFile
from service.server.warm import compile_kernels

def load_slowly(cache, load=IndexDataCacheFile._load_index):
    index = load(cache)
    time.sleep(0.01)  # so that the other process also loads it before this one saves
    return index

IndexDataCacheFile._load_index = load_slowly
TYPES = (np.int32, np.int64, np.float64)

def call(first):
    for x, y in product(TYPES, TYPES[first::2]):
        kernel(x(0), y(0))

compile_kernels([lambda _: call(0), lambda _: call(1)])
call(0)
call(1)
print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_every_recorded_request_loads_a_kernel_and_no_request_of_any_family_one_more():
    """If not: ``make warm-requests``."""
    done = subprocess.run([sys.executable, "-c", LOAD_AND_ASK], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == [[], []], "needless requests, missing kernels"


def test_processes_that_compile_at_once_lose_nothing(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", ".")))}
    done = subprocess.run([sys.executable, "-c", COMPILE], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["9", "0"]


@pytest.mark.slow
def test_a_server_whose_kernels_are_not_compiled_answers_while_they_are(tmp_path):
    """And its end is theirs: otherwise the compilers would keep its output open."""
    with serving(
        until="/healthz", ALLOCATOR_WORKERS="1", ALLOCATOR_MAX_REQUEST_SECONDS="600", NUMBA_CACHE_DIR=str(tmp_path)
    ) as server:
        query = {"key": "order-1", "partitions_count": 6}
        assert requests.get(f"{server.url}/v1/partitions", params=query, timeout=300).json()["partitions"] == [4]
        response = requests.get(f"{server.url}/readyz", timeout=120)
        assert (response.status_code, response.json()["type"]) == (503, "urn:partition-allocator:problem:not-ready")
    assert "Kernels are being compiled" in server.output
    assert server.process.returncode == 0
