"""``log-dirs``: what is in the directories of brokers → a plan that moves replicas between them, as a table, JSON, or files."""

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import click

from service.cli import options, request_bodies
from service.cli.descriptions import reading
from service.cli.help import GroupedCommand
from service.cli.reassignments import plans, tables
from service.cli.reassignments.files import batch_texts, commands, head, write_texts
from service.core.printable import counted
from service.parameters import OBJECTIVE, PACE

MOVES: Final = {"topic_name": "topic", "partition_id": "partition", "broker_id": "broker"} | {
    name: name for name in ("from", "to", "reason")
}
"""The fields of a move, and the heads of their columns."""

ADVICE: Final = (
    "Repeat `--verify` until each move of the batch is complete, which also takes a throttle off. Brokers delete what has",
    "moved a minute later (`file.delete.delay.ms`): if disks are nearly full, execute the next batch only then.",
)


def write_disk_files(folder: Path, answer: dict[str, Any]) -> list[Path]:
    """Write the plan; returns the files: ``reassignment-01.json``, ``rollback-01.json`` … and ``plan.md``. Raises BadInput."""
    digits, texts = batch_texts(answer)
    return write_texts(folder, {**texts, "plan.md": "\n".join(_report(answer, digits)).encode()})


def _report(answer: dict[str, Any], digits: int) -> Iterator[str]:
    yield from head(answer, "Log directories")
    yield from ("", f"In figures: {summary(answer)}", "", "## Batches", "", *tables.batches(answer, "moves").markdown())
    yield from commands(answer, digits, "--replica-alter-log-dirs-throttle", ADVICE)
    yield from ("", "## Directories", "", *tables.log_dirs(answer).markdown())
    yield from ("", "## Moves", "", *tables.moves(answer, MOVES).markdown())


def summary(answer: dict[str, Any]) -> str:
    """The figures in one line."""
    moves = answer["moves"]
    skews = [max(answer["brokers"][name], default=1.0) for name in ("skews_before", "skews_after")]
    moved = f"{counted(moves['replicas'], 'move')} · {moves['bytes']:,} bytes (lower bound {moves['lower_bound']:,})"
    return f"{moved} · worst skew of a broker's disks {skews[0]:.4g} → {skews[1]:.4g}"


PATH: Final = "/v1/log-dir-plans"


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@options.SNAPSHOT
@plans.OUT
@click.option(
    "--drain", "drained", multiple=True, metavar="[ID:]PATH", help="Directory to empty, of one broker or of all. Repeatable."
)
@click.option("--cordon", "cordoned", multiple=True, metavar="[ID:]PATH", help="Directory that gets no replicas. Repeatable.")
@click.option("--broker", "broker_ids", type=int, multiple=True, metavar="ID", help="Broker to plan. Repeatable. Default: all.")
@click.option(
    "--tolerance", type=float, help="Copy few bytes to bring every disk within this share of its broker's mean, such as 0.1."
)
@click.option("--max-moves", type=int, help="Most replicas moved on each broker; the evenest disks within that.")
@click.option("--max-bytes", type=int, help="Most bytes copied on each broker; the evenest disks within that.")
@click.option("--disk-threshold", type=float, help="Share of a disk that may be used, such as 0.85. Default: all of it.")
@click.option(
    "--included-topics",
    "included_topics",
    multiple=True,
    metavar="PATTERN",
    help="Topics whose replicas may move, with * for any characters and ? for one; all others stay. Repeatable.",
)
@click.option(
    "--excluded-topics", "excluded_topics", multiple=True, metavar="PATTERN", help="Topics whose replicas stay. Repeatable."
)
@click.option("--moves-per-broker", type=int, help="Replicas that a broker moves in one batch.")
@click.option("--moves-per-log-dir", type=int, help="Replicas that a directory gets, or gives away, in one batch.")
@click.option("--bytes-in-flight", type=int, help="Bytes that a broker copies in one batch.")
@click.option("--throttle", "throttle_bytes_per_second", type=int, help="Bytes per second of each broker.")
@options.OUTPUT
def log_dirs(
    *, file: BufferedReader | None, snapshots: tuple[BufferedReader, ...], folder: Path | None, drained: tuple[str, ...],
    cordoned: tuple[str, ...], broker_ids: tuple[int, ...], output: str | None, **question: Any,
) -> None:  # fmt: skip
    """Plan moves between the log directories of brokers: to empty a disk, to keep a threshold, or to even them out.

    partition-allocator log-dirs log-dirs.txt --snapshot topics.txt --out plan/

    FILE is the JSON body of POST /v1/log-dir-plans, a snapshot, or the output of kafka-log-dirs --describe; the latter goes with
    that of kafka-topics --describe (--snapshot). Default: standard input. The options override FILE.
    """
    body = reading.document(file, reading.log_dir_body, snapshots, broker_ids=broker_ids)
    plans.override(body, question)
    for option, field, texts in (("--drain", "draining", drained), ("--cordon", "cordoned", cordoned)):
        for text in texts:
            _mark(request_bodies.rows(body, "brokers"), text, field, option)
    plans.plan(
        PATH,
        body,
        options.form(output),
        folder,
        write_disk_files,
        lambda answer: (summary(answer), tables.moves(answer, MOVES), tables.log_dirs(answer), tables.batches(answer, "moves")),
    )


log_dirs.params.extend((OBJECTIVE, *PACE))


def _mark(brokers: list[dict[str, Any]], text: str, field: str, option: str) -> None:
    """Set a field of the directories that ``[ID:]PATH`` names. Raises BadParameter if there is none."""
    broker_id, colon, path = text.partition(":")
    if not colon or not broker_id.isdecimal():
        broker_id, path = "", text
    found = [
        log_dir
        for broker in brokers
        if broker_id in ("", str(broker.get("broker_id")))
        for log_dir in request_bodies.rows(broker, "log_dirs")
        if log_dir.get("log_dir") == path
    ]
    if not found:
        where = f"Broker {broker_id} has" if broker_id else "No broker has"
        raise click.BadParameter(f"{where} {'no' if broker_id else 'a'} log directory {path!r}.", param_hint=option)
    for log_dir in found:
        log_dir[field] = True
