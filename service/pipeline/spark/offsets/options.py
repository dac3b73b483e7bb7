"""The options of ``offsets``."""

from datetime import UTC, datetime
from typing import Final

import click

from service.parameters import Parsed
from service.pipeline.spark.job import Job
from service.pipeline.spark.parameters import READ_OPTIONS, SOURCE

RETENTION_MINUTES: Final = 7 * 24 * 60
"""Kafka's default of offsets.retention.minutes."""


def _milliseconds(text: str) -> int:
    if text.isdigit():
        return int(text)
    time = datetime.fromisoformat(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


TIME: Final = Parsed("time", _milliseconds, "a time such as 2026-11-21T08:00:00Z or ms since 1970")
"""As ms since 1970, or in ISO 8601, by default in UTC; in ms."""


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
        click.Option(["--as-of"], type=TIME, help="Time to describe: 2026-11-21T08:00:00Z. Default: the last record's."),
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
