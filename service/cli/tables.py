"""Reads keys, and the columns beside them, from a CSV, Parquet or JSON-lines file into Arrow record batches.

The batches have the columns of an endpoint's Arrow stream: ``key`` and those of TYPES. Only a few of them are in memory.

============== ============================================== ============================================
file           type of the key                                record without a key
============== ============================================== ============================================
CSV, TSV       the key format's; default: text                an empty cell (``""`` is an empty key)
JSON lines     the key format's; default: text                null or absent
Parquet        the column's own (binary, string, int64, …)    null
============== ============================================== ============================================
"""

import csv
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from itertools import chain
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskID

from service.cli.errors import BadInput
from service.cli.rejected_rows import CsvRows, RejectedRows, json_blocks, with_text, with_values
from service.core.encodings import wrong_encoding
from service.core.printable import printable
from service.decisions.key_types import TYPE_OF_FORMAT
from service.web.json.codec import loads

TYPES: Final = {"partition_id": pa.int32(), "records": pa.int64(), "bytes": pa.int64()}
"""The type of each column except the key."""

FORMAT_OF_SUFFIX: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}

ROWS: Final = 1 << 18
"""Rows per batch, for Parquet."""

BLOCK: Final = 8 * 2**20
"""Bytes per block of text; a JSON line must not be longer."""

HEAD: Final = 1 << 16
"""Bytes that must contain the header of a CSV file."""

PIECE: Final = 1 << 20
"""Bytes of a Parquet column to read at a time."""


def read(
    file: str,
    columns: Mapping[str, str],
    key_format: str | None = None,
    file_format: str | None = None,
    *,
    strict: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The record batches of the file, at least one. On a terminal, standard error shows a progress bar.

    file : a path, or "-" for standard input (which needs ``file_format``, and cannot be Parquet)
    columns : the name of a column in the batches ("key", or a name of TYPES) → its name in the file
    strict : refuse a row of text that cannot be read; otherwise such rows are counted on standard error
    Raises BadInput for a file that cannot be read, lacks a column, or has no row that can be read.
    """
    file_format = file_format or FORMAT_OF_SUFFIX.get(Path(file).suffix.lower())
    if file_format is None:
        raise BadInput(f"{file}: The format is unknown. Set --file-format to one of {', '.join(READERS)}.")
    if len(set(columns.values())) < len(columns):
        raise BadInput(f"Each of {', '.join(columns)} needs a column of its own.")
    types = TYPES | {"key": TYPE_OF_FORMAT.get(key_format or "string", pa.string())}
    column_types = {column: types[name] for name, column in columns.items()}
    try:
        with _open(file) as source, Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            rejected, rows, name = RejectedRows(strict=strict), 0, escape(printable(Path(file).name))
            table = Table(source, columns["key"], column_types, bar, bar.add_task(name, total=None), rejected)
            needed = [column for column in column_types if column != columns["key"]]
            table.check_encoding()
            for any_batch in READERS[file_format](table):
                batch = with_values(any_batch, needed, rejected)
                rows += len(batch)
                yield batch.select(list(column_types)).rename_columns(list(columns))
            if not rows:
                yield pa.record_batch([pa.array([], kind) for kind in column_types.values()], names=list(columns))
            rejected.report(rows)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise BadInput(f"{file}: {error}") from None


def as_stream(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """The bytes of an Arrow stream, one batch at a time. batches : at least one"""
    sink = BytesIO()
    first = next(batches)
    with pa.ipc.new_stream(sink, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


@contextmanager
def _open(file: str) -> Iterator[BufferedReader]:
    """The file, which is not empty."""
    if file == "-":
        yield cast(BufferedReader, sys.stdin.buffer)
    else:
        with cast(BufferedReader, Path(file).open("rb", buffering=HEAD)) as source:
            if not source.peek(1):
                raise ValueError("The file is empty.")
            yield source


@dataclass(frozen=True)
class Table:
    """A file to read.

    key : the column with the keys
    columns : every column to read, and its type
    bar, task : the progress
    rejected : gets the rows that cannot be read
    """

    source: BufferedReader
    key: str
    columns: dict[str, pa.DataType]
    bar: Progress
    task: TaskID
    rejected: RejectedRows

    def check_encoding(self) -> None:
        """Raise ValueError for a file of UTF-16 or UTF-32."""
        if fault := wrong_encoding(self.source.peek(4)):
            raise ValueError(fault)

    def first_line(self) -> str:
        """The first line that is not blank, cut off after HEAD bytes. ``text`` reads it again."""
        head = self.source.peek(HEAD).removeprefix(BOM_UTF8).lstrip(b"\r\n").partition(b"\n")[0].rstrip(b"\r")
        return head.decode(errors="surrogateescape")

    def text(self) -> Any:
        """The file as a stream that advances the progress bar."""
        size = os.fstat(self.source.fileno()).st_size  # 0 for a pipe
        return self.bar.wrap_file(self.source, size, task_id=self.task) if size else self.source

    def check(self, names: Collection[str]) -> None:
        """Raise ValueError unless ``names``, the columns of the file, include every column to read."""
        for column in self.columns:
            if column not in names:
                raise ValueError(f"Column {column!r} is missing; the columns are {', '.join(names) or 'none'}.")


def _csv(table: Table, delimiter: str = ",") -> Iterator[pa.RecordBatch]:
    header = table.first_line()
    if any("\udc80" <= character <= "\udcff" for character in header):
        raise ValueError("The names of the columns are not UTF-8.")
    table.check(next(csv.reader([header], delimiter=delimiter), []))
    # With threads, Arrow does not know the number of an invalid row.
    rows = CsvRows(table.rejected)
    reading = pa.csv.ReadOptions(use_threads=False, block_size=BLOCK)
    parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=rows.skip)
    converting = pa.csv.ConvertOptions(
        include_columns=list(table.columns),
        column_types=dict.fromkeys(table.columns, pa.binary()),  # where one cell that does not fit would end the reading
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    for batch in pa.csv.open_csv(table.text(), reading, parsing, converting):
        yield rows.converted(batch, table.columns)


def _tsv(table: Table) -> Iterator[pa.RecordBatch]:
    return _csv(table, "\t")


def _json_lines(table: Table) -> Iterator[pa.RecordBatch]:
    first = table.first_line()
    reading = pa.json.ReadOptions(use_threads=False, block_size=2 * BLOCK)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(table.columns), unexpected_field_behavior="ignore")

    def read_block(text: bytes) -> pa.Table:
        return pa.json.read_json(pa.BufferReader(text), reading, parsing)

    for i, batch in enumerate(json_blocks(table.text(), BLOCK, read_block, table.rejected)):
        # A member that some lines lack is null there. If every line of the first block lacks it, its name is wrong.
        if i == 0 and any(batch.column(column).null_count == len(batch) for column in table.columns):
            with suppress(JSONDecodeError):  # then the line was rejected
                table.check(loads(first.encode()))
        yield batch


def _parquet(table: Table) -> Iterator[pa.RecordBatch]:
    # By default, Arrow reads row groups ahead and keeps them in memory until the end of the file.
    file = pa.parquet.ParquetFile(table.source, pre_buffer=False, buffer_size=PIECE)
    table.check(file.schema_arrow.names)
    table.bar.update(table.task, total=file.metadata.num_rows)
    first = 1
    for any_batch in file.iter_batches(ROWS, columns=list(table.columns)):
        batch = with_text(any_batch, first, table.rejected)
        first += any_batch.num_rows
        # The type of the key column decides how keys are serialized, so it is kept; other columns are cast.
        columns = [batch.column(c) if c == table.key else batch.column(c).cast(kind) for c, kind in table.columns.items()]
        yield pa.record_batch(columns, names=list(table.columns))
        table.bar.advance(table.task, any_batch.num_rows)


READERS: Final[dict[str, Callable[[Table], Iterator[pa.RecordBatch]]]] = {
    "csv": _csv,
    "tsv": _tsv,
    "jsonl": _json_lines,
    "parquet": _parquet,
}
