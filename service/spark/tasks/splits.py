"""Plain Parquet without Spark in between: executors read row groups with PyArrow, and only the splits pass through Spark.

A split is a range of a file's bytes; a row group belongs to the split in which its middle lies. So files are divided by their
sizes alone, and no footer is read before the job starts but one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS: Final = 65_536
"""Of a batch."""

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True)
class Split:
    """The row groups of the file ``location`` whose middle is in ``[start, end)``."""

    location: str
    start: int
    end: int


def files(location: str) -> list[tuple[str, int]] | None:
    """The Parquet files of a path or folder, with their sizes; None if that is not plainly what it is."""
    if "://" not in location:
        location = str(Path(location.removeprefix("file:")).absolute())
    try:
        system, path = _open(location)
        found = system.get_file_info(path)
        if found.type == fs.FileType.File:
            return [(location, found.size)]
        if found.type != fs.FileType.Directory:
            return None
        path = path.rstrip("/")
        inside = system.get_file_info(fs.FileSelector(path, recursive=True))
    except (pa.ArrowException, OSError, ValueError):
        return None
    data = []
    for info in inside:
        parts = info.path[len(path) :].strip("/").split("/")
        if info.type != fs.FileType.File or any(part.startswith(("_", ".")) for part in parts):
            continue
        if len(parts) > 1 or not parts[0].endswith(".parquet"):
            return None  # columns in folder names, or a table format with a log of its own: Spark knows
        data.append((f"{location.rstrip('/')}/{parts[0]}", info.size))
    return sorted(data) or None


def schema(location: str) -> pa.Schema:
    """The columns of a Parquet file, as ``batches_of`` gives them."""
    system, path = _open(location)
    with system.open_input_file(path) as file:
        return _plain(pq.ParquetFile(file).schema_arrow)


def splits(of: Sequence[tuple[str, int]], tasks: int) -> list[list[Split]]:
    """The files' bytes, one file after another, in at most ``tasks`` lists of splits of the same size in all, none empty.

    A job is as slow as the core that gets most.
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
    """The records of splits: these columns of them, in this order. Raises ValueError for a file that lacks one of them."""
    for split in of:
        system, path = _open(split.location)
        with system.open_input_file(path) as source, pq.ParquetFile(source, pre_buffer=False) as file:
            for name in columns:
                if name not in file.schema_arrow.names:
                    raise ValueError(f"{split.location} has no column {name!r}, which the first file has")
            begins = [_first_byte(file.metadata.row_group(g)) for g in range(file.num_row_groups)]
            bounds = enumerate(pairwise([*begins, source.size()]))
            groups = [g for g, (begin, end) in bounds if split.start <= (begin + end) // 2 < split.end]
            for batch in file.iter_batches(ROWS, groups, list(columns), use_threads=False) if groups else ():
                chosen = batch.select(list(columns))
                yield chosen.cast(_plain(chosen.schema))


def _plain(schema: pa.Schema) -> pa.Schema:
    """As anybody but Arrow sees the columns: PyArrow remembers what a writer held as categories or as views."""
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
