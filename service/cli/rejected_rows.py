"""Rows of a file that cannot be read are counted and shown, instead of ending the command."""

from __future__ import annotations

import re
from bisect import insort
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from service.cli.errors import note
from service.decisions.texts import not_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader
    from typing import Any

MOST: Final = 1_000
"""More rejected rows than this end the command: the file is not what the options say."""

NEWLINE: Final = b"\n"

SHOWN: Final = 3
"""Rejected rows that are shown."""


class RejectedRows:
    """The rows of one file that were rejected. strict : the first one ends the command"""

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.count = 0
        self.shown: list[str] = []

    def add(self, place: str, reason: str) -> None:
        """Count a row. Raises ValueError for the first one in a strict reading, and for more than MOST."""
        text = f"{place}: {reason}"
        if self.strict:
            raise ValueError(text)
        self.count += 1
        if len(self.shown) < SHOWN:
            self.shown.append(text)
        if self.count > MOST:
            raise ValueError(f"More than {MOST} rows cannot be read. The first is {self.shown[0]}")

    def report(self, rows: int) -> None:
        """Say on standard error what was rejected. rows : that were read. Raises ValueError if there are none."""
        if not self.count:
            return
        if not rows:
            raise ValueError(f"No row can be read. {self.shown[0]}")
        more = f"; and {self.count - SHOWN} more" if self.count > SHOWN else ""
        plural = "row was" if self.count == 1 else "rows were"
        note(f"{self.count} {plural} rejected ({'; '.join(self.shown)}{more}). --strict refuses such a file.")


class CsvRows:
    """Counts the rows of a CSV file, those that Arrow skips included, so that an error can name its row."""

    def __init__(self, rejected: RejectedRows) -> None:
        self.rejected = rejected
        self.read = 0
        self._skipped: list[int] = []

    def skip(self, row: pyarrow.csv.InvalidRow) -> str:
        """Arrow's handler of a row with more or fewer cells than the header."""
        insort(self._skipped, row.number or 0)
        try:
            self.rejected.add(f"row {row.number}", f"{row.actual_columns} cells, expected {row.expected_columns}")
        except ValueError:
            return "error"  # Arrow's own words name the row, too
        return "skip"

    def number(self, position: int) -> int:
        """The number in the file, the header being row 1, of the row at a position of the current batch."""
        number = self.read + position + 2
        for skipped in self._skipped:
            number += skipped <= number
        return number

    def converted(self, batch: pa.RecordBatch, types: dict[str, pa.DataType]) -> pa.RecordBatch:
        """The batch of binary columns as these types, without the rows that do not fit them."""
        faults: dict[int, str] = {}
        columns = [_cast(batch.column(name), kind, name, faults) for name, kind in types.items()]
        for position in sorted(faults):
            self.rejected.add(f"row {self.number(position)}", faults[position])
        self.read += len(batch)
        whole = pa.record_batch(columns, names=list(types))
        if not faults:
            return whole
        return whole.take(pa.array([i for i in range(len(batch)) if i not in faults], pa.int64()))


def _cast(array: pa.Array, kind: pa.DataType, name: str, faults: dict[int, str], first: int = 0) -> pa.Array:
    """The cells as a type, null where that is impossible; ``faults`` gets the positions, found by halving the array."""
    try:
        text = array.cast(pa.string())
        return text if kind == pa.string() else pc.utf8_trim_whitespace(text).cast(kind)
    except pa.ArrowInvalid:
        if len(array) == 1:
            cell = array[0].as_py()[:40]
            faults.setdefault(first, f"column {name!r} has {cell.decode(errors='replace')!r}, not {kind}")
            return pa.nulls(1, kind)
        if len(faults) > MOST:
            return pa.nulls(len(array), kind)
        half = len(array) // 2
        left = _cast(array[:half], kind, name, faults, first)
        return pa.concat_arrays([left, _cast(array[half:], kind, name, faults, first + half)])


def with_values(batch: pa.RecordBatch, columns: list[str], rejected: RejectedRows) -> pa.RecordBatch:
    """The batch without the rows that have no value in one of these columns."""
    for name in columns:
        if nulls := batch.column(name).null_count:
            for _ in range(min(nulls, MOST + 1)):
                rejected.add("a row", f"no value in column {name!r}")
            batch = batch.filter(batch.column(name).is_valid())
    return batch


def with_text(batch: pa.RecordBatch, first: int, rejected: RejectedRows) -> pa.RecordBatch:
    """The batch without the rows that have text which is not UTF-8. first : the number of its first row in the file"""
    kept = np.ones(len(batch), np.bool_)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        wrong = not_utf8(column)
        if wrong is not None:
            rows = np.flatnonzero(np.asarray(wrong) & kept)
            for row in rows[: MOST + 1].tolist():
                rejected.add(f"row {first + row}", f"column {name!r} is not UTF-8")
            kept[rows] = False
    return batch if kept.all() else batch.filter(pa.array(kept))


def json_blocks(
    source: BufferedReader, size: int, read: Callable[[bytes], pa.Table], rejected: RejectedRows
) -> Iterator[pa.RecordBatch]:
    """The batches of JSON lines, a block of whole lines at a time, without the lines that cannot be read.

    size : bytes of a block; a line must not be longer
    """
    first, rest = 1, b""
    while piece := source.read(size):
        if first == 1 and not rest:
            piece = piece.removeprefix(BOM_UTF8)
        block, newline, rest_of_piece = (rest + piece).rpartition(b"\n")
        if len(rest_of_piece) > size:
            raise ValueError(f"line {first + block.count(NEWLINE)} is longer than {size} bytes")
        rest = rest_of_piece
        if newline:
            yield from _json_lines(block + b"\n", first, read, rejected)
            first += block.count(b"\n") + 1
    if rest.strip():
        yield from _json_lines(rest, first, read, rejected)


def _json_lines(text: bytes, first: int, read: Callable[[bytes], Any], rejected: RejectedRows) -> Iterator[pa.RecordBatch]:
    if not text.strip():
        return
    try:
        if not text.isascii():
            text.decode()  # which Arrow does not check
        batches = read(text).to_batches()
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        lines = text.splitlines(keepends=True) if text.count(b"\n") < 2**12 else _halves(text)
        if len(lines) == 1:
            fault = re.sub(r" in row \d+$", "", str(error).removeprefix("JSON parse error: "))
            rejected.add(f"line {first}", "not UTF-8" if isinstance(error, UnicodeDecodeError) else fault)
            return
        half = (len(lines) + 1) // 2
        for part in (b"".join(lines[:half]), b"".join(lines[half:])):
            yield from _json_lines(part, first, read, rejected)
            first += part.count(b"\n")
    else:
        yield from batches


def _halves(text: bytes) -> list[bytes]:
    """A long text in two pieces of whole lines."""
    middle = text.index(b"\n", len(text) // 2) + 1
    return [text[:middle], text[middle:]]
