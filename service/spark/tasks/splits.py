"""Plain Parquet without Spark in between: executors read row groups with PyArrow, and only the splits pass through Spark.

A split is a byte range of a file; a row group belongs to the split that contains its middle. So files are divided by their sizes
alone, and the driver reads one footer, that of the first file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from service.core.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.spark.tasks.results import Scan

BATCH_ROWS: Final = 65_536
ROW_GROUP_BYTES: Final = 2**25
"""Of a row group that is written, in memory."""

ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What ``mapInArrow`` calls once per task."""

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}


class ParquetError(ValueError):
    """A file that is not Parquet, is damaged, or lacks a column. str() has its location and the fault, on one line."""


@dataclass(frozen=True)
class Split:
    """The row groups of the file ``location`` whose middle is in ``[start, end)``."""

    location: str
    start: int
    end: int


@dataclass(frozen=True)
class SplitReader:
    """What the tasks of a scan run that read their splits themselves.

    tasks : the splits of each task
    """

    scan: Scan
    tasks: Sequence[Sequence[Split]]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Scan the splits of the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.scan.of_batches(batches_of(self.tasks[number], self.scan.columns))


@dataclass(frozen=True)
class RowReader:
    """What the tasks of a map run that read their rows themselves. rows : in a batch; tasks : the splits of each task"""

    function: ArrowFunction
    columns: Sequence[str]
    rows: int
    tasks: Sequence[Sequence[Split]]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Map the rows of the tasks whose numbers are in the batches' only column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.function(few_rows_of(self.tasks[number], self.columns, self.rows))


@dataclass(frozen=True)
class ParquetWriter:
    """Writes what ``function`` gives in a task as a Parquet file of its own, and gives the file's name as RESULT."""

    function: ArrowFunction
    schema: pa.Schema
    folder: str

    RESULT: ClassVar[pa.Schema] = pa.schema({"file": pa.string()})

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write one file."""
        name = f"part-{uuid4()}.parquet"  # not the task's number: an attempt that failed may still be writing
        with pq.ParquetWriter(Path(self.folder) / name, self.schema, compression="zstd") as file:
            for table in _row_groups(self.function(batches)):
                file.write_table(table)
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


def files(location: str) -> list[tuple[str, int]] | None:
    """The Parquet files of a path or folder, with their sizes; None if it holds anything else."""
    if "://" not in location:
        location = str(Path(location.removeprefix("file:")).absolute())
    try:
        system, path = _open(location)
        info = system.get_file_info(path)
        if info.type == fs.FileType.File:
            return [(location, info.size)]
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
    return sorted(data) or None


def schema(location: str) -> pa.Schema:
    """The columns of a Parquet file, as ``batches_of`` gives them. Raises ParquetError."""
    with _parquet(location) as (file, _):
        return _plain(file.schema_arrow)


def splits(of: Sequence[tuple[str, int]], tasks: int) -> list[list[Split]]:
    """The files' bytes, one file after another, as at most ``tasks`` lists of splits of equal total size, none empty.

    A job is as slow as the core that reads most.
    """
    share = -(-sum(size for _, size in of) // tasks)
    lists: dict[int, list[Split]] = {}
    before = 0
    for path, size in of:
        start = 0
        while start < size:
            number = (before + start) // share
            end = min(size, (number + 1) * share - before)
            lists.setdefault(number, []).append(Split(path, start, end))
            start = end
        before += size
    return list(lists.values())


def batches_of(of: Sequence[Split], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The records of splits: these columns, in this order. Raises ParquetError, also for a file that lacks one of them."""
    for split in of:
        with _parquet(split.location) as (file, size):
            spans = enumerate(_spans(file, size))
            groups = [g for g, (begin, end) in spans if split.start <= (begin + end) // 2 < split.end]
            yield from _read(file, split.location, groups, columns, BATCH_ROWS) if groups else ()


def few_rows_of(of: Sequence[Split], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Like ``batches_of``, with at most ``rows`` in a batch. A row group is divided: a split has as large a part of its rows as
    of its bytes.

    Each split of a row group decodes it up to its own last row, which takes little time compared with what a group's row takes.
    """
    for split in of:
        with _parquet(split.location) as (file, size):
            for g, (begin, end) in enumerate(_spans(file, size)):
                count = file.metadata.row_group(g).num_rows
                first, last = (
                    count * (min(max(at, begin), end) - begin) // max(end - begin, 1) for at in (split.start, split.end)
                )
                row = 0
                for batch in _read(file, split.location, [g], columns, rows) if first < last else ():
                    part = batch.slice(max(first - row, 0), max(last - max(row, first), 0))
                    if part.num_rows:
                        yield part
                    row += batch.num_rows
                    if row >= last:
                        break


def having(location: str, columns: Sequence[str], column: str, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The records of a file with one of these texts in ``column``. Raises ParquetError.

    Of the row groups without such a record only ``column`` is read.
    """
    chosen = pa.array(texts, pa.string())
    with _parquet(location) as (file, _):
        for g in range(file.num_row_groups):
            if not pc.any(pc.is_in(file.read_row_group(g, [column]).column(0).cast(pa.string()), chosen)).as_py():
                continue
            for batch in _read(file, location, [g], columns, BATCH_ROWS):
                yield batch.filter(pc.is_in(batch.column(column).cast(pa.string()), chosen))


def _spans(file: pq.ParquetFile, size: int) -> list[tuple[int, int]]:
    """The bytes of each row group: where it begins, and where the next one does, or the file ends."""
    begins = [_first_byte(file.metadata.row_group(g)) for g in range(file.num_row_groups)]
    return list(pairwise([*begins, size]))


def _read(file: pq.ParquetFile, location: str, groups: list[int], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    for name in columns:
        if name not in file.schema_arrow.names:
            raise ParquetError(f"{location} has no column {name!r}, which the first file has")
    for batch in file.iter_batches(rows, groups, list(columns), use_threads=False):
        chosen = batch.select(list(columns))
        yield chosen.cast(_plain(chosen.schema))


@contextmanager
def _parquet(location: str) -> Iterator[tuple[pq.ParquetFile, int]]:
    """A file, open, and its size. Raises ParquetError for what fails while it is open."""
    try:
        system, path = _open(location)
        with (
            system.open_input_file(path) as source,
            pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True) as file,
        ):
            yield file, source.size()
    except (pa.ArrowException, OSError) as error:
        fault = printable(" ".join(str(error).split()))
        raise ParquetError(f"{location} cannot be read as Parquet: {fault}") from None


def _plain(schema: pa.Schema) -> pa.Schema:
    """The columns' types outside Arrow: PyArrow restores the dictionary and view types that the file's writer had in memory."""
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema], schema.metadata)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(kind):
        return kind.value_type
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return pa.string() if types.is_string_view(kind) else pa.binary()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind):
        item = kind.value_field.with_type(_plain_type(kind.value_type))
        return pa.list_(item) if types.is_list(kind) else pa.large_list(item)
    return kind


def _first_byte(group: pq.RowGroupMetaData) -> int:
    column = group.column(0)
    dictionary = column.dictionary_page_offset
    return int(column.data_page_offset if not dictionary else min(dictionary, column.data_page_offset))


def _open(location: str) -> tuple[fs.FileSystem, str]:
    """The file system and the path in it. Raises ArrowException, OSError or ValueError for an unknown scheme."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return fs.LocalFileSystem(use_mmap=True), location
    system, path = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    return system, path
