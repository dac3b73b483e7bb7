"""Ask the service about the flights, and print what it says."""

from __future__ import annotations

import click
from rich.console import Console

from demo import decisions, flights, show
from demo.decisions import ASSIGNORS, PARTITIONS_COUNTS, PLACERS, REPLICATION_FACTOR


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
        partitioned = [[decisions.partition(ask, keyed, n) for keyed in choices] for n in PARTITIONS_COUNTS]
    console.print(show.partitions(partitioned))
    console.print(
        "Skew is fullest ÷ mean, of the distinct keys and of their records; 1 is even. At best: a key's records stay together, "
        "so the hottest key alone makes this much. java ≠ librdkafka: records that the two clients' default partitioners "
        "put into different partitions.\n",
        style="dim",
    )
    for results in partitioned:
        console.print(show.histogram(results))

    assigned = [[decisions.assign(ask, assignor, topics) for assignor in ASSIGNORS] for topics in partitioned]
    console.print(show.members(assigned))
    placed = [[decisions.place(ask, placer, topics) for placer in PLACERS] for topics in partitioned]
    console.print(show.brokers(placed))
    racks = min(int(result.racks.min()) for results in placed for result in results)
    console.print(
        f"Each partition's {REPLICATION_FACTOR} replicas are on {racks} racks. Records are those of the partitions that a member "
        "reads or a broker leads, as the java partitioner spreads them.\n",
        style="dim",
    )


if __name__ == "__main__":
    main()
