"""docs/reference.md is the one list of metrics: those of the service, of ``watch`` and of the pipeline's ``skew --follow``."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from service.http.telemetry.metrics import Metrics
from service.http.telemetry.metrics_files import FreeSpace
from service.live.cluster_metrics import GAUGES, ClusterCollector
from service.pipeline.spark.skew import follow
from tests.support.golden import PROJECT

LISTED = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*?) \|$", (PROJECT / "docs" / "reference.md").read_text(), re.MULTILINE)


def of_registry(registry: CollectorRegistry) -> list[tuple[str, str, str, str]]:
    """Name, type, labels and help of each of our metrics."""
    rows = []
    for collector in registry._collector_to_names:
        name = getattr(collector, "_name", "")
        if name.startswith("partition_allocator_"):
            name += "_total" * (collector._type == "counter")
            rows.append((name, collector._type, labels(collector._labelnames), collector._documentation))
    return rows


def labels(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def metrics() -> list[tuple[str, str, str, str]]:
    """Those of all three homes."""
    cluster = ClusterCollector()
    cluster.taken_at = 1.0
    families = [family for family in (*cluster.collect(), *FreeSpace(Path("/")).collect()) if family.name not in GAUGES]
    rows = [(f.name + "_total" * (f.type == "counter"), f.type, "", f.documentation) for f in families]
    rows += [(name, "gauge", labels(names), text) for name, (text, names) in GAUGES.items()]
    return of_registry(Metrics(10).registry) + rows + of_registry(follow.TopicMetrics("orders").registry)


def test_the_list_has_every_metric_with_its_labels_and_its_help():
    assert sorted(LISTED) == sorted(metrics())
