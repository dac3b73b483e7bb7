"""Rows of a file that cannot be read are counted, and kept with the reason, instead of ending the reading."""

from collections import Counter
from typing import Any, Final, Self

import pyarrow as pa

from service.core.errors import AllocatorError
from service.core.printable import printable
from service.decisions.rows import is_text, readable


class WrongTable(AllocatorError):
    """A table that cannot be read, lacks a column, or has values of another type. str() begins with its name."""

    @classmethod
    def without_records(cls, name: str) -> Self:
        """The error for a table, or a source, without records."""
        return cls(f"{name}: There are no records.")


UNREADABLE: Final = "not readable as a record"
"""The reason for a line that is neither CSV nor JSON."""

REJECTED: Final = pa.schema({"reason": pa.string(), "record": pa.string()})
"""The columns of the table of rejected rows."""

MOST: Final = 1_000
"""More rejected rows than this end a command that does not write them: the file is not what the options say."""

SHOWN: Final = 3
"""Rejected rows that are shown."""


def no_value(column: str) -> str:
    """The reason for a row that lacks a value in a column which is no key's."""
    return f"no value in column {column!r}"


def no_number(column: str) -> str:
    """The reason for a value that is no number of records or bytes."""
    return f"column {column!r} has no integer in [0, 2^53]"


class RejectedRows:
    """The rows of one file that were rejected.

    strict : the first one ends the reading
    kept : for the table of rejected rows; otherwise more than MOST of them end the reading
    """

    def __init__(self, *, strict: bool = False, kept: bool = False) -> None:
        self.strict = strict
        self.kept = kept
        self.reasons: Counter[str] = Counter()
        self._shown: list[str] = []
        self._batches: list[pa.RecordBatch] = []

    @property
    def count(self) -> int:
        """How many there are."""
        return self.reasons.total()

    def add(self, place: str, reason: str, record: str, shown: str = "") -> None:
        """Count a row. shown : what is shown of it; default: the reason. Raises ValueError, as ``add_all``."""
        self.add_all(pa.record_batch([[reason], [record]], schema=REJECTED), [f"{place}: {shown or reason}"])

    def add_all(self, rows: pa.RecordBatch, shown: list[str] | None = None) -> None:
        """Count rows, of REJECTED. Raises ValueError for the first one in a strict reading, and for more than MOST."""
        texts = shown or [f"{row['reason']}: {row['record']}" for row in rows.slice(0, SHOWN).to_pylist()]
        self.reasons.update(rows.column("reason").to_pylist())
        self._shown += texts[: SHOWN - len(self._shown)]
        if self.kept:
            self._batches.append(rows)
        if self.strict and self.count:
            raise ValueError(self._shown[0])
        if not self.kept and self.count > MOST:
            raise ValueError(f"More than {MOST} rows cannot be read. The first is {self._shown[0]}")

    def table(self) -> pa.Table:
        """The rows that were kept."""
        return pa.Table.from_batches(self._batches, REJECTED)

    def sentence(self) -> str:
        """What was rejected; "" for nothing."""
        if not self.count:
            return ""
        more = f"; and {self.count - SHOWN} more" if self.count > SHOWN else ""
        verb = "row was" if self.count == 1 else "rows were"
        return f"{self.count} {verb} rejected ({printable('; '.join(self._shown))}{more}). --strict refuses such a file."

    def check(self, rows: int) -> None:
        """Raise ValueError if no row is left. rows : that were read"""
        if not rows:
            raise ValueError(f"No row can be read. {self._shown[0]}" if self.count else "There are no records.")


def as_texts(batch: pa.RecordBatch) -> pa.Array:
    """Rows as text: ``key=…, partition=…``."""
    columns = [readable(column) if is_text(column.type) else column for column in batch.columns]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    named = (zip(batch.schema.names, row, strict=True) for row in rows)
    return pa.array((", ".join(f"{name}={as_text(value)}" for name, value in row) for row in named), pa.string())


def as_text(value: Any) -> str:
    """A value as text: bytes as UTF-8 if they are, else as hex."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
