"""``skew``: how evenly several partitioners and partition counts would distribute the records, in one scan."""

from typing import Any

import click
import pyarrow as pa

from service.core.errors import InvalidQuestion
from service.core.sizing.plans import Limits
from service.spark.counts import COUNTS
from service.spark.errors import WrongSource
from service.spark.io.scan import ScanSource, run_scan
from service.spark.io.sources import Source
from service.spark.job import Job, Outcome, Pipeline
from service.spark.parameters import KEY_FORMAT, READ_OPTIONS, SIZE_COLUMNS, SOURCE
from service.spark.skew import report
from service.spark.skew.answer import answer_from, request, summary, tables
from service.spark.skew.tasks.scan import MAX_KEYS, SkewScan, check_partitioners, merged
from service.spark.tasks.key_columns import check_format, check_keys, is_bytes, is_text


def check(*, partitioners: tuple[str, ...], key_format: str | None, follow: bool, source: Source, **options: Any) -> None:
    """Raise an error for options that are wrong whatever the source contains."""
    check_partitioners(partitioners, key_format)
    if follow and source.format != "kafka":
        raise WrongSource(f"{source} is not a topic: --follow needs kafka://host:port/topic")
    if options["duration_seconds"] is None and not follow:
        for what in ("records", "bytes"):
            if options[f"max_partition_{what}_per_second"] is not None:
                raise InvalidQuestion(f"--max-partition-{what}-per-second needs --duration-seconds")


def run(pipeline: Pipeline, *, source: Source, follow: bool, **options: Any) -> Outcome | None:
    """Scan the source once; None after following a topic."""
    if follow:
        from service.spark.skew.follow import follow as run_follow  # noqa: PLC0415 - the stream needs more modules

        run_follow(pipeline, source, **options)
        return None
    scan_source, scan = prepare(pipeline, source, options)
    with pipeline.progress(f"scanning {source}"):
        result, rejected = run_scan(scan_source, scan, merged, pipeline.sink)
    limits = Limits(options["max_partition_records_per_second"], options["max_partition_bytes_per_second"], options["max_skew"])
    answer = answer_from(result, rejected, scan.key_format, limits, options["duration_seconds"])
    return Outcome(
        summary(answer),
        tables(answer),
        report.report(answer, str(source), scan),
        report.headline(answer),
        {"partition-count-plans.json": request(answer)},
        within_limits=all(each.smallest.get("all", 0) is not None for each in answer.reach),
    )


def prepare(pipeline: Pipeline, source: Source, options: dict[str, Any], *, plain: bool = True) -> tuple[ScanSource, SkewScan]:
    """The source and its scan, once its columns exist and hold keys of the format.

    plain : whether executors may read plain Parquet themselves
    Raises WrongSource or InvalidQuestion.
    """
    key_columns = options["key_columns"] or ("key",)
    names = columns(source=source, **options)
    sizes = names[len(key_columns) :]
    scan_source = ScanSource.of(pipeline.spark, source, names, plain=plain)
    kind = scan_source.schema.field(key_columns[0]).type if len(key_columns) == 1 else pa.string()
    key_format = check_format(kind, options["key_format"])
    check_partitioners(options["partitioners"], key_format)
    _check_sizes(scan_source.schema, sizes, source)
    check_keys(scan_source.first(), key_columns, options["key_separator"], key_format, source)
    return scan_source, SkewScan(
        key_columns=tuple(key_columns),
        key_format=key_format,
        partitioners=tuple(options["partitioners"]),
        partitions_counts=options["partitions_counts"],
        current=options["current"],
        separator=options["key_separator"],
        size_columns=tuple(sizes),
        corrupt=scan_source.corrupt,
        max_keys=options["max_keys"],
    )


def columns(*, source: Source, key_columns: tuple[str, ...], size_columns: tuple[str, ...], **_: Any) -> tuple[str, ...]:
    """The columns that the options name."""
    return (*(key_columns or ("key",)), *(size_columns or (("key", "value") if source.format == "kafka" else ())))


def _check_sizes(schema: pa.Schema, names: tuple[str, ...], source: Source) -> None:
    for name in names:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or is_text(kind) or is_bytes(kind)):
            raise WrongSource(f"{source}: the column {name!r} is {kind}, which has no size; integers, strings and bytes have")


JOB = Job(
    name="skew",
    summary="Compute how evenly partitioners and partition counts distribute records, in one scan.\n\n"
    "SOURCE is a path, table:NAME, FORMAT:PATH or kafka://host:port/topic.",
    parameters=(
        click.Argument(["source"], type=SOURCE),
        click.Option(
            ["--key-column", "key_columns"], multiple=True, help="Column of the key. Default: key. Repeat to join columns."
        ),
        click.Option(["--key-separator"], default="-", show_default=True, help="Text between the values of several key columns."),
        KEY_FORMAT,
        click.Option(
            ["--partitioner", "partitioners"], multiple=True, default=("java",), show_default=True,
            help="Partitioner to compute. Repeatable."
        ),
        click.Option(
            ["--partitions", "--partitions-counts", "partitions_counts"], type=COUNTS, default="6,12,24,48",
            show_default=True, help="Partition counts, such as 12,24,48 or 10-200:10.",
        ),
        click.Option(["--current"], type=click.IntRange(1), help="The topic's current partition count."),
        SIZE_COLUMNS,
        click.Option(
            ["--duration-seconds"], type=click.FloatRange(0, min_open=True), help="Time span in which the records were produced."
        ),
        click.Option(["--max-partition-records-per-second"], type=float, help="Limit for the busiest partition."),
        click.Option(["--max-partition-bytes-per-second"], type=float, help="Limit for the busiest partition."),
        click.Option(["--max-skew"], type=click.FloatRange(1), help="Limit for fullest partition ÷ mean."),
        click.Option(
            ["--max-keys"], type=click.IntRange(1024), default=MAX_KEYS, show_default=True,
            help="Distinct keys to count exactly; more are estimated.",
        ),
        click.Option(["--follow"], is_flag=True, help="Follow a live topic, window by window, until stopped."),
        click.Option(
            ["--window-seconds"], type=click.IntRange(1), default=60, show_default=True, help="Length of a window, with --follow."
        ),
        click.Option(
            ["--metrics-port"], type=int, default=9464, show_default=True, help="Port of the Prometheus metrics, with --follow."
        ),
        READ_OPTIONS,
    ),
    run=run,
    check=check,
    columns=columns,
)  # fmt: skip
