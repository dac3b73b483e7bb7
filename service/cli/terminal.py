"""A terminal, and tables for it, of bounded length."""

from collections.abc import Sequence
from itertools import compress

import rich.console
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from service.core.printable import printable

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
