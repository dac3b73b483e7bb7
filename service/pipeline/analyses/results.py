"""What analyses read, what the tasks of a scan give, and what follows from it.

One scan gives rows of ``SCHEMA``: one with ``partial`` for what a task computed, one with ``reason`` and ``record`` for each row
that it could not read. The first also has the number of rows that the task rejected, so that the driver looks for them only if
there are any.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from service.decisions.rows import readable
from service.pipeline.files.rejected import REJECTED, UNREADABLE, RejectedRows, WrongTable

if TYPE_CHECKING:
    from service.report.pages import Report

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


def packed(result: Any) -> bytes:
    """A task's result as bytes: tables of keys have mostly free slots, which compress to nothing."""
    data = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    compressed: bytes = pa.compress(data, CODEC, asbytes=True)
    return len(data).to_bytes(8, "big") + compressed


def merged(parts: Iterable[bytes]) -> Any:
    """The packed results as one, by their method ``merge``; at least one."""
    total = None
    for part in parts:
        data = pa.decompress(part[8:], int.from_bytes(part[:8], "big"), CODEC, asbytes=True)
        result = pickle.loads(data)  # noqa: S301 - our own
        if total is None:
            total = result
        else:
            total.merge(result)
    return total


def merged_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row of partial and rejected for all those of the batches."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    if rows:
        of_all = partial(merged(row["partial"] for row in rows), sum(row["rejected"] for row in rows))
        yield of_all.select(["partial", "rejected"])


def partial(result: Any, rejected: int) -> pa.RecordBatch:
    """The row of what a task computed, and of how many rows it rejected."""
    data, nothing = packed(result), pa.nulls(1, pa.string())
    # PyArrow's own way to an array of one value imports pandas, which takes a worker half a second.
    ends = b"".join(end.to_bytes(4, sys.byteorder) for end in (0, len(data)))
    value = pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])
    count = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(rejected.to_bytes(8, sys.byteorder))])
    return pa.record_batch([value, count, nothing, nothing], schema=SCHEMA)


def rejects(records: pa.Array, reason: str) -> pa.RecordBatch:
    """The rows of rejected records, each as text, which need not be UTF-8."""
    reasons = pa.repeat(pa.scalar(reason, pa.string()), len(records))
    nothing = (pa.nulls(len(records), pa.binary()), pa.nulls(len(records), pa.int64()))
    return pa.record_batch([*nothing, reasons, readable(records)], schema=SCHEMA)


def without_corrupt(batch: pa.RecordBatch, name: str) -> tuple[pa.RecordBatch, list[pa.RecordBatch]]:
    """The rows without a text in the column ``name``, which could not be read as records, and the rejected ones."""
    corrupt = batch.column(name)
    if corrupt.null_count == len(corrupt):
        return batch, []
    return batch.filter(pc.is_null(corrupt)), [rejects(corrupt.drop_null(), UNREADABLE)]


class Records(Protocol):
    """Records that can be scanned: on Spark's executors, or in this process."""

    @property
    def name(self) -> str:
        """As the user names them."""

    @property
    def schema(self) -> pa.Schema:
        """The columns at least that the analysis needs."""

    @property
    def corrupt(self) -> str | None:
        """The column of the rows that could not be read as records; None where there is none."""

    def first(self) -> list[pa.RecordBatch]:
        """A few records; none where reading them would take long."""

    def scan(self, scan: Scan, what: str) -> tuple[Any, dict[str, int]]:
        """What ``scan`` computes of all records, and the number of rejected rows by reason. what : is being done, for people"""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an analysis, and of a job.

    summary : ``summary.json``: the results, and bodies of an endpoint of the service in a member named like the endpoint
    tables : by file name (``partitions.parquet``): an Arrow table; of a job also a Spark frame, or the location of one written
    report : ``report.html``
    headline : the key figures for the terminal, by name
    requests : by file name (``partition-count-plans.json``): the body of an endpoint of the service
    within_limits : False if a limit among the parameters is exceeded, or something that was asked is not done
    """

    summary: dict[str, Any]
    tables: Mapping[str, Any]
    report: Report
    headline: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    within_limits: bool = True


class LocalRecords:
    """The records that ``read`` gives, at least one batch at each call. It adds the rows that it cannot read to its argument.

    rejected : the rejected rows of the last scan
    strict : whether the first one ends a scan
    """

    def __init__(self, name: str, read: Callable[[RejectedRows], Iterator[pa.RecordBatch]], *, strict: bool = False) -> None:
        self.name = name
        self.corrupt = None
        self.strict = strict
        self._read = read
        self.rejected, self._first, self._others = self._begun()
        self.schema = self._first.schema
        self._fresh = True

    def _begun(self) -> tuple[RejectedRows, pa.RecordBatch, Iterator[pa.RecordBatch]]:
        rejected = RejectedRows(strict=self.strict, kept=True)
        batches = self._read(rejected)
        return rejected, next(batches), batches

    def first(self) -> list[pa.RecordBatch]:
        """The first batch. Only its first scan reads standard input, from there on."""
        return [self._first]

    def scan(self, scan: Scan, what: str) -> tuple[Any, dict[str, int]]:
        """What ``scan`` computes of all records, and the number of rejected rows by reason. Raises WrongTable."""
        if not self._fresh:
            self.rejected, self._first, self._others = self._begun()
        self._fresh = False
        partials: list[bytes] = []
        for rows in scan.of_batches(chain([self._first], self._others)):
            if not rows.column("partial").null_count:
                partials += rows.column("partial").to_pylist()
                continue
            try:
                self.rejected.add_all(rows.select(REJECTED.names))
            except ValueError as error:
                raise WrongTable(f"{self.name}: {error}") from None
        return merged(partials), dict(sorted(self.rejected.reasons.items()))
