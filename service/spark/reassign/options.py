"""The options of ``reassign``."""

from typing import Final

import click

from service.core.reassignments import (
    BALANCES,
    BATCH_ORDERS,
    BATCH_SECONDS,
    LEADER_RULES,
    OBJECTIVES,
    RACK_RULES,
    THROTTLE_UTILIZATION,
)
from service.spark.job import Job
from service.spark.parameters import READ_OPTIONS, SOURCE

JOB: Final = Job(
    name="reassign",
    summary="Plan a reassignment for all topics of a table, with the fewest moves or to the evenest load.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["placements"], type=SOURCE),
        click.Option(["--brokers"], type=SOURCE, required=True, help="Table of broker_id, rack_id, draining, weight and so on."),
        click.Option(["--exclude", "excluded_topics"], multiple=True, help="Topic to leave as it is. Repeatable."),
        click.Option(
            ["--replication-factor"], type=click.IntRange(1), help="Replication factor of all topics. Default: as it is."
        ),
        click.Option(
            ["--objective"],
            type=click.Choice(OBJECTIVES),
            help=f"First goal. Default: {OBJECTIVES[0]}, and {OBJECTIVES[1]} with a tolerance or a limit of copies.",
        ),
        click.Option(["--racks"], type=click.Choice(RACK_RULES), default=RACK_RULES[0], show_default=True),
        click.Option(["--leaders"], type=click.Choice(LEADER_RULES), default=LEADER_RULES[0], show_default=True),
        click.Option(["--balance"], type=click.Choice(BALANCES), default=BALANCES[0], show_default=True),
        click.Option(
            ["--tolerance"],
            type=click.FloatRange(0),
            help="Fewest copies that bring every broker within this share of the mean, such as 0.1.",
        ),
        click.Option(["--max-moves"], type=click.IntRange(0), help="Evenest load with at most so many replicas copied."),
        click.Option(["--max-bytes"], type=click.IntRange(0), help="Evenest load with at most so many bytes copied."),
        click.Option(["--frontier"], is_flag=True, help="Also write how even the cluster can be with each number of copies."),
        click.Option(
            ["--moves-per-broker"], type=click.IntRange(1), help="Replicas that a broker receives, or gives, in a batch."
        ),
        click.Option(["--moves-per-batch"], type=click.IntRange(1), help="Replicas copied in a batch."),
        click.Option(["--bytes-in-flight"], type=click.IntRange(1), help="Bytes copied in a batch."),
        click.Option(["--order"], type=click.Choice(BATCH_ORDERS), default=BATCH_ORDERS[0], show_default=True),
        click.Option(
            ["--throttle", "throttle_bytes_per_second"],
            type=click.IntRange(1),
            help="Bytes per second of each broker, per direction.",
        ),
        click.Option(
            ["--throttle-utilization"],
            type=click.FloatRange(0, 1, min_open=True),
            default=THROTTLE_UTILIZATION,
            show_default=True,
            help="Share of the throttle that the copying reaches.",
        ),
        click.Option(
            ["--batch-seconds"],
            type=click.FloatRange(0),
            default=BATCH_SECONDS,
            show_default=True,
            help="Seconds of a batch beside the copying.",
        ),
    ),
)
