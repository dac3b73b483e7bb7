"""What the commands that plan moves have in common: options, and how a plan is computed and shown."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from service.cli.asking import ask_and_decide
from service.cli.errors import note
from service.cli.terminal import Console
from service.core.printable import printable
from service.http.json.codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from service.cli.reassignments.tables import PlanTable

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
    progress = Console(stderr=True)
    with progress.status("Planning …") if progress.is_terminal else nullcontext():
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
