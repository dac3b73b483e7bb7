"""A terminal, tables for it, of bounded length, and who gets what, a row a member."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress, count
from typing import Final

import rich.console
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from service.core.documents import Json
from service.core.printable import printable
from service.report.figures import id_ranges

Cells = tuple[str, ...]
"""A row."""

LONGEST_WORD = 40
"""Cells that a word may take before it is broken."""

ROWS = 60
"""Rows that a table shows at most."""


class Console(rich.console.Console):
    """Standard output, or with ``stderr`` standard error. Text is data: it has no markup, and nothing in it is coloured."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def say(self, *sentences: str, soft_wrap: bool = False) -> None:
        """Print sentences, whatever the names in them contain. soft_wrap : as a line each, for people to copy"""
        for sentence in sentences:
            self.print(printable(sentence), soft_wrap=soft_wrap)

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, where Rich would exit with 1, which says that a limit is exceeded."""
        raise BrokenPipeError


def table(heads: Sequence[str], rows: Sequence[Cells], *, cut: bool = False) -> Table:
    """The first ROWS rows, and a last row that counts the others. Later columns without any text are left out.

    No word is broken while the words of the other columns fit.
    cut : the last column is cut off where there is no room, instead of folded
    """
    used = [i == 0 or not rows or any(row[i] for row in rows[:ROWS]) for i in range(len(heads))]
    filled = Table(box=None, pad_edge=False, header_style="bold")
    for i in compress(range(len(heads)), used):
        is_cut = cut and i == len(heads) - 1
        words = (word for row in rows[:ROWS] for word in row[i].split())
        least = None if is_cut else min(LONGEST_WORD, max(map(cell_len, words), default=0))
        filled.add_column(heads[i], overflow="ellipsis" if is_cut else "fold", no_wrap=is_cut, min_width=least)
    for row in rows[:ROWS]:
        filled.add_row(*(Text(printable(cell)) for cell in compress(row, used)))
    if len(rows) > ROWS:
        filled.add_row(f"… and {len(rows) - ROWS} more")
    return filled


def tell(sentences: Iterable[str], *tables: tuple[Sequence[str], Sequence[Cells]]) -> None:
    """Print sentences, and the tables, heads and rows each, that have any rows, each after an empty line."""
    console = Console()
    console.say(*sentences)
    for heads, rows in tables:
        if rows:
            console.say("")
            console.print(table(heads, rows))


HEADS: Final = ("member", "has", "gets", "gives up", "assigned")

FEWEST_DIGITS: Final = 4
"""Digits of a drawn id that are shown at least."""

_DRAWN: Final = re.compile(r"-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
"""The part of a member id that brokers and clients draw at random."""


def short_names(ids: Iterable[str]) -> dict[str, str]:
    """The part of each id that tells it from the others: without what was drawn, or as many digits of that as it takes."""
    parts = {one: (one[: match.start()], match[1]) if (match := _DRAWN.search(one)) else (one, "") for one in ids}
    clients = Counter(client for client, _ in parts.values())
    drawn = [part for part in parts.values() if part[1] and clients[part[0]] > 1]
    digits = next(n for n in count(FEWEST_DIGITS) if len({(client, text[:n]) for client, text in drawn}) == len(drawn))
    common = len(clients) == 1
    return {
        one: client if clients[client] == 1 else f"{'' if common else f'{client}-'}{text[:digits]}…"
        for one, (client, text) in parts.items()
    }


def assignment_rows(assignments: Sequence[Json], before: Sequence[Json] = ()) -> list[Cells]:
    """A row a member: how many partitions it has, how many of them are new to it, how many it loses, and which it has.

    assignments, before : objects with ``member_id`` and ``partitions``; members that leave are only in ``before``
    """
    owned = {one["member_id"]: _partitions(one) for one in before}
    after = {one["member_id"]: one for one in assignments}
    names = short_names({**after, **owned})
    moves = any(owned.values())
    rows: list[Cells] = []
    for member_id, name in names.items():
        assignment = after.get(member_id, {"partitions": []})
        has, had = _partitions(assignment), owned.get(member_id, set())
        figures = (str(len(has - had) or ""), str(len(had - has) or "")) if moves else ("", "")
        rows.append((name, str(len(has)), *figures, listed(assignment["partitions"]) if member_id in after else "leaves"))
    return rows


def listed(parts: Sequence[Json]) -> str:
    """``orders 0-3, payments 2``."""
    return ", ".join(f"{part['topic_name']} {id_ranges(part['partition_ids'])}" for part in parts if part["partition_ids"]) or "—"


def _partitions(assignment: Json) -> set[tuple[str, int]]:
    return {(part["topic_name"], i) for part in assignment["partitions"] for i in part["partition_ids"]}
