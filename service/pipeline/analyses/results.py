"""What the tasks of a scan give: what they computed, and the rows that they rejected, with the reason.

One scan gives both, as rows of ``SCHEMA``: one with ``partial`` for what a task computed, one with ``reason`` and ``record`` for
each row that it could not read. The first also has the number of rows that the task rejected, so that the driver looks for them
only if there are any.
"""

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, Self

import pyarrow as pa

from service.decisions.rows import readable

CODEC: Final = "lz4"

SCHEMA: Final = pa.schema([("partial", pa.binary()), ("rejected", pa.int64()), ("reason", pa.string()), ("record", pa.string())])

ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What ``mapInArrow`` calls once per task."""


class Scan(Protocol):
    """What a job does with each record. Executors get it pickled."""

    @property
    def columns(self) -> list[str]:
        """The columns that the batches must have."""

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of SCHEMA for a task's batches."""


class PartialResult(Protocol):
    """What one task computed, or several, merged."""

    def merge(self, other: Self) -> None:
        """Add the result of other records."""


def packed(result: PartialResult) -> bytes:
    """As bytes: tables of keys have mostly free slots, which compress to nothing."""
    data = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    compressed: bytes = pa.compress(data, CODEC, asbytes=True)
    return len(data).to_bytes(8, "big") + compressed


def merged(parts: Iterable[bytes]) -> Any:
    """The packed results as one; at least one."""
    results = map(_unpacked, parts)
    total = next(results)
    for result in results:
        total.merge(result)
    return total


def _unpacked(data: bytes) -> Any:
    return pickle.loads(pa.decompress(data[8:], int.from_bytes(data[:8], "big"), CODEC, asbytes=True))  # noqa: S301 - our own


def merged_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row of partial and rejected for all those of the batches."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    if rows:
        of_all = partial(merged(row["partial"] for row in rows), sum(row["rejected"] for row in rows))
        yield of_all.select(["partial", "rejected"])


def partial(result: PartialResult, rejected: int) -> pa.RecordBatch:
    """The row of what a task computed, and of how many rows it rejected."""
    nothing = pa.nulls(1, pa.string())
    count = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(rejected.to_bytes(8, sys.byteorder))])
    return pa.record_batch([one_binary(packed(result)), count, nothing, nothing], schema=SCHEMA)


def one_binary(value: bytes) -> pa.Array:
    """An array of one value. PyArrow's own way imports pandas, which takes a worker half a second."""
    ends = b"".join(end.to_bytes(4, sys.byteorder) for end in (0, len(value)))
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(value)])


def rejects(records: pa.Array, reason: str) -> pa.RecordBatch:
    """The rows of rejected records, each as text, which need not be UTF-8."""
    reasons = pa.repeat(pa.scalar(reason, pa.string()), len(records))
    nothing = (pa.nulls(len(records), pa.binary()), pa.nulls(len(records), pa.int64()))
    return pa.record_batch([*nothing, reasons, readable(records)], schema=SCHEMA)
