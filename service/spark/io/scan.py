"""One scan of a source: batches of its columns go in, what each task made of them comes out, merged.

Plain Parquet is read by the executors themselves (``splits.py``); of everything else Spark hands them the batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from service.spark.cluster.session import cores, is_local
from service.spark.io import rejected_rows, sources, splits
from service.spark.io.scan_tasks import Merger, Reader
from service.spark.io.sources import CORRUPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from service.spark.io.scan_tasks import P, Scan
    from service.spark.io.sinks import Sink
    from service.spark.io.sources import Source

TASKS_PER_CORE: Final = 2
"""At most: with two a core that is slower leaves work to the others."""

TASK_BYTES: Final = 2**29
"""Of plain Parquet; a task costs a tenth of a second however little it reads, so smaller files make one a core."""

LOOKED_AT: Final = 1000
"""Records that are looked at before a job starts."""

GROUP: Final = 32
"""Partial results that the driver merges by itself; more are merged by the executors first."""


@dataclass(frozen=True)
class Input:
    """A source that a scan reads.

    wanted : the columns that the job needs
    files : plain Parquet that executors read themselves, with sizes; None where Spark reads
    """

    spark: SparkSession
    source: Source
    wanted: list[str]
    files: list[tuple[str, int]] | None

    @staticmethod
    def of(spark: SparkSession, source: Source, wanted: Iterable[str], *, plain: bool = True) -> Input:
        """These columns of a source. plain : may executors read plain Parquet themselves?"""
        return Input(spark, source, list(dict.fromkeys(wanted)), _plain_files(spark, source) if plain else None)

    @cached_property
    def frame(self) -> DataFrame:
        """The records as Spark reads them: the wanted columns, and CORRUPT if there is one. Raises WrongSource."""
        frame = sources.read(self.spark, self.source)
        sources.require(frame, self.wanted, self.source)
        return frame.select(*self.wanted, *([CORRUPT] if CORRUPT in frame.columns else []))

    @cached_property
    def schema(self) -> pa.Schema:
        """Of the wanted columns at least. Raises WrongSource if they are not there."""
        if self.files is None:
            return sources.arrow_schema(self.frame)
        found = splits.schema(self.files[0][0])
        sources.require_names(found.names, self.wanted, self.source)
        return found

    @property
    def corrupt(self) -> str | None:
        """The column that holds what could not be read as a record; None where there is none."""
        return CORRUPT if self.files is None and CORRUPT in self.schema.names else None

    def first(self) -> list[pa.RecordBatch]:
        """A few records, of the wanted columns; none of a topic, which Spark would read to its end."""
        if self.files is not None:
            whole = [splits.Split(path, 0, size) for path, size in self.files]
            found = next(splits.batches_of(whole, self.wanted), None)
            return [found.slice(0, LOOKED_AT)] if found is not None else []
        if self.source.format == "kafka":
            return []
        some: list[pa.RecordBatch] = self.frame.select(*self.wanted).limit(LOOKED_AT).toArrow().to_batches()
        return some

    def results(self, scan: Scan) -> tuple[DataFrame, int]:
        """The rows of ``quarantine.RESULT``, and how many tasks give them at most."""
        count = cores(self.spark)
        if self.files is None:
            frame = self.frame.coalesce(TASKS_PER_CORE * count)
            return frame.mapInArrow(scan.of_batches, rejected_rows.RESULT), TASKS_PER_CORE * count
        long_tasks = sum(size for _, size in self.files) // TASK_BYTES
        tasks = splits.splits(self.files, min(TASKS_PER_CORE * count, max(count, long_tasks)))
        numbers = self.spark.range(0, len(tasks), 1, len(tasks))
        return numbers.mapInArrow(Reader(scan, tasks), rejected_rows.RESULT), len(tasks)


def scanned(looked: Input, scan: Scan, merged: Callable[[Iterable[bytes]], P], sink: Sink) -> tuple[P, dict[str, int]]:
    """What all records came to, and how many were set aside for each reason."""
    results, tasks = looked.results(scan)
    parts, rejected = rejected_rows.divide(results, sink, Merger(merged), -(-tasks // GROUP))
    return merged(parts), rejected


def _plain_files(spark: SparkSession, source: Source) -> list[tuple[str, int]] | None:
    """The files of plain Parquet that the executors can read themselves; None if Spark has to."""
    if source.format != "parquet" or source.options:
        return None
    if "://" not in source.location:
        if not is_local(spark):
            return None  # a path on the executors' machines, or in HDFS: Spark knows
    elif any(name.startswith("spark.hadoop.fs.") and ".vectored." not in name for name in spark.conf.getAll):
        return None  # credentials and endpoints that only Spark has been told; it sets .vectored. by itself
    return splits.files(source.location)
