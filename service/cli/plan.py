"""``plan``: a file of keys → how many partitions its topic should have."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click
from rich.console import Console

from service.cli import tables
from service.cli.local_client import ask_stream
from service.cli.terminal import fill, table
from service.web.json_codec import loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

PATH = "/v1/partition-count-plans"
MARKS = {"above chance": " ▲", "below chance": " ▼"}


@click.command()
@tables.options
@click.option("--partitions", "partitions_counts", required=True, help="The counts that come into question: 12,18,24.")
@click.option("--current", "current_partitions_count", type=int, help="Today's count, from which keys would move.")
@click.option("--partitioner", "partitioners", multiple=True, help="Default: java. May be given several times.")
@click.option("--records-column", help="The column with the records of each key; default: a row is a record.")
@click.option("--bytes-column", help="The column with the bytes of these records.")
@click.option("--duration-seconds", type=float, help="The time in which these records came.")
@click.option("--records-per-second", type=float, help="Instead: what the whole topic takes in.")
@click.option("--bytes-per-second", type=float, help="The same in bytes.")
@click.option("--max-partition-records-per-second", type=float, help="Limit of the busiest partition.")
@click.option("--max-partition-bytes-per-second", type=float, help="Limit of the busiest partition.")
@click.option("--max-skew", type=float, help="Limit of the skew.")
@click.option("--hottest-keys", type=int, default=10, show_default=True, help="How many keys to list.")
@click.option("--json", "as_json", is_flag=True, help="JSON even on a terminal.")
def plan(
    *, file: str, file_format: str | None, key_column: str, key_format: str | None, records_column: str | None,
    bytes_column: str | None, partitioners: tuple[str, ...], as_json: bool, **question: Any,
) -> None:  # fmt: skip
    """Say how even each partition count would be, what moves, and which is the smallest that keeps the limits.

    FILE is CSV, TSV, JSON lines or Parquet, of any size; "-" is standard input.
    """
    query = {name: value for name, value in question.items() if value is not None}
    query |= {"partitioners": ",".join(partitioners)} if partitioners else {}
    query |= {"key_format": key_format} if key_format else {}
    given = {"key": key_column, "records": records_column, "bytes": bytes_column}
    columns = {name: column for name, column in given.items() if column is not None}
    batches = tables.read(file, columns, key_format, file_format)
    answer = ask_stream(f"{PATH}?{urlencode(query)}", tables.as_stream(batches))
    if as_json or not sys.stdout.isatty():
        click.echo(answer)
        return
    document, console = loads(answer), Console()
    console.print(_plans(document))
    for lines in (_limits(document), _hottest(document)):
        for line in lines:
            console.print(line, highlight=False)


def _plans(answer: dict[str, Any]) -> Table:
    """For each plan one row of records, and one of bytes where there are any: the skew beside what chance gives."""
    rows = []
    for of in answer["plans"]:
        kept = " ".join(f"{'✓' if kept else '✗'} {limit}" for limit, kept in of["meets"].items())
        for what in ("records", "bytes"):
            measure = of[what]
            if measure is None:
                continue
            chance, first = measure["chance"], what == "records"
            rows.append(
                (
                    of["partitioner"] if first else "",
                    str(of["partitions_count"]) if first else "",
                    what,
                    f"{measure['skew']:.3f}",
                    f"{chance['low']:.3f} – {chance['high']:.3f}" + MARKS.get(measure["verdict"], ""),
                    f"{measure['floor']:.3f}",
                    str(measure["empty_partitions"]),
                    f"{of['moved'][what]:.1%}" if of["moved"] else "—",
                    kept if first else "",
                )
            )
    return fill(
        table("partitioner", "partitions", "of", "skew", "by chance (99 %)", "hottest key's", "empty", "moved", "limits"), rows
    )


def _limits(answer: dict[str, Any]) -> Iterator[str]:
    """The smallest count that keeps all limits, and what no count keeps."""
    for of in answer["limits"]:
        if of["smallest"]:
            smallest = ", ".join(f"{limit}: {count or 'none'}" for limit, count in of["smallest"].items())
            yield f"{of['partitioner']}: smallest count that keeps {smallest}"
        for limit, reason in of["out_of_reach"].items():
            yield f"{of['partitioner']}: {limit}: {reason}"


def _hottest(answer: dict[str, Any]) -> Iterator[str]:
    """The heaviest keys, and what they were counted with."""
    seen = answer["keys"]
    about = "" if seen["exact"] else f" (± {seen['relative_error']:.2%}, {seen['method']})"
    yield f"{seen['records']} records of {seen['distinct']} different keys{about}"
    for hot in answer["hottest_keys"]["by_records"]:
        yield f"  {hot['share']:.2%}  {hot['key']}"
