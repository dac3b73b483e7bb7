"""The answers as tables, for a terminal of a hundred columns or more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from demo.decisions import BROKERS, MEMBERS, PARTITIONERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo.decisions import Assigned, Counts, Partitioned, Placed
    from demo.flights import Keyed

BARS = "▁▂▃▄▅▆▇█"
CLIENT = dict(zip(PARTITIONERS, ("java", "librdkafka"), strict=True))


def keys(choices: list[Keyed]) -> Table:
    """What there is to hash."""
    table = _table("The keys", "key", "example", "distinct", "null", "hottest", "its flights", "share")
    for keyed in choices:
        hottest, flights = keyed.hottest
        share = flights / len(keyed.keys)
        example = keyed.keys[0].as_py()
        numbers = f"{len(keyed.distinct):,}", f"{keyed.keys.null_count:,}", hottest, f"{flights:,}", f"{share:.1%}"
        table.add_row(keyed.name, example, *numbers)
    return table


def partitions(results: list[Partitioned]) -> Table:
    """How even it comes out, and where the clients disagree."""
    table = _table("Key → partition", "partitions", "key")
    for client in CLIENT.values():
        table.add_column(f"{client}:\nkeys", justify="right")
        table.add_column("\nrecords", justify="right")
    table.add_column("records at\nbest", justify="right")
    table.add_column("java ≠\nlibrdkafka", justify="right")
    for i, result in enumerate(results):
        skews = [text for p in PARTITIONERS for text in (_skew(result.key_skew[p]), _skew(result.record_skew[p]))]
        first_of_count = i == 0 or results[i - 1].partitions_count != result.partitions_count
        count = str(result.partitions_count) if first_of_count else ""
        last_of_count = i + 1 < len(results) and results[i + 1].partitions_count != result.partitions_count
        table.add_row(
            count, result.keyed.name, *skews, f"{result.best_skew:.2f}", f"{result.elsewhere:.1%}", end_section=last_of_count
        )
    return table


def histogram(results: list[Partitioned]) -> Table:
    """Each partition's records as a bar, within each line from none to the fullest."""
    width = max(result.partitions_count for result in results)
    table = _table("Records in each partition, from the first to the last", "key", "client", "partitions")
    table.add_column("", no_wrap=True, min_width=width)
    table.add_column("fullest", justify="right")
    for i, result in enumerate(results):
        for partitioner, client in CLIENT.items():
            counts = result.records[partitioner]
            end = client == "librdkafka" and i + 1 < len(results) and results[i + 1].partitions_count != result.partitions_count
            wide = width // result.partitions_count
            table.add_row(
                result.keyed.name, client, str(result.partitions_count), _bars(counts, wide), f"{counts.max():,}", end_section=end
            )
    return table


def members(results: list[Assigned]) -> Table:
    """What each consumer gets."""
    table = _table("Partition → consumer", "member")
    for result in results:
        table.add_column(f"{result.assignor}, 3 × {result.partitions_count}\npartitions", justify="right")
        table.add_column("\nrecords", justify="right")
    for i, member in enumerate(MEMBERS):
        last = i == len(MEMBERS) - 1
        figures = [text for r in results for text in (f"{r.partitions[i]}", f"{r.records[i]:,}")]
        table.add_row(member, *figures, end_section=last)
    table.add_row("skew", *(text for r in results for text in (_skew(r.partition_skew), _skew(_of(r.records)))))
    return table


def brokers(results: list[Placed]) -> Table:
    """What each broker holds."""
    table = _table("Replica → broker", "broker", "rack")
    for result in results:
        table.add_column(f"{result.placer}, 3 × {result.partitions_count}\nreplicas", justify="right")
        table.add_column("\nleads", justify="right")
        table.add_column("\nrecords", justify="right")
    for i, broker in enumerate(BROKERS):
        figures = [text for r in results for text in (f"{r.replicas[i]}", f"{r.leaders[i]}", f"{r.records[i]:,}")]
        table.add_row(str(broker["broker_id"]), str(broker["rack_id"]), *figures, end_section=i == len(BROKERS) - 1)
    skews = [_skew(_of(counts)) for r in results for counts in (r.replicas, r.leaders, r.records)]
    table.add_row("skew", "", *skews)
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    numbers = {"distinct", "null", "its flights", "share", "partitions"}
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", no_wrap=True)
    return table


def _of(counts: Counts) -> float:
    return float(counts.max() / counts.mean())


def _skew(skew: float) -> Text:
    """Green where nothing is to be gained, red from twice the mean on."""
    return Text(f"{skew:.2f}", "green" if skew < 1.05 else "red" if skew >= 2 else "")


def _bars(counts: Counts, wide: int) -> str:
    def bars() -> Iterator[str]:
        for count in counts:
            yield (BARS[round(count / counts.max() * (len(BARS) - 1))] if count else " ") * wide

    return "".join(bars())
