"""Reads the records of a local CSV, Parquet or JSON-lines file as Arrow record batches, of which only a few are in memory.

============== ============================================== ============================================
file           type of the key                                record without a key
============== ============================================== ============================================
CSV, TSV       the key format's; default: text                an empty cell, also in quotes (``""``)
JSON lines     the key format's; default: text                null or absent
Parquet        the column's own (binary, string, int64, …)    null
============== ============================================== ============================================

Spark reads an empty cell of CSV in the same way: programs that quote every cell write ``""`` where there is no value. A key that
is an empty text needs JSON lines or Parquet.
"""

import csv
import os
import re
import signal
import sys
from bisect import insort
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader, StringIO
from itertools import islice
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskID

from service.core.errors import InvalidQuestion
from service.core.printable import printable
from service.decisions.rows import MOST, TYPE_OF_FORMAT
from service.pipeline.files.rejected import UNREADABLE, RejectedRows, WrongTable, as_texts, no_number, no_value
from service.pipeline.files.texts import Quotes, compression, wrong_encoding
from service.pipeline.files.texts import check as check_quotes
from service.pipeline.files.types import integers

NEWLINE: Final = b"\n"

Place = Callable[[int], str]
"""The place in the file of the row at a position of a batch."""

_OTHER_TYPE: Final = re.compile(r"Column\(/?(.*)\) changed from (\w+) to (\w+)")
"""What Arrow says of a value that is not of the type of its column; the line itself has no name."""


def json_blocks(
    source: BufferedReader, size: int, read: Callable[[bytes], pa.Table], rejected: RejectedRows
) -> Iterator[tuple[pa.RecordBatch, Place]]:
    """The batches of JSON lines, a block of whole lines at a time, without the lines that cannot be read; and where rows are.

    size : bytes of a block; a line must not be longer
    """
    first, rest = 1, b""
    while piece := source.read(size):
        if first == 1 and not rest:
            piece = piece.removeprefix(BOM_UTF8)
        block, newline, rest_of_piece = (rest + piece).rpartition(b"\n")
        if len(rest_of_piece) > size:
            raise ValueError(f"Line {first + block.count(NEWLINE)} is longer than {size} bytes.")
        rest = rest_of_piece
        if newline:
            yield from _lines_of(block + b"\n", first, read, rejected)
            first += block.count(b"\n") + 1
    if rest.strip():
        yield from _lines_of(rest, first, read, rejected)


def _lines_of(
    text: bytes, first: int, read: Callable[[bytes], Any], rejected: RejectedRows
) -> Iterator[tuple[pa.RecordBatch, Place]]:
    if not text.strip():
        return
    try:
        batches = _checked(text, read)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if text.count(b"\n") < 2**12:
            lines = text.splitlines(keepends=True)
        else:
            middle = text.index(b"\n", len(text) // 2) + 1
            lines = [text[:middle], text[middle:]]
        if len(lines) == 1:
            rejected.add(f"line {first}", UNREADABLE, text.decode(errors="replace").rstrip("\r\n"), _fault(error))
            return
        half = (len(lines) + 1) // 2
        for part in (b"".join(lines[:half]), b"".join(lines[half:])):
            yield from _lines_of(part, first, read, rejected)
            first += part.count(b"\n")
    else:
        before = 0
        for batch in batches:
            yield batch, partial(_place, text, first, before)
            before += len(batch)


def _place(text: bytes, first: int, before: int, position: int) -> str:
    """The line of a row of some lines, of which blank ones are no rows. before : rows of the batches before"""
    numbers = (number for number, line in enumerate(text.split(NEWLINE), first) if line.strip())
    return f"line {next(islice(numbers, before + position, None), '?')}"


def _checked(text: bytes, read: Callable[[bytes], pa.Table]) -> list[pa.RecordBatch]:
    """The rows of some lines. Raises UnicodeDecodeError or ArrowInvalid, also for what Arrow does not check.

    It takes a line that is null for an object, crashes if the first one is, and makes rows of several records in a line.
    """
    if not text.isascii():
        text.decode()
    if text.lstrip().startswith(b"null") or b"\nnull" in text:
        raise pa.ArrowInvalid("Column() changed from object to null")
    table = read(text)
    count = table.num_rows
    if count > text.count(b"\n{") + text.startswith(b"{") and count > sum(1 for line in text.split(NEWLINE) if line.strip()):
        raise pa.ArrowInvalid("several records in a line")
    batches: list[pa.RecordBatch] = table.to_batches()
    return batches


def _fault(error: Exception) -> str:
    """What is wrong with a line, as a clause."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    fault = re.sub(r" in row \d+$", "", str(error).removeprefix("JSON parse error: "))
    other = _OTHER_TYPE.fullmatch(fault)
    return f"{repr(other[1]) if other[1] else 'the line'} is of type {other[3]}, not {other[2]}" if other else fault


_JSON_LINES: Final = dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl")
FORMAT_OF_SUFFIX: Final = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", **_JSON_LINES}

ROWS: Final = 1 << 18
"""Rows per batch, for Parquet."""

BLOCK: Final = 8 * 2**20
"""Bytes per block of text; a JSON line must not be longer."""

HEAD: Final = 1 << 16
"""Bytes that must contain the header of a CSV file."""

PIECE: Final = 1 << 20
"""Bytes of a Parquet column to read at a time."""


@dataclass(frozen=True)
class Column:
    """A column to read.

    key_format : its values are as keys of this format, such as ``long``; None: text, or of Parquet the column's own type
    converted : whether text becomes the type of the format, and rows that do not fit it are rejected
    integers : of a column that is no key, those that it may have; also text and ``1.0`` can be one
    """

    key_format: str | None = None
    converted: bool = True
    integers: range | None = None

    @property
    def type(self) -> pa.DataType:
        """Where the file does not decide it."""
        if self.integers is None:
            return TYPE_OF_FORMAT.get(self.key_format or "string", pa.string())
        return pa.int32() if self.integers.stop <= 2**31 else pa.int64()


NUMBER: Final = Column(integers=range(MOST + 1))
PARTITION: Final = Column(integers=range(2**31))


def read(
    file: str, columns: Mapping[str, Column], rejected: RejectedRows, file_format: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The record batches of the file, at least one. On a terminal, standard error shows a progress bar.

    file : a path, or "-" for standard input (which needs ``file_format``, and cannot be Parquet)
    columns : by their names in the file
    rejected : gets the rows that cannot be read
    Raises WrongTable for a file that cannot be read, lacks a column, or has no row that can be read.
    """
    shown = "standard input" if file == "-" else file
    file_format = file_format or FORMAT_OF_SUFFIX.get(Path(file.removesuffix(".gz")).suffix.lower())
    if file_format is None:
        raise WrongTable(f"{shown}: The format is unknown. Set --file-format to one of {', '.join(READERS)}.")
    rows, name, batch = 0, escape(printable(Path(file).name)), None
    try:
        with _open(file) as source, Progress(console=Console(stderr=True), disable=file == "-" or not sys.stderr.isatty()) as bar:
            table = SourceFile(source, columns, bar, bar.add_task(name, total=None), rejected)
            for any_batch, place in READERS[file_format](table):
                batch = _converted(any_batch, columns, place, rejected)
                rows += len(batch)
                yield batch
            rejected.check(rows)
    except (InvalidQuestion, pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise WrongTable(f"{shown}: {error}") from None


@contextmanager
def _open(file: str) -> Iterator[BufferedReader]:
    """The file. Raises ValueError for one that is empty, compressed, or of UTF-16 or UTF-32."""
    with _standard_input() if file == "-" else Path(file).open("rb", buffering=HEAD) as opened:
        source = cast("BufferedReader", opened)
        head = source.peek(4)
        if not head:
            raise ValueError("The file is empty.")
        if name := compression(head):
            raise ValueError(f"The file is compressed with {name}: unpack it first.")
        if fault := wrong_encoding(head):
            raise ValueError(fault)
        yield source


@contextmanager
def _standard_input() -> Iterator[BinaryIO]:
    """Standard input. Ctrl-C ends the process meanwhile: Python would not notice it while Arrow waits for more."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield sys.stdin.buffer
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class SourceFile:
    """A file to read. bar, task : the progress; rejected : gets the rows that cannot be read"""

    source: BufferedReader
    columns: Mapping[str, Column]
    bar: Progress
    task: TaskID
    rejected: RejectedRows

    def head(self) -> str:
        """The first HEAD bytes, from the first line on that is not blank. ``text`` reads them again."""
        return self.source.peek(HEAD).removeprefix(BOM_UTF8).lstrip(b"\r\n").decode(errors="surrogateescape")

    def text(self) -> Any:
        """The file as a stream that advances the progress bar."""
        size = os.fstat(self.source.fileno()).st_size  # 0 for a pipe
        return self.bar.wrap_file(self.source, size, task_id=self.task) if size else self.source

    def check(self, names: Collection[str], hint: str = "") -> None:
        """Raise ValueError, with the hint, unless ``names``, the columns of the file, include every column to read."""
        for column in self.columns:
            if list(names).count(column) > 1:
                raise ValueError(f"The file has several columns {column!r}.")
            if column not in names:
                raise ValueError(f"Column {column!r} is missing; the columns are {', '.join(names) or 'none'}.{hint}")


def _csv(table: SourceFile, delimiter: str = ",") -> Iterator[tuple[pa.RecordBatch, Place]]:
    names = next(csv.reader(StringIO(table.head(), newline=""), delimiter=delimiter), [])  # with line breaks in quotes
    if any("\udc80" <= character <= "\udcff" for character in "".join(names)):
        raise ValueError("The names of the columns are not UTF-8.")
    separator = {",": "comma", "\t": "tab"}[delimiter]
    hint = f" The first line has no {separator}: separate columns by commas, or by tabs with --file-format tsv."
    table.check(names, "" if len(names) > 1 else hint)
    # With threads, Arrow does not know the number of an invalid row.
    rows = CsvRows(table.rejected)
    reading = pa.csv.ReadOptions(use_threads=False, block_size=BLOCK)
    parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=rows.skip)
    converting = pa.csv.ConvertOptions(
        include_columns=list(table.columns),
        column_types=dict.fromkeys(table.columns, pa.string()),
        check_utf8=False,  # one cell that is not UTF-8 would end the reading
        null_values=[""],
        strings_can_be_null=True,
    )
    text = QuotedText(table.text())
    for batch in pa.csv.open_csv(text, reading, parsing, converting):
        yield batch, rows.place
        rows.read += len(batch)
    if (text.quotes % 2 or text.backslashes) and table.source.seekable():
        table.source.seek(0)
        check_quotes((line.decode("latin-1") for line in table.source), Quotes(delimiter))


class QuotedText:
    """A text that Arrow reads, which counts its quotes: an odd number, or any after a backslash, may be none of CSV."""

    closed = False

    def __init__(self, text: Any) -> None:
        self.quotes = 0
        self.backslashes = False
        self._text = text

    def read(self, size: int) -> bytes:
        """The next bytes."""
        data: bytes = self._text.read(size)
        self.quotes += data.count(b'"')
        self.backslashes |= b'\\"' in data
        return data


class CsvRows:
    """Counts the rows of a CSV file, those that Arrow skips included, so that an error can name its row.

    read : rows of the batches before the current one
    """

    def __init__(self, rejected: RejectedRows) -> None:
        self.rejected = rejected
        self.read = 0
        self._skipped: list[int] = []

    def skip(self, row: pyarrow.csv.InvalidRow) -> str:
        """Arrow's handler of a row with more or fewer cells than the header."""
        insort(self._skipped, row.number or 0)
        try:
            cells = f"{row.actual_columns} cells, expected {row.expected_columns}"
            self.rejected.add(f"row {row.number}", UNREADABLE, row.text, cells)
        except ValueError:
            return "error"  # Arrow's own words name the row, too
        return "skip"

    def place(self, position: int) -> str:
        """The number in the file, the header being row 1, of the row at a position of the current batch."""
        number = self.read + position + 2
        for skipped in self._skipped:
            number += skipped <= number
        return f"row {number}"


def _json_lines(table: SourceFile) -> Iterator[tuple[pa.RecordBatch, Place]]:
    first = table.head().partition("\n")[0].rstrip("\r")
    types = {name: column.type for name, column in table.columns.items()}
    reading = pa.json.ReadOptions(use_threads=False, block_size=2 * BLOCK)
    # An integer may be written as 1.0 or "1".
    integers = [name for name, column in table.columns.items() if column.integers is not None]
    schemas = [
        pa.json.ParseOptions(explicit_schema=pa.schema(types | other), unexpected_field_behavior="ignore")
        for other in ({}, *(dict.fromkeys(integers, kind) for kind in (pa.float64(), pa.string()) if integers))
    ]

    def read_block(text: bytes) -> pa.Table:
        try:
            return pa.json.read_json(pa.BufferReader(text), reading, schemas[0])
        except pa.ArrowInvalid:
            for other in schemas[1:]:
                with suppress(pa.ArrowInvalid):
                    return pa.json.read_json(pa.BufferReader(text), reading, other)
            raise

    for i, (batch, place) in enumerate(json_blocks(table.text(), BLOCK, read_block, table.rejected)):
        # A member that some lines lack is null there. If every line of the first block lacks it, its name is wrong.
        if i == 0 and any(batch.column(column).null_count == len(batch) for column in table.columns):
            with suppress(JSONDecodeError):  # then the line was rejected
                table.check(loads(first))
        yield batch, place


def _parquet(table: SourceFile) -> Iterator[tuple[pa.RecordBatch, Place]]:
    if not table.source.seekable():
        raise ValueError("Parquet is read from its end, so it cannot come through a pipe: name the file.")
    # By default, Arrow reads row groups ahead and keeps them in memory until the end of the file.
    file = pa.parquet.ParquetFile(table.source, pre_buffer=False, buffer_size=PIECE)
    table.check(file.schema_arrow.names)
    table.bar.update(table.task, total=file.metadata.num_rows)
    first = 1
    for batch in file.iter_batches(ROWS, columns=list(table.columns)):
        yield batch.select(list(table.columns)), partial(_row_after, first)
        first += batch.num_rows
        table.bar.advance(table.task, batch.num_rows)


def _row_after(first: int, position: int) -> str:
    return f"row {first + position}"


READERS: Final[dict[str, Callable[[SourceFile], Iterator[tuple[pa.RecordBatch, Place]]]]] = {
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
    "jsonl": _json_lines,
    "parquet": _parquet,
}


def _converted(batch: pa.RecordBatch, columns: Mapping[str, Column], place: Place, rejected: RejectedRows) -> pa.RecordBatch:
    """The batch with the types of its columns, without the rows that do not fit them or lack a value."""
    # With them come the kernels, which a file that is refused does not need.
    from service.pipeline.files.key_columns import check_format, misfit, typed  # noqa: PLC0415

    faults: dict[int, tuple[str, str]] = {}
    arrays = []
    for name, column in columns.items():
        array = batch.column(name)
        if column.converted:
            if column.integers is not None:
                faults = dict.fromkeys(_positions(array.is_null()), (no_value(name), "")) | faults
                array = integers(array)
                reason = f"column {name!r} has no partition" if column == PARTITION else no_number(name)
                bad = pc.or_kleene(pc.less(array, column.integers[0]), pc.greater(array, column.integers[-1]))
                bad = pc.fill_null(bad, True)
                array = pc.if_else(bad, None, array).cast(column.type)
            else:
                key_format = check_format(array.type, column.key_format)
                array, bad = typed(array, key_format)
                reason = misfit(key_format)
            faults = dict.fromkeys(_positions(bad), (reason, name)) | faults
        arrays.append(array)
    whole = pa.record_batch(arrays, names=list(columns))
    if not faults:
        return whole
    for position in sorted(faults):
        reason, name = faults[position]
        row = batch.select(list(columns)).slice(position, 1)
        cell = f": {as_texts(row.select([name]))[0].as_py().partition('=')[2][:40]!r}" if name else ""
        rejected.add(place(position), reason, as_texts(row)[0].as_py(), f"{reason}{cell}")
    return whole.take(pa.array([i for i in range(len(batch)) if i not in faults], pa.int64()))


def _positions(rows: pa.Array | None) -> list[int]:
    """Where bool[n] is true; nowhere for None."""
    positions: list[int] = [] if rows is None else np.flatnonzero(np.asarray(rows)).tolist()
    return positions
