"""Ask the service about the flights, and print what it says."""

from __future__ import annotations

import click
from rich.console import Console

from demo import decisions, flights, show


@click.command()
@click.option("--url", help="A running server to ask; default: the app in this process.")
def main(url: str | None) -> None:
    """The three decisions on the 336,776 flights that left New York in 2013."""
    console = Console(highlight=False)
    ask = decisions.over_http(url) if url else decisions.in_process()
    choices = flights.read()

    console.print(f"\n[bold]{len(choices[0].keys):,} flights[/] left New York in 2013. Each is a record; what is its key?\n")
    console.print(show.keys(choices))

    with console.status("partitioning …"):
        partitioned = [decisions.partition(ask, keyed, n) for n in decisions.PARTITIONS_COUNTS for keyed in choices]
    console.print(show.partitions(partitioned))
    console.print(
        "[dim]Skew: fullest ÷ mean, of the keys and of their records. At best: a key's records stay together, so that the\n"
        "hottest key alone makes this much. java ≠ librdkafka: records that the two clients put into different partitions.[/]\n"
    )
    console.print(show.histogram(partitioned))

    by_count = [[topic for topic in partitioned if topic.partitions_count == n] for n in decisions.PARTITIONS_COUNTS]
    console.print(
        show.members([decisions.assign(ask, assignor, topics) for topics in by_count for assignor in decisions.ASSIGNORS])
    )
    placed = [decisions.place(ask, placer, topics) for topics in by_count for placer in decisions.PLACERS]
    console.print(show.brokers(placed))
    racks = min(int(result.racks.min()) for result in placed)
    console.print(
        f"[dim]Every partition has its {decisions.REPLICATION_FACTOR} replicas on {racks} racks. "
        "Records: those of the partitions led.[/]\n"
    )


main()
