"""Rows that cannot be read are set aside, with the reason, and counted: nothing is dropped silently.

A job's executors give ``RESULT`` rows: one with ``partial`` for what they computed, one with ``reason`` and ``record`` for each
row that they could not read. One scan gives both; ``divide`` takes them apart. The row of a task says as well how many rows the
task set aside, so that nobody has to look for them where there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    from service.spark.io.sinks import Sink

RESULT: Final = "partial binary, rejected long, reason string, record string"
"""The columns of what executors give, as Spark names their types."""

SCHEMA: Final = pa.schema([("partial", pa.binary()), ("rejected", pa.int64()), ("reason", pa.string()), ("record", pa.string())])
"""The same for Arrow."""

TABLE: Final = "quarantine.parquet"


def partial(value: bytes, rejected: int) -> pa.RecordBatch:
    """The row of what a task computed, and of how many rows it set aside."""
    nothing = pa.nulls(1, pa.string())
    return pa.record_batch([pa.array([value], pa.binary()), pa.array([rejected], pa.int64()), nothing, nothing], schema=SCHEMA)


def rejects(records: pa.Array, reason: str) -> pa.RecordBatch:
    """The rows of records, as text, that could not be read."""
    reasons = pa.repeat(pa.scalar(reason, pa.string()), len(records))
    nothing = (pa.nulls(len(records), pa.binary()), pa.nulls(len(records), pa.int64()))
    return pa.record_batch([*nothing, reasons, records.cast(pa.string())], schema=SCHEMA)


def divide(
    results: DataFrame, sink: Sink, merge: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], groups: int
) -> tuple[list[bytes], dict[str, int]]:
    """The partial results, and how many rows were set aside for each reason; the rows themselves go into TABLE.

    results : of the columns RESULT; it is computed once
    merge : gives one partial result for those of its batches
    groups : if more than one, executors merge the partial results to so many before the driver gets any
    """
    results = results.persist()
    try:
        of_tasks = results.where("partial is not null").select("partial", "rejected")
        if groups > 1:
            of_groups = of_tasks.select("partial").repartition(groups).mapInArrow(merge, "partial binary")
            computed = of_groups.toArrow().column("partial").to_pylist()
            aside = True
        else:
            table = of_tasks.toArrow()
            computed, aside = table.column("partial").to_pylist(), any(table.column("rejected").to_pylist())
        if not aside:
            sink.remove(TABLE)
            return computed, {}
        rejected = results.where("partial is null").select("reason", "record")
        counts = {row["reason"]: int(row["count"]) for row in rejected.groupBy("reason").count().collect()}
        if counts:
            sink.frame(TABLE, rejected)
        else:
            sink.remove(TABLE)
        return computed, counts
    finally:
        results.unpersist()
