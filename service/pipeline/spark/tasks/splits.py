"""Tasks that read their splits of plain Parquet themselves, or make keys. They get their numbers from Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from service.pipeline.analyses.results import ArrowFunction, Scan
    from service.pipeline.spark.tasks.made_keys import MadeKeys
    from service.pipeline.spark.tasks.parquet_files import ParquetFiles, Split


class ByTask:
    """How Spark adds up what each task counts, by its number: once, however often it is run."""

    def zero(self, _: dict[int, int]) -> dict[int, int]:
        """Of no task."""
        return {}

    def addInPlace(self, counts: dict[int, int], more: dict[int, int]) -> dict[int, int]:  # noqa: N802 - Spark's name
        """Those of further tasks."""
        counts |= more
        return counts


@dataclass(frozen=True)
class SplitReader:
    """What the tasks of a scan run.

    tasks : the splits of each task
    count : is told how many records a task has read, by its number; None: nobody asks
    """

    scan: Scan
    files: ParquetFiles | MadeKeys
    tasks: Sequence[Sequence[Any]]
    count: Callable[[dict[int, int]], None] | None = None

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Scan the splits of the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self._rows(number)

    def partial(self, number: int) -> bytes | None:
        """What the task of this number computes; None as soon as it rejects a row."""
        first: bytes | None = next(self._rows(number)).column("partial")[0].as_py()
        return first

    def _rows(self, number: int) -> Iterator[pa.RecordBatch]:
        return self.scan.of_batches(self._batches(number))

    def _batches(self, number: int) -> Iterator[pa.RecordBatch]:
        read = 0
        for batch in self.files.batches_of(self.tasks[number], self.scan.columns):
            yield batch
            read += batch.num_rows
        if self.count is not None:
            self.count({number: read})


@dataclass(frozen=True)
class RowReader:
    """What the tasks of a map run. rows : in a batch; tasks : the splits of each task"""

    function: ArrowFunction
    files: ParquetFiles
    columns: Sequence[str]
    rows: int
    tasks: Sequence[Sequence[Split]]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Map the rows of the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.function(self.files.few_rows_of(self.tasks[number], self.columns, self.rows))


@dataclass(frozen=True)
class Named:
    """``function``, with other names for the columns of the batches that it gets. names : of each column"""

    function: ArrowFunction
    names: Sequence[str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What ``function`` gives."""
        return self.function(batch.rename_columns(list(self.names)) for batch in batches)
