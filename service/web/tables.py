"""Tables as CSV and as Arrow streams."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

JSON: Final = "application/json"
ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
CSV: Final = "text/csv"

FORMULA: Final = "^([=+\\-@\t\r\n＝＋－＠])"
"""The beginning of a cell that a spreadsheet may evaluate (OWASP, CSV Injection)."""


def written(columns: pa.Table, media_type: str) -> bytes:
    """The table as CSV or ARROW_STREAM. CSV has a list of numbers as text with commas between, as Kafka's tools print them."""
    sink = pa.BufferOutputStream()
    if media_type == CSV:
        pyarrow.csv.write_csv(_without_lists(columns), sink)
    else:
        with pa.ipc.new_stream(sink, columns.schema) as stream:
            stream.write_table(columns)
    text: bytes = sink.getvalue().to_pybytes()
    return text


def written_bytes(columns: pa.Table, media_type: str) -> int:
    """About the most memory that ``written`` takes."""
    if media_type != CSV:
        return 2 * int(columns.nbytes)
    size = 0
    for column in columns.columns:
        texts = column.combine_chunks()
        if pa.types.is_dictionary(texts.type):
            lengths = pc.binary_length(texts.dictionary).take(texts.indices)
        elif pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
            lengths = pc.binary_length(texts)
        else:
            size += 24 * (len(texts.flatten()) + len(texts) if pa.types.is_list(texts.type) else len(texts))
            continue
        size += (pc.sum(lengths, min_count=0).as_py() or 0) + 3 * len(texts)
    return 2 * size


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
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = pc.replace_substring_regex(columns.column(i).cast(kind), FORMULA, r"'\1")
            columns = columns.set_column(i, field.name, texts)
    return columns
