"""Plain Parquet without Spark in between: executors read row groups with PyArrow, and only the splits pass through Spark.

A split is a range of a file's bytes; a row group belongs to the split in which its first byte lies. So files are divided by
their sizes alone, and no footer is read before the job starts but one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SPLIT_BYTES: Final = 128 * 2**20
ROWS: Final = 65_536
"""Of a batch."""

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True)
class Split:
    """The row groups of the file ``location`` that begin in ``[start, end)``."""

    location: str
    start: int
    end: int

    @property
    def size(self) -> int:
        """In bytes."""
        return self.end - self.start


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
    """The columns of a Parquet file."""
    system, path = _open(location)
    with system.open_input_file(path) as file:
        return pq.ParquetFile(file).schema_arrow


def splits(of: Sequence[tuple[str, int]], tasks: int) -> list[list[Split]]:
    """The files in pieces, and the pieces in at most ``tasks`` lists of about the same size, none of them empty."""
    total = sum(size for _, size in of)
    piece = max(1, min(SPLIT_BYTES, -(-total // tasks)))
    pieces = [Split(path, start, min(start + piece, size)) for path, size in of for start in range(0, size, piece)]
    share = -(-total // tasks) if total else 1
    lists: list[list[Split]] = [[]]
    filled = 0
    for split in pieces:
        if filled + split.size / 2 > share * len(lists) and lists[-1] and len(lists) < tasks:
            lists.append([])
        lists[-1].append(split)
        filled += split.size
    return [each for each in lists if each]


def batches_of(of: Sequence[Split], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The records of splits: these columns of them, in this order."""
    for split in of:
        system, path = _open(split.location)
        with system.open_input_file(path) as source, pq.ParquetFile(source, pre_buffer=False) as file:
            footer = file.metadata
            groups = [g for g in range(footer.num_row_groups) if split.start <= _first_byte(footer.row_group(g)) < split.end]
            for batch in file.iter_batches(ROWS, groups, list(columns), use_threads=False) if groups else ():
                yield batch.select(list(columns))


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
