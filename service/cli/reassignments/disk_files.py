"""A plan for log directories as files: Kafka's JSON for each batch and its rollback, and a text to read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from service.cli.reassignments import tables
from service.cli.reassignments.files import batch_texts, commands, head, write_texts
from service.core.printable import counted

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
    """One line: how much moves, and how much less could."""
    moves = answer["moves"]
    skews = [max(answer["brokers"][name], default=1.0) for name in ("skews_before", "skews_after")]
    evenness = f"worst skew of a broker's disks {skews[0]:.4g} → {skews[1]:.4g}{tables.throttle_needed(answer)}"
    return f"{counted(moves['replicas'], 'move', 'moves')} · {moves['bytes']:,} bytes ({tables.proof(moves)}) · {evenness}"
