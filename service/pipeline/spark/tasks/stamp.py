"""Which run computed a row: columns that every table of a job has, so that tables of many runs are one table to a dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

COLUMNS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("computed_at", pa.timestamp("us", "UTC")),
        ("source", pa.string()),
        ("topic", pa.string()),
        ("version", pa.string()),
    ]
)


@dataclass(frozen=True)
class Stamp:
    """The columns of a run.

    computed_at : when the run began, in UTC
    topic : of which it says something; None: of none, or of several
    version : of this project
    appended : each table has a part for each run, in a folder from whose name readers get ``run_id``
    """

    run_id: str
    computed_at: datetime
    source: str
    topic: str | None
    version: str
    appended: bool = False

    @property
    def folder(self) -> str:
        """What follows the name of a table in the location of its part."""
        return f"/run_id={quote(self.run_id, safe='')}" if self.appended else ""

    def lacking(self, names: Sequence[str]) -> list[str]:
        """The columns that a table with these columns lacks; rows may have a topic of their own."""
        return [name for name in COLUMNS.names if name not in names and not (name == "run_id" and self.appended)]

    def on(self, table: pa.Table) -> pa.Table:
        """The table with the columns that it lacks."""
        for name in self.lacking(table.column_names):
            value = pa.scalar(getattr(self, name), COLUMNS.field(name).type)
            table = table.append_column(COLUMNS.field(name), pa.repeat(value, table.num_rows))
        return table
