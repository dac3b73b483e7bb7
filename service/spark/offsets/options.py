"""The options of ``offsets``."""

from datetime import UTC, datetime
from typing import Any, Final

import click

from service.spark.job import Job
from service.spark.parameters import READ_OPTIONS, SOURCE

RETENTION_MINUTES: Final = 7 * 24 * 60
"""Kafka's default of offsets.retention.minutes."""


class Time(click.ParamType[Any]):
    """A time, as ms since 1970 or in ISO 8601, by default in UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """In ms."""
        if isinstance(value, int):
            return value
        try:
            if value.isdigit():
                return int(value)
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time such as 2026-11-21T08:00:00Z or ms since 1970", param, ctx)
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


JOB: Final = Job(
    name="offsets",
    summary="Compute committed offsets from records of __consumer_offsets; with log end offsets also lag and time to catch up.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["records"], type=SOURCE),
        click.Option(
            ["--log-end"], type=SOURCE,
            help="Table of topic, partition, log_end_offset and optionally time; several snapshots give the trend.",
        ),
        click.Option(["--as-of"], type=Time(), help="Time to describe: 2026-11-21T08:00:00Z. Default: the last record's."),
        click.Option(
            ["--retention-minutes"], type=click.IntRange(1), default=RETENTION_MINUTES, show_default=True,
            help="The brokers' offsets.retention.minutes.",
        ),
        click.Option(
            ["--weight"], type=click.Choice(("lag", "produced")), default="lag", show_default=True,
            help="Weight of a partition in requests: its lag, or the records produced to it per second.",
        ),
        click.Option(["--group"], help="Describe this group only; its request to /v1/group-assignments becomes the summary."),
    ),
)  # fmt: skip
