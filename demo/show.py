"""The answers as tables, for a terminal of a hundred columns or more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from demo.decisions import ASSIGNORS, BROKERS, MEMBERS, PARTITIONERS, PLACERS

if TYPE_CHECKING:
    from demo.decisions import Assigned, Counts, Partitioned, Placed
    from demo.flights import Keyed

BARS = " ▁▂▃▄▅▆▇█"
CLIENT = dict(zip(PARTITIONERS, ("java", "librdkafka"), strict=True))


def keys(choices: list[Keyed]) -> Table:
    """What there is to hash."""
    table = _table("The keys", ["key", "example", "hottest"], ["its flights", "share", "distinct", "null"])
    for keyed in choices:
        hottest, flights = keyed.hottest
        share = f"{flights / len(keyed.keys):.1%}"
        counts = f"{len(keyed.distinct):,}", f"{keyed.keys.null_count:,}"
        table.add_row(keyed.name, keyed.keys[0].as_py(), hottest, f"{flights:,}", share, *counts)
    return table


def partitions(by_count: list[list[Partitioned]]) -> Table:
    """How even it comes out, and how often the clients disagree. by_count : a list for each number of partitions"""
    skews = [f"{client}\n{what}" for client in CLIENT.values() for what in ("keys", "records")]
    table = _table("Key → partition: skew", ["partitions", "key"], [*skews, "at best\nrecords", "java ≠\nlibrdkafka"])
    for results in by_count:
        for i, result in enumerate(results):
            figures = [_skew(skew[p]) for p in PARTITIONERS for skew in (result.key_skew, result.record_skew)]
            count = str(result.partitions_count) if i == 0 else ""
            table.add_row(count, result.keyed.name, *figures, f"{result.best_skew:.2f}", f"{result.elsewhere:.1%}")
        table.add_section()
    return table


def histogram(results: list[Partitioned]) -> Table:
    """Each partition's records as a bar, from none to the fullest of the line. results : of one number of partitions"""
    partitions_count = results[0].partitions_count
    table = _table(f"Records in each of {partitions_count} partitions", ["key", "partitioner", "from the first to the last"], [])
    for result in results:
        for partitioner, client in CLIENT.items():
            name = result.keyed.name if partitioner == PARTITIONERS[0] else ""
            table.add_row(name, client, _bars(result.records[partitioner], max(1, 60 // partitions_count)))
    return table


def members(by_count: list[list[Assigned]]) -> Table:
    """What each consumer gets. by_count : for each number of partitions what each assignor answers"""
    columns = [f"{assignor}\n{what}" for assignor in ASSIGNORS for what in ("partitions", "records")]
    table = _table("Partition → consumer", ["partitions\nof a topic", "member"], columns)
    for results in by_count:
        for i, member in enumerate(MEMBERS):
            figures = [text for r in results for text in (f"{r.partitions[i]}", f"{r.records[i]:,}")]
            table.add_row(_of_a_topic(results) if i == 0 else "", member, *figures)
        table.add_row("", "[dim]skew[/]", *(text for r in results for text in (_skew(r.partition_skew), _skew(_of(r.records)))))
        table.add_section()
    return table


def brokers(by_count: list[list[Placed]]) -> Table:
    """What each broker holds. by_count : for each number of partitions what each placer answers"""
    columns = [f"{placer}\n{what}" for placer in PLACERS for what in ("replicas", "leads", "records")]
    table = _table("Replica → broker", ["partitions\nof a topic", "broker", "rack"], columns)
    for results in by_count:
        for i, broker in enumerate(BROKERS):
            figures = [text for r in results for text in (f"{r.replicas[i]}", f"{r.leaders[i]}", f"{r.records[i]:,}")]
            table.add_row(_of_a_topic(results) if i == 0 else "", str(broker["broker_id"]), str(broker["rack_id"]), *figures)
        skews = [_skew(_of(counts)) for r in results for counts in (r.replicas, r.leaders, r.records)]
        table.add_row("", "[dim]skew[/]", "", *skews)
        table.add_section()
    return table


def _table(title: str, texts: list[str], figures: list[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for column in texts:
        table.add_column(column, vertical="bottom", no_wrap=True)
    for column in figures:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _of_a_topic(results: list[Assigned] | list[Placed]) -> str:
    return str(results[0].partitions_count)


def _of(counts: Counts) -> float:
    return float(counts.max() / counts.mean())


def _skew(skew: float) -> Text:
    """Green where nothing is to be gained, red from twice the mean on."""
    return Text(f"{skew:.2f}", "green" if skew < 1.05 else "red" if skew >= 2 else "")


def _bars(counts: Counts, width: int) -> str:
    """A bar for each count, ``width`` characters wide; one that is not empty shows."""
    heights = [-(-count * (len(BARS) - 1) // counts.max()) for count in counts.tolist()]
    return "".join(BARS[height] * width for height in heights)
