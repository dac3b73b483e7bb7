"""``reassign``: a cluster's current placement → the plan to a better one, as a table, as JSON, or as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from service.cli import into as into_folder
from service.cli import options, request_bodies
from service.cli.asking import decide
from service.cli.descriptions import reading
from service.cli.errors import BadInput, note
from service.cli.help import GroupedCommand
from service.cli.reassignments import plans, tables
from service.cli.reassignments.files import COPIED, MOVES, write_files
from service.cli.terminal import ROWS
from service.core.errors import InvalidQuestion
from service.core.printable import counted
from service.decisions.reassignments.selection import balance_text, parse_balance, read_balance
from service.descriptions import bodies
from service.parameters import PLANNING
from service.planner.reassignments import RESOURCES

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path

    from service.pipeline.analyses.outcome import Outcome

PATH = "/v1/reassignments"
SIZED = {"bytes_in_flight": "bytes_in_flight", "--throttle": "throttle_bytes_per_second", "duration_seconds": "duration_seconds"}
"""Options and fields that need sizes → the limits that they set."""

AT_A_TERMINAL = {
    *("included_topics", "excluded_topics", "destinations", "replication_factor", "objective", "racks", "leaders", "balance"),
    *("tolerance", "max_moves", "disk_threshold", "frontier", "moves_per_broker", "throttle_bytes_per_second", "price_per_gb"),
}
"""The options of PLANNING that the command has; the others are fields of the body."""


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@options.SNAPSHOT
@plans.OUT
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
@options.OUTPUT
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
    plans.override(body, question)
    _check_sizes(body)
    flags = {"draining": drained, "cordoned": cordoned, "demoted": demoted}
    body.setdefault("brokers", [])
    _change_brokers(request_bodies.rows(body, "brokers"), flags, added, replaced, racks_of)
    if not request_bodies.rows(body, "topics") and "reassignment" not in body:
        raise BadInput("The description has no topic with its placement. Add the output of kafka-topics --describe.")
    if demoted and not (drained or added or replaced):
        body.setdefault("leaders", "demote")
    if into is not None:
        if folder:
            raise click.UsageError("Give either --into or --out.")
        sources = [each.name for each in (file, *snapshots) if each]
        into_folder.write(into, sources, lambda: _outcome(body, file, frontier=frontier), options.form(output))
        return
    plans.plan(PATH, body, options.form(output), folder, write_files, lambda answer: _shown(answer, frontier), frontier=frontier)


def _shown(answer: dict[str, Any], frontier: bool) -> tuple[str, *tuple[tables.PlanTable, ...]]:  # noqa: FBT001 (see plans.plan)
    """The line of figures, and the tables."""
    if frontier:
        return summary(answer), tables.frontier(_few(answer["frontier"]))
    return summary(answer), tables.moves(answer, MOVES), tables.brokers(answer), tables.batches(answer, COPIED)


reassign.params.extend(option for option in PLANNING if option.name in AT_A_TERMINAL)


def _outcome(body: dict[str, Any], file: BufferedReader | None, *, frontier: bool) -> tuple[Outcome, pa.Table]:
    """What ``pipeline reassign`` finds; no row is rejected."""
    from service.pipeline.analyses.reassign.outcome import outcome_of  # noqa: PLC0415 - needs matplotlib

    planned = decide(PATH, body, frontier=frontier)
    return outcome_of(planned, balance_text(body.get("balance") or RESOURCES[0]), file.name if file else "-"), pa.table({})


def _few(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many points as a terminal shows, the last among them."""
    shown = points[:: -(-len(points) // ROWS)]
    return shown if shown[-1] == points[-1] else [*shown, points[-1]]


def _check_sizes(body: dict[str, Any]) -> None:
    """Raise UsageError for options that need the sizes of partitions where these are not known."""
    if any("partition_bytes" in topic for topic in request_bodies.rows(body, "topics")):
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


def summary(answer: dict[str, Any]) -> str:
    """The figures in one line."""
    moves = answer["moves"]
    bytes_moved = "" if moves["bytes"] is None else f" · {moves['bytes']:,} bytes"
    copied = counted(moves["replicas"], "replica copied", "replicas copied")
    leaders = counted(moves["leaders"], "preferred leader changes", "preferred leaders change")
    elections = f" · {counted(moves['elections'], 'election')}" if moves["elections"] else ""
    return f"{copied}{bytes_moved} (lower bound {moves['lower_bound']:,}) · {leaders}{elections}"
