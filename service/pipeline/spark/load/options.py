"""The options of ``load``, and what can be said of them before Spark starts."""

from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from service.core.errors import InvalidQuestion
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.job import Job
from service.pipeline.spark.parameters import ASSIGNOR, PARTITION_COLUMN, QUERY, READ_OPTIONS, SIZE_COLUMNS, SOURCE

PARTITION, CONSUMER, BROKER = "partition", "consumer", "broker"


LIMITS: Final = {
    "max_partition_records_per_second": (PARTITION, "records"),
    "max_partition_bytes_per_second": (PARTITION, "bytes"),
    "max_consumer_records_per_second": (CONSUMER, "records"),
    "max_consumer_bytes_per_second": (CONSUMER, "bytes"),
    "max_broker_bytes_in_per_second": (BROKER, "bytes"),
    "max_broker_bytes_out_per_second": (BROKER, "bytes_out"),
}


@dataclass(frozen=True)
class SizedColumns:
    """The columns of a record's topic, partition, time and size.

    topic : of all records, if there is no column
    untyped : whether the columns are of CSV, where a text of digits is an integer
    """

    topic_column: str | None
    topic: str | None
    partition: str
    time: str
    sizes: tuple[str, ...]
    untyped: bool

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*([self.topic_column] if self.topic_column else []), self.partition, self.time, *self.sizes]


def check(*, duration_seconds: float | None, time_zone: str, topic: str | None, **options: Any) -> None:
    """Raise an error for options that do not go together."""
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise InvalidQuestion(f"Unknown time zone {time_zone!r}; an example is Europe/Berlin.") from None
    if duration_seconds is not None and topic is None:
        raise InvalidQuestion(
            "--duration-seconds is only for the partitions of one topic, counted by skew; name the topic with --topic."
        )
    if options["group"] is not None and options["groups"] is None:
        raise InvalidQuestion("--group needs --groups.")
    for name, (kind, _) in LIMITS.items():
        needed = {CONSUMER: "groups", BROKER: "placements"}.get(kind)
        if needed and options[name] is not None and options[needed] is None:
            raise InvalidQuestion(f"--{name.replace('_', '-')} needs --{needed}.")


def columns(*, source: Source, **options: Any) -> tuple[str, ...]:
    """The columns that a source of records, or a table of ``skew``, must have; other tables are checked later."""
    if options["duration_seconds"] is not None:
        return ("partition_id", "records")
    return tuple(record_columns_of(source, options).names)


def record_columns_of(source: Source, options: dict[str, Any]) -> SizedColumns:
    """The columns of records that the options name."""
    sizes = tuple(options["size_columns"] or (("key", "value") if source.format == "kafka" else ()))
    topic_column = None if options["topic"] is not None else options["topic_column"]
    untyped = source.format == "csv"
    return SizedColumns(topic_column, options["topic"], options["partition_column"], options["time_column"], sizes, untyped)


JOB: Final = Job(
    name="load",
    summary="Compute the load of partitions, consumers and brokers: means, peaks, hours of the day, and breaches of limits.\n\n"
    "SOURCE has records with times: a path, table:NAME, FORMAT:PATH or kafka://host:port/topic. With --duration-seconds it is "
    "the partitions.parquet of skew.",
    parameters=(
        READ_OPTIONS,
        *QUERY,
        click.Argument(["source"], type=SOURCE),
        click.Option(["--topic-column"], default="topic", show_default=True, help="Column of the topic."),
        click.Option(["--topic"], help="Topic of all records, in place of --topic-column."),
        PARTITION_COLUMN,
        click.Option(["--time-column"], default="timestamp", show_default=True, help="Column of timestamps, or ms since 1970."),
        SIZE_COLUMNS,
        click.Option(
            ["--window-seconds"], type=click.IntRange(1, 3600), default=60, show_default=True, help="Length of a window."
        ),
        click.Option(["--time-zone"], default="UTC", show_default=True, help="Time zone of the hours of the day."),
        click.Option(
            ["--duration-seconds"], type=click.FloatRange(0, min_open=True), help="Time span of the records that skew counted."
        ),
        click.Option(["--partitioner"], help="Partitioner of the plan of skew, with --duration-seconds."),
        click.Option(
            ["--partitions", "partitions_count"],
            type=click.IntRange(1),
            help="Partition count of the plan of skew, with --duration-seconds.",
        ),
        click.Option(["--groups"], type=SOURCE, help="Table of groups, as fleet reads it."),
        click.Option(
            ["--assignor"], type=ASSIGNOR, help="Assignor of all groups, such as consumer:uniform. Default: each group's own."
        ),
        click.Option(["--group"], help="Group whose request to /v1/group-assignments becomes the summary."),
        click.Option(
            ["--placements"], type=SOURCE, help="Table of topic_name and placements [{partition_id, replicas}], such as fleet's."
        ),
        *(
            click.Option([f"--{name.replace('_', '-')}"], type=click.FloatRange(0), help=f"Limit for each {kind}.")
            for name, (kind, _) in LIMITS.items()
        ),
    ),
    check=check,
    columns=columns,
)
