"""The options of ``mismatch``, and what can be said of them before Spark starts."""

from typing import Any, Final

import click

from service.pipeline.spark.job import Job
from service.pipeline.spark.parameters import KEY_FORMAT, PARTITION_COLUMN, QUERY, READ_OPTIONS, SOURCE, TOPIC


def check(*, expected: str, partitioners: tuple[str, ...], **_: Any) -> None:
    """Raise InvalidQuestion for a partitioner that does not exist or is given twice."""
    from service.pipeline.analyses.mismatch.outcome import suspects  # noqa: PLC0415 - files are refused without kernels

    suspects(partitioners, expected)


def columns(*, key_column: str, partition_column: str, **_: Any) -> tuple[str, ...]:
    """The columns that the options name."""
    return key_column, partition_column


JOB: Final = Job(
    name="mismatch",
    summary="Find which partitioners wrote a topic, and the records that the expected one would have put elsewhere.\n\n"
    "SOURCE is a path, table:NAME, FORMAT:PATH or kafka://host:port/topic.",
    scans=True,
    parameters=(
        READ_OPTIONS,
        *QUERY,
        TOPIC,
        click.Argument(["source"], type=SOURCE),
        click.Option(["--key-column"], default="key", show_default=True, help="Column of the key."),
        KEY_FORMAT,
        PARTITION_COLUMN,
        click.Option(
            ["--partitions", "partitions_count"],
            type=click.IntRange(1),
            help="Number of partitions of the topic. Default: inferred.",
        ),
        click.Option(["--expected"], default="java", show_default=True, help="Partitioner that should have placed every record."),
        click.Option(["--partitioner", "partitioners"], multiple=True, help="Partitioner to consider. Repeatable. Default: all."),
    ),
    check=check,
    columns=columns,
)
