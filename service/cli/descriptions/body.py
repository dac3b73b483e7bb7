"""``partition-allocator body``: the request that describes a cluster or a group, to post or to change."""

from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import click

from service import parameters
from service.cli import EXAMPLE, GroupedCommand, PrintableGroup
from service.cli.descriptions import reading
from service.descriptions import bodies
from service.parameters import COUNTS

TOPIC: Final = click.option("--topic", "topic_name", help="Topic in the description. Default: the only one.")

PARTITIONS: Final = click.option(
    "--partitions",
    "partitions_counts",
    type=COUNTS,
    help="Counts to compare: 12,18,24 or 12-48:12. Default: as now.",
)


@click.group(cls=PrintableGroup)
def body() -> None:
    """Print the JSON body of a request, or write tables, made from a description of a cluster.

    partition-allocator body reassignments topics.txt > body.json
    """


def _command(name: str, make: Callable[..., dict[str, Any]], *several: Callable[[Any], Any]) -> None:
    of_files = f"{EXAMPLE}body {name} group.txt\n\nFILE is {parameters.FORMS}. Default: standard input."

    @body.command(name, cls=GroupedCommand, help=f"Print the body of POST /v1/{name}.\n\n{of_files}")
    @click.argument("file", type=click.File("rb"), default=None, required=False)
    def command(file: BufferedReader | None, **values: Any) -> None:
        text = reading.body(file, make, **values)
        reading.parsed(text)  # a body of JSON is printed as it is
        click.echo(text)

    for option in reversed(several):
        option(command)


def _on_racks(make: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    return lambda description, racks, **values: make(reading.with_racks(description, racks), **values)


_command("group-assignments", reading.assignment_body, parameters.TOPICS, parameters.MEMBERS, parameters.GROUP)
_command("group-rebalances", reading.group_body, parameters.TOPICS, parameters.MEMBERS, parameters.GROUP)
_command("member-count-plans", reading.lag_body, parameters.TOPICS, parameters.MEMBERS, parameters.GROUP)
_command("replica-placements", reading.placement_body, parameters.PLACEMENT)
_command("placement-audits", _on_racks(bodies.placement_audit), parameters.SNAPSHOT, parameters.RACKS, TOPIC)
_command("placement-checks", _on_racks(bodies.placement_check), parameters.SNAPSHOT, parameters.RACKS)
_command("reassignments", _on_racks(bodies.reassignment), parameters.SNAPSHOT, parameters.RACKS)
_command("log-dir-plans", reading.log_dir_body, parameters.SNAPSHOT)
_command("partition-count-plans", reading.plan_body, parameters.SNAPSHOT, TOPIC, PARTITIONS)


@body.command(
    cls=GroupedCommand,
    help=f"Write the tables that the jobs of pipeline read.\n\n{EXAMPLE}body tables topics.txt --out tables/\n\nFILE is "
    f"{parameters.FORMS}. Default: standard input.",
)
@click.argument("file", type=click.File("rb"), default=None, required=False)
@parameters.SNAPSHOT
@parameters.RACKS
@click.option("--out", "folder", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the tables.")
def tables(*, file: BufferedReader | None, snapshots: tuple[BufferedReader, ...], racks: tuple[str, ...], folder: Path) -> None:
    """See ``help`` above."""
    from service.cli.descriptions.pipeline_tables import write_tables  # noqa: PLC0415 - an import that the other commands do not need

    whole = reading.read_all((*snapshots, file) if file else snapshots)
    write_tables(reading.with_racks(whole, racks), folder)
