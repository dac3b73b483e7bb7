"""``check``: which partitions of a cluster are at risk."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from service.cli import options
from service.cli.asking import ask
from service.cli.descriptions import reading
from service.cli.errors import note
from service.cli.help import GroupedCommand
from service.cli.terminal import Console, table
from service.core.printable import first_few, printable
from service.descriptions import Description, bodies
from service.http.json.codec import loads

if TYPE_CHECKING:
    from io import BufferedReader

PATH: Final = "/v1/placement-checks"
FINDINGS: Final = ("severity", "rule", "topic", "partitions", "brokers", "finding")
BROKERS: Final = ("broker", "rack", "replicas", "leads now", "preferred leader of")
IDS: Final = 10
"""Partitions, or brokers, of a finding that a row names."""


@click.command(
    cls=GroupedCommand,
    help="Check which partitions have no leader, lack replicas in sync or are not rack-safe. Exits with 1 if any is at risk.\n\n"
    "partition-allocator check topics.txt --snapshot racks.csv\n\n"
    f"FILE is the JSON body of POST {PATH}, or {options.FORMS}. Several are merged. Default: standard input.",
)
@click.argument("files", metavar="[FILE]...", type=click.File("rb"), nargs=-1)
@options.SNAPSHOT
@options.RACKS
@options.OUTPUT
def check(
    *, files: tuple[BufferedReader, ...], snapshots: tuple[BufferedReader, ...], racks: tuple[str, ...], output: str | None
) -> None:
    """See ``help`` above."""

    def make(description: Description) -> dict[str, Any]:
        return bodies.placement_check(reading.with_racks(description, racks))

    body = reading.document(next(iter(files), None), make, (*files[1:], *snapshots))
    form = options.form(output)
    answer = loads(ask(PATH, body))
    if form == "table":
        show(answer)
    else:
        if form == "csv":
            note(printable(answer["conclusion"]))
        click.echo(ask(PATH, body, form), nl=form == "json")
    if answer["at_risk"]:
        sys.exit(1)


def show(answer: dict[str, Any]) -> None:
    """Print the sentences and tables of an answer."""
    console = Console()
    console.say(answer["conclusion"], *answer["warnings"])
    findings = [
        (
            *(finding[name] for name in ("severity", "rule", "topic_name")),
            *(first_few(finding[name], IDS) for name in ("partition_ids", "broker_ids")),
            finding["detail"],
        )
        for finding in answer["findings"]
    ]
    brokers = [tuple("—" if cell is None else str(cell) for cell in broker.values()) for broker in answer["brokers"]]
    for heads, rows in ((FINDINGS, findings), (BROKERS, brokers)):
        if rows:
            console.say("")
            console.print(table(heads, rows))
