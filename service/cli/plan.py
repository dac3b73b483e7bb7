"""``plan``: a file of keys → how many partitions the topic should have."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click
from rich.console import Console

from service.cli import tables
from service.cli.local_client import post_stream
from service.cli.terminal import fill, table
from service.core.printable import printable
from service.web.json_codec import loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

PATH = "/v1/partition-count-plans"
MARKS = {"above chance": " ▲", "below chance": " ▼"}


@click.command()
@tables.options
@click.option("--partitions", "partitions_counts", required=True, help="Partition counts to compare: 12,18,24.")
@click.option("--current", "current_partitions_count", type=int, help="Current number of partitions.")
@click.option("--partitioner", "partitioners", multiple=True, help="Partitioner of the producers. Repeatable. Default: java.")
@click.option("--records-column", help="Column with the number of records of each key. Default: each row is a record.")
@click.option("--bytes-column", help="Column with the total bytes of these records.")
@click.option("--duration-seconds", type=float, help="Time span of the records, in seconds.")
@click.option("--records-per-second", type=float, help="Records per second of the topic, instead of --duration-seconds.")
@click.option("--bytes-per-second", type=float, help="Bytes per second of the topic, instead of --duration-seconds.")
@click.option("--max-partition-records-per-second", type=float, help="Limit for every partition, in records per second.")
@click.option("--max-partition-bytes-per-second", type=float, help="Limit for every partition, in bytes per second.")
@click.option("--max-skew", type=float, help="Limit for the skew (maximum ÷ mean).")
@click.option("--hottest-keys", type=int, default=10, show_default=True, help="Number of hottest keys to list.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also on a terminal.")
def plan(
    *, file: str, file_format: str | None, key_column: str, key_format: str | None, records_column: str | None,
    bytes_column: str | None, partitioners: tuple[str, ...], as_json: bool, **question: Any,
) -> None:  # fmt: skip
    """Compare partition counts for a topic.

    Shows how even each count is, how many records move, and the smallest count within the limits.

    FILE is CSV, TSV, JSON lines or Parquet, of any size. "-" is standard input.
    """
    query = {name: value for name, value in question.items() if value is not None}
    query |= {"partitioners": ",".join(partitioners)} if partitioners else {}
    query |= {"key_format": key_format} if key_format else {}
    optional = {"records": records_column, "bytes": bytes_column}
    columns = {"key": key_column} | {name: column for name, column in optional.items() if column is not None}
    batches = tables.read(file, columns, key_format, file_format)
    answer = post_stream(f"{PATH}?{urlencode(query)}", tables.as_stream(batches))
    if as_json or not sys.stdout.isatty():
        click.echo(answer)
        return
    document, console = loads(answer), Console()
    console.print(_plans(document))
    for line in (*_limits(document), *_hottest(document)):
        console.print(line, highlight=False, markup=False)


def _plans(answer: dict[str, Any]) -> Table:
    """One row per plan for its records, and one for its bytes if known: the skew, and the range expected by chance."""
    rows = []
    for plan in answer["plans"]:
        limits = " ".join(f"{'✓' if met else '✗'} {limit}" for limit, met in plan["meets"].items())
        for name in ("records", "bytes"):
            measure = plan[name]
            if measure is None:
                continue
            chance, first = measure["chance"], name == "records"
            rows.append(
                (
                    plan["partitioner"] if first else "",
                    str(plan["partitions_count"]) if first else "",
                    name,
                    f"{measure['skew']:.3f}",
                    f"{chance['low']:.3f} – {chance['high']:.3f}" + MARKS.get(measure["verdict"], ""),
                    f"{measure['floor']:.3f}",
                    str(measure["empty_partitions"]),
                    f"{plan['moved'][name]:.1%}" if plan["moved"] else "—",
                    limits if first else "",
                )
            )
    return fill(
        table("partitioner", "partitions", "measure", "skew", "by chance (99 %)", "floor", "empty", "moved", "limits"), rows
    )


def _limits(answer: dict[str, Any]) -> Iterator[str]:
    """The smallest count within the limits, and the limits that every count exceeds."""
    for limits in answer["limits"]:
        if limits["smallest"]:
            smallest = ", ".join(f"{limit}: {count or 'none'}" for limit, count in limits["smallest"].items())
            yield f"{limits['partitioner']}: smallest count within the limit: {smallest}"
            yield f"{limits['partitioner']}: {_recommended(limits, answer['current_partitions_count'])}"
        for limit, reason in limits["out_of_reach"].items():
            yield f"{limits['partitioner']}: {limit}: {reason}"


def _recommended(limits: dict[str, Any], current: int | None) -> str:
    """What can be done, and what would need a new topic."""
    count, smaller = limits["recommended"], limits["needs_new_topic"]
    text = "no given count is within every limit" if count is None else f"recommended: {count} partitions"
    if count is not None and count == current:
        text += ", as now"
    if smaller is not None:
        text += f"; {smaller} would need a new topic, because Kafka cannot remove partitions"
    return text


def _hottest(answer: dict[str, Any]) -> Iterator[str]:
    """The hottest keys, and how they were counted."""
    keys = answer["keys"]
    about = "" if keys["exact"] else f" (± {keys['relative_error']:.2%}, {keys['method']})"
    yield f"{keys['records']} records, {keys['distinct']} distinct keys{about}"
    for key in answer["hottest_keys"]["by_records"]:
        yield f"  {key['share']:.2%}  {printable(str(key['key']))}"
