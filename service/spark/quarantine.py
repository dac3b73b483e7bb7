"""Rows that cannot be read are set aside, with the reason, and counted: nothing is dropped silently.

A job's executors give ``RESULT`` rows: one with ``partial`` for what they computed, one with ``reason`` and ``record`` for each
row that they could not read. One scan gives both; ``divide`` takes them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from service.spark.sinks import Sink

RESULT: Final = "partial binary, reason string, record string"
"""The columns of what executors give, as Spark names their types."""

SCHEMA: Final = pa.schema([("partial", pa.binary()), ("reason", pa.string()), ("record", pa.string())])
"""The same for Arrow."""

TABLE: Final = "quarantine.parquet"


def partials(values: Sequence[bytes]) -> pa.RecordBatch:
    """The rows of what was computed."""
    nothing = pa.nulls(len(values), pa.string())
    return pa.record_batch([pa.array(values, pa.binary()), nothing, nothing], schema=SCHEMA)


def rejects(records: pa.Array, reason: str) -> pa.RecordBatch:
    """The rows of records, as text, that could not be read."""
    reasons = pa.repeat(pa.scalar(reason, pa.string()), len(records))
    return pa.record_batch([pa.nulls(len(records), pa.binary()), reasons, records.cast(pa.string())], schema=SCHEMA)


def divide(
    results: DataFrame,
    sink: Sink,
    merge: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None,
    groups: int = 1,
) -> tuple[list[bytes], dict[str, int]]:
    """The partial results, and how many rows were set aside for each reason; the rows themselves go into TABLE.

    results : of the columns RESULT; it is computed once
    merge : gives one partial result for those of its batches; executors do so in that many ``groups`` before the driver
        gets any, if there are more than one
    """
    results = results.persist()
    try:
        of_tasks = results.where("partial is not null").select("partial")
        if merge is not None and groups > 1:
            of_tasks = of_tasks.repartition(groups).mapInArrow(merge, "partial binary")
        computed = [bytes(row.partial) for row in of_tasks.collect()]
        rejected = results.where("partial is null").select("reason", "record")
        counts = {row["reason"]: int(row["count"]) for row in rejected.groupBy("reason").count().collect()}
        if counts:
            sink.frame(TABLE, rejected)
        else:
            sink.remove(TABLE)
        return computed, counts
    finally:
        results.unpersist()
