"""``skew``: how even records would lie on partitions, for several partitioners and partition counts, in one scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from service.core.errors import InvalidQuestion
from service.core.keys import FORMATS
from service.core.partition_count_plans import Limits
from service.spark import quarantine, skew_answer, skew_report, sources, splits
from service.spark.columns import check_format, joined, read_keys
from service.spark.errors import WrongSource
from service.spark.jobs.model import Job, Outcome
from service.spark.jobs.parameters import READ_OPTIONS, SOURCE, Integers
from service.spark.session import cores, is_local
from service.spark.skew_scan import MAX_KEYS, Scan, check_partitioners, merge_batches, merged
from service.spark.sources import CORRUPT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from service.spark.jobs.model import Pipeline
    from service.spark.skew_scan import Part
    from service.spark.sources import Source

TASKS_PER_CORE: Final = 2
"""At most: with two a core that is slower leaves work to the others."""

TASK_BYTES: Final = 2**29
"""Of plain Parquet; a task costs a tenth of a second however little it reads, so smaller files make one a core."""

LOOKED_AT: Final = 1000
"""Records that are looked at before the job starts: does any have a key of the format?"""

GROUP: Final = 32
"""Partial results that the driver merges by itself; more are merged by the executors first."""


@dataclass(frozen=True)
class Input:
    """What is scanned: tasks that read Parquet themselves, or a frame of the scan's columns."""

    scan: Scan
    tasks: list[list[splits.Split]] | None
    frame: DataFrame | None

    def results(self, pipeline: Pipeline) -> tuple[DataFrame, int]:
        """The rows of ``quarantine.RESULT``, and how many tasks give them at most."""
        if self.tasks is not None:
            numbers = pipeline.spark.range(0, len(self.tasks), 1, len(self.tasks))
            return numbers.mapInArrow(self.scan.of_splits(self.tasks), quarantine.RESULT), len(self.tasks)
        assert self.frame is not None  # noqa: S101
        tasks = TASKS_PER_CORE * cores(pipeline.spark)
        return self.frame.coalesce(tasks).mapInArrow(self.scan.of_batches, quarantine.RESULT), tasks


def check(
    *,
    partitioners: tuple[str, ...],
    key_format: str | None,
    follow: bool,
    source: Source,
    **options: Any,
) -> None:
    """Raise an error for what is wrong whatever the source holds."""
    check_partitioners(partitioners, key_format)
    if follow and source.format != "kafka":
        raise WrongSource(f"{source} is no topic: only kafka://host:port/topic can be followed")
    if options["duration_seconds"] is None and not follow:
        for what in ("records", "bytes"):
            if options[f"max_partition_{what}_per_second"] is not None:
                raise InvalidQuestion(f"--max-partition-{what}-per-second takes --duration-seconds to know a partition's rate")


def run(pipeline: Pipeline, *, source: Source, follow: bool, **options: Any) -> Outcome | None:
    """Scan the source once, and say what it comes to."""
    if follow:
        from service.spark.jobs.skew_follow import follow as run_follow  # noqa: PLC0415 - the stream needs more modules

        run_follow(pipeline, source, **options)
        return None
    looked = read(pipeline, source, options)
    with pipeline.progress(f"scanning {source}"):
        part, rejected = scanned(pipeline, looked)
    limits = Limits(options["max_partition_records_per_second"], options["max_partition_bytes_per_second"], options["max_skew"])
    found = skew_answer.answer(part, rejected, looked.scan.key_format, limits, options["duration_seconds"])
    return Outcome(
        summary=skew_answer.summary(found),
        tables=skew_answer.tables(found),
        report=skew_report.report(found, str(source), looked.scan),
        headline=skew_report.headline(found),
    )


def read(pipeline: Pipeline, source: Source, options: dict[str, Any], *, plain: bool = True) -> Input:
    """The source, looked at: its columns are there, and hold keys of the format. Raises WrongSource or InvalidQuestion.

    plain : may executors read plain Parquet themselves?
    """
    key_columns = options["key_columns"] or ("key",)
    sizes = options["size_columns"] or (("key", "value") if source.format == "kafka" else ())
    wanted = list(dict.fromkeys((*key_columns, *sizes)))
    files = _plain_files(pipeline, source) if plain else None
    frame = None
    if files is None:
        frame = sources.read(pipeline.spark, source)
        sources.require(frame, wanted, source)
        corrupt = CORRUPT if CORRUPT in frame.columns else None
        frame = frame.select(*wanted, *([CORRUPT] if corrupt else []))
        schema = to_arrow_schema(frame.schema)
    else:
        corrupt = None
        schema = splits.schema(files[0][0])
        sources.require_names(schema.names, wanted, source)
    kind = schema.field(key_columns[0]).type if len(key_columns) == 1 else pa.string()
    key_format = check_format(kind, options["key_format"])
    check_partitioners(options["partitioners"], key_format)
    _check_sizes(schema, sizes, source)
    scan = Scan(
        key_columns=tuple(key_columns),
        key_format=key_format,
        partitioners=tuple(options["partitioners"]),
        partitions_counts=options["partitions_counts"],
        current=options["current"],
        separator=options["key_separator"],
        size_columns=tuple(sizes),
        corrupt=corrupt,
        max_keys=options["max_keys"],
    )
    tasks = splits.splits(files, _tasks(files, cores(pipeline.spark))) if files is not None else None
    if frame is None:
        first = next(splits.batches_of([split for task in tasks or () for split in task], scan.columns), None)
        some = [first.slice(0, LOOKED_AT)] if first is not None else []
    else:
        some = frame.limit(LOOKED_AT).toArrow().to_batches() if source.format != "kafka" else []
    _check_keys(some, scan, source)
    return Input(scan, tasks, frame)


def scanned(pipeline: Pipeline, looked: Input) -> tuple[Part, dict[str, int]]:
    """What all records came to, and how many were set aside for each reason."""
    results, tasks = looked.results(pipeline)
    groups = 1 if tasks <= GROUP else -(-tasks // GROUP)
    parts, rejected = quarantine.divide(results, pipeline.sink, merge_batches, groups)
    return merged(parts), rejected


def _tasks(files: list[tuple[str, int]], count: int) -> int:
    """How many tasks read these files on so many cores."""
    return min(TASKS_PER_CORE * count, max(count, sum(size for _, size in files) // TASK_BYTES))


def _plain_files(pipeline: Pipeline, source: Source) -> list[tuple[str, int]] | None:
    """The files of plain Parquet that the executors can read themselves; None if Spark has to."""
    if source.format != "parquet" or source.options:
        return None
    if "://" not in source.location:
        if not is_local(pipeline.spark):
            return None  # a path on the executors' machines, or in HDFS: Spark knows
    elif any(name.startswith("spark.hadoop.fs.") and ".vectored." not in name for name in pipeline.spark.conf.getAll):
        return None  # credentials and endpoints that only Spark has been told; it sets .vectored. by itself
    return splits.files(source.location)


def _check_sizes(schema: pa.Schema, names: tuple[str, ...], source: Source) -> None:
    types = pa.types
    for name in names:
        kind = schema.field(name).type
        if not (types.is_integer(kind) or types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind)):
            raise WrongSource(f"{source}: the column {name!r} of {kind} has no size: integers, strings and bytes have")


def _check_keys(batches: list[pa.RecordBatch], scan: Scan, source: Source) -> None:
    """Raise InvalidQuestion if there are keys, and none of the format."""
    shown: list[str] = []
    for batch in batches:
        key = joined([batch.column(name) for name in scan.key_columns], scan.separator)
        bad = read_keys(key, scan.key_format)[1]
        if key.null_count == len(key):
            continue
        if bad is None or bad.true_count < len(key) - key.null_count:
            return
        shown += [str(value) for value in key.filter(bad).slice(0, 3).to_pylist()]
    if shown:
        names = ", ".join(scan.key_columns)
        raise InvalidQuestion(
            f"{source}: no key in {names} is of the format {scan.key_format}: {', '.join(map(repr, shown[:3]))} …"
        )


JOB = Job(
    name="skew",
    summary="How even records lie on partitions, for several partitioners and partition counts, in one scan.\n\n"
    "SOURCE is a path, table:NAME, FORMAT:PATH or kafka://host:port/topic.",
    parameters=(
        click.Argument(["source"], type=SOURCE),
        click.Option(
            ["--key-column", "key_columns"], multiple=True, help="The key's column, default key; several are joined by a dash."
        ),
        click.Option(["--key-separator"], default="-", show_default=True, help="Between the texts of several key columns."),
        click.Option(
            ["--key-format"], type=click.Choice(FORMATS), help="How a key becomes bytes; default: as its column's type."
        ),
        click.Option(
            ["--partitioner", "partitioners"], multiple=True, default=("java",), show_default=True, help="As often as needed."
        ),
        click.Option(
            ["--partitions-counts"], type=Integers(), default="6,12,24,48", show_default=True, help="12,24,48 or 10-200:10."
        ),
        click.Option(["--current"], type=click.IntRange(1), help="Today's count, from which records would move."),
        click.Option(
            ["--size-column", "size_columns"], multiple=True, help="What makes a record's bytes: texts, bytes or integers."
        ),
        click.Option(["--duration-seconds"], type=click.FloatRange(0, min_open=True), help="The time in which the records came."),
        click.Option(["--max-partition-records-per-second"], type=float, help="Limit of the busiest partition."),
        click.Option(["--max-partition-bytes-per-second"], type=float, help="Limit of the busiest partition."),
        click.Option(["--max-skew"], type=click.FloatRange(1), help="Limit of fullest ÷ mean."),
        click.Option(
            ["--max-keys"], type=click.IntRange(1024), default=MAX_KEYS, show_default=True, help="Different keys counted exactly."
        ),
        click.Option(["--follow"], is_flag=True, help="Follow a live topic, window by window, until stopped."),
        click.Option(["--window-seconds"], type=click.IntRange(1), default=60, show_default=True, help="With --follow."),
        click.Option(["--metrics-port"], type=int, default=9464, show_default=True, help="Of Prometheus metrics, with --follow."),
        READ_OPTIONS,
    ),
    run=run,
    check=check,
)
