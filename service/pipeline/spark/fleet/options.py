"""The options of ``fleet``, and what can be said of them before Spark starts."""

from typing import Any, Final

import click

from service.parameters import DURATION
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.job import Job
from service.pipeline.spark.parameters import ASSIGNOR, READ_OPTIONS, SOURCE


def check(
    *, groups: Source | None, topics: Source | None, placer: str | None, consumption_rate: float | None, max_lag: int | None,
    **_: Any,
) -> None:  # fmt: skip
    """Raise an error if there is no table, no such placer, or a rate without a time."""
    if (consumption_rate is None) != (not max_lag):
        raise click.UsageError("--consumption-rate and --max-lag must be set together.")
    if groups is None and topics is None:
        raise WrongSource("Name a table of groups, or a table of topics with --topics.")
    if placer is not None:
        from service.strategies import PLACERS  # noqa: PLC0415 - files are refused without kernels

        PLACERS[placer]  # raises UnknownStrategy


JOB: Final = Job(
    name="fleet",
    summary="Assign every group of a table by several assignors; place every topic of another, and audit its current placement.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["groups"], type=SOURCE, required=False),
        click.Option(
            ["--assignor", "assignors"], type=ASSIGNOR, multiple=True,
            help="Assignor to try besides the group's own, such as consumer:uniform. Repeatable. Default: all of its protocol.",
        ),
        click.Option(
            ["--body-column"],
            help="Column with the group as a JSON request, in place of nested columns. Default of a topic: value.",
        ),
        click.Option(["--fewest-members"], is_flag=True, help="Look for the fewest members that each group needs."),
        click.Option(["--consumption-rate"], type=click.FloatRange(0, min_open=True), help="Records per second of a member."),
        click.Option(
            ["--max-lag"], type=DURATION,
            help="How long every member may take to process its lag: 60s. With --consumption-rate.",
        ),
        click.Option(["--topics"], type=SOURCE, help="Table of topics to place, and to audit where it has placements."),
        click.Option(["--brokers"], type=SOURCE, help="Table of broker_id, rack_id and fenced. Default: brokers of each row."),
        click.Option(["--placer"], help="Placer of topics that name none. Default: striped."),
    ),
    check=check,
)  # fmt: skip
