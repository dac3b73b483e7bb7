"""The options of ``history``."""

from typing import Final

import click

from service.pipeline.spark.job import Job
from service.pipeline.spark.parameters import READ_OPTIONS, SOURCE

JOB: Final = Job(
    name="history",
    summary="Tell what happened to every group, from records of __consumer_offsets: each rebalance, with its cause.",
    parameters=(READ_OPTIONS, click.Argument(["records"], type=SOURCE)),
)
