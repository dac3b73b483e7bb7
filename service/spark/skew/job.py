"""``skew``: how even records would lie on partitions, for several partitioners and partition counts, in one scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from service.core.errors import InvalidQuestion
from service.core.keys.columns import FORMATS
from service.core.sizing.plans import Limits
from service.spark.errors import WrongSource
from service.spark.io.key_columns import check_format, check_keys, is_bytes, is_text
from service.spark.io.scan import Input, scanned
from service.spark.job import Job, Outcome
from service.spark.parameters import READ_OPTIONS, SOURCE, Integers
from service.spark.skew import answer, report
from service.spark.skew.scan import MAX_KEYS, Scan, check_partitioners, merged

if TYPE_CHECKING:
    from service.spark.io.sources import Source
    from service.spark.job import Pipeline


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
        from service.spark.skew.follow import follow as run_follow  # noqa: PLC0415 - the stream needs more modules

        run_follow(pipeline, source, **options)
        return None
    looked, scan = read(pipeline, source, options)
    with pipeline.progress(f"scanning {source}"):
        part, rejected = scanned(looked, scan, merged, pipeline.sink)
    limits = Limits(options["max_partition_records_per_second"], options["max_partition_bytes_per_second"], options["max_skew"])
    found = answer.answer(part, rejected, scan.key_format, limits, options["duration_seconds"])
    return Outcome(
        summary=answer.summary(found),
        tables=answer.tables(found),
        report=report.report(found, str(source), scan),
        headline=report.headline(found),
    )


def read(pipeline: Pipeline, source: Source, options: dict[str, Any], *, plain: bool = True) -> tuple[Input, Scan]:
    """The source, and what is asked of it: its columns are there, and hold keys of the format.

    Raises WrongSource or InvalidQuestion.
    plain : may executors read plain Parquet themselves?
    """
    key_columns = options["key_columns"] or ("key",)
    sizes = options["size_columns"] or (("key", "value") if source.format == "kafka" else ())
    looked = Input.of(pipeline.spark, source, (*key_columns, *sizes), plain=plain)
    kind = looked.schema.field(key_columns[0]).type if len(key_columns) == 1 else pa.string()
    key_format = check_format(kind, options["key_format"])
    check_partitioners(options["partitioners"], key_format)
    _check_sizes(looked.schema, sizes, source)
    check_keys(looked.first(), key_columns, options["key_separator"], key_format, source)
    return looked, Scan(
        key_columns=tuple(key_columns),
        key_format=key_format,
        partitioners=tuple(options["partitioners"]),
        partitions_counts=options["partitions_counts"],
        current=options["current"],
        separator=options["key_separator"],
        size_columns=tuple(sizes),
        corrupt=looked.corrupt,
        max_keys=options["max_keys"],
    )


def _check_sizes(schema: pa.Schema, names: tuple[str, ...], source: Source) -> None:
    for name in names:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or is_text(kind) or is_bytes(kind)):
            raise WrongSource(f"{source}: the column {name!r} of {kind} has no size: integers, strings and bytes have")


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
