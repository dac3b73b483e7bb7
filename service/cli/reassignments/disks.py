"""``disks``: what is in the log directories of brokers → a plan that moves replicas between them, as a table, JSON, or files."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.text import Text

from service.cli import options
from service.cli.asking import ask
from service.cli.descriptions import descriptions
from service.cli.errors import note
from service.cli.reassignments import pace_options
from service.cli.reassignments.disk_files import dir_rows, summary, write_disk_files
from service.cli.reassignments.files import batch_rows
from service.cli.terminal import fill, table
from service.core.printable import printable
from service.core.reassignments import BATCH_ORDERS, OBJECTIVES
from service.web.json.codec import dumps, loads
from service.web.media_types import CSV, JSON

if TYPE_CHECKING:
    from io import BufferedReader

    from rich.table import Table

PATH: Final = "/v1/log-dir-plans"

LIMITS: Final = (
    "moves_per_broker", "moves_per_log_dir", "bytes_in_flight", "order", "throttle_bytes_per_second", "duration_seconds",
    "throttle_utilization", "batch_seconds",
)  # fmt: skip
"""Options that are members of ``limits``."""


@click.command()
@click.argument("file", type=click.File("rb"), required=False)
@options.SNAPSHOT
@click.option("--out", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write the plan to files in this folder.")
@click.option(
    "--drain", "drained", multiple=True, metavar="[ID:]PATH", help="Directory to empty, of one broker or of all. Repeatable."
)
@click.option(
    "--cordon", "cordoned", multiple=True, metavar="[ID:]PATH", help="Directory that gets no replicas, likewise. Repeatable."
)
@click.option("--broker", "broker_ids", type=int, multiple=True, metavar="ID", help="Broker to plan. Repeatable. Default: all.")
@click.option("--objective", type=click.Choice(OBJECTIVES), help="First goal. Default: fewest-moves.")
@click.option(
    "--tolerance", type=float, help="Few bytes that bring every disk within this share of its broker's mean, such as 0.1."
)
@click.option("--max-moves", type=int, help="Evenest disks with at most so many replicas moved on each broker.")
@click.option("--max-bytes", type=int, help="Evenest disks with at most so many bytes copied on each broker.")
@click.option(
    "--disk-threshold", type=float, help="Share of its size that a disk may be used to, such as 0.85. Default: all of it."
)
@click.option(
    "--include-topics",
    "included_topics",
    multiple=True,
    metavar="PATTERN",
    help="Topics whose replicas may move, with * for any characters and ? for one; all others stay. Repeatable.",
)
@click.option(
    "--exclude-topics", "excluded_topics", multiple=True, metavar="PATTERN", help="Topics whose replicas stay. Repeatable."
)
@click.option("--moves-per-broker", type=int, help="Replicas that a broker moves in one batch.")
@click.option("--moves-per-log-dir", type=int, help="Replicas that a directory gets, or gives away, in one batch.")
@click.option("--bytes-in-flight", type=int, help="Bytes that a broker copies in one batch.")
@click.option("--order", type=click.Choice(BATCH_ORDERS), help=f"Replicas of the first batches. Default: {BATCH_ORDERS[0]}.")
@click.option("--throttle", "throttle_bytes_per_second", type=int, help="Bytes per second of each broker.")
@pace_options.DURATION
@pace_options.UTILIZATION
@pace_options.SECONDS
@options.OUTPUT
@options.JSON
def disks(
    *, file: BufferedReader | None, snapshots: tuple[BufferedReader, ...], folder: Path | None, drained: tuple[str, ...],
    cordoned: tuple[str, ...], broker_ids: tuple[int, ...], output: str | None, as_json: bool, **question: Any,
) -> None:  # fmt: skip
    """Plan moves between the log directories of brokers: to empty a disk, to keep a threshold, or to even them out.

    FILE is the JSON body of POST /v1/log-dir-plans, a snapshot, or the output of kafka-log-dirs --describe; the latter goes with
    that of kafka-topics --describe (--snapshot). Default: standard input. The options override FILE.
    """
    body = loads(descriptions.body(file, descriptions.log_dir_body, snapshots, broker_ids=broker_ids))
    given = {name: value for name, value in question.items() if value not in (None, ())}
    limits = {name: given.pop(name) for name in LIMITS if name in given}
    body |= given
    body["limits"] = (body.get("limits") or {}) | limits
    for option, field, texts in (("--drain", "draining", drained), ("--cordon", "cordoned", cordoned)):
        for text in texts:
            _mark(body["brokers"], text, field, option)
    form = options.form(output, as_json=as_json)
    if form == "csv" and folder:
        raise click.UsageError("--out writes the moves as plan.md; --output csv does not go with it.")
    progress = Console(stderr=True)
    with progress.status("Planning …") if progress.is_terminal else nullcontext():
        answer = ask(PATH, dumps(body), CSV if form == "csv" else JSON)
    if form == "csv":
        click.echo(answer, nl=False)
        return
    document = loads(answer)
    if folder:
        for path in write_disk_files(folder, document):
            note(f"wrote {path}")
    if form == "json":
        click.echo(answer)
        return
    _show(document)


def _mark(brokers: list[dict[str, Any]], text: str, field: str, option: str) -> None:
    """Set a field of the directories that ``[ID:]PATH`` names. Raises BadParameter if there is none."""
    broker_id, colon, path = text.partition(":")
    if not colon or not broker_id.isdecimal():
        broker_id, path = "", text
    found = [
        log_dir
        for broker in brokers
        if broker_id in ("", str(broker.get("broker_id")))
        for log_dir in broker.get("log_dirs") or ()
        if log_dir.get("log_dir") == path
    ]
    if not found:
        where = f"Broker {broker_id} has" if broker_id else "No broker has"
        raise click.BadParameter(f"{where} {'no' if broker_id else 'a'} log directory {path!r}.", param_hint=option)
    for log_dir in found:
        log_dir[field] = True


def _show(answer: dict[str, Any]) -> None:
    """Tables of the moves, the directories and the batches, and what the plan does."""
    console = Console()
    for shown in (_moves(answer), _dirs(answer), _batches(answer)):
        console.print(shown)
        console.print()
    for sentence in answer["effects"]:
        console.print(Text(printable(sentence)))
    for sentence in answer["warnings"]:
        console.print(Text(f"Warning: {printable(sentence)}", style="yellow"))
    console.print(summary(answer), highlight=False)


def _moves(answer: dict[str, Any]) -> Table:
    names = ("topic_name", "partition_id", "broker_id", "from", "to", "reason")
    rows = [tuple(str(move[name]) for name in names) for move in answer["reasons"]]
    return fill(table("topic", "partition", "broker", "from", "to", "reason"), rows)


def _dirs(answer: dict[str, Any]) -> Table:
    heads = ("broker", "directory", "replicas", "after", "bytes", "after", "used", "after")
    return fill(table(*heads), list(dir_rows(answer)))


def _batches(answer: dict[str, Any]) -> Table:
    return fill(table("batch", "partitions", "moves", "bytes", "seconds"), batch_rows(answer))
