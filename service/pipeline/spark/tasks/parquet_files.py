"""Plain Parquet without Spark in between: executors read it with PyArrow, and only the splits pass through Spark.

A split is a byte range of a file, so files are divided by their sizes. A row group belongs to the split that contains its middle,
so the driver reads no footer but that of the first file.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from service.core.printable import printable
from service.pipeline.files.rejected import WrongTable
from service.pipeline.files.types import as_spark_reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from service.pipeline.analyses.results import ArrowFunction, Scan
    from service.pipeline.spark.tasks.made_keys import MadeKeys

STAMP_COLUMNS: Final = pa.schema(
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
    """Which run computed a row: columns that every table of a job has, so that tables of many runs are one to a dashboard.

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
        return [name for name in STAMP_COLUMNS.names if name not in names and not (name == "run_id" and self.appended)]

    def on(self, table: pa.Table) -> pa.Table:
        """The table with the columns that it lacks."""
        for name in self.lacking(table.column_names):
            value = pa.scalar(getattr(self, name), STAMP_COLUMNS.field(name).type)
            table = table.append_column(STAMP_COLUMNS.field(name), pa.repeat(value, table.num_rows))
        return table


BATCH_ROWS: Final = 65_536

ROW_GROUP_BYTES: Final = 2**25
"""Bytes in memory of a row group that is written."""

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}


class UnreadableParquet(WrongTable):
    """A file that is no Parquet, is damaged, or lacks a column. str() has its location and the fault, on one line."""


@dataclass(frozen=True)
class Split:
    """The bytes ``[start, end)`` of the file ``location``."""

    location: str
    start: int
    end: int


@dataclass(frozen=True)
class ParquetFiles:
    """Files of plain Parquet: any that PyArrow opens, also in object stores.

    sizes : in bytes, of each location; at least one
    expected : the columns that all of them must have, in these types; None: those that each has
    """

    sizes: Sequence[tuple[str, int]]
    expected: pa.Schema | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _, size in self.sizes)

    def schema(self) -> pa.Schema:
        """The columns of the first file, as ``batches_of`` gives them. Raises UnreadableParquet."""
        with _parquet(self.sizes[0][0]) as (file, _):
            return _plain(file.schema_arrow)

    def nanoseconds(self) -> list[str]:
        """The columns of the first file with timestamps of nanoseconds, which Spark refuses. Raises UnreadableParquet."""
        with _parquet(self.sizes[0][0]) as (file, _):
            columns = {file.schema.column(i).path: file.schema.column(i) for i in range(len(file.schema.names))}
            kinds = {field.name: field.type for field in file.schema_arrow}
            of_time = [name for name, kind in kinds.items() if pa.types.is_timestamp(kind) and kind.unit == "ns"]
            return [name for name in of_time if columns[name].physical_type != "INT96"]

    def splits(self, tasks: int) -> list[list[Split]]:
        """The files' bytes, one file after another, as at most ``tasks`` lists of splits of equal total size, none empty.

        A job is as slow as the core that reads most.
        """
        share = -(-self.size // tasks)
        lists: dict[int, list[Split]] = {}
        before = 0
        for location, size in self.sizes:
            start = 0
            while start < size:
                number = (before + start) // share
                end = min(size, (number + 1) * share - before)
                lists.setdefault(number, []).append(Split(location, start, end))
                start = end
            before += size
        return list(lists.values())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records of all files, one after another. Raises UnreadableParquet."""
        return self.batches_of([Split(location, 0, size) for location, size in self.sizes], columns)

    def batches_of(self, of: Sequence[Split], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The row groups of splits: these columns, in this order. Raises UnreadableParquet, also where one is missing."""
        for split in of:
            with _parquet(split.location) as (file, size):
                spans = enumerate(_spans(file, size))
                groups = [g for g, (begin, end) in spans if split.start <= (begin + end) // 2 < split.end]
                yield from self._read(file, split.location, groups, columns, BATCH_ROWS) if groups else ()

    def few_rows_of(self, of: Sequence[Split], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of splits, which divide row groups, at most ``rows`` in a batch. Raises UnreadableParquet.

        Each split of a row group decodes it up to its own last row, which takes little time beside what is done with a row.
        """
        for split in of:
            with _parquet(split.location) as (file, size):
                for g, (begin, end) in enumerate(_spans(file, size)):
                    count = file.metadata.row_group(g).num_rows
                    first, last = (
                        count * (min(max(at, begin), end) - begin) // max(end - begin, 1) for at in (split.start, split.end)
                    )
                    row = 0
                    for batch in self._read(file, split.location, [g], columns, rows) if first < last else ():
                        part = batch.slice(max(first - row, 0), max(last - max(row, first), 0))
                        if part.num_rows:
                            yield part
                        row += batch.num_rows
                        if row >= last:
                            break

    def having(self, columns: Sequence[str], column: str, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records with one of these texts in ``column``, the only one that is read of row groups without such a record.

        Raises UnreadableParquet.
        """
        chosen = pa.array(texts, pa.string())
        for location, _ in self.sizes:
            with _parquet(location) as (file, _):
                for g in range(file.num_row_groups):
                    if not pc.any(pc.is_in(file.read_row_group(g, [column]).column(0).cast(pa.string()), chosen)).as_py():
                        continue
                    for batch in self._read(file, location, [g], columns, BATCH_ROWS):
                        yield batch.filter(pc.is_in(batch.column(column).cast(pa.string()), chosen))

    def _read(
        self, file: pq.ParquetFile, location: str, groups: list[int], columns: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        has = _plain(file.schema_arrow)
        for name in columns:
            field = field_of(has, name)
            if field is None:
                raise UnreadableParquet(f"{location} has no column {name!r}, which the first file has.")
            expected = field if self.expected is None else field_of(self.expected, name)
            kind = field.type if expected is None else expected.type
            if field.type != kind and not pa.types.is_null(field.type) and not pa.types.is_null(kind):
                raise UnreadableParquet(
                    f"{location} has the column {name!r} as {field.type}, the first file {self.sizes[0][0]} as {kind}: "
                    "write them with one type."
                )
        for batch in file.iter_batches(rows, groups, list(columns), use_threads=False):
            arrays = [_picked(batch, name) for name in columns]
            yield pa.record_batch([each.cast(as_spark_reads(each.type), safe=False) for each in arrays], names=list(columns))


def find(location: str) -> ParquetFiles | None:
    """The Parquet files of a path or folder; None if it holds anything else."""
    if "://" not in location:
        location = str(Path(location.removeprefix("file:")).absolute())
    try:
        system, path = _open(location)
        info = system.get_file_info(path)
        if info.type == fs.FileType.File:
            return ParquetFiles([(location, info.size)])
        if info.type != fs.FileType.Directory:
            return None
        path = path.rstrip("/")
        entries = system.get_file_info(fs.FileSelector(path, recursive=True))
    except (pa.ArrowException, OSError, ValueError):
        return None
    data = []
    for info in entries:
        parts = info.path[len(path) :].strip("/").split("/")
        if info.type != fs.FileType.File or any(part.startswith(("_", ".")) for part in parts):
            continue
        if len(parts) > 1 or not parts[0].endswith(".parquet"):
            return None  # partition columns in folder names, or a table format with its own log: left to Spark
        data.append((f"{location.rstrip('/')}/{parts[0]}", info.size))
    return ParquetFiles(sorted(data)) if data else None


@dataclass(frozen=True)
class ParquetWriter:
    """Writes what ``function`` gives in a task as a Parquet file of its own, and gives the file's name as RESULT.

    stamp : of the rows; None: none
    """

    function: ArrowFunction
    schema: pa.Schema
    folder: str
    stamp: Stamp | None = None

    RESULT: ClassVar[pa.Schema] = pa.schema({"file": pa.string()})

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write one file."""
        name = f"part-{uuid4()}.parquet"  # not the task's number: an attempt that failed may still be writing
        schema = self.schema if self.stamp is None else self.stamp.on(self.schema.empty_table()).schema
        with pq.ParquetWriter(Path(self.folder) / name, schema, compression="zstd") as file:
            for table in _row_groups(self.function(batches)):
                file.write_table(table if self.stamp is None else self.stamp.on(table))
        yield pa.record_batch([[name]], schema=self.RESULT)


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in tables of some ROW_GROUP_BYTES: every column of every row group costs its readers a step of its own."""
    rows: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        rows.append(batch)
        size += batch.nbytes
        if size >= ROW_GROUP_BYTES:
            yield pa.Table.from_batches(rows)
            rows, size = [], 0
    if rows:
        yield pa.Table.from_batches(rows)


def _spans(file: pq.ParquetFile, size: int) -> list[tuple[int, int]]:
    """The bytes of each row group: where it begins, and where the next one does, or the file ends."""
    begins = []
    for g in range(file.num_row_groups):
        column = file.metadata.row_group(g).column(0)
        begins.append(int(min(column.dictionary_page_offset or column.data_page_offset, column.data_page_offset)))
    return list(pairwise([*begins, size]))


def field_of(schema: pa.Schema, name: str) -> pa.Field | None:
    """The column of this name, or of ``user.id`` the member ``id`` of the column ``user``; None if there is neither."""
    if name in schema.names:
        return schema.field(name)
    first, *members = name.split(".")
    field = schema.field(first) if first in schema.names else None
    for member in members:
        if field is None or not pa.types.is_struct(field.type) or field.type.get_field_index(member) < 0:
            return None
        field = field.type.field(member)
    return field


def _picked(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The column of a name, as ``field_of`` has it."""
    if name in batch.schema.names:
        return batch.column(name)
    first, *members = name.split(".")
    return pc.struct_field(batch.column(first), members)


@contextmanager
def _parquet(location: str) -> Iterator[tuple[pq.ParquetFile, int]]:
    """A file, open, and its size. Raises UnreadableParquet for what fails while it is open."""
    try:
        system, path = _open(location)
        with (
            system.open_input_file(path) as source,
            pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True) as file,
        ):
            yield file, source.size()
    except (pa.ArrowException, OSError) as error:
        fault = printable(" ".join(str(error).split()))
        raise UnreadableParquet(f"{location} cannot be read as Parquet: {fault}") from None


def _plain(schema: pa.Schema) -> pa.Schema:
    """The columns in the types in which Spark reads them."""
    return pa.schema([field.with_type(as_spark_reads(field.type)) for field in schema], schema.metadata)


def _open(location: str) -> tuple[fs.FileSystem, str]:
    """The file system and the path in it. Raises ArrowException, OSError or ValueError for an unknown scheme."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return fs.LocalFileSystem(use_mmap=True), location
    system, path = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    return system, path


class ByTask:
    """How Spark adds up what each task counts, by its number: once, however often it is run."""

    def zero(self, _: dict[int, int]) -> dict[int, int]:
        """Of no task."""
        return {}

    def addInPlace(self, counts: dict[int, int], more: dict[int, int]) -> dict[int, int]:  # noqa: N802 - Spark's name
        """Those of further tasks."""
        counts |= more
        return counts


@dataclass(frozen=True)
class SplitReader:
    """What the tasks of a scan run.

    tasks : the splits of each task
    count : is told how many records a task has read, by its number; None: nobody asks
    """

    scan: Scan
    files: ParquetFiles | MadeKeys
    tasks: Sequence[Sequence[Any]]
    count: Callable[[dict[int, int]], None] | None = None

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Scan the splits of the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self._rows(number)

    def partial(self, number: int) -> bytes | None:
        """What the task of this number computes; None as soon as it rejects a row."""
        first: bytes | None = next(self._rows(number)).column("partial")[0].as_py()
        return first

    def _rows(self, number: int) -> Iterator[pa.RecordBatch]:
        return self.scan.of_batches(self._batches(number))

    def _batches(self, number: int) -> Iterator[pa.RecordBatch]:
        read = 0
        for batch in self.files.batches_of(self.tasks[number], self.scan.columns):
            yield batch
            read += batch.num_rows
        if self.count is not None:
            self.count({number: read})


def mapped(
    function: ArrowFunction, files: ParquetFiles, columns: Sequence[str], rows: int, tasks: Sequence[Sequence[Split]],
    numbers: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """What ``function`` gives for the splits of the tasks whose numbers are in the batches' only column, ``rows`` in a batch."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from function(files.few_rows_of(tasks[number], columns, rows))


def renamed(function: ArrowFunction, names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What ``function`` gives for the batches with other names of columns."""
    return function(batch.rename_columns(list(names)) for batch in batches)
