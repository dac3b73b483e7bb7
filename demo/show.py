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
    """The keys."""
    table = _table("The keys", ["key", "example", "hottest"], ["its flights", "share", "distinct", "null"])
    for keyed in choices:
        hottest, flights = keyed.hottest
        share = f"{flights / len(keyed.keys):.1%}"
        counts = f"{len(keyed.distinct):,}", f"{keyed.keys.null_count:,}"
        table.add_row(keyed.name, keyed.keys[0].as_py(), hottest, f"{flights:,}", share, *counts)
    return table


def partitions(by_count: list[list[Partitioned]]) -> Table:
    """Skew, and how often the clients differ. by_count : one list per number of partitions"""
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
    """A bar per partition, relative to the largest of its line. results : for one number of partitions"""
    partitions_count = results[0].partitions_count
    table = _table(f"Records in each of {partitions_count} partitions", ["key", "partitioner", "from the first to the last"], [])
    for result in results:
        for partitioner, client in CLIENT.items():
            name = result.keyed.name if partitioner == PARTITIONERS[0] else ""
            table.add_row(name, client, _bars(result.records[partitioner], max(1, 60 // partitions_count)))
    return table


def members(by_count: list[list[Assigned]]) -> Table:
    """Partitions and records per consumer. by_count : per number of partitions, the answer of each assignor"""
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
    """Replicas, leaders and records per broker. by_count : per number of partitions, the answer of each placer"""
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
    """Green below 1.05, red from 2."""
    return Text(f"{skew:.2f}", "green" if skew < 1.05 else "red" if skew >= 2 else "")


def _bars(counts: Counts, width: int) -> str:
    """A bar per count, ``width`` characters wide; any count above 0 is visible."""
    heights = [-(-count * (len(BARS) - 1) // counts.max()) for count in counts.tolist()]
    return "".join(BARS[height] * width for height in heights)
