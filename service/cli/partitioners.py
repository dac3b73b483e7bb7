"""``compare`` and ``fingerprint``: a file of keys → where partitioners put them, and which one wrote them."""

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

    import pyarrow as pa
    from rich.table import Table


@click.command()
@tables.options
@click.option("--partitions", "partitions_count", type=int, required=True, help="The topic's partitions.")
@click.option("--partitioner", "partitioners", multiple=True, help="Default: all. May be given several times.")
@click.option("--examples", type=int, default=3, show_default=True, help="Keys to show of each disagreement (JSON only).")
@click.option("--json", "as_json", is_flag=True, help="JSON even on a terminal.")
def compare(
    *, file: str, file_format: str | None, key_column: str, key_format: str | None, partitioners: tuple[str, ...], as_json: bool,
    **question: Any,
) -> None:  # fmt: skip
    """Say on which share of the keys each two partitioners agree.

    FILE is CSV, TSV, JSON lines or Parquet; "-" is standard input.
    """
    batches = tables.read(file, {"key": key_column}, key_format, file_format)
    answer = _ask("/v1/partitioner-comparisons", {**question, "key_format": key_format}, partitioners, batches)
    if as_json or not sys.stdout.isatty():
        click.echo(answer)
        return
    document, console = loads(answer), Console()
    console.print(_writers(document["writers"]))
    console.print()
    console.print(_pairs(document["pairs"]))
    keys, chance = document["keys_count"], document["chance_agreement"]
    console.print(f"{keys} keys; two hashes that have nothing to do with each other agree on {chance:.1%}", highlight=False)


@click.command()
@tables.options
@click.option("--partition-column", default="partition", show_default=True, help="The column with the partition of each record.")
@click.option("--partitions", "partitions_count", type=int, help="The topic's partitions; default: to be found.")
@click.option("--max-partitions", "max_partitions_count", type=int, help="The largest count to be tried.")
@click.option("--partitioner", "partitioners", multiple=True, help="Default: all. May be given several times.")
@click.option("--examples", type=int, default=3, show_default=True, help="Records to show of each writer.")
@click.option("--max-candidates", type=int, default=20, show_default=True, help="Candidates to list.")
@click.option("--json", "as_json", is_flag=True, help="JSON even on a terminal.")
def fingerprint(
    *, file: str, file_format: str | None, key_column: str, key_format: str | None, partition_column: str,
    partitioners: tuple[str, ...], as_json: bool, **question: Any,
) -> None:  # fmt: skip
    """Say which partitioner wrote the records, or which several, and to how many partitions.

    FILE is CSV, TSV, JSON lines or Parquet; "-" is standard input.
    """
    batches = tables.read(file, {"key": key_column, "partition_id": partition_column}, key_format, file_format)
    answer = _ask("/v1/partitioner-fingerprints", {**question, "key_format": key_format}, partitioners, batches)
    if as_json or not sys.stdout.isatty():
        click.echo(answer)
        return
    document, console = loads(answer), Console()
    console.print(document["conclusion"], highlight=False)
    console.print()
    for writer in document["writers"]:
        for example in writer["examples"]:
            line = f"{writer['partitioners'][0]}: key {example['key']} on partition {example['partition_id']}"
            console.print(f"  {line}", highlight=False, markup=False)
    console.print(_candidates(document["candidates"]))


def _ask(path: str, question: dict[str, Any], partitioners: tuple[str, ...], batches: Iterator[pa.RecordBatch]) -> bytes:
    query = {name: value for name, value in question.items() if value is not None}
    query |= {"partitioners": ",".join(partitioners)} if partitioners else {}
    return ask_stream(f"{path}?{urlencode(query)}", tables.as_stream(batches))


def _writers(writers: list[dict[str, Any]]) -> Table:
    rows = [(one["partitioners"][0], one["hash"], one["sign_rule"], " ".join(one["partitioners"][1:])) for one in writers]
    return fill(table("partitioner", "hash", "sign rule", "and, with any key, also"), rows)


def _pairs(pairs: list[dict[str, Any]]) -> Table:
    rows = []
    for pair in sorted(pairs, key=lambda pair: -(pair["agreement"] or 0)):
        agreement = "—" if pair["agreement"] is None else f"{pair['agreement']:.2%}"
        rows.append((*pair["partitioners"], agreement, f"{pair['agreeing_keys']} of {pair['keys']}"))
    return fill(table("partitioner", "other", "agree", "keys"), rows)


def _candidates(candidates: list[dict[str, Any]]) -> Table:
    rows = [
        (
            one["partitioners"][0],
            str(one["partitions_count"]),
            f"{one['pairs_explained']} of {one['pairs']}",
            f"{one['chance_probability']:.2g}" if one["chance_probability"] else f"1e{one['log10_chance']:.0f}",
            "ruled out" if one["ruled_out"] else "never" if one["inseparable"] else str(one["more_samples"] or ""),
        )
        for one in candidates
    ]
    return fill(table("partitioner", "partitions", "pairs explained", "by chance", "more samples"), rows)
