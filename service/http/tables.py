"""Tables as CSV and as Arrow streams."""

import io
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from service.decisions.rows import is_text
from service.http.json.codec import SHORT_BYTES
from service.http.media_types import CSV

FORMULA: Final = "^([=+\\-@\t\r\n＝＋－＠])"
"""The beginning of a cell that a spreadsheet may evaluate (OWASP, CSV Injection)."""


class _Pieces(io.RawIOBase):
    """A file that keeps the pieces in which it is written, where a buffer would grow and be copied. Short ones are joined."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._short: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        """See IOBase."""
        return True

    def write(self, data: Any) -> int:
        """See RawIOBase."""
        self._short.append(bytes(data))
        self._size += len(self._short[-1])
        if self._size >= SHORT_BYTES:
            self.end_piece()
        return len(data)

    def end_piece(self) -> None:
        """Join what has come since the last piece."""
        self.pieces.append(b"".join(self._short))
        self._short, self._size = [], 0


def written(columns: pa.Table, media_type: str) -> list[bytes]:
    """The table as CSV or ARROW_STREAM, in pieces: at least one. CSV has a list of numbers as text with commas between, as
    Kafka's tools print them.
    """
    sink = _Pieces()
    with pa.PythonFile(sink, "w") as file:
        if media_type == CSV:
            pyarrow.csv.write_csv(_without_lists(columns), file)
        else:
            with pa.ipc.new_stream(file, columns.schema) as stream:
                stream.write_table(columns)
    sink.end_piece()
    return sink.pieces


def written_bytes(columns: pa.Table, media_type: str) -> int:
    """About the most memory that ``written`` takes."""
    if media_type != CSV:
        return int(columns.nbytes)
    size = 0
    for column in columns.columns:
        texts = column.combine_chunks()
        if pa.types.is_dictionary(texts.type):
            lengths = pc.binary_length(texts.dictionary).take(texts.indices)
        elif is_text(texts.type):
            lengths = pc.binary_length(texts)
        else:
            size += 24 * (len(texts.flatten()) + len(texts) if pa.types.is_list(texts.type) else len(texts))
            continue
        size += (pc.sum(lengths, min_count=0).as_py() or 0) + 3 * len(texts)
    return size


def _without_lists(columns: pa.Table) -> pa.Table:
    for i, field in enumerate(columns.schema):
        if pa.types.is_list(field.type):
            texts = pc.binary_join(columns.column(i).cast(pa.list_(pa.string())), ",")
            columns = columns.set_column(i, field.name, texts)
    return columns


def without_formulas(columns: pa.Table) -> pa.Table:
    """The table with ``'`` before each text that a spreadsheet may evaluate."""
    for i, field in enumerate(columns.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if is_text(kind):
            texts = pc.replace_substring_regex(columns.column(i).cast(kind), FORMULA, r"'\1")
            columns = columns.set_column(i, field.name, texts)
    return columns
