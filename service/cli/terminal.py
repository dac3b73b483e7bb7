"""Tables for a terminal, of bounded length."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from service.core.printable import printable

ROWS = 60
"""Rows that a table shows at most."""


def table(*columns: str) -> Table:
    """An empty table."""
    empty = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        empty.add_column(column, overflow="fold")
    return empty


def fill(empty: Table, rows: Sequence[tuple[str, ...]]) -> Table:
    """The table with the first ROWS rows, and a last row that counts the others."""
    for row in rows[:ROWS]:
        empty.add_row(*(Text(printable(cell)) for cell in row))
    if len(rows) > ROWS:
        empty.add_row(f"… and {len(rows) - ROWS} more")
    return empty
