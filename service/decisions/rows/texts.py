"""Arrow columns of text that may not be UTF-8: neither PyArrow nor Spark checks the text of a Parquet file."""

import pyarrow as pa


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type has strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def not_utf8(column: pa.Array) -> pa.Array | None:
    """bool[n], the rows whose text is not UTF-8; None if there are none, or if the column has no text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not is_text(column.type):
        return None
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([value is not None and _decoded(value) is None for value in column.cast(pa.binary()).to_pylist()])
    return None


def readable(column: pa.Array) -> pa.Array:
    """The texts of a column, with U+FFFD in place of what is not UTF-8."""
    if not_utf8(column) is None:
        return column.cast(pa.string())
    texts = (None if value is None else value.decode(errors="replace") for value in column.cast(pa.binary()).to_pylist())
    return pa.array(texts, pa.string())


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
