"""Plain CSV, read with PyArrow: a file about whose records Spark and PyArrow cannot disagree.

Readers of CSV agree about regular lines, and each has its own way with all others. So tasks first look at every byte: they read a
file themselves only if all of its lines are regular, and Spark reads any other. A line belongs to the split in which it begins.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from service.core.kernels import kernel
from service.core.model import Bytes
from service.spark.tasks.splits import PlainFiles, Split, UnreadableFile

BLOCK_BYTES: Final = 2**20
"""Of lines that are read at a time."""

LONGEST_LINE: Final = 2**26
"""Bytes; Spark reads longer ones."""

MOST_COLUMNS: Final = 20_480
"""What Spark's reader takes (maxColumns)."""

# Where a reader is after a byte. FIELD comes only after a separator, and ENDED only after a line that is a record.
BEGIN, ENDED, FIELD, UNQUOTED, QUOTED, CLOSED, CR_OF_NOTHING, CR, FAULT = range(9)

_NEXT: Final = np.array(
    [
        # other, white, separator, white separator, quote, LF, CR, never
        [UNQUOTED, FAULT, FIELD, FAULT, QUOTED, BEGIN, CR_OF_NOTHING, FAULT],  # BEGIN: of a line
        [UNQUOTED, FAULT, FIELD, FAULT, QUOTED, BEGIN, CR_OF_NOTHING, FAULT],  # ENDED: a line, hence the same
        [UNQUOTED, UNQUOTED, FIELD, FIELD, QUOTED, ENDED, CR, FAULT],  # FIELD
        [UNQUOTED, UNQUOTED, FIELD, FIELD, FAULT, ENDED, CR, FAULT],  # UNQUOTED
        [QUOTED, QUOTED, QUOTED, QUOTED, CLOSED, FAULT, FAULT, FAULT],  # QUOTED
        [FAULT, FAULT, FIELD, FIELD, QUOTED, ENDED, CR, FAULT],  # CLOSED: by a quote, or the first of two
        [FAULT, FAULT, FAULT, FAULT, FAULT, BEGIN, FAULT, FAULT],  # CR_OF_NOTHING: of a line of nothing
        [FAULT, FAULT, FAULT, FAULT, FAULT, ENDED, FAULT, FAULT],  # CR
    ],
    np.uint8,
)
"""The grammar of plain CSV: where a reader is after the next byte, by its kind.

No line begins with white space: Spark leaves out those that have nothing else.
"""


class _NotPlain(Exception):
    """Spark has to read this file."""


@dataclass(frozen=True)
class CsvFile(PlainFiles):
    """A file with the names of its columns in the first line. A value is a text, or null where a field is empty, quoted or not.

    names : of its columns; separator : between them
    """

    names: tuple[str, ...]
    separator: str

    def schema(self) -> pa.Schema:
        """The columns, all of text."""
        return pa.schema({name: pa.string() for name in self.names})

    def batches_of(self, of: Sequence[Split], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The lines that begin in splits, without the first of the file."""
        texts = dict.fromkeys(columns, pa.string())
        convert = arrow_csv.ConvertOptions(
            include_columns=list(columns), column_types=texts, check_utf8=False,  # PlainCheck has decoded every line
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True,
        )  # fmt: skip
        parse = arrow_csv.ParseOptions(delimiter=self.separator)
        for split in of:
            try:
                for block in blocks(split, skipped=0 if split.start else 1):
                    read = arrow_csv.ReadOptions(use_threads=False, block_size=len(block), column_names=list(self.names))
                    yield from arrow_csv.read_csv(pa.BufferReader(block), read, parse, convert).to_batches()
            except (pa.ArrowException, OSError, _NotPlain) as error:
                raise UnreadableFile.because(error, split.location, "CSV") from None

    def few_rows_of(self, of: Sequence[Split], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The lines of splits."""
        for batch in self.batches_of(of, columns):
            for row in range(0, batch.num_rows, rows):
                yield batch.slice(row, rows)

    def having(self, columns: Sequence[str], column: str, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records with one of these texts."""
        chosen = pa.array(texts, pa.string())
        for batch in self.batches(columns):
            yield batch.filter(pc.is_in(batch.column(column), chosen))


def with_header(path: Path, separator: str) -> CsvFile | None:
    """The file, as far as its first line tells; None if it is not plain. Raises OSError."""
    size = path.stat().st_size
    with path.open("rb") as lines:
        header = lines.readline(LONGEST_LINE)
    try:
        names = tuple(next(csv.reader([header.decode()], delimiter=separator), []))
    except (UnicodeDecodeError, csv.Error):
        return None
    different = {name.casefold() for name in names} - {""}
    if not names or len(different) < len(names) or len(names) > MOST_COLUMNS or header.startswith("\ufeff".encode()):
        return None  # Spark gives such columns other names
    file = CsvFile([(str(path), size)], names, separator)
    return file if _has_plain_lines(header, file) else None


@dataclass(frozen=True)
class PlainCheck:
    """What tasks run that look whether all lines of a file are plain. tasks : the splits of each task"""

    file: CsvFile
    tasks: Sequence[Sequence[Split]]

    RESULT: ClassVar[pa.Schema] = pa.schema({"plain": pa.bool_()})

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each task whose number is in the batches' only column."""
        for batch in numbers:
            plain = [self._is_plain(self.tasks[number]) for number in batch.column(0).to_pylist()]
            yield pa.record_batch([plain], schema=self.RESULT)

    def _is_plain(self, splits: Sequence[Split]) -> bool:
        try:
            return all(_has_plain_lines(block, self.file) for split in splits for block in blocks(split))
        except (_NotPlain, OSError):
            return False


def blocks(split: Split, skipped: int = 0) -> Iterator[bytes]:
    """The lines that begin in a split, some BLOCK_BYTES at a time. skipped : the first ones to leave out"""
    with Path(split.location).open("rb") as file:
        if split.start:
            file.seek(split.start - 1)  # where the line before may end
            skipped += 1
        for _ in range(skipped):
            _rest_of_line(file)
        while (at := file.tell()) < split.end:
            block = file.read(min(BLOCK_BYTES, split.end - at))
            if not block:
                break
            yield block if block.endswith(b"\n") else block + _rest_of_line(file)


def _rest_of_line(file: BinaryIO) -> bytes:
    line = file.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        raise _NotPlain("a line is too long")
    return line


def _has_plain_lines(block: bytes, file: CsvFile) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return has_plain_lines(np.frombuffer(block, np.uint8), _kinds(file.separator), len(file.names))


@lru_cache
def _kinds(separator: str) -> Bytes:
    """uint8[256], the kind of each byte: a column of _NEXT."""
    kinds = np.zeros(256, np.uint8)
    kinds[: ord(" ") + 1] = 1
    kinds[ord(separator)] = 3 if separator <= " " else 2
    kinds[[ord('"'), ord("\n"), ord("\r"), 0]] = 4, 5, 6, 7
    return kinds


@kernel
def has_plain_lines(data: Bytes, kinds: Bytes, columns: int) -> bool:
    """Whether all lines are plain CSV: as many fields as ``columns``, each with quotes around it or without any quote.

    data : uint8[n], of ASCII or UTF-8. Lines end with LF or CR LF; a quote within quotes is doubled, and no line ends there.
    Lines of nothing are no records.
    kinds : uint8[256], the kind of each byte
    """
    state, fields = BEGIN, 1
    for byte in data:
        state = _NEXT[state, kinds[byte]]
        if state == FIELD:
            fields += 1
        elif state == ENDED:
            if fields != columns:
                return False
            fields = 1
        elif state == FAULT:
            return False
    return state in (BEGIN, ENDED) or (state in (FIELD, UNQUOTED, CLOSED) and fields == columns)
