"""One scan of a source: tasks get batches of its columns, and the driver merges what each task computed.

Executors read plain Parquet themselves (``splits.py``); from any other source they get the batches from Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from service.spark.cluster.session import cores, is_local
from service.spark.errors import WrongSource
from service.spark.io import reading, sources
from service.spark.io.sinks import REJECTED_ROWS
from service.spark.io.sources import CORRUPT
from service.spark.tasks import results, splits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from service.spark.io.sinks import Sink
    from service.spark.io.sources import Source
    from service.spark.tasks.results import P, Scan
    from service.spark.tasks.splits import ArrowFunction

TASKS_PER_CORE: Final = 2
"""At most: with two a core, other cores take over work from a slow one."""

LONG_TASKS_PER_CORE: Final = 4
"""Where a row takes long, such as a group with a million partitions."""

TASK_BYTES: Final = 2**29
"""Of plain Parquet; a task costs a tenth of a second however little it reads, so smaller files make one task a core."""

FIRST_RECORDS: Final = 1000
"""Records whose keys are checked before a job starts."""

MERGED_BY_DRIVER: Final = 32
"""Partial results that the driver merges by itself; executors merge more to as many first."""


@dataclass(frozen=True)
class ScanSource:
    """A source that a scan reads.

    required, optional : the columns that the job needs, and those that it reads where they exist
    files : plain Parquet that executors read themselves, with sizes; None where Spark reads
    """

    spark: SparkSession
    source: Source
    required: tuple[str, ...]
    optional: tuple[str, ...]
    files: list[tuple[str, int]] | None

    @staticmethod
    def of(
        spark: SparkSession, source: Source, columns: Iterable[str], *, optional: Iterable[str] = (), plain: bool = True
    ) -> ScanSource:
        """These columns of a source. plain : whether executors may read plain Parquet themselves"""
        files = _plain_files(spark, source) if plain else None
        return ScanSource(spark, source, tuple(dict.fromkeys(columns)), tuple(optional), files)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are read. Raises WrongSource."""
        return [*self.required, *(name for name in self.optional if name in self.schema.names)]

    @cached_property
    def _records(self) -> DataFrame:
        frame = reading.read(self.spark, self.source)
        reading.require(frame, self.required, self.source)
        return frame

    @cached_property
    def frame(self) -> DataFrame:
        """The records as Spark reads them: the columns, and CORRUPT if there is one. Raises WrongSource."""
        return self._records.select(*dict.fromkeys([*self.columns, *([CORRUPT] if CORRUPT in self._records.columns else [])]))

    @cached_property
    def schema(self) -> pa.Schema:
        """Of the columns at least. Raises WrongSource if they do not exist or the first file cannot be read."""
        if self.files is None:
            return reading.arrow_schema(self._records)
        try:
            schema = splits.schema(self.files[0][0])
        except splits.ParquetError as error:
            raise WrongSource(str(error)) from None
        sources.require_names(schema.names, self.required, self.source)
        return schema

    @property
    def corrupt(self) -> str | None:
        """The column of the rows that Spark could not read as records; None where there is none."""
        return CORRUPT if self.files is None and CORRUPT in self.schema.names else None

    def first(self) -> list[pa.RecordBatch]:
        """A few records; none of a topic, which Spark would read to its end. Raises WrongSource."""
        if self.files is not None:
            whole = [splits.Split(path, 0, size) for path, size in self.files]
            try:
                batch = next(splits.batches_of(whole, self.columns), None)
            except splits.ParquetError as error:
                raise WrongSource(str(error)) from None
            return [batch.slice(0, FIRST_RECORDS)] if batch is not None else []
        if self.source.format == "kafka":
            return []
        batches: list[pa.RecordBatch] = self.frame.select(*self.columns).limit(FIRST_RECORDS).toArrow().to_batches()
        return batches

    def results(self, scan: Scan) -> tuple[DataFrame, int]:
        """The rows of ``results.SCHEMA``, and the largest number of tasks that give them."""
        count = cores(self.spark)
        if self.files is None:
            frame = self.frame.coalesce(TASKS_PER_CORE * count)
            return frame.mapInArrow(scan.of_batches, results.TYPES), TASKS_PER_CORE * count
        long_tasks = sum(size for _, size in self.files) // TASK_BYTES
        tasks = splits.splits(self.files, min(TASKS_PER_CORE * count, max(count, long_tasks)))
        return self._numbers(tasks).mapInArrow(splits.SplitReader(scan, tasks), results.TYPES), len(tasks)

    def few_rows(self, function: ArrowFunction, rows: int) -> tuple[DataFrame, ArrowFunction]:
        """A frame, and the function that gives ``function`` its records, ``rows`` at a time: each may take long.

        Where Spark reads, ``spark.sql.execution.arrow.maxRecordsPerBatch`` decides how many.
        """
        count = LONG_TASKS_PER_CORE * cores(self.spark)
        if self.files is None:
            return self.frame.repartition(count), function
        tasks = splits.splits(self.files, count)
        return self._numbers(tasks), splits.RowReader(function, self.columns, rows, tasks)

    def _numbers(self, tasks: Sequence[object]) -> DataFrame:
        return self.spark.range(0, len(tasks), 1, len(tasks))


def run_scan(source: ScanSource, scan: Scan, merged: Callable[[Iterable[bytes]], P], sink: Sink) -> tuple[P, dict[str, int]]:
    """What all tasks computed, merged, and the number of rejected rows by reason; the rows themselves become a table."""
    rows, tasks = source.results(scan)
    groups = -(-tasks // MERGED_BY_DRIVER)
    rows = rows.persist()
    try:
        of_tasks = rows.where("partial is not null").select("partial", "rejected")
        if groups > 1:
            of_groups = of_tasks.select("partial").repartition(groups).mapInArrow(results.Merger(merged), "partial binary")
            partials, any_rejected = of_groups.toArrow().column("partial").to_pylist(), True
        else:
            table = of_tasks.toArrow()
            partials, any_rejected = table.column("partial").to_pylist(), any(table.column("rejected").to_pylist())
        rejected = rows.where("partial is null").select("reason", "record")
        reasons = rejected.groupBy("reason").count().collect() if any_rejected else []
        if reasons:
            sink.frame(REJECTED_ROWS, rejected)
        else:
            sink.remove(REJECTED_ROWS)
    finally:
        rows.unpersist()
    return merged(partials), {row["reason"]: int(row["count"]) for row in reasons}


def _plain_files(spark: SparkSession, source: Source) -> list[tuple[str, int]] | None:
    """The files of plain Parquet that the executors can read themselves; None if Spark has to."""
    if source.format != "parquet" or source.options:
        return None
    if "://" not in source.location:
        if not is_local(spark):
            return None  # a path on the executors' machines, or in HDFS: Spark can tell
    elif any(name.startswith("spark.hadoop.fs.") and ".vectored." not in name for name in spark.conf.getAll):
        return None  # only Spark has these credentials and endpoints; it sets .vectored. by itself
    return splits.files(source.location)
