"""What executors do of a scan (``scanning.py``): read splits, and merge partial results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import pyarrow as pa

from service.spark.io import splits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from service.spark.io.splits import Split


class Scan(Protocol):
    """What is done with the records. Executors get it pickled."""

    @property
    def columns(self) -> list[str]:
        """Those that the batches must have."""

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of ``quarantine.RESULT`` for a task's batches."""


class Part(Protocol):
    """What some of the records came to."""

    def packed(self) -> bytes:
        """As bytes."""


P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class Reader:
    """The scan of tasks that read their splits themselves. ``tasks`` are the splits of each."""

    scan: Scan
    tasks: Sequence[Sequence[Split]]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.scan.of_batches(splits.batches_of(self.tasks[number], self.scan.columns))


@dataclass(frozen=True)
class Merger(Generic[P]):
    """What makes one of the partial results of several tasks. ``merged`` does so of one at least."""

    merged: Callable[[Iterable[bytes]], P]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One for all those in the batches' column ``partial``."""
        parts = [part for batch in batches for part in batch.column("partial").to_pylist()]
        if parts:
            yield pa.record_batch([pa.array([self.merged(parts).packed()], pa.binary())], ["partial"])
