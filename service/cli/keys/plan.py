"""``plan``: a file of keys → how many partitions the topic should have."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from service import parameters
from service.cli import BadInput, GroupedCommand, ask, ask_stream, printed
from service.cli import into as into_folder
from service.core.printable import counted
from service.http.json.codec import loads
from service.parameters import COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    import pyarrow as pa

    from service.cli.terminal import Cells
    from service.pipeline.analyses.results import Outcome

PATH = "/v1/partition-count-plans"
SHORT = {"records_per_second": "rec/s", "bytes_per_second": "B/s", "mb_per_second": "MB/s"}
NOTHING = {"floor": ("1.00",), "empty": ("", "0")}
"""Cells that say nothing, by column; a column with no others is left out."""


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), required=False)
@parameters.TABLE
@parameters.SNAPSHOT
@click.option(
    "--topic", "topic_name", help="Topic in the snapshot, which gives --current-partitions and the rates. Default: the only one."
)
@click.option(
    "--partitions", "partitions_counts", type=COUNTS, help="Counts to compare: 12,18,24 or 12-48:12. Default: proposed."
)
@click.option("--current-partitions", "current_partitions_count", type=int, help="Current number of partitions.")
@click.option("--partitioner", "partitioners", multiple=True, help="Partitioner of the producers. Repeatable. Default: java.")
@click.option("--records-column", help="Column with the number of records of each key. Default: each row is a record.")
@click.option("--bytes-column", "size_column", help="Column with the total bytes of these records.")
@click.option("--duration-seconds", type=float, help="Time span of the records, in seconds.")
@click.option("--records-per-second", type=float, help="Records per second of the topic, instead of --duration-seconds.")
@click.option("--bytes-per-second", type=float, help="Bytes per second of the topic, instead of --duration-seconds.")
@click.option("--target-mb-per-second", type=float, help="Throughput that the topic must reach, in MB/s (10⁶ bytes).")
@click.option("--producer-mb-per-second", type=float, help="What producers write to one partition at most, in MB/s.")
@click.option("--consumer-mb-per-second", type=float, help="What one consumer reads from one partition at most, in MB/s.")
@click.option("--max-partition-records-per-second", type=float, help="Limit for the busiest partition, in records per second.")
@click.option("--max-partition-bytes-per-second", type=float, help="Limit for the busiest partition, in bytes per second.")
@click.option("--max-skew", type=float, help="Limit for the skew (maximum ÷ mean).")
@click.option("--hottest-keys", type=int, default=10, show_default=True, help="Number of hottest keys to list.")
@into_folder.option("skew")
@parameters.OUTPUT
def plan(
    *, file: str | None, file_format: str | None, key_column: str, key_format: str | None, strict: bool,
    records_column: str | None, size_column: str | None, partitioners: tuple[str, ...],
    partitions_counts: tuple[int, ...] | None, snapshots: tuple[BufferedReader, ...], topic_name: str | None,
    into: str | None, output: str | None, **question: Any,
) -> None:  # fmt: skip
    """Compare partition counts for a topic.

    Shows how even each count is and why, how many records move, and the smallest count within the limits. The exit status is 1
    if no count is within the limits, or only one that needs a new topic.

    FILE is CSV, TSV, JSON lines or Parquet, of any size. "-" is standard input. Without FILE, the count follows from
    throughput alone:

    partition-allocator plan --target-mb-per-second 9 --consumer-mb-per-second 5
    """
    form = parameters.form(output)
    _add_topic(question, snapshots, topic_name, has_sizes=size_column is not None)
    has_throughput = _has_throughput(question)
    if file is None:
        if not has_throughput:
            raise click.UsageError("Give a FILE of keys, or --target-mb-per-second and what a partition can take.")
        if partitions_counts:
            raise click.UsageError("To compare the counts of --partitions, give a FILE of keys.")
        _print_throughput(ask(PATH, {name: value for name, value in question.items() if value is not None}, form), form)
        return
    if into is not None:

        def analyse() -> tuple[Outcome, pa.Table]:
            columns = (key_column, records_column, size_column)
            return _skew(file, file_format, columns, key_format, partitioners, partitions_counts, question, strict=strict)

        into_folder.write(into, [file], analyse, form)
        return
    question |= {"partitions_counts": partitions_counts and list(partitions_counts), "partitioners": list(partitioners) or None}
    optional = {"records": records_column, "bytes": size_column}
    columns = {"key": key_column} | {name: column for name, column in optional.items() if column is not None}
    from service.cli.keys import files  # noqa: PLC0415 - imports that a refusal of the options does not need
    from service.pipeline.files.rejected import RejectedRows  # noqa: PLC0415 - as above

    batches = files.read(file, columns, key_format, file_format, RejectedRows(strict=strict))
    answer = ask_stream(PATH, {**question, "key_format": key_format}, batches, form)
    if not printed(answer, form):
        _print_plans(loads(answer))
    if form != "csv" and not _kept(loads(answer)):
        sys.exit(1)


def _skew(
    file: str, file_format: str | None, columns: tuple[str, str | None, str | None], key_format: str | None,
    partitioners: tuple[str, ...], partitions_counts: tuple[int, ...] | None, question: dict[str, Any], *, strict: bool,
) -> tuple[Outcome, pa.Table]:  # fmt: skip
    """What ``pipeline skew`` finds, and the rejected rows. Raises UsageError, and AllocatorError."""
    from service.decisions.partition_counts import PlansQuestion, proposed  # noqa: PLC0415
    from service.pipeline.analyses.results import LocalRecords  # noqa: PLC0415 - imports that a refusal of the options does not need
    from service.pipeline.analyses.skew.outcome import scan_of, skew  # noqa: PLC0415
    from service.pipeline.files.reader import NUMBER, Column, read  # noqa: PLC0415
    from service.planner.sizing.plans import Rates, throughput  # noqa: PLC0415

    _check_rates(question)
    target, producer, consumer = (question[f"{what}_mb_per_second"] for what in ("target", "producer", "consumer"))
    needed = None if target is None else throughput(target, producer, consumer)
    asked = PlansQuestion(**{name: value for name, value in question.items() if value is not None})
    counts = proposed(asked, needed) if partitions_counts is None else partitions_counts
    key_column, records_column, size_column = columns
    read_as = {key_column: Column(key_format, converted=False)}
    read_as |= dict.fromkeys((name for name in columns[1:] if name is not None), NUMBER)
    if len(read_as) < len(columns) - columns.count(None):
        raise click.UsageError("Each of key, records and bytes needs a column of its own.")
    records = LocalRecords(file, lambda rejected: read(file, read_as, rejected, file_format), strict=strict)
    scan = scan_of(
        records,
        key_columns=(key_column,),
        key_format=key_format,
        partitioners=partitioners,
        partitions_counts=tuple(dict.fromkeys((*counts, *([needed.partitions_count] if needed else [])))),
        current=question["current_partitions_count"],
        records_column=records_column,
        size_columns=() if size_column is None else (size_column,),
    )
    rates = Rates(question["records_per_second"], question["bytes_per_second"], target)
    proposes = partitions_counts is None
    outcome = skew(records, scan, asked.limits, rates, question["duration_seconds"], proposed=proposes)
    return outcome, records.rejected.table()


def _check_rates(question: dict[str, Any]) -> None:
    """Raise UsageError for rates that are given twice, and for limits of rates that are not given."""
    for what in ("records", "bytes"):
        rate, limit = question[f"{what}_per_second"], question[f"max_partition_{what}_per_second"]
        if rate is not None and question["duration_seconds"] is not None:
            raise click.UsageError(f"--duration-seconds already gives the rates, which --{what}-per-second gives too.")
        if limit is not None and rate is None and question["duration_seconds"] is None:
            raise click.UsageError(f"--max-partition-{what}-per-second needs --duration-seconds or --{what}-per-second.")


def _add_topic(
    question: dict[str, Any], snapshots: tuple[BufferedReader, ...], topic_name: str | None, *, has_sizes: bool
) -> None:
    """Add what a snapshot tells about the topic, where no option does. Raises BadInput."""
    if not snapshots:
        if topic_name is not None:
            raise click.UsageError("--topic names a topic of --snapshot.")
        return
    from service.cli.descriptions import reading  # noqa: PLC0415 - imports that --help does not need
    from service.core.errors import InvalidQuestion  # noqa: PLC0415
    from service.descriptions import bodies  # noqa: PLC0415

    described = reading.read_all(snapshots)
    try:
        topic = bodies.partition_count_plan(reading.noted_counts(described), topic_name, has_sizes=has_sizes)
    except InvalidQuestion as error:
        raise BadInput(error.detail) from None
    if question["duration_seconds"] is not None:
        topic = bodies.picked(topic, ("topic_name", "current_partitions_count"))
    question |= topic | {name: value for name, value in question.items() if value is not None}


def _has_throughput(question: dict[str, Any]) -> bool:
    """Do the options say what throughput the topic must reach, and what a partition can take?

    Raises UsageError for one without the other.
    """
    target, producer, consumer = (question[f"{what}_mb_per_second"] for what in ("target", "producer", "consumer"))
    if target is None and producer is None and consumer is None:
        return False
    if target is None or (producer is None and consumer is None):
        missing = "--target-mb-per-second" if target is None else "--producer-mb-per-second or --consumer-mb-per-second"
        raise click.UsageError(f"Missing option {missing}.")
    return True


def _print_throughput(answer: bytes, form: str) -> None:
    if printed(answer, form):
        return
    from service.cli.terminal import Console  # noqa: PLC0415 - an import that other forms do not need

    Console().say(loads(answer)["throughput"]["conclusion"])


def _print_plans(answer: dict[str, Any]) -> None:
    from service.cli.terminal import Console, table  # noqa: PLC0415 - an import that other forms do not need

    console = Console()
    console.say(*(limits["conclusion"] for limits in answer["limits"]))
    if "throughput" in answer:
        console.say(answer["throughput"]["conclusion"])
    for limits in answer["limits"]:
        name = limits["partitioner"]
        if len(answer["limits"]) > 1:
            console.say("", name)
        console.print(table(*_plans([plan for plan in answer["plans"] if plan["partitioner"] == name])))
    console.say(*_hottest(answer))


def _kept(answer: dict[str, Any]) -> bool:
    """Does some count keep all limits without a new topic, for every partitioner?"""
    return all(not limits["smallest"] or limits["recommended"] is not None for limits in answer["limits"])


def _plans(plans: list[dict[str, Any]]) -> tuple[list[str], list[Cells]]:
    """The columns, and a row per plan for its records, and one for its bytes if known: skew, its cause, what chance would give.

    plans : of one partitioner
    """
    rows = []
    for plan in plans:
        broken = [SHORT.get(limit, limit) for limit, met in plan["meets"].items() if not met]
        limits = f"✗ {' '.join(broken)}" if broken else "✓" if plan["meets"] else ""
        for load in ("records", "bytes"):
            measure = plan[load]
            if measure is None:
                continue
            chance, first = measure["chance"], load == "records"
            rate = plan["busiest"][f"{load}_per_second"]
            mb = plan["busiest"]["mb_per_second"] if not first or plan["bytes"] is None else None
            fullest = "" if rate is None else f"{rate:,.4g}{'/s' if first else ' B/s'}"
            fullest = fullest if mb is None else f"{mb:,.3g} MB/s"
            rows.append(
                (
                    str(plan["partitions_count"]) if first else "  bytes",
                    _times(measure["skew"]),
                    measure["verdict"],
                    f"{_times(chance['low'])}–{_times(chance['high'])}",
                    _times(measure["floor"]),
                    "" if measure["skew_without_hot_keys"] is None else _times(measure["skew_without_hot_keys"]),
                    str(measure["empty_partitions"]) if first else "",
                    fullest,
                    "new topic" if plan["needs_new_topic"] and first else f"{plan['moved'][load]:.1%}" if plan["moved"] else "",
                    limits if first else "",
                )
            )
    columns = ("count", "skew", "cause", "by chance", "floor", "w/o hot", "empty", "busiest", "moved", "limits")
    used = [i for i, column in enumerate(columns) if any(row[i] not in NOTHING.get(column, ("",)) for row in rows)]
    return [columns[i] for i in used], [tuple(row[i] for i in used) for row in rows]


def _times(skew: float) -> str:
    return f"{skew:.2f}" if skew < 100 else f"{skew:,.0f}"


def _hottest(answer: dict[str, Any]) -> Iterator[str]:
    """The hottest keys, and how they were counted."""
    keys = answer["keys"]
    about = "" if keys["exact"] else f" (standard error ± {keys['relative_error']:.2%}; {keys['method']})"
    distinct = counted(keys["distinct"], "distinct key") + about
    records, keyless = keys["records"], keys["keyless"]
    divided = f": {records:,} with a key, {keyless:,} without; " if keyless else ", "
    yield f"{counted(records + keyless, 'record')}{divided}{distinct}"
    if answer["hottest_keys"]["by_records"]:
        yield f"hottest keys, with their share of all records{', those without a key included' if keyless else ''}:"
    for key in answer["hottest_keys"]["by_records"]:
        yield f"  {key['share']:.2%}  {key['key']}"
