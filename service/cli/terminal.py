"""A terminal, and tables for it, of bounded length."""

from collections.abc import Sequence
from itertools import compress

import rich.console
from rich.table import Table
from rich.text import Text

from service.core.printable import printable

Cells = tuple[str, ...]
"""A row."""

ROWS = 60
"""Rows that a table shows at most."""


class Console(rich.console.Console):
    """Standard output, or with ``stderr`` standard error."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, where Rich would exit with 1, which says that a limit is exceeded."""
        raise BrokenPipeError


def table(*columns: str) -> Table:
    """An empty table."""
    empty = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        empty.add_column(column, overflow="fold")
    return empty


def fill(empty: Table, rows: Sequence[Cells]) -> Table:
    """The table with the first ROWS rows, and a last row that counts the others. Later columns without any text are left out."""
    used = [i == 0 or not rows or any(row[i] for row in rows[:ROWS]) for i in range(len(empty.columns))]
    filled = table()
    for column in compress(empty.columns, used):  # added anew, as a column measures itself by its place
        filled.add_column(column.header, overflow=column.overflow, no_wrap=column.no_wrap)
    for row in rows[:ROWS]:
        filled.add_row(*(Text(printable(cell)) for cell in compress(row, used)))
    if len(rows) > ROWS:
        filled.add_row(f"… and {len(rows) - ROWS} more")
    return filled
