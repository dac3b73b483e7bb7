"""Windows of a stream: batches of records with their times in, the load of every partition in each window out.

Executors run ``WindowScan``; ``Windows`` holds the newest windows on the driver.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.measures import spread
from service.core.model import Int64s
from service.decisions.rows import columns
from service.pipeline.analyses.skew.scan import SkewResult, SkewScan

TYPES: Final = (
    "window_start long, partitioner string, partitions_count int, partition_id int, records long, bytes long, "
    "reason string, record string"
)
"""``window_start`` in seconds since 1970; a row with a ``reason`` is a rejected record. Partition -1: records without a key."""

SCHEMA: Final = pa.schema(columns(TYPES))

WITHOUT_KEY: Final = -1
KEPT: Final = 120
"""Newest windows that the driver keeps."""


@dataclass(frozen=True)
class WindowScan:
    """What ``skew --follow`` does with each record. time_column : the column of its timestamp"""

    scan: SkewScan
    time_column: str
    window_seconds: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of SCHEMA for a task's batches."""
        results: dict[int, SkewResult] = {}
        for batch in batches:
            times = batch.column(self.time_column).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy(zero_copy_only=False)
            windows = times // (1_000_000 * self.window_seconds) * self.window_seconds
            for window in np.unique(windows).tolist():
                result = results.setdefault(window, SkewResult.of_nothing(self.scan))
                for rejected in self.scan.add(result, batch.filter(pa.array(windows == window))):
                    n = rejected.num_rows
                    nothing = [pa.nulls(n, column.type) for column in SCHEMA][1:6]
                    of = [pa.repeat(window, n), *nothing, rejected.column("reason"), rejected.column("record")]
                    yield pa.record_batch(of, schema=SCHEMA)
        for window, result in results.items():
            yield _rows(window, result)


def _rows(window: int, result: SkewResult) -> pa.RecordBatch:
    counts = result.counts
    tables = []
    for name in counts.names:
        without = counts.without_key(name)
        for n in counts.partitions_counts:
            totals = counts.totals(name, n)
            ids = np.arange(WITHOUT_KEY, n, dtype=np.int32)
            records, sizes = (np.concatenate([[first], of]) for first, of in zip(without, totals[1:], strict=True))
            shown = (records > 0) | (ids == 0)
            rows = int(shown.sum())
            of_plan = [pa.repeat(window, rows), pa.repeat(name, rows), pa.repeat(pa.scalar(n, pa.int32()), rows)]
            counted = [pa.array(each[shown]) for each in (ids, records, sizes)]
            tables.append(pa.record_batch([*of_plan, *counted, *[pa.nulls(rows, pa.string())] * 2], schema=SCHEMA))
    return pa.Table.from_batches(tables).combine_chunks().to_batches()[0]


@dataclass
class Windows:
    """The newest windows: (window_start, partitioner, partitions_count) → batch → int64[partitions_count + 1] records.

    The first number counts the records without a key. A batch that Spark repeats after a restart replaces its first run.
    """

    of: dict[tuple[int, str, int], dict[int, Int64s]] = field(default_factory=dict)

    def plans(self) -> int:
        """The number of pairs of partitioner and partition count."""
        return len({key[1:] for key in self.of})

    def put(self, batch_id: int, table: pa.Table) -> None:
        """Put the rows of a batch, of SCHEMA's first five columns, in place of its earlier ones."""
        for batches in self.of.values():
            batches.pop(batch_id, None)
        for row in table.select(SCHEMA.names[:5]).to_pylist():
            key = (row["window_start"], row["partitioner"], row["partitions_count"])
            counts = self.of.setdefault(key, {}).setdefault(batch_id, np.zeros(row["partitions_count"] + 1, np.int64))
            counts[row["partition_id"] + 1] += row["records"]
        newest = sorted({window for window, _, _ in self.of})[-KEPT:]
        self.of = {key: batches for key, batches in self.of.items() if batches and key[0] >= newest[0]}

    def skews(self, windows: set[int] | None = None) -> pa.Table:
        """A row of SKEWS for each window (default: every one that is kept), partitioner and count."""
        rows = []
        for (window, name, n), batches in sorted(self.of.items()):
            if windows is None or window in windows:
                counts = np.sum([*batches.values()], axis=0)
                row = {"window_start": window, "partitioner": name, "partitions_count": n, "records": int(counts[1:].sum())}
                rows.append(row | {"records_without_key": int(counts[0]), "skew": spread(counts[1:]).skew})
        return pa.Table.from_pylist(rows, schema=SKEWS)


SKEWS: Final = pa.schema(
    columns("window_start long, partitioner string, partitions_count int, records long, records_without_key long, skew double")
)


def summed(table: pa.Table) -> pa.Table:
    """One row for each window, partitioner, count and partition, without the rejected records."""
    counted = table.filter(pc.is_null(table.column("reason")))
    return counted.group_by(SCHEMA.names[:4]).aggregate([("records", "sum"), ("bytes", "sum")]).rename_columns(SCHEMA.names[:6])
