"""The command line: serve, or answer one question from a file or standard input.

``partition``, ``assign`` and ``place`` take the JSON body of their HTTP endpoint and post it to the app in this process, so that
the answer is the service's to the letter. A terminal gets a readable table, everything else the JSON.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import click
from environs.exceptions import EnvValidationError
from rich.console import Console
from rich.table import Table

from service import __version__
from service.api.jsons import loads
from service.config import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import BufferedReader

ROWS = 60
"""Longest table on a terminal; the rest is counted."""


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Kafka's partition allocation: key → partition, partition → consumer, replica → broker."""


@main.command()
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on; also HOST.")
@click.option("--port", envvar="PORT", default=8000, show_default=True, help="Port to listen on; also PORT.")
def serve(host: str, port: int) -> None:
    """Serve over HTTP. Limits are settings of the environment; see the README."""
    from service.server import serve as run  # noqa: PLC0415 - the other commands need no server

    run(_settings(), host, port)


def _settings() -> Settings:
    """The settings of the environment; a wrong one ends the command with a message that names it."""
    try:
        return Settings.from_environment()
    except EnvValidationError as error:
        messages = cast("dict[str, list[str]]", error.error_messages)
        faults = (f"{name}: {' '.join(texts)}" for name, texts in messages.items())
        raise click.ClickException("; ".join(faults)) from None


def _question(name: str, path: str, rows: Callable[[dict[str, Any], dict[str, Any]], Table], text: str) -> None:
    """Add the command ``name``, which posts its input to ``path`` and shows the answer as ``rows``."""

    @main.command(name, help=f"{text}\n\nFILE is the JSON body of POST {path}; default: standard input.")
    @click.argument("file", type=click.File("rb"), default="-")
    @click.option("--explain", is_flag=True, help="Also say how the answer came about (JSON only).")
    @click.option("--json", "as_json", is_flag=True, help="JSON even on a terminal.")
    def command(file: BufferedReader, *, explain: bool, as_json: bool) -> None:
        body = file.read()
        answer = _ask(f"{path}?explain=true" if explain else path, body)
        if as_json or explain or not sys.stdout.isatty():
            click.echo(answer)
            return
        document = loads(answer)
        console = Console()
        console.print(rows(loads(body), document))
        console.print(_summary(document))


def _ask(path: str, body: bytes) -> bytes:
    """The answer's body; a problem goes to standard error, and ends the command with 1."""
    # Imported only now, so that --help and --version do not wait for the kernels.
    from werkzeug.test import Client  # noqa: PLC0415

    from service.app import create_app  # noqa: PLC0415

    response = Client(create_app(_settings())).post(path, data=body, content_type="application/json")
    if response.status_code == 200:
        return response.get_data()
    problem = loads(response.get_data())
    click.echo(f"error: {problem['detail']}", err=True)
    for error in problem.get("errors", ()):
        click.echo(f"  {error['pointer'] or '/'}: {error['detail']}", err=True)
    sys.exit(1)


def _summary(answer: dict[str, Any]) -> str:
    """The evenness of the answer, and what it moves, in one line."""
    spread = answer.get("distribution") or answer.get("member_load") or answer.get("broker_load", {}).get("replicas") or {}
    words = [f"{name} {spread[name]:.4g}" for name in ("min", "max", "mean", "stddev", "skew") if name in spread]
    words += [f"{name} {count}" for name, count in answer.get("movement", {}).items() if count is not None]
    return " · ".join(words)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _fill(table: Table, rows: Sequence[tuple[str, ...]]) -> Table:
    for row in rows[:ROWS]:
        table.add_row(*row)
    if len(rows) > ROWS:
        table.add_row(f"… and {len(rows) - ROWS} more")
    return table


def _partition_rows(body: dict[str, Any], answer: dict[str, Any]) -> Table:
    keys = body["keys"] if "keys" in body else [record.get("key") for record in body.get("records", ())]
    results = answer.get("partitions", answer.get("tokens", ()))
    rows = [("(null)" if key is None else str(key), str(result)) for key, result in zip(keys, results, strict=False)]
    return _fill(_table("key", "partition" if "partitions" in answer else "token"), rows)


def _assign_rows(_: dict[str, Any], answer: dict[str, Any]) -> Table:
    rows = [
        (assignment["member_id"], part["topic_name"], _ranges(part["partition_ids"]))
        for assignment in answer["assignments"]
        for part in assignment["partitions"] or [{"topic_name": "—", "partition_ids": []}]
    ]
    rows += [("(nobody)", part["topic_name"], _ranges(part["partition_ids"])) for part in answer["unassigned"]]
    return _fill(_table("member", "topic", "partitions"), rows)


def _place_rows(_: dict[str, Any], answer: dict[str, Any]) -> Table:
    if "proposed_json" in answer:
        moves = loads(answer["proposed_json"])["partitions"]
        return _fill(_placements(), [(m["topic"], str(m["partition"]), " ".join(map(str, m["replicas"]))) for m in moves])
    topics = [topic for operation in answer.get("results", ()) for topic in operation] or answer.get("topics") or [answer]
    rows = [
        (topic.get("topic_name", ""), str(placement["partition_id"]), " ".join(map(str, placement["replicas"])))
        for topic in topics
        for placement in topic.get("placements", ())
    ]
    rows += [(topic.get("topic_name", ""), "", f"{topic['error']}: {topic['message']}") for topic in topics if "error" in topic]
    return _fill(_placements(), rows)


def _placements() -> Table:
    return _table("topic", "partition", "replicas (leader first)")


def _ranges(ids: list[int]) -> str:
    """Ascending ids with their runs drawn together: ``0-3 7 9-10``."""
    runs: list[list[int]] = []
    for i in ids:
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


_question("partition", "/v1/partitions", _partition_rows, "Key → partition, as a client's partitioner does.")
_question("assign", "/v1/group-assignments", _assign_rows, "Partitions → group members, as an assignor does.")
_question("place", "/v1/replica-placements", _place_rows, "Replicas → brokers, as a placer does.")
