"""Reads a table's key column as the core's ``Column``, and finds the rows to reject. Executors run this.

A key that does not fit the key format does not stop the job: its row is rejected with the reason.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.keys.formats import FORMATS
from service.decisions.keys import flat, from_arrow
from service.decisions.rows import FORMAT_OF_TYPE, is_text, not_utf8, readable
from service.pipeline.files.types import as_spark_reads, has_text, text_of

_TEXT_OF_INTEGER: Final = r"^[+-]?[0-9]{1,19}$"
_TEXT_OF_FLOAT: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$|^[+-]?(?:NaN|Infinity)$"
_FITS: Final = {
    "hex": r"^(?:[0-9a-fA-F]{2})*$",
    "base64": r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    "bytes": r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    "uuid": r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
}


def check_format(kind: pa.DataType, key_format: str | None) -> str:
    """The key format of a column of this type, before any row is read; raises InvalidQuestion if ``key_format`` does not suit it.

    key_format : None: that of the type; text may have any format, also of numbers
    """
    if key_format is not None and key_format not in FORMATS:
        raise InvalidQuestion(f"Unknown key format {key_format!r}; it must be one of {', '.join(FORMATS)}.")
    kind = as_spark_reads(kind)
    if is_text(kind) or pa.types.is_null(kind):
        return key_format or "string"
    if key_format == "string" and has_text(kind):
        return key_format
    if pa.types.is_decimal(kind) and kind.scale == 0 and key_format in columns.INTEGERS:
        return key_format
    if pa.types.is_integer(kind) and key_format in (*columns.INTEGERS, None):
        return key_format or FORMAT_OF_TYPE.get(kind, "long")
    if is_bytes(kind) and key_format in (None, "string"):
        # Bytes that Kafka's StringSerializer wrote; partitioners hash them unchanged.
        return key_format or "base64"
    try:
        return from_arrow(pa.chunked_array([pa.array([], kind)]), key_format)[1]
    except InvalidQuestion as error:
        if not has_text(kind):
            raise
        raise InvalidQuestion(f"{error.detail} --key-format string takes its text.", *error.field) from None


def check_keys(batches: Iterable[pa.RecordBatch], names: Sequence[str], separator: str, key_format: str, source: object) -> None:
    """Raise InvalidQuestion if the first records of a source have keys, in the columns ``names``, but none in the format."""
    shown: list[str] = []
    for batch in batches:
        key = joined([batch.column(name) for name in names], separator)
        bad = read_keys(key, key_format)[1]
        if key.null_count == len(key):
            continue
        if bad is None or bad.true_count < len(key) - key.null_count:
            return
        misfits = key.filter(bad).slice(0, 3)
        shown += [str(value) for value in (readable(misfits) if is_text(misfits.type) else misfits).to_pylist()]
    if shown:
        texts = ", ".join(map(repr, shown[:3]))
        raise InvalidQuestion(f"{source}: No key in {', '.join(names)} has the format {key_format}: {texts} …")


def misfit(key_format: str) -> str:
    """The reason to reject a row whose key does not fit the format. Any text and any bytes are a string if they are UTF-8."""
    return "key is not UTF-8" if key_format == "string" else f"no {key_format} key"


def joined(parts: Sequence[pa.Array], separator: str) -> pa.Array:
    """Several columns as one: their texts joined by ``separator``, null where any is null. A single column stays unchanged."""
    if len(parts) == 1:
        return parts[0]
    return pc.binary_join_element_wise(*map(text_of, parts), pa.scalar(separator, pa.string()))


def read_keys(column: pa.Array, key_format: str) -> tuple[Column, pa.Array | None]:
    """The keys of a column.

    key_format : as ``check_format`` returns it
    Returns the keys, and bool[n] of the rows whose key does not fit the format (null among the keys); None if all do.
    """
    column = _keys_of(column, key_format)
    if is_bytes(column.type) and key_format == "string":
        texts = column.cast(pa.binary()).cast(pa.string(), safe=False)
        bad = not_utf8(texts)
        return _read(texts if bad is None else pc.if_else(bad, None, texts), key_format), bad
    try:
        return _ascii(column, key_format) or _read(column, key_format), None
    except (InvalidQuestion, pa.ArrowInvalid):
        bad = _misfits(column, key_format)
        return _read(pc.if_else(bad, pa.scalar(None, column.type), column), key_format), bad


def typed(column: pa.Array, key_format: str) -> tuple[pa.Array, pa.Array | None]:
    """The column as the type of its key format, null where a value does not fit, and these rows as ``read_keys`` gives them."""
    column = _keys_of(column, key_format)
    bad = read_keys(column, key_format)[1]
    if bad is not None:
        column = pc.if_else(bad, pa.scalar(None, column.type), column)
    if is_bytes(column.type) and key_format == "string":
        return column.cast(pa.binary()).cast(pa.string()), bad
    return _converted(column, key_format), bad


def _keys_of(column: pa.Array, key_format: str) -> pa.Array:
    """The column as Spark reads it, and as text where the format is that of text."""
    kind = as_spark_reads(column.type)
    column = column if column.type == kind else column.cast(kind, safe=False)
    return text_of(column) if key_format == "string" and has_text(kind) else column


def _ascii(column: pa.Array, key_format: str) -> columns.Text | None:
    """ASCII text, which is valid UTF-8 without checking each string; None for anything else."""
    if key_format != "string" or not pa.types.is_string(column.type):
        return None
    texts = flat(column)
    return columns.Text(texts) if texts.data[texts.offsets[0] : texts.offsets[-1]].max(initial=0) < 128 else None


def _read(column: pa.Array, key_format: str) -> Column:
    """Raises InvalidQuestion or ArrowInvalid if a key does not fit."""
    return from_arrow(pa.chunked_array([_converted(column, key_format)]), key_format)[0]


def _converted(column: pa.Array, key_format: str) -> pa.Array:
    """Text, and integers of any width, as the type of a format of numbers. Raises ArrowInvalid if a key does not fit."""
    types = pa.types
    if key_format in columns.INTEGERS and any(of(column.type) for of in (is_text, types.is_integer, types.is_decimal)):
        return column.cast(pa.from_numpy_dtype(columns.INTEGERS[key_format]))
    if key_format in columns.FLOATS and is_text(column.type):
        numbers = column.cast(pa.float64())
        return numbers.cast(pa.float32()) if key_format == "float" else numbers
    return column.cast(pa.bool_()) if key_format == "boolean" and is_text(column.type) else column


def _misfits(column: pa.Array, key_format: str) -> pa.Array:
    """bool[n]: the rows whose key is not null and does not fit. Slower than reading, so only done when that fails."""
    if is_text(column.type):
        patterns = dict.fromkeys(columns.INTEGERS, _TEXT_OF_INTEGER) | dict.fromkeys(columns.FLOATS, _TEXT_OF_FLOAT) | _FITS
        pattern = patterns.get(key_format, r"^(?:true|false)$" if key_format == "boolean" else r"")
        fits = pc.match_substring_regex(column, pattern, ignore_case=key_format == "boolean")
        bad = np.asarray(pc.fill_null(pc.invert(fits), False))
    else:
        bad = np.zeros(len(column), np.bool_)
    # A key of the right form may still be too large: then check each key.
    kept = pc.if_else(pa.array(bad), pa.scalar(None, column.type), column)
    try:
        _read(kept, key_format)
    except (InvalidQuestion, pa.ArrowInvalid):
        bad = bad | np.array([_is_misfit(kept[i : i + 1], key_format) for i in range(len(kept))])
    return pa.array(bad)


def _is_misfit(one: pa.Array, key_format: str) -> bool:
    try:
        _read(one, key_format)
    except (InvalidQuestion, pa.ArrowInvalid):
        return True
    return False


def is_bytes(kind: pa.DataType) -> bool:
    """Whether a column of this type has bytes."""
    types = pa.types
    kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(of(kind) for of in kinds)
