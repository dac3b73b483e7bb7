"""One scan of a source: tasks get batches of its columns, and the driver merges what each task computed.

Tasks read plain Parquet and make keys themselves (``splits.py``); from any other source they get the batches from Spark.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, cast

import click
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.printable import printable
from service.decisions.rows import readable
from service.pipeline.analyses import results
from service.pipeline.files.types import typed
from service.pipeline.spark.cluster.progress import ReadSoFar
from service.pipeline.spark.cluster.session import Tasks, cores, is_connect, is_local, numbered, tasks_for, tasks_of
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import reading, sources
from service.pipeline.spark.io.columns import column
from service.pipeline.spark.io.sources import CORRUPT, Source
from service.pipeline.spark.tasks import parquet_files
from service.pipeline.spark.tasks.parquet_files import ByTask, ParquetFiles, SplitReader, field_of, mapped
from service.report.figures import number, size
from service.report.folders import REJECTED_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark import Accumulator, AccumulatorParam

    from service.pipeline.analyses.results import ArrowFunction, Scan
    from service.pipeline.spark.io.sinks import Pipeline, Sink
    from service.pipeline.spark.tasks.made_keys import MadeKeys


LONG_TASKS_PER_CORE: Final = 4
"""Tasks for each core where a row takes long, such as a group with a million partitions: others take over from a slow one."""

LONG_TASK_BYTES: Final = 2**26
"""Bytes of plain files for a task where a row takes long."""

FIRST_RECORDS: Final = 1000
"""Records whose keys are checked before a job starts."""

MERGED: Final = 32
"""Partial results that a task merges, and the most that the driver does: executors merge more to as many first."""

ESTIMATED_BYTES: Final = 2**26
"""Bytes that are read to estimate how long all take: a second or two."""

MOST_BYTES_READ_AGAIN: Final = 2**31
"""Bytes of plain files that may be read a second time if a row is rejected: seconds, as many as Spark SQL takes to start."""


@dataclass(frozen=True)
class ScanSource:
    """A source that a scan reads.

    required, optional : the columns that the job needs, and those that it reads where they exist
    files : those that tasks read themselves; None where Spark reads
    """

    pipeline: Pipeline
    source: Source
    required: tuple[str, ...]
    optional: tuple[str, ...]
    files: ParquetFiles | None

    @staticmethod
    def of(pipeline: Pipeline, source: Source, columns: Iterable[str], *, optional: Iterable[str] = ()) -> ScanSource:
        """These columns of a source."""
        files = _plain_files(pipeline.spark, source)
        return ScanSource(pipeline, source, tuple(dict.fromkeys(columns)), tuple(optional), files)

    @property
    def spark(self) -> SparkSession:
        """The session that reads it."""
        return self.pipeline.spark

    @property
    def name(self) -> str:
        """As the user names it."""
        return str(self.source)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are read. Raises WrongSource."""
        return [*self.required, *(name for name in self.optional if name in self.schema.names)]

    @cached_property
    def _records(self) -> DataFrame:
        frame = reading.with_members(reading.read(self.spark, self.source, () if self.optional else self.required), self.required)
        sources.require_names(frame.columns, self.required, self.source)
        return frame

    @cached_property
    def frame(self) -> DataFrame:
        """The records as Spark reads them: the columns, and CORRUPT if there is one. Raises WrongSource."""
        corrupt = [CORRUPT] if CORRUPT in self._records.columns else []
        return self._records.select(*map(column, dict.fromkeys([*self.columns, *corrupt])))

    @cached_property
    def schema(self) -> pa.Schema:
        """A source with at least these columns. Raises WrongSource if they do not exist or the first file cannot be read."""
        if self.files is None:
            return reading.arrow_schema(self._records)
        schema = self.files.schema()
        sources.require_names(schema.names, (name for name in self.required if field_of(schema, name) is None), self.source)
        members = {name: field_of(schema, name) for name in self.required if name not in schema.names}
        return pa.schema([*schema, *(field.with_name(name) for name, field in members.items() if field is not None)])

    @property
    def corrupt(self) -> str | None:
        """The column of the rows that Spark could not read as records; None where there is none."""
        return CORRUPT if self.files is None and CORRUPT in self.schema.names else None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records of the files, one after another. Raises WrongSource."""
        return self.files.batches(self.columns) if self.files is not None else iter(())

    def first(self) -> list[pa.RecordBatch]:
        """A few records; none of a topic, which Spark would read to its end. Raises WrongSource."""
        if self.files is not None:
            batch = next(self.batches(), None)
            return [batch.slice(0, FIRST_RECORDS)] if batch is not None else []
        if self.source.format == "kafka":
            return []
        in_turn = self.frame.select(*map(column, self.columns)).coalesce(1)  # one task, which reads no further than it has to
        batches: list[pa.RecordBatch] = in_turn.limit(FIRST_RECORDS).toArrow().to_batches()
        return batches

    def table(self) -> pa.Table:
        """All records. Raises WrongSource, also for a line that Spark cannot read as a record."""
        if self.files is not None:
            nothing = pa.schema([self.schema.field(name) for name in self.columns]).empty_table()
            files = [nothing, *(pa.Table.from_batches([batch]) for batch in self.batches())]
            try:
                return pa.concat_tables(files, promote_options="permissive")
            except pa.ArrowException as error:
                raise WrongSource(f"{self.source}: Its files have columns of different types: {error}") from None
        table = self.frame.toArrow()
        if self.corrupt is not None:
            for line in readable(table[self.corrupt].drop_null()[:1].combine_chunks()).to_pylist():
                raise WrongSource(f"{self.source}: Not readable as a record: {printable(line)}")
        return table.select(self.columns)

    def having(self, name: str, values: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records with one of a few texts in the column ``name``. Raises WrongSource."""
        if self.files is None:
            yield from self.frame.where(column(name).isin(values)).toArrow().to_batches()
        else:
            yield from self.files.having(self.columns, name, values)

    @cached_property
    def _count(self) -> Accumulator[dict[int, int]] | None:
        by_task = cast("AccumulatorParam[dict[int, int]]", ByTask())
        return None if is_connect(self.spark) else self.spark.sparkContext.accumulator({}, by_task)

    @property
    def reading(self) -> ReadSoFar | None:
        """What the tasks read, if they read the source themselves."""
        read, count = self.read_by_tasks, self._count
        return None if read is None or count is None else ReadSoFar(read.size, lambda: sum(count.value.values()))

    @property
    def read_by_tasks(self) -> ParquetFiles | MadeKeys | None:
        """What tasks read or make themselves; None where Spark reads."""
        if self.source.format == "keys" and not self.source.is_query:
            return sources.made_keys(self.source)
        return None if self.files is None else replace(self.files, expected=self.schema)

    def scan(self, scan: Scan, what: str) -> tuple[Any, dict[str, int]]:
        """What ``scan`` computes of all records, and the number of rejected rows by reason; the rows themselves become a table.

        what : is being done, for people
        """
        if self.pipeline.estimates:
            click.echo(self.estimate(scan), err=True)
        with self.pipeline.progress(f"{what} {self.name}", self.reading):
            reader, sink = self._reader(scan), self.pipeline.sink
            if (partials := self._partials(reader)) is not None:
                sink.remove(REJECTED_ROWS)
                return results.merged(partials), {}
            if reader is None:
                tasks = tasks_of(self.frame, scan.of_batches, reading.partitions_of(self.frame))
            else:
                tasks = numbered(self.spark, reader, len(reader.tasks))
            return _scanned(tasks, sink)

    def _partials(self, reader: SplitReader | None) -> list[bytes] | None:
        """What each task computed; None if one rejects a row, or if only rows of Spark SQL can tell.

        Without Spark SQL, which takes the JVM two seconds to plan its first query, and tenths of a second to plan others.
        """
        if reader is None or reader.files.size > MOST_BYTES_READ_AGAIN or is_connect(self.spark):
            return None
        count = len(reader.tasks)
        if count > MERGED:
            return None
        partials = self.spark.sparkContext.parallelize(range(count), count).map(reader.partial).collect()
        complete = [partial for partial in partials if partial is not None]
        return complete if len(complete) == count else None

    def _reader(self, scan: Scan) -> SplitReader | None:
        """What the tasks run that read the source themselves; None where Spark reads."""
        read = self.read_by_tasks
        if read is None:
            return None
        tasks = read.splits(tasks_for(self.spark, read.size))
        return SplitReader(scan, read, tasks, None if self._count is None else self._count.add)

    def estimate(self, scan: Scan) -> str:
        """Bytes, tasks and core-seconds of a scan, as a sentence: by the time that this process takes for the first of them.

        Raises WrongSource where Spark reads.
        """
        reader = self._reader(scan)
        if reader is None:
            raise WrongSource(f"{self.source}: Spark reads it, so --estimate cannot say what it takes; it needs plain Parquet.")
        read = replace(reader, count=None, tasks=reader.files.splits(-(-reader.files.size // ESTIMATED_BYTES)))
        read.partial(0)  # once, as the kernels have to be loaded
        start = time.process_time()
        read.partial(0)
        seconds = (time.process_time() - start) * len(read.tasks)
        return (
            f"{self.source}: {size(reader.files.size)} in {number(len(reader.tasks))} tasks, about {number(round(seconds))} "
            f"core-seconds by the first {size(reader.files.size / len(read.tasks))}, and the start of Spark."
        )

    def few_rows(self, function: ArrowFunction, rows: int) -> Tasks:
        """Tasks that give ``function`` the records, ``rows`` at a time: each may take long.

        Where Spark reads, ``spark.sql.execution.arrow.maxRecordsPerBatch`` decides how many.
        """
        count = LONG_TASKS_PER_CORE * cores(self.spark)
        if self.files is None:
            return tasks_of(self.frame.repartition(count), function, count)
        parts = self.files.splits(max(count, -(-self.files.size // LONG_TASK_BYTES)))
        return numbered(self.spark, partial(mapped, function, self.files, self.columns, rows, parts), len(parts))


def _plain_files(spark: SparkSession, source: Source) -> ParquetFiles | None:
    """The files that tasks can read themselves; None if Spark has to."""
    if source.format != "parquet" or source.options or source.is_query:
        return None
    if "://" not in source.location:
        if not is_local(spark):
            return None  # a path on the executors' machines, or in HDFS: Spark can tell
    elif any(name.startswith("spark.hadoop.fs.") and ".vectored." not in name for name in spark.conf.getAll):
        return None  # only Spark has these credentials and endpoints; it sets .vectored. by itself
    return parquet_files.find(source.location)


def _scanned(tasks: Tasks, sink: Sink) -> tuple[Any, dict[str, int]]:
    """What all tasks computed, merged, and the number of rejected rows by reason.

    Executors merge the results of many tasks. Files of which a row is rejected are read again, for the rows themselves.
    """
    rows = tasks.rows(results.SCHEMA).persist()
    try:
        of_tasks = rows.where("partial is not null").select("partial", "rejected")
        merged = merged_by_executors(of_tasks, tasks.count).toArrow()
        rejected = rows.where("partial is null").select("reason", "record")
        counts = sorted(rejected.groupBy("reason").count().collect()) if any(merged["rejected"].to_pylist()) else []
        if counts:
            sink.frame(REJECTED_ROWS, rejected)
        else:
            sink.remove(REJECTED_ROWS)
    finally:
        rows.unpersist()
    return results.merged(merged["partial"].to_pylist()), {row["reason"]: int(row["count"]) for row in counts}


def merged_by_executors(of_tasks: DataFrame, count: int) -> DataFrame:
    """At most MERGED rows of partial and rejected, for those of ``count`` tasks: a shuffle for each factor MERGED.

    However many there are, neither a task nor the driver gets more than about MERGED.
    """
    while count > MERGED:
        count = -(-count // MERGED)
        # By the task's number: it gives other bytes if it is repeated, whose place would be another without.
        grouped = of_tasks.withColumn("task", F.spark_partition_id()).repartition(count, "task").drop("task")
        of_tasks = grouped.mapInArrow(results.merged_rows, "partial binary, rejected long")
    return of_tasks


def read_table(
    pipeline: Pipeline, source: Source, required: Mapping[str, pa.DataType], optional: Mapping[str, pa.DataType]
) -> pa.Table:
    """These columns, those of ``optional`` only where it has them, as ``service.pipeline.files.types.typed`` reads them.

    Raises WrongSource for a column that is missing, and WrongTable for a value that is not of its type.
    """
    table = ScanSource.of(pipeline, source, required, optional=optional).table()
    return typed(table, {**required, **optional}, str(source))
