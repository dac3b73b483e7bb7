"""``compare`` and ``fingerprint``: a file of keys → where partitioners agree, and which partitioner wrote the records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from service import parameters
from service.cli import GroupedCommand, ask_stream, decide_stream, printed
from service.cli import into as into_folder
from service.http.json.codec import loads
from service.http.media_types import JSON
from service.report.figures import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from service.cli.terminal import Cells
    from service.pipeline.analyses.results import Outcome
    from service.pipeline.files.rejected import RejectedRows

CANDIDATES: Final = ("partitioner", "partitions", "pairs explained", "by chance", "more samples")

COMPARISONS: Final = "/v1/partitioner-comparisons"


@click.command(cls=GroupedCommand)
@parameters.FILE
@parameters.TABLE
@click.option("--partitions", "partitions_count", type=int, required=True, help="Number of partitions of the topic.")
@click.option("--partitioner", "partitioners", multiple=True, help="Partitioner to consider. Repeatable. Default: all.")
@click.option("--examples", type=int, default=3, show_default=True, help="Keys to list for each disagreement (JSON only).")
@into_folder.option()
@parameters.OUTPUT
def compare(
    *, file: str, file_format: str | None, key_column: str, key_format: str | None, strict: bool, partitioners: tuple[str, ...],
    into: str | None, output: str | None, **question: Any,
) -> None:  # fmt: skip
    """Show the share of the records on which each pair of partitioners agrees.

    partition-allocator compare keys.csv --key-column id --partitions 12

    FILE is CSV, TSV, JSON lines or Parquet. "-" is standard input.
    """
    from service.cli.keys import files  # noqa: PLC0415 - imports that a refusal of the options does not need
    from service.pipeline.files.rejected import RejectedRows  # noqa: PLC0415 - as above

    form = parameters.form(output)
    fields = {**question, "key_format": key_format, "partitioners": list(partitioners) or None}
    rejected = RejectedRows(strict=strict, kept=into is not None)
    batches = files.read(file, {"key": key_column}, key_format, file_format, rejected)
    if into is not None:
        into_folder.write(into, [file], lambda: _compared(fields, batches, rejected, file), form)
        return
    answer = ask_stream(COMPARISONS, fields, batches, form)
    if printed(answer, form):
        return
    from service.cli.keys.comparison import PAIRS, WRITERS, pair_rows, writer_rows  # noqa: PLC0415 - imports that other forms do not need
    from service.cli.terminal import Console, table  # noqa: PLC0415 - as above

    document, console = loads(answer), Console()
    console.say(document["conclusion"], "")
    console.print(table(WRITERS, writer_rows(document)))
    console.print()
    console.print(table(PAIRS, pair_rows(document)))


def _compared(
    fields: dict[str, Any], batches: Iterator[pa.RecordBatch], rejected: RejectedRows, file: str
) -> tuple[Outcome, pa.Table]:
    """What ``compare`` answers, and the rejected rows."""
    from service.cli.keys.comparison import report_of  # noqa: PLC0415
    from service.pipeline.analyses.results import Outcome  # noqa: PLC0415 - imports that a refusal of the options does not need

    form, answer = decide_stream(COMPARISONS, fields, batches)
    summary = loads(form.json(answer)) | {"rejected": dict(rejected.reasons)}
    figures = {
        "records": number(summary["keys_count"]),
        "different partitioners": number(len(summary["writers"])),
        "agreement by chance": f"{summary['chance_agreement']:.2%}",
        "rejected records": number(rejected.count),
    }
    tables = {"pairs.parquet": form.columns(answer, JSON)}
    return Outcome(summary, tables, report_of(summary, figures, file), figures), rejected.table()


@click.command(cls=GroupedCommand)
@parameters.FILE
@parameters.TABLE
@click.option("--partition-column", default="partition", show_default=True, help="Column with the partition of each record.")
@click.option("--partitions", "partitions_count", type=int, help="Number of partitions of the topic. Default: inferred.")
@click.option("--max-partitions", "max_partitions_count", type=int, help="Largest number of partitions to try.")
@click.option("--partitioner", "partitioners", multiple=True, help="Partitioner to consider. Repeatable. Default: all.")
@click.option(
    "--schema-id",
    "schema_ids",
    type=int,
    multiple=True,
    help="Id of a schema that may stand before the keys. Repeatable. Default: 0 to 100.",
)
@click.option("--examples", type=int, default=3, show_default=True, help="Records to show for each writer.")
@click.option("--max-candidates", type=int, default=20, show_default=True, help="Maximum number of candidates to list.")
@click.option("--expected", default="java", show_default=True, help="Partitioner that should have placed every record (--into).")
@into_folder.option("mismatch")
@parameters.OUTPUT
def fingerprint(
    *, file: str, file_format: str | None, key_column: str, key_format: str | None, partition_column: str,
    strict: bool, partitioners: tuple[str, ...], schema_ids: tuple[int, ...], expected: str, into: str | None,
    output: str | None, **question: Any,
) -> None:  # fmt: skip
    """Identify the partitioners that wrote the records.

    partition-allocator fingerprint seen.csv --partition-column partition

    FILE is CSV, TSV, JSON lines or Parquet. "-" is standard input.
    """
    from service.cli.keys import files  # noqa: PLC0415 - imports that a refusal of the options does not need
    from service.pipeline.files.rejected import RejectedRows  # noqa: PLC0415 - as above

    form = parameters.form(output)
    if into is not None:
        columns = {"key_column": key_column, "key_format": key_format, "partition_column": partition_column}
        writers = {"expected": expected, "partitioners": partitioners, "partitions_count": question["partitions_count"]}
        into_folder.write(into, [file], lambda: _mismatch(file, file_format, strict=strict, **columns, **writers), form)
        return
    names = {"key": key_column, "partition_id": partition_column}
    batches = files.read(file, names, key_format, file_format, RejectedRows(strict=strict))
    lists = {"partitioners": list(partitioners) or None, "schema_ids": list(schema_ids) or None}
    fields = {**question, "key_format": key_format, **lists}
    answer = ask_stream("/v1/partitioner-fingerprints", fields, batches, form)
    if printed(answer, form):
        return
    from service.cli.terminal import Console, table  # noqa: PLC0415 - an import that other forms do not need

    document, console = loads(answer), Console()
    console.say(document["conclusion"])
    console.print()
    for writer in document["writers"]:
        for example in writer["examples"]:
            console.say(f"  {_name(writer)}: key {example['key']} on partition {example['partition_id']}")
    console.print(table(CANDIDATES, _candidate_rows(document["candidates"])))


def _mismatch(file: str, file_format: str | None, *, strict: bool, **options: Any) -> tuple[Outcome, pa.Table]:
    """What ``pipeline mismatch`` finds, and the rejected rows. Raises UsageError, and AllocatorError."""
    from service.pipeline.analyses.mismatch.outcome import mismatch  # noqa: PLC0415
    from service.pipeline.analyses.results import LocalRecords  # noqa: PLC0415 - imports that a refusal of the options does not need
    from service.pipeline.files.reader import PARTITION, Column, read  # noqa: PLC0415

    if file == "-" and options["partitions_count"] is None:
        raise click.UsageError("Standard input can be read only once: with --into, set --partitions.")
    columns = {
        options["key_column"]: Column(options["key_format"], converted=False),
        options["partition_column"]: replace(PARTITION, converted=False),
    }
    records = LocalRecords(file, lambda rejected: read(file, columns, rejected, file_format), strict=strict)
    return mismatch(records, **options), records.rejected.table()


def _name(writer: dict[str, Any]) -> str:
    """A writer's first partitioner; what it does with a key if no client in the list does so."""
    names = writer["partitioners"]
    return str(names[0]) if names else f"{writer['hash']}, {writer['sign_rule']} (no client)"


def _candidate_rows(candidates: list[dict[str, Any]]) -> list[Cells]:
    return [
        (
            _name(c),
            str(c["partitions_count"]),
            f"{c['pairs_explained']} of {c['pairs']}",
            f"{c['chance_probability']:.2g}" if c["chance_probability"] else f"1e{c['log10_chance']:.0f}",
            "ruled out" if c["ruled_out"] else "never" if c["inseparable"] else str(c["more_samples"] or ""),
        )
        for c in candidates
        if c["partitioners"] or not c["ruled_out"]
    ]
