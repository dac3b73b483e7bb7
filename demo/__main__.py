"""Ask the service about the flights, and print its answers."""

from __future__ import annotations

import click
from rich.console import Console

from demo import decisions, flights, show
from demo.decisions import ASSIGNORS, PARTITIONS_COUNTS, PLACERS, REPLICATION_FACTOR


@click.command()
@click.option("--url", help="URL of a running server. Default: an app in this process.")
def main(url: str | None) -> None:
    """Answer the three questions for the 336,776 flights that left New York in 2013."""
    console = Console(highlight=False)
    ask = decisions.over_http(url) if url else decisions.in_process()
    choices = flights.read()
    console.print(
        f"\n[bold]{len(choices[0].keys):,} flights[/] left New York in 2013. Each is a record. What should be its key?\n"
    )
    console.print(show.keys(choices))

    with console.status("partitioning …"):
        partitioned = [[decisions.partition(ask, keyed, n) for keyed in choices] for n in PARTITIONS_COUNTS]
    console.print(show.partitions(partitioned))
    console.print(
        "Skew is maximum ÷ mean per partition, of distinct keys and of records; 1 is even. At best: the lowest possible skew, "
        "since the records of the hottest key stay together. java ≠ librdkafka: share of the records that the default "
        "partitioners of the two clients put on different partitions.\n",
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
        f"The {REPLICATION_FACTOR} replicas of each partition are on {racks} racks. Records are those of the partitions that a "
        "member is assigned or a broker leads, with the java partitioner.\n",
        style="dim",
    )


if __name__ == "__main__":
    main()
