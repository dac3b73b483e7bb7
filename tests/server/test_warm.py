"""Once the service is warm, no request waits for a compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ASK_EVERYTHING = """
from service.app import create_app
from tests.contract.test_vectors import ENDPOINTS, files
from tests.support.golden import lines

client = create_app().test_client()
for name in files():
    path = "/v1/coordinators" if name.endswith("coordinators") else ENDPOINTS[name.partition("/")[0]]
    query = {"explain": "true"} if name.startswith("placement") else {}
    for case in lines(name):
        client.post(path, query_string=query, json=case["request"])
"""


def test_no_golden_request_compiles_anything_that_warming_has_not(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "service.server.warm"], env=environment, check=True)
    warmed = {path.name for path in tmp_path.rglob("*.nbc")}
    assert warmed
    subprocess.run([sys.executable, "-c", ASK_EVERYTHING], env=environment, check=True)
    assert {path.name for path in tmp_path.rglob("*.nbc")} == warmed
