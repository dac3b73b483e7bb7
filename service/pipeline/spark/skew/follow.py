"""``skew --follow``: the skew of a live topic, window by window, as Parquet and as Prometheus metrics of the driver.

Micro-batch N replaces ``windows.parquet/batch=N``. After a crash Spark repeats the batch that was not committed, with the same
records and the same N, so every record is counted exactly once.
"""

import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
from pyspark.sql import DataFrame

from service.pipeline.analyses.skew.scan import SkewScan, check_partitioners
from service.pipeline.files.key_columns import check_format
from service.pipeline.spark.cluster.session import is_connect
from service.pipeline.spark.errors import PipelineError
from service.pipeline.spark.io import reading
from service.pipeline.spark.io.columns import column
from service.pipeline.spark.io.sinks import Pipeline
from service.pipeline.spark.io.sources import Source, require_names
from service.pipeline.spark.tasks.windows import TYPES, Windows, WindowScan, summed
from service.report.folders import REJECTED_ROWS

WINDOWS, SKEWS, CHECKPOINT = "windows.parquet", "skew.parquet", "checkpoint"
KEPT_BATCHES = 1000
"""Newest batches that are read back at a start."""

MAX_KEYS = 1024
"""The smallest number of keys: nothing here depends on distinct keys."""


class TopicMetrics:
    """The driver's Prometheus metrics of one topic."""

    def __init__(self, topic: str) -> None:
        self.registry = CollectorRegistry()
        self._topic = topic

        def metric(kind: type[Any], name: str, what: str, *labels: str) -> Any:
            return kind(f"partition_allocator_topic_{name}", what, ("topic", *labels), registry=self.registry)

        since = "since this process started"
        self._skew = metric(Gauge, "skew_ratio", "Skew of the newest window", "partitioner", "partitions_count")
        self._window = metric(Gauge, "window_start_seconds", "Start of the newest window")
        self._records = metric(Gauge, "window_records", "Records in the newest window")
        self._seconds = metric(Gauge, "batch_duration_seconds", "Duration of the last micro-batch")
        self._total = metric(Counter, "records", f"Records counted {since}")
        self._rejected = metric(Counter, "rejected_records", f"Records rejected {since}")

    def show(self, windows: Windows) -> None:
        """Show the newest window."""
        rows = windows.skews().to_pylist()
        newest = [row for row in rows if row["window_start"] == rows[-1]["window_start"]]
        for row in newest:
            self._skew.labels(self._topic, row["partitioner"], row["partitions_count"]).set(row["skew"])
        if newest:
            self._window.labels(self._topic).set(newest[0]["window_start"])
            self._records.labels(self._topic).set(newest[0]["records"] + newest[0]["records_without_key"])

    def count(self, records: int, rejected: int, seconds: float) -> None:
        """Count a batch."""
        self._total.labels(self._topic).inc(records)
        self._rejected.labels(self._topic).inc(rejected)
        self._seconds.labels(self._topic).set(seconds)


def follow(pipeline: Pipeline, source: Source, *, window_seconds: int, metrics_port: int, **options: Any) -> None:
    """Follow the topic until the process is stopped. Raises PipelineError."""
    if is_connect(pipeline.spark):
        raise PipelineError("--follow does not run on Spark Connect: its metrics are those of the driver.")
    stream = reading.follow(pipeline.spark, source)
    key_columns = options["key_columns"] or ("key",)
    sizes = options["size_columns"] or ("key", "value")
    require_names(stream.columns, (*key_columns, *sizes), source)
    key_format = check_format(pa.binary() if len(key_columns) == 1 else pa.string(), options["key_format"])
    scan = SkewScan(
        key_columns=tuple(key_columns),
        key_format=key_format,
        partitioners=check_partitioners(options["partitioners"], key_format),
        partitions_counts=options["partitions_counts"],
        separator=options["key_separator"],
        size_columns=tuple(sizes),
        max_keys=MAX_KEYS,
    )
    records = stream.select(*map(column, scan.columns), "timestamp")
    counted = records.mapInArrow(WindowScan(scan, "timestamp", window_seconds), TYPES)
    windows, metrics = Windows(), TopicMetrics(source.location)
    _restore(pipeline, windows)
    metrics.show(windows)
    server, _ = start_http_server(metrics_port, registry=metrics.registry)
    query = (
        counted.writeStream.option("checkpointLocation", pipeline.sink.at(CHECKPOINT))
        .foreachBatch(lambda frame, batch_id: _write(pipeline, windows, metrics, frame, batch_id))
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
        server.shutdown()


def _write(pipeline: Pipeline, windows: Windows, metrics: TopicMetrics, frame: DataFrame, batch_id: int) -> None:
    """Write a micro-batch; idempotent."""
    start = time.monotonic()
    table = frame.toArrow()
    rows = summed(table)
    pipeline.sink.table(f"{WINDOWS}/batch={batch_id}/part.parquet", rows)
    rejected = table.filter(pa.compute.is_valid(table.column("reason")))
    if rejected.num_rows:
        rejected = rejected.select(["window_start", "reason", "record"])
        pipeline.sink.table(f"{REJECTED_ROWS}/batch={batch_id}/part.parquet", rejected)
    windows.put(batch_id, rows)
    pipeline.sink.table(f"{SKEWS}/batch={batch_id}/part.parquet", windows.skews(set(rows.column("window_start").to_pylist())))
    metrics.show(windows)
    records = (pa.compute.sum(rows.column("records")).as_py() or 0) // max(windows.plans(), 1)
    metrics.count(records, rejected.num_rows, time.monotonic() - start)


def _restore(pipeline: Pipeline, windows: Windows) -> None:
    """Read back the newest windows that earlier runs wrote."""
    if pipeline.sink.folder is not None:
        found = (pipeline.sink.folder / WINDOWS).glob("batch=*/part.parquet")
        written = sorted((int(path.parent.name.removeprefix("batch=")), path) for path in found)
        for batch_id, path in written[-KEPT_BATCHES:]:
            windows.put(batch_id, pa.parquet.ParquetFile(path).read())
