"""The options of ``skew``, and what can be said of them before Spark starts."""

from typing import Any, Final

import click

from service.core.errors import InvalidQuestion
from service.parameters import COUNTS
from service.pipeline.analyses.skew import MAX_KEYS
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.job import Job
from service.pipeline.spark.parameters import KEY_FORMAT, QUERY, READ_OPTIONS, SIZE_COLUMNS, SOURCE, TOPIC


def check(*, partitioners: tuple[str, ...], key_format: str | None, follow: bool, source: Source, **options: Any) -> None:
    """Raise an error for options that are wrong whatever the source contains."""
    from service.pipeline.analyses.skew.scan import check_partitioners  # noqa: PLC0415 - files are refused without kernels

    check_partitioners(partitioners, key_format)
    if follow and source.format != "kafka":
        raise WrongSource(f"{source} is not a topic: --follow needs kafka://host:port/topic.")
    if options["duration_seconds"] is None and not follow:
        for what in ("records", "bytes"):
            if options[f"max_partition_{what}_per_second"] is not None:
                raise InvalidQuestion(f"--max-partition-{what}-per-second needs --duration-seconds.")


def columns(*, source: Source, key_columns: tuple[str, ...], size_columns: tuple[str, ...], **_: Any) -> tuple[str, ...]:
    """The columns that the options name."""
    return (*(key_columns or ("key",)), *(size_columns or (("key", "value") if source.format == "kafka" else ())))


JOB: Final = Job(
    name="skew",
    summary="Compute how evenly partitioners and partition counts distribute records, in one scan.\n\n"
    "SOURCE is a path, table:NAME, FORMAT:PATH or kafka://host:port/topic.",
    scans=True,
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
            ["--partitions", "partitions_counts"], type=COUNTS, default="6,12,24,48",
            show_default=True, help="Counts to compare: 12,18,24 or 12-48:12.",
        ),
        click.Option(["--current-partitions", "current"], type=click.IntRange(1), help="Current number of partitions."),
        SIZE_COLUMNS,
        click.Option(
            ["--duration-seconds"], type=click.FloatRange(0, min_open=True), help="Time span of the records, in seconds."
        ),
        *(
            click.Option(
                [f"--max-partition-{what}-per-second"], type=float, help=f"Limit for the busiest partition, in {what} per second."
            )
            for what in ("records", "bytes")
        ),
        click.Option(["--max-skew"], type=click.FloatRange(1), help="Limit for the skew (maximum ÷ mean)."),
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
        TOPIC,
        READ_OPTIONS,
        *QUERY,
    ),
    check=check,
    columns=columns,
)  # fmt: skip
