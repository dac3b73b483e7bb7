"""Plans as tables, for the terminal and for ``plan.md``, and what both kinds of plan say in one line."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from service.cli import terminal
from service.core.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from service.core.documents import Json


_MARKUP: Final = re.compile(r"[&<>|`*\[\]\\~$@]|(?<![^\W_])_|_(?![^\W_])|:(?=[\w/])|#(?=\d)|(?<=www)\.")
"""Characters that Markdown does not show as they are, or makes links of. An underscore within a word is not one of them."""

TEXTS: Final = ("topic", "from", "to", "reason", "directory", "evenest")
"""Columns that are no numbers."""


class PlanTable(NamedTuple):
    """A table. heads : of its columns"""

    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def table(self) -> Table:
        """For the terminal."""
        return terminal.table(self.heads, self.rows)

    def markdown(self) -> Iterator[str]:
        """Its lines in Markdown."""
        yield f"| {' | '.join(self.heads)} |"
        yield f"| {' | '.join('---' if head in TEXTS else '---:' for head in self.heads)} |"
        for row in self.rows:
            yield f"| {' | '.join(map(literal, row))} |"


def literal(text: str) -> str:
    """The text as Markdown that shows it as it is: what would be markup as character references."""
    return _MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", printable(text))


def number(value: float | None) -> str:
    """A number for people: 1,234 or 12.3, or a dash."""
    if value is None:
        return "—"
    return f"{value:,.1f}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"


def moves(answer: Json, fields: dict[str, str]) -> PlanTable:
    """The moves with their reasons. fields : of a move → the heads of its columns"""
    rows = [tuple("—" if move[name] is None else str(move[name]) for name in fields) for move in answer["reasons"]]
    return PlanTable(tuple(fields.values()), rows)


def batches(answer: Json, moved: str) -> PlanTable:
    """What each batch changes and copies, and the seconds that it takes. moved : head of the column of replicas"""
    rows = [
        tuple(
            map(number, (i, len(batch["reassignment"]["partitions"]), batch["moves"], batch["bytes"], batch["duration_seconds"]))
        )
        for i, batch in enumerate(answer["batches"], 1)
    ]
    return PlanTable(("batch", "partitions", moved, "bytes", "seconds"), rows)


def brokers(answer: Json) -> PlanTable:
    """Replicas and preferred leaders of each broker before and after, and whom it leads where that is known."""
    before, after = answer["before"]["broker_load"], answer["after"]["broker_load"]
    counts = [load[name]["counts"] for name in ("replicas", "leaders") for load in (before, after)]
    counts += [load["current_leaders"] for load in (before, after) if "current_leaders" in load]
    heads = ("broker", "replicas", "after", "preferred leaders", "after", "leads now", "after")
    return PlanTable(heads[: 1 + len(counts)], [tuple(map(str, row)) for row in zip(before["broker_ids"], *counts, strict=True)])


def frontier(points: Sequence[Json]) -> PlanTable:
    """How even the cluster can be with each number of copies."""
    rows = [
        (
            *(number(point[name]) for name in ("copies", "bytes", "spread", "stddev")),
            "proven" if point["proven"] else "not proven",
        )
        for point in points
    ]
    return PlanTable(("copies", "bytes", "most - least", "stddev", "evenest"), rows)


def log_dirs(answer: Json) -> PlanTable:
    """For each directory its broker, its path, and replicas, bytes and use of the disk before and after."""

    def cells(load: Json) -> tuple[list[str], ...]:
        return (
            [f"{count:,}" for count in load["replicas"]["counts"]],
            [f"{total:,.0f}" for total in load["bytes"]["totals"]],
            ["—" if share is None else f"{share:.1%}" for share in load["usage"]],
        )

    before, after = answer["before"], answer["after"]
    columns = chain.from_iterable(zip(cells(before), cells(after), strict=True))
    rows = list(zip(map(str, before["broker_ids"]), before["log_dirs"], *columns, strict=True))
    return PlanTable(("broker", "directory", "replicas", "after", "bytes", "after", "used", "after"), rows)
