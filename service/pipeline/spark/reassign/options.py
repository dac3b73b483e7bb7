"""The options of ``reassign``."""

from typing import Final

import click

from service.parameters import PLANNING
from service.pipeline.spark.job import Job
from service.pipeline.spark.parameters import READ_OPTIONS, SOURCE

JOB: Final = Job(
    name="reassign",
    summary="Plan a reassignment for all topics of a table, with the fewest moves or to the evenest load.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["placements"], type=SOURCE),
        click.Option(["--brokers"], type=SOURCE, required=True, help="Table of broker_id, rack_id, draining, weight and so on."),
        *PLANNING,
    ),
)
