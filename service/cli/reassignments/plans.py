"""``reassign`` and ``log-dirs``: where replicas are → a plan that moves them between brokers, or between the disks of each.

A plan is printed as a table or as JSON, or written to files.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa
from rich.text import Text

from service import parameters
from service.cli import BadInput, GroupedCommand, ask_and_decide, decide, note, rows_of
from service.cli import into as into_folder
from service.cli.descriptions import reading
from service.cli.reassignments import tables
from service.cli.reassignments.files import COPIED, MOVES, batch_texts, commands, head, write_files, write_texts
from service.cli.terminal import ROWS, Console
from service.core.errors import InvalidQuestion
from service.core.printable import counted, printable
from service.decisions.reassignments.selection import balance_text, parse_balance, read_balance
from service.descriptions import bodies
from service.http.json.codec import dumps, loads
from service.parameters import OBJECTIVE, PACE, PLANNING
from service.planner.reassignments import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from io import BufferedReader

    from service.cli.reassignments.tables import PlanTable
    from service.pipeline.analyses.results import Outcome

OUT: Final = click.option(
    "--out", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write the plan to files in this folder."
)
LIMITS: Final = (
    "moves_per_broker", "moves_per_batch", "moves_per_log_dir", "bytes_in_flight", "order", "throttle_bytes_per_second",
    "duration_seconds", "throttle_utilization", "batch_seconds",
)  # fmt: skip
"""Options that are members of ``limits``."""


def override(body: dict[str, Any], question: dict[str, Any]) -> None:
    """Put the options that are given into the body. Zero is a value, though it equals False."""
    given = {name: value for name, value in question.items() if not (value is None or value is False or value == ())}
    limits = {name: given.pop(name) for name in LIMITS if name in given}
    body |= given
    if limits or not body.get("limits"):
        own = body.get("limits")
        body["limits"] = (own if isinstance(own, dict) else {}) | limits


def plan(
    path: str,
    body: dict[str, Any],
    form: str,
    folder: Path | None,
    write: Callable[[Path, dict[str, Any]], Iterable[Path]],
    shown: Callable[[dict[str, Any]], tuple[str, *tuple[PlanTable, ...]]],
    **query: bool,
) -> None:
    """Print the answer, its conclusion before any file is written; exits with 1 if the plan does not do all that was asked.

    write : writes the answer to files in the folder; shown : the line of its figures and its tables
    """
    if form == "csv" and folder:
        raise click.UsageError("--out writes the moves to plan.md and cannot be combined with --output csv.")
    with Console(stderr=True).status("Planning …") if sys.stderr.isatty() else nullcontext():
        written, answer = ask_and_decide(path, dumps(body), form, **query)
    conclusion, complete = answer.conclusion
    if form == "table":
        Console().say(conclusion, "")
    elif form == "csv" or folder:
        note(printable(conclusion))
    if form == "csv":
        click.echo(written, nl=False)
    else:
        document: dict[str, Any] = loads(written)
        for file in write(folder, document) if folder else ():
            note(f"wrote {file}")
        if form == "json":
            click.echo(written)
        else:
            _show(document, *shown(document))
    if not complete:
        sys.exit(1)


def _show(answer: dict[str, Any], summary: str, *tables: PlanTable) -> None:
    """Print what the plan does besides its conclusion, and its tables and figures."""
    console = Console()
    console.say(*answer["effects"])
    for sentence in answer["warnings"]:
        console.print(Text(f"Warning: {printable(sentence)}", style="yellow"))
    for each in tables:
        console.print()
        console.print(each.table())
    console.say("", summary)


SIZED = {"bytes_in_flight": "bytes_in_flight", "--throttle": "throttle_bytes_per_second", "duration_seconds": "duration_seconds"}
"""Options and fields that need sizes → the limits that they set."""

AT_A_TERMINAL = {
    *("included_topics", "excluded_topics", "destinations", "replication_factor", "objective", "racks", "leaders", "balance"),
    *("tolerance", "max_moves", "disk_threshold", "frontier", "moves_per_broker", "throttle_bytes_per_second", "price_per_gb"),
}
"""The options of PLANNING that the command has; the others are fields of the body."""


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@parameters.SNAPSHOT
@OUT
@click.option("--drain", "drained", type=int, multiple=True, metavar="ID", help="Broker to empty. Repeatable.")
@click.option("--cordon", "cordoned", type=int, multiple=True, metavar="ID", help="Broker that gets no replicas. Repeatable.")
@click.option("--add", "added", multiple=True, metavar="ID[:RACK]", help="Broker to add. Repeatable.")
@click.option("--replace", "replaced", multiple=True, metavar="OLD=NEW", help="Broker whose replicas NEW takes over. Repeatable.")
@click.option(
    "--demote",
    "demoted",
    type=int,
    multiple=True,
    metavar="ID",
    help="Broker to move leadership away from. No replica moves, unless --leaders, --drain, --add or --replace says so. "
    "Repeatable.",
)
@click.option("--rack", "racks_of", multiple=True, metavar="ID:RACK", help="Rack of a broker. Repeatable.")
@into_folder.option("reassign")
@parameters.OUTPUT
def reassign(
    *, file: BufferedReader | None, snapshots: tuple[BufferedReader, ...], folder: Path | None, drained: tuple[int, ...],
    cordoned: tuple[int, ...], added: tuple[str, ...], replaced: tuple[str, ...],
    demoted: tuple[int, ...], racks_of: tuple[str, ...], frontier: bool, into: str | None, output: str | None, **question: Any,
) -> None:  # fmt: skip
    """Plan a reassignment, with the fewest moves or to the evenest load.

    partition-allocator reassign topics.txt --drain 7 --out plan/

    FILE is the JSON body of POST /v1/reassignments, a snapshot, the output of Kafka's tools, Kafka's reassignment JSON, or
    Cruise Control's kafka_cluster_state. Default: standard input. The options override FILE. With --snapshot, FILE may also be
    JSON with further fields of the body, such as {"broker_sets": […], "limits": {…}}.
    """
    body = reading.document(file, bodies.reassignment, snapshots)
    question["balance"] = question["balance"] and _balance(question["balance"])
    override(body, question)
    _check_sizes(body)
    flags = {"draining": drained, "cordoned": cordoned, "demoted": demoted}
    body.setdefault("brokers", [])
    _change_brokers(rows_of(body, "brokers"), flags, added, replaced, racks_of)
    if not rows_of(body, "topics") and "reassignment" not in body:
        raise BadInput("The description has no topic with its placement. Add the output of kafka-topics --describe.")
    if demoted and not (drained or added or replaced):
        body.setdefault("leaders", "demote")
    if into is not None:
        if folder:
            raise click.UsageError("Give either --into or --out.")
        sources = [each.name for each in (file, *snapshots) if each]
        into_folder.write(into, sources, lambda: _outcome(body, file, frontier=frontier), parameters.form(output))
        return
    plan(
        "/v1/reassignments",
        body,
        parameters.form(output),
        folder,
        write_files,
        lambda answer: _shown(answer, frontier),
        frontier=frontier,
    )


def _shown(answer: dict[str, Any], frontier: bool) -> tuple[str, *tuple[tables.PlanTable, ...]]:  # noqa: FBT001 (see plans.plan)
    """The line of figures, and the tables."""
    if frontier:
        points = answer["frontier"]
        few = points[:: -(-len(points) // ROWS)]  # as many as a terminal shows, the last among them
        return figures(answer), tables.frontier(few if few[-1] == points[-1] else [*few, points[-1]])
    return figures(answer), tables.moves(answer, MOVES), tables.brokers(answer), tables.batches(answer, COPIED)


reassign.params.extend(option for option in PLANNING if option.name in AT_A_TERMINAL)


def _outcome(body: dict[str, Any], file: BufferedReader | None, *, frontier: bool) -> tuple[Outcome, pa.Table]:
    """What ``pipeline reassign`` finds; no row is rejected."""
    from service.pipeline.analyses.reassign import outcome_of  # noqa: PLC0415 - needs matplotlib

    planned = decide("/v1/reassignments", body, frontier=frontier)
    return outcome_of(planned, balance_text(body.get("balance") or RESOURCES[0]), file.name if file else "-"), pa.table({})


def _check_sizes(body: dict[str, Any]) -> None:
    """Raise UsageError for options that need the sizes of partitions where these are not known."""
    if any("partition_bytes" in topic for topic in rows_of(body, "topics")):
        return
    limits, balance = body.get("limits"), body.get("balance")
    needing = [option for option, name in SIZED.items() if isinstance(limits, dict) and name in limits]
    needing += ["--balance bytes"] * (isinstance(balance, str | list | dict) and "bytes" in balance)
    needing += ["max_bytes"] * ("max_bytes" in body)
    if needing:
        raise click.UsageError(
            f"{needing[0]} needs the size of each partition: add --snapshot FILE with the output of kafka-log-dirs --describe or "
            "a snapshot of the cluster."
        )


def _change_brokers(
    brokers: list[dict[str, Any]],
    flags: dict[str, tuple[int, ...]],
    added: tuple[str, ...],
    replaced: tuple[str, ...],
    racks_of: tuple[str, ...],
) -> None:
    """Apply the options that name brokers. flags : field of brokers → those that have it"""
    by_id = {broker.get("broker_id"): broker for broker in brokers}

    def known(broker_id: int, option: str) -> dict[str, Any]:
        if broker_id not in by_id:
            raise click.BadParameter(f"Unknown broker {broker_id}.", param_hint=option)
        return by_id[broker_id]

    _add(brokers, by_id, added)
    for text in racks_of:
        broker_id, colon, rack = text.partition(":")
        if not colon:
            raise click.BadParameter(f"{text!r} is not of the form ID:RACK, such as 1:a.", param_hint="--rack")
        number = _number(broker_id, "--rack")
        if number not in by_id:
            note(f"Broker {number} has no replicas now; it counts as part of the cluster, as with --add.")
            brokers.append(by_id.setdefault(number, {"broker_id": number}))
        by_id[number]["rack_id"] = rack
    for text in replaced:
        old, _, new = text.partition("=")
        known(_number(new, "--replace"), "--replace")["replaces"] = _number(old, "--replace")
    for field, option in (("draining", "--drain"), ("cordoned", "--cordon"), ("demoted", "--demote")):
        for number in flags[field]:
            known(number, option)[field] = True


def _add(brokers: list[dict[str, Any]], by_id: dict[Any, dict[str, Any]], added: tuple[str, ...]) -> None:
    """Add the brokers of ``--add``."""
    for text in added:
        broker_id, _, rack = text.partition(":")
        number = _number(broker_id, "--add")
        if number in by_id:
            raise click.BadParameter(f"Broker {number} exists.", param_hint="--add")
        by_id[number] = {"broker_id": number} | ({"rack_id": rack} if rack else {})
        brokers.append(by_id[number])


def _balance(text: str) -> str | list[str] | dict[str, float]:
    """``balance`` of the body. Raises BadParameter."""
    try:
        balance = parse_balance(text)
        read_balance(balance)
    except InvalidQuestion as error:
        raise click.BadParameter(error.detail, param_hint="--balance") from None
    return balance


def _number(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a broker id.", param_hint=option) from None


def figures(answer: dict[str, Any]) -> str:
    """The figures in one line."""
    moves = answer["moves"]
    bytes_moved = "" if moves["bytes"] is None else f" · {moves['bytes']:,} bytes"
    copied = counted(moves["replicas"], "replica copied", "replicas copied")
    leaders = counted(moves["leaders"], "preferred leader changes", "preferred leaders change")
    elections = f" · {counted(moves['elections'], 'election')}" if moves["elections"] else ""
    return f"{copied}{bytes_moved} (lower bound {moves['lower_bound']:,}) · {leaders}{elections}"


DISK_MOVES: Final = {"topic_name": "topic", "partition_id": "partition", "broker_id": "broker"} | {
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
    report = [
        *head(answer, "Log directories"),
        *("", f"In figures: {disk_figures(answer)}", "", "## Batches", "", *tables.batches(answer, "moves").markdown()),
        *commands(answer, digits, "--replica-alter-log-dirs-throttle", ADVICE),
        *("", "## Directories", "", *tables.log_dirs(answer).markdown()),
        *("", "## Moves", "", *tables.moves(answer, DISK_MOVES).markdown()),
    ]
    return write_texts(folder, {**texts, "plan.md": "\n".join(report).encode()})


def disk_figures(answer: dict[str, Any]) -> str:
    """The figures in one line."""
    moves = answer["moves"]
    skews = [max(answer["brokers"][name], default=1.0) for name in ("skews_before", "skews_after")]
    moved = f"{counted(moves['replicas'], 'move')} · {moves['bytes']:,} bytes (lower bound {moves['lower_bound']:,})"
    return f"{moved} · worst skew of a broker's disks {skews[0]:.4g} → {skews[1]:.4g}"


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@parameters.SNAPSHOT
@OUT
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
@parameters.OUTPUT
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
    override(body, question)
    for option, field, texts in (("--drain", "draining", drained), ("--cordon", "cordoned", cordoned)):
        for text in texts:
            _mark(rows_of(body, "brokers"), text, field, option)
    plan(
        "/v1/log-dir-plans",
        body,
        parameters.form(output),
        folder,
        write_disk_files,
        lambda answer: (
            disk_figures(answer),
            tables.moves(answer, DISK_MOVES),
            tables.log_dirs(answer),
            tables.batches(answer, "moves"),
        ),
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
        for log_dir in rows_of(broker, "log_dirs")
        if log_dir.get("log_dir") == path
    ]
    if not found:
        where = f"Broker {broker_id} has" if broker_id else "No broker has"
        raise click.BadParameter(f"{where} {'no' if broker_id else 'a'} log directory {path!r}.", param_hint=option)
    for log_dir in found:
        log_dir[field] = True
