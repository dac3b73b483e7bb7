"""A plan for log directories as files: Kafka's JSON for each batch and its rollback, and a text to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service.cli.reassignments.files import batch_rows, batch_texts, literal, write_texts
from service.report.numbers import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def write_disk_files(folder: Path, answer: dict[str, Any]) -> list[Path]:
    """Write the plan; returns the files: ``reassignment-01.json``, ``rollback-01.json`` … and ``plan.md``. Raises BadInput."""
    digits, texts = batch_texts(answer)
    return write_texts(folder, {**texts, "plan.md": "\n".join(_report(answer, digits)).encode()})


def _report(answer: dict[str, Any], digits: int) -> Iterator[str]:
    yield f"# Log directories {answer['plan_id']}"
    yield ""
    yield from (f"- {literal(sentence)}" for sentence in answer["effects"])
    if answer["warnings"]:
        yield from ("", "Before you execute it:", "", *(f"- **{literal(sentence)}**" for sentence in answer["warnings"]))
    yield from ("", f"In figures: {summary(answer)}", "", "## Batches", "")
    yield from ("| batch | partitions | moves | bytes | seconds |", "| ---: | ---: | ---: | ---: | ---: |")
    yield from (f"| {' | '.join(row)} |" for row in batch_rows(answer))
    yield from _commands(answer, digits)
    yield from ("", "## Directories", "")
    yield "| broker | directory | replicas | after | bytes | after | used | after |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for broker_id, path, *cells in dir_rows(answer):
        yield f"| {' | '.join((broker_id, literal(path), *cells))} |"
    yield from (
        "",
        "## Moves",
        "",
        "| topic | partition | broker | from | to | reason |",
        "| --- | ---: | ---: | --- | --- | --- |",
    )
    for move in answer["reasons"]:
        row = (move[name] for name in ("topic_name", "partition_id", "broker_id", "from", "to", "reason"))
        yield f"| {' | '.join(literal(str(cell)) for cell in row)} |"


def _commands(answer: dict[str, Any], digits: int) -> Iterator[str]:
    """What executes the plan, and what takes it back."""
    throttle = answer["throttle_bytes_per_second"]
    limit = f"--replica-alter-log-dirs-throttle {throttle} " if throttle else ""
    yield ""
    yield "Repeat `--verify` until each move of the batch is complete, which also takes a throttle off. Brokers delete what has"
    yield "moved a minute later (`file.delete.delay.ms`): if disks are nearly full, execute the next batch only then."
    numbers = range(1, len(answer["batches"]) + 1)
    for name, heading, order in (
        ("reassignment", "", numbers),
        ("rollback", "To go back, roll back the batches that have begun, the last first:", reversed(numbers)),
    ):
        yield from ("", heading, "", "```sh") if heading else ("", "```sh")
        for i in order:
            for action in (f"{limit}--execute", "--verify"):
                file = f"{name}-{i:0{digits}}.json"
                yield f'kafka-reassign-partitions --bootstrap-server "$BOOTSTRAP" --reassignment-json-file {file} {action}'
        yield "```"


def dir_rows(answer: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """For each directory its broker, its path, and replicas, bytes and use of the disk before and after."""
    before, after = answer["before"], answer["after"]
    columns = [
        values
        for load in (before, after)
        for values in (load["replicas"]["counts"], load["bytes"]["totals"], [_percent(share) for share in load["usage"]])
    ]
    order = (0, 3, 1, 4, 2, 5)
    for broker_id, path, *cells in zip(before["broker_ids"], before["log_dirs"], *(columns[i] for i in order), strict=True):
        yield str(broker_id), path, *(cell if isinstance(cell, str) else f"{cell:,.0f}" for cell in cells)


def _percent(share: float | None) -> str:
    return "—" if share is None else f"{share:.1%}"


def summary(answer: dict[str, Any]) -> str:
    """One line: how much moves, and how much less could."""
    moves = answer["moves"]
    of_bound = "" if moves["gap"] is None else f", gap {moves['gap']:.2%}"
    proof = "proven minimal" if moves["gap"] == 0 else f"lower bound {moves['lower_bound']:,}{of_bound}"
    needed = answer["throttle_needed_bytes_per_second"]
    throttle = "" if needed is None else f" · throttle needed {needed:,} bytes/s"
    skews = [max(answer["brokers"][name], default=1.0) for name in ("skews_before", "skews_after")]
    evenness = f"worst skew of a broker's disks {skews[0]:.4g} → {skews[1]:.4g}"
    return f"{counted(moves['replicas'], 'move', 'moves')} · {moves['bytes']:,} bytes ({proof}) · {evenness}{throttle}"
