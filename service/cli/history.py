"""``history``: what happened to a group, from logs and records of any size."""

import sys
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import click

from service import parameters
from service.cli import GroupedCommand, decide_question, name_of, note, written
from service.cli.terminal import tell
from service.core.printable import first_few, printable
from service.http.json.codec import loads

PATH: Final = "/v1/group-histories"
HEADS: Final = ("number", "began at", "cause", "members", "moved", "no reader for", "told by")
WAYS: Final = ("way", "rebalances", "moved", "without a reader")
NAMED: Final = 3


@click.command(
    cls=GroupedCommand,
    help="Tell what happened to a group: every rebalance, with its cause and the line that says so.\n\n"
    "partition-allocator history orders server.log\n\n"
    "FILE is the log of a group coordinator or of a consumer, records of __consumer_offsets as kafka-console-consumer or "
    "kafka-dump-log prints them, snapshots, and kafka-topics --describe, which tells what topic ids mean; "
    "several of any brokers, in any order, also of gzip. They are read line by line. Default: standard input.",
)
@click.argument("group_id", metavar="GROUP")
@click.argument("files", metavar="[FILE]...", type=click.File("rb"), nargs=-1)
@click.option("--otherwise", is_flag=True, help="Also replay the events for a group that is run in other ways.")
@parameters.OUTPUT
def history(*, group_id: str, files: tuple[BufferedReader, ...], otherwise: bool, output: str | None) -> None:
    """See ``help`` above."""
    from service.histories.answer import HistoryQuestion  # noqa: PLC0415 - an import that --help does not need
    from service.histories.reading import HistorySource  # noqa: PLC0415

    named = [(name_of(file), file) for file in files or (sys.stdin.buffer,)]
    short = [Path(name).name for name, _ in named]
    unique = len(set(short)) == len(short)
    sources = [HistorySource(last if unique else name, file) for last, (name, file) in zip(short, named, strict=True)]
    form, family, answer = parameters.form(output), *decide_question(PATH, HistoryQuestion(group_id, sources, otherwise))
    if form == "table":
        show(loads(written(family, answer, form)))
    else:
        if form == "csv":
            note(printable(family.document(answer)["conclusion"]))
        click.echo(written(family, answer, form), nl=form == "json")


def show(answer: dict[str, Any]) -> None:
    """Print the sentences and the rebalances of an answer."""
    patterns = (each["sentence"] for each in answer["patterns"])
    tell((answer["conclusion"], *patterns, *answer["warnings"]), (HEADS, list(map(_row, answer["rebalances"]))))
    if (replayed := answer["otherwise"]) is not None:
        tell(("", replayed["conclusion"], *replayed["notes"]), (WAYS, list(map(_way, replayed["ways"]))))


def _way(way: dict[str, Any]) -> tuple[str, ...]:
    from service.histories.times import seconds  # noqa: PLC0415 - an import that --help does not need

    idle, least, most = (seconds(way[f"{name}idle_ms"]) for name in ("", "least_", "most_"))
    return way["name"], str(way["rebalances"]), str(way["moved"]), f"{idle} ({least} to {most})"


def _row(rebalance: dict[str, Any]) -> tuple[str, ...]:
    """A rebalance: what is not told is a dash."""
    from service.histories.times import seconds  # noqa: PLC0415 - an import that --help does not need

    causes, bounds, moves = rebalance["causes"], rebalance["standstill"], rebalance["moves"]
    counts = ["?" if of is None or of["count"] is None else str(of["count"]) for of in (rebalance["before"], rebalance["after"])]
    least, most = ("?" if bounds[name] is None else seconds(bounds[name]) for name in ("least_ms", "most_ms"))
    first = next(iter(causes), {"source": "—", "line": ""})
    return (
        str(rebalance["number"]),
        (rebalance["began_at"] or rebalance["joined_at"] or "—")[5:19].replace("T", " "),
        first_few([each["sentence"] for each in causes], NAMED) or "not told",
        " → ".join(counts),
        f"{moves['moved']} of {moves['of']}" if moves else "—",
        least if least == most else f"{least} to {most}",
        f"{first['source']}:{first['line']}".rstrip(":"),
    )
