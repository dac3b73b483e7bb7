"""Plain Parquet without Spark in between: executors read row groups with PyArrow, and only the splits pass through Spark.

A split is a byte range of a file; a row group belongs to the split that contains its middle. So files are divided by their sizes
alone, and the driver reads one footer, that of the first file.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from service.core.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.spark.tasks.results import Scan

BATCH_ROWS: Final = 65_536

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
            for name in columns:
                if name not in file.schema_arrow.names:
                    raise ParquetError(f"{split.location} has no column {name!r}, which the first file has")
            begins = [_first_byte(file.metadata.row_group(g)) for g in range(file.num_row_groups)]
            bounds = enumerate(pairwise([*begins, size]))
            groups = [g for g, (begin, end) in bounds if split.start <= (begin + end) // 2 < split.end]
            for batch in file.iter_batches(BATCH_ROWS, groups, list(columns), use_threads=False) if groups else ():
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
    types = pa.types
    for i, field in enumerate(schema):
        if types.is_dictionary(field.type):
            schema = schema.set(i, field.with_type(field.type.value_type))
        elif types.is_string_view(field.type) or types.is_binary_view(field.type):
            schema = schema.set(i, field.with_type(pa.string() if types.is_string_view(field.type) else pa.binary()))
    return schema


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
