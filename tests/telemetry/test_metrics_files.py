"""Metrics of several worker processes: the folder that the environment names, and what a full one costs."""

from __future__ import annotations

import pytest
import requests

from tests.support.serving import serving

pytestmark = pytest.mark.slow


def test_the_environment_names_the_folder(tmp_path):
    """As the chart's pods do."""
    folder = tmp_path / "metrics"
    with serving(PROMETHEUS_MULTIPROC_DIR=str(folder)) as server:
        assert requests.get(f"{server.url}/v1/partitions?key=a&partitions_count=3", timeout=10).ok
        assert server.metric("allocator_http_request_duration_seconds_count", route="/v1/partitions") == 1
        assert server.metric("allocator_metrics_free_bytes") > 0
        assert list(folder.glob("histogram_*.db"))
