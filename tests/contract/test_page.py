"""The reference page, in a real browser."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.programs import chromium

pytestmark = pytest.mark.slow

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --virtual-time-budget=20000 "
    # every name but the service's own resolves to nothing: a page that asks an outside host shows it
    "--host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'"
)


def test_the_reference_page_shows_every_operation_without_asking_another_host(server, tmp_path):
    command = f"{chromium()} {FLAGS} --user-data-dir={tmp_path} --dump-dom {server.url}/docs"
    page = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=120).stdout
    for path in ("/v1/partitions", "/v1/group-assignments", "/v1/replica-placements", "/v1/coordinators"):
        assert f'data-path="{path}"' in page
    assert "Failed to load" not in page
