"""``partition-allocator body``: the request that describes a cluster or a group, to post or to change."""

from collections.abc import Callable
from io import BufferedReader
from typing import Any, Final

import click

from service.cli import descriptions, options
from service.spark.counts import COUNTS

TOPIC: Final = click.option("--topic", "topic_name", help="Topic in the description. Default: the only one.")

PARTITIONS: Final = click.option(
    "--partitions",
    "partitions_counts",
    type=COUNTS,
    help="Counts to compare: 12,18,24 or 12-48:12. Default: as now.",
)


@click.group
def body() -> None:
    """Print the JSON body of a request, made from a description of the cluster."""


def _command(name: str, make: Callable[..., dict[str, Any]], *several: Callable[[Any], Any]) -> None:
    @body.command(name, help=f"Print the body of POST /v1/{name}.\n\nFILE is {options.FORMS}. Default: standard input.")
    @click.argument("file", type=click.File("rb"), default=None, required=False)
    def command(file: BufferedReader | None, **values: Any) -> None:
        click.echo(descriptions.body(file, make, **values))

    for option in reversed(several):
        option(command)


_command("group-assignments", descriptions.group_body, options.GROUP)
_command("group-rebalances", descriptions.group_body, options.GROUP)
_command("replica-placements", descriptions.placement_body, options.PLACEMENT)
_command("placement-audits", descriptions.audit_body, options.SNAPSHOT, options.RACKS, TOPIC)
_command("reassignments", descriptions.reassignment_body, options.SNAPSHOT, options.RACKS)
_command("partition-count-plans", descriptions.plan_body, options.SNAPSHOT, TOPIC, PARTITIONS)
