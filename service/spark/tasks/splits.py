"""Plain files without Spark in between: executors read them with PyArrow, and only the splits pass through Spark.

A split is a byte range of a file. The range alone says which records belong to it, in each format by another rule, so files are
divided by their sizes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from service.core.printable import printable

if TYPE_CHECKING:
    from service.analyses.results import Scan

BATCH_ROWS: Final = 65_536

ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What ``mapInArrow`` calls once per task."""


class UnreadableFile(ValueError):
    """A file that is not of its format, is damaged, or lacks a column. str() has its location and the fault, on one line."""

    @classmethod
    def because(cls, error: Exception, location: str, file_format: str) -> UnreadableFile:
        """The one for what PyArrow or the system says."""
        fault = printable(" ".join(str(error).split()))
        return cls(f"{location} cannot be read as {file_format}: {fault}")


@dataclass(frozen=True)
class Split:
    """The bytes ``[start, end)`` of the file ``location``."""

    location: str
    start: int
    end: int


@dataclass(frozen=True)
class PlainFiles(ABC):
    """Files of one format that tasks can read themselves. sizes : in bytes, of each location; at least one"""

    sizes: Sequence[tuple[str, int]]

    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns, as ``batches_of`` gives them. Raises UnreadableFile."""

    @abstractmethod
    def batches_of(self, of: Sequence[Split], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records of splits: these columns, in this order. Raises UnreadableFile, also for a file that lacks one of them."""

    @abstractmethod
    def few_rows_of(self, of: Sequence[Split], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Like ``batches_of``, with at most ``rows`` in a batch; a split has as large a part of the rows as of the bytes."""

    @abstractmethod
    def having(self, columns: Sequence[str], column: str, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records with one of these texts in ``column``. Raises UnreadableFile."""

    def splits(self, tasks: int) -> list[list[Split]]:
        """The files' bytes, one file after another, as at most ``tasks`` lists of splits of equal total size, none empty.

        A job is as slow as the core that reads most.
        """
        share = -(-sum(size for _, size in self.sizes) // tasks)
        lists: dict[int, list[Split]] = {}
        before = 0
        for location, size in self.sizes:
            start = 0
            while start < size:
                number = (before + start) // share
                end = min(size, (number + 1) * share - before)
                lists.setdefault(number, []).append(Split(location, start, end))
                start = end
            before += size
        return list(lists.values())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records of all files, one after another. Raises UnreadableFile."""
        return self.batches_of([Split(location, 0, size) for location, size in self.sizes], columns)


@dataclass(frozen=True)
class SplitReader:
    """What the tasks of a scan run that read their splits themselves.

    tasks : the splits of each task
    """

    scan: Scan
    files: PlainFiles
    tasks: Sequence[Sequence[Split]]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Scan the splits of the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.scan.of_batches(self.files.batches_of(self.tasks[number], self.scan.columns))


@dataclass(frozen=True)
class RowReader:
    """What the tasks of a map run that read their rows themselves. rows : in a batch; tasks : the splits of each task"""

    function: ArrowFunction
    files: PlainFiles
    columns: Sequence[str]
    rows: int
    tasks: Sequence[Sequence[Split]]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Map the rows of the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.function(self.files.few_rows_of(self.tasks[number], self.columns, self.rows))
