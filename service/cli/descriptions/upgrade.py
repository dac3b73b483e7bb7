"""``upgrade``: what an upgrade of clients or brokers, or a change of protocol, does to a cluster."""

from io import BufferedReader

import click

from service import parameters
from service.cli import BadInput, GroupedCommand, announce_compilation
from service.cli.descriptions import reading
from service.cli.terminal import Console, table
from service.core.errors import InvalidQuestion
from service.core.printable import first_few
from service.descriptions.upgrades import NAMED, GroupChange, Software, Upgrade, document, sentences
from service.descriptions.upgrades import upgrade as find
from service.http.json.codec import dumps


@click.command(cls=GroupedCommand)
@click.argument("files", metavar="[FILE]...", type=click.File("rb"), nargs=-1)
@parameters.SNAPSHOT
@click.option(
    "--from", "before", required=True, metavar="WHAT", help="librdkafka:1.9, kafka:3.9, zookeeper:3.9, eager or classic."
)
@click.option(
    "--to", "after", required=True, metavar="WHAT", help="librdkafka:2.15, java:4.4, kafka:4.4, cooperative or consumer."
)
@click.option("--client", help="Client of groups that could have it or another, such as librdkafka.")
@parameters.output("table", "json")
def upgrade(
    *, files: tuple[BufferedReader, ...], snapshots: tuple[BufferedReader, ...], before: str, after: str, client: str | None,
    output: str | None,
) -> None:  # fmt: skip
    """Show what an upgrade changes.

    partition-allocator upgrade cluster.json --from java --to librdkafka:2.15

    It shows which groups and keys change, how many partitions the first rebalance moves, and the steps that the libraries accept;
    from ZooKeeper to KRaft also which topics would be placed differently. WHAT is a client and its release, kafka or zookeeper
    (brokers with Java's clients) and its release, or a protocol: eager to cooperative, classic to consumer. FILE is a
    snapshot, or output of Kafka's tools; several are merged. Default: standard input.
    """
    announce_compilation()
    description = reading.read_all((*files, *snapshots))
    try:
        found = find(description, Software.read(before), Software.read(after), client)
    except InvalidQuestion as error:
        raise BadInput(error.detail) from None
    if parameters.form(output) == "json":
        click.echo(dumps(document(found)))
    else:
        _show(found)


def _show(found: Upgrade) -> None:
    console = Console()
    console.say(*sentences(found), "", soft_wrap=True)
    if found.groups:
        rows = [(each.group_id, each.before, each.after or "—", *_numbers(each)) for each in found.groups]
        console.print(table(("group", "from", "to", "assigned differently", "moved", "moved without upgrade"), rows))
    if found.keys:
        moved = [
            (one.topic_name, one.before, one.after, "—" if one.moved_share is None else f"{one.moved_share:.0%}")
            for one in found.keys
        ]
        console.print(table(("topic", "default partitioner", "then", "keys moved"), moved))
    otherwise = [each for each in found.placements if not each.possible_after]
    if otherwise:
        placed = [(each.topic_name, each.before, "yes" if each.possible_before else "no", each.after, "no") for each in otherwise]
        console.print(table(("topic", "placer", "possible before", "then", "possible after"), placed))
    by_steps: dict[tuple[str, ...], list[str]] = {}
    for each in found.groups:
        by_steps.setdefault(each.steps, []).append(each.group_id)
    for steps, names in by_steps.items():
        if steps:
            console.say("", f"Steps for {first_few(names, NAMED)}:")
            console.say(*(f"{i}. {step}" for i, step in enumerate(steps, 1)), soft_wrap=True)
    notes = [f"{each.group_id}: {note}" for each in found.groups for note in (*each.notes, each.problem) if note]
    console.say("", *found.notes, *notes, soft_wrap=True)


def _numbers(change: GroupChange) -> tuple[str, str, str]:
    differently, moved, without = (
        ("—" if n is None else str(n)) for n in (change.assigned_differently, change.moved, change.moved_without_upgrade)
    )
    return differently, moved, without
