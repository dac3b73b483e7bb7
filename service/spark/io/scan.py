"""One scan of a source: tasks get batches of its columns, and the driver merges what each task computed.

Tasks read plain files themselves (``splits.py``); from any other source they get the batches from Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.analyses import results
from service.core.printable import printable
from service.decisions.texts import readable
from service.report.folders import REJECTED_ROWS
from service.spark.cluster.executors import ProcessTasks, SparkTasks
from service.spark.errors import WrongSource
from service.spark.io import plain_files, reading, sources
from service.spark.io.sources import CORRUPT
from service.spark.tasks.splits import RowReader, SplitReader, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from service.analyses.results import P, Scan
    from service.spark.cluster.executors import Executors
    from service.spark.io.sinks import Sink
    from service.spark.io.sources import Source
    from service.spark.tasks.splits import ArrowFunction, PlainFiles

TASKS_PER_CORE: Final = 2
"""At most: with two a core, other cores take over work from a slow one."""

LONG_TASKS_PER_CORE: Final = 4
"""Where a row takes long, such as a group with a million partitions."""

TASK_BYTES: Final = 2**29
"""Of plain files; a task costs a tenth of a second however little it reads, so smaller files make one task a core."""

FIRST_RECORDS: Final = 1000
"""Records whose keys are checked before a job starts."""

MERGED_BY_DRIVER: Final = 32
"""Partial results that the driver merges by itself; executors merge more to as many first."""


@dataclass(frozen=True)
class ScanSource:
    """A source that a scan reads.

    required, optional : the columns that the job needs, and those that it reads where they exist
    files : those that tasks read themselves; None where Spark reads
    """

    executors: Executors
    source: Source
    required: tuple[str, ...]
    optional: tuple[str, ...]
    files: PlainFiles | None

    @staticmethod
    def of(
        executors: Executors, source: Source, columns: Iterable[str], *, optional: Iterable[str] = (), plain: bool = True
    ) -> ScanSource:
        """These columns of a source. plain : whether tasks may read files themselves"""
        files = plain_files.find(executors, source) if plain else None
        return ScanSource(executors, source, tuple(dict.fromkeys(columns)), tuple(optional), files)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are read. Raises WrongSource."""
        return [*self.required, *(name for name in self.optional if name in self.schema.names)]

    @cached_property
    def _records(self) -> DataFrame:
        frame = reading.read(self.executors.spark, self.source)
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
            schema = self.files.schema()
        except UnreadableFile as error:
            raise WrongSource(str(error)) from None
        sources.require_names(schema.names, self.required, self.source)
        return schema

    @property
    def corrupt(self) -> str | None:
        """The column of the rows that Spark could not read as records; None where there is none."""
        return CORRUPT if self.files is None and CORRUPT in self.schema.names else None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records of the files, one after another. Raises WrongSource."""
        return _readable(self.files.batches(self.columns)) if self.files is not None else iter(())

    def first(self) -> list[pa.RecordBatch]:
        """A few records; none of a topic, which Spark would read to its end. Raises WrongSource."""
        if self.files is not None:
            batch = next(self.batches(), None)
            return [batch.slice(0, FIRST_RECORDS)] if batch is not None else []
        if self.source.format == "kafka":
            return []
        batches: list[pa.RecordBatch] = self.frame.select(*self.columns).limit(FIRST_RECORDS).toArrow().to_batches()
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

    def having(self, column: str, values: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records with one of a few texts in ``column``. Raises WrongSource."""
        if self.files is None:
            yield from self.frame.where(F.col(column).isin(values)).toArrow().to_batches()
            return
        yield from _readable(self.files.having(self.columns, column, values))

    def tasks(self, scan: Scan) -> SparkTasks | ProcessTasks:
        """Tasks that give the rows of ``results.SCHEMA``."""
        cores = self.executors.cores
        if self.files is None:
            count = TASKS_PER_CORE * cores
            return SparkTasks(scan.of_batches, count, self.frame.coalesce(count))
        long_tasks = sum(size for _, size in self.files.sizes) // TASK_BYTES
        parts = self.files.splits(min(TASKS_PER_CORE * cores, max(cores, long_tasks)))
        return self.executors.numbered(SplitReader(scan, self.files, parts), len(parts))

    def few_rows(self, function: ArrowFunction, rows: int) -> SparkTasks | ProcessTasks:
        """Tasks that give ``function`` the records, ``rows`` at a time: each may take long.

        Where Spark reads, ``spark.sql.execution.arrow.maxRecordsPerBatch`` decides how many.
        """
        count = LONG_TASKS_PER_CORE * self.executors.cores
        if self.files is None:
            return SparkTasks(function, count, self.frame.repartition(count))
        parts = self.files.splits(count)
        return self.executors.numbered(RowReader(function, self.files, self.columns, rows, parts), len(parts))


def run_scan(source: ScanSource, scan: Scan, merged: Callable[[Iterable[bytes]], P], sink: Sink) -> tuple[P, dict[str, int]]:
    """What all tasks computed, merged, and the number of rejected rows by reason; the rows themselves become a table."""
    tasks = source.tasks(scan)
    match tasks:
        case ProcessTasks():
            partials, reasons = _in_processes(tasks, sink)
        case SparkTasks():
            partials, reasons = _by_spark(tasks, merged, sink)
    if not reasons:
        sink.remove(REJECTED_ROWS)
    return merged(partials), reasons


def _in_processes(tasks: ProcessTasks, sink: Sink) -> tuple[list[bytes], dict[str, int]]:
    """What each task computed, and the rejected rows by reason, which this writes if there are any."""
    rows = tasks.run(results.SCHEMA)
    partials = [value for batch in rows.to_batches() if not batch["partial"].null_count for value in batch["partial"].to_pylist()]
    rejected = [batch.select(["reason", "record"]) for batch in rows.to_batches() if batch["partial"].null_count]
    if not rejected:
        return partials, {}
    sink.rejected(rejected)
    counts = pa.Table.from_batches(rejected).group_by("reason").aggregate([([], "count_all")]).sort_by("reason")
    return partials, dict(zip(*(counts[name].to_pylist() for name in ("reason", "count_all")), strict=True))


def _by_spark(tasks: SparkTasks, merged: Callable[[Iterable[bytes]], P], sink: Sink) -> tuple[list[bytes], dict[str, int]]:
    """The same as ``_in_processes``; executors merge the results of many tasks."""
    groups = -(-tasks.count // MERGED_BY_DRIVER)
    rows = tasks.rows(results.SCHEMA).persist()
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
    finally:
        rows.unpersist()
    return partials, {row["reason"]: int(row["count"]) for row in reasons}


def _readable(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches. Raises WrongSource for a file that cannot be read."""
    try:
        yield from batches
    except UnreadableFile as error:
        raise WrongSource(str(error)) from None
