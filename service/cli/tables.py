"""Keys, and what belongs to them, from a CSV, Parquet or JSON-lines file, in Arrow record batches.

The batches have the columns that the HTTP endpoints take as an Arrow stream: ``key`` and those of TYPES. However large the file,
only a few batches of it are in memory.

============== ============================================== ============================================
file           the key's type                                 a record without a key
============== ============================================== ============================================
CSV, TSV       the key format's; default: text                an empty cell (``""`` is an empty key)
JSON lines     the key format's; default: text                null or absent
Parquet        the column's own (binary, string, int64, …)    null
============== ============================================== ============================================
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from rich.console import Console
from rich.progress import Progress, TaskID

from service.arrow.keys import FORMAT_OF_TYPE
from service.core.keys.columns import FORMATS
from service.web.json_codec import loads

TYPES: Final = {"partition_id": pa.int32(), "records": pa.int64(), "bytes": pa.int64()}
"""The type of each column but the key."""

FORMAT_OF_SUFFIX: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}

ROWS: Final = 1 << 18
"""Rows of a batch of Parquet."""

BLOCK: Final = 8 * 2**20
"""Bytes of a block of text; no JSON line may be longer."""

HEAD: Final = 1 << 16
"""Bytes in which a CSV's header has to be."""

PIECE: Final = 1 << 20
"""Bytes of a Parquet column that are read at once."""

_TYPE_OF_FORMAT: Final = {key_format: kind for kind, key_format in FORMAT_OF_TYPE.items()}

Command = TypeVar("Command", bound=Callable[..., Any])


def options(command: Command) -> Command:
    """The parameters of a command that reads a table: file, file_format, key_column and key_format."""
    click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))(command)
    click.option("--file-format", type=click.Choice(list(READERS)), help="Default: by the file's name.")(command)
    click.option(
        "--key-format", type=click.Choice(FORMATS), help="The keys' serializer; default: string, or by the Parquet column's type."
    )(command)
    click.option("--key-column", default="key", show_default=True, help="The column that holds the keys.")(command)
    return command


def read(
    file: str, columns: Mapping[str, str], key_format: str | None = None, file_format: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The file's record batches, at least one; on a terminal a bar (on standard error) shows how far they are.

    file : a path, or "-" for standard input (then ``file_format`` says what it is; no Parquet)
    columns : what the batches call a column ("key", or a name of TYPES) → what the file calls it
    Raises ClickException for a file that cannot be read, lacks a column, or has a value that is none of its type.
    """
    file_format = file_format or FORMAT_OF_SUFFIX.get(Path(file).suffix.lower())
    if file_format is None:
        raise click.ClickException(f"{file}: say what it is with --file-format ({', '.join(READERS)})")
    if len(set(columns.values())) < len(columns):
        raise click.ClickException(f"a column can be only one of {', '.join(columns)}")
    types = TYPES | {"key": _TYPE_OF_FORMAT.get(key_format or "string", pa.string())}
    wanted = {column: types[name] for name, column in columns.items()}
    try:
        with _open(file) as source, Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            table = Table(source, columns["key"], wanted, bar, bar.add_task(Path(file).name, total=None))
            batch = None
            for batch in READERS[file_format](table):
                yield batch.select(list(wanted)).rename_columns(list(columns))
            if batch is None:
                yield pa.record_batch([pa.array([], kind) for kind in wanted.values()], names=list(columns))
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise click.ClickException(f"{file}: {error}") from None


def as_stream(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Record batches, at least one, as the bytes of an Arrow stream, a batch at a time."""
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
    if file == "-":
        yield cast(BufferedReader, sys.stdin.buffer)
    else:
        with Path(file).open("rb", buffering=HEAD) as source:
            yield cast(BufferedReader, source)


@dataclass(frozen=True)
class Table:
    """A file to be read.

    key : the column that holds the keys
    wanted : every column that is wanted, and its type
    bar, task : how far the reading is
    """

    source: BufferedReader
    key: str
    wanted: dict[str, pa.DataType]
    bar: Progress
    task: TaskID

    def first_line(self) -> str:
        """The first line that is not blank, or what of it is in the HEAD; it is read again by ``text``."""
        return self.source.peek(HEAD).decode("utf-8-sig", errors="replace").lstrip("\r\n").partition("\n")[0].rstrip("\r")

    def text(self) -> Any:
        """The file, moving the bar as it is read."""
        size = os.fstat(self.source.fileno()).st_size  # of a pipe: 0
        return self.bar.wrap_file(self.source, size, task_id=self.task) if size else self.source

    def check(self, names: Collection[str]) -> None:
        """Refuse a file that has the columns ``names``, but not every one that is wanted."""
        for column in self.wanted:
            if column not in names:
                raise ValueError(f"there is no column {column!r}; there are {', '.join(names) or 'none'}")


def _csv(table: Table, delimiter: str = ",") -> Iterator[pa.RecordBatch]:
    table.check(next(csv.reader([table.first_line()], delimiter=delimiter), []))
    # With threads, Arrow does not say in which row a value is wrong.
    reading = pa.csv.ReadOptions(use_threads=False, block_size=BLOCK)
    parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    converting = pa.csv.ConvertOptions(
        include_columns=list(table.wanted),
        column_types=table.wanted,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    yield from pa.csv.open_csv(table.text(), reading, parsing, converting)


def _tsv(table: Table) -> Iterator[pa.RecordBatch]:
    return _csv(table, "\t")


def _json_lines(table: Table) -> Iterator[pa.RecordBatch]:
    first = table.first_line()
    reading = pa.json.ReadOptions(use_threads=False, block_size=BLOCK)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(table.wanted), unexpected_field_behavior="ignore")
    for i, batch in enumerate(pa.json.open_json(table.text(), reading, parsing)):
        # A member may be absent here and there, and is null then. One that no line of the first block has is a wrong name.
        if i == 0 and any(batch.column(column).null_count == len(batch) for column in table.wanted):
            table.check(loads(first.encode()))
        yield batch


def _parquet(table: Table) -> Iterator[pa.RecordBatch]:
    # By default Arrow reads whole row groups ahead, and lets go of them only at the end of the file.
    file = pa.parquet.ParquetFile(table.source, pre_buffer=False, buffer_size=PIECE)
    table.check(file.schema_arrow.names)
    table.bar.update(table.task, total=file.metadata.num_rows)
    for batch in file.iter_batches(ROWS, columns=list(table.wanted)):
        # What a key's bytes are depends on its type; of the other columns only the values matter.
        columns = [batch.column(c) if c == table.key else batch.column(c).cast(kind) for c, kind in table.wanted.items()]
        yield pa.record_batch(columns, names=list(table.wanted))
        table.bar.advance(table.task, batch.num_rows)


READERS: Final[dict[str, Callable[[Table], Iterator[pa.RecordBatch]]]] = {
    "csv": _csv,
    "tsv": _tsv,
    "jsonl": _json_lines,
    "parquet": _parquet,
}
