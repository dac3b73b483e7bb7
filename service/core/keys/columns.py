"""Typed keys, and the bytes that clients make of them.

A caller has keys as text, numbers or bytes (a ``Column``) in one of the FORMATS. Each client serializes them in its own way:

============== =================================== ==================================================
encoding       of                                  the bytes
============== =================================== ==================================================
``SERIALIZED`` Kafka's serializers, every client   big-endian numbers, UTF-8, a UUID's 36 characters
``PULSAR``     Pulsar's key(), keyBytes()          the text; of bytes, their base64 text
``LOW_BYTES``  node-sinek's murmurhash             the low byte of each UTF-16 unit
``SPARK``      Spark's typed hash                  little-endian words, -0.0 as 0.0
``OBJECT``     Object.hashCode() of a Java object  as SERIALIZED, text with its surrogates
``TEXT``       tools that hash a value's text      the text, of an integer its decimal digits
============== =================================== ==================================================

A key that does not fit its format raises InvalidQuestion at ``("keys", row)``.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Literal, cast

import numpy as np
import numpy.typing as npt

from service.core.errors import InvalidQuestion
from service.core.frozen import frozen
from service.core.jvm.hashing import text_bytes
from service.core.keys import codecs
from service.core.keys.formats import FORMATS
from service.core.model import Bools, Int64s, Keys, offsets_of

INTEGERS: Final[dict[str, np.dtype[Any]]] = {"short": np.dtype(np.int16), "int": np.dtype(np.int32), "long": np.dtype(np.int64)}
FLOATS: Final[dict[str, np.dtype[Any]]] = {"float": np.dtype(np.float32), "double": np.dtype(np.float64)}
BYTES: Final = ("base64", "bytes", "hex")
TEXTS: Final = ("string", "uuid")


@frozen
class Text:
    """Keys that are strings.

    keys : their UTF-8; half a surrogate pair is the three bytes that UTF-8 would give its code point
    surrogates : may any key have such a half?
    """

    keys: Keys
    surrogates: bool = False


@dataclass(frozen=True)
class Numbers:
    """Keys that are numbers or booleans.

    values : a dtype of INTEGERS, FLOATS, or bool; [n]
    valid : bool[n], False where a record has no key; None when every record has one
    """

    values: npt.NDArray[Any]
    valid: Bools | None = None


Column = Text | Numbers | Keys


@dataclass(frozen=True)
class Encoding:
    """How a client turns keys into the bytes that it hashes: ``run(column, key_format)`` → Keys, for keys of ``formats``."""

    name: str
    formats: tuple[str, ...]
    run: Callable[[Column, str], Keys]


def strings(values: Sequence[str | None]) -> Text:
    """Python strings, which may have halves of surrogate pairs."""
    try:
        return Text(_end_to_end([(value or "").encode() for value in values], values))
    except UnicodeEncodeError:
        return Text(_end_to_end([text_bytes(value or "") for value in values], values), surrogates=True)


def byte_strings(values: Sequence[bytes | None]) -> Keys:
    """Python bytes."""
    return _end_to_end([value or b"" for value in values], values)


def _end_to_end(data: list[bytes], values: Sequence[str | bytes | None]) -> Keys:
    """Keys of these bytes, where there are values."""
    offsets = np.fromiter(accumulate(map(len, data), initial=0), np.int32, len(data) + 1)
    valid = np.array([value is not None for value in values], np.bool_) if None in values else None
    return Keys(offsets, np.frombuffer(bytearray(b"".join(data)), np.uint8), valid)


def integers(values: npt.NDArray[np.int64], valid: Bools | None, key_format: str) -> Numbers:
    """Integers as shorts, ints or longs; raises InvalidQuestion for the first that is too large.

    values : int64[n]
    """
    narrow = values.astype(INTEGERS[key_format])
    lost = narrow != values
    if lost.any():
        i = int(lost.argmax())
        raise InvalidQuestion(f"{values[i]} does not fit a Java {key_format}.", "keys", i)
    return Numbers(narrow, valid)


def floats(values: npt.NDArray[np.float64], valid: Bools | None, key_format: str) -> Numbers:
    """Numbers as floats (the nearest one) or doubles; raises InvalidQuestion for the first that is finite and too large.

    values : float64[n]
    """
    with np.errstate(over="ignore"):
        narrow = values.astype(FLOATS[key_format])
    lost = np.isinf(narrow) & ~np.isinf(values)
    if lost.any():
        i = int(lost.argmax())
        raise InvalidQuestion(f"{values[i]} does not fit a Java {key_format}.", "keys", i)
    return Numbers(narrow, valid)


def from_base64(text: Keys) -> Keys:
    """The bytes of standard base64 with padding; raises InvalidQuestion for the first key that is invalid."""
    offsets, data, bad = codecs.decode_base64(text.offsets, text.data, codecs.BASE64_VALUES)
    if bad >= 0:
        raise InvalidQuestion("Not valid base64 (the standard alphabet, with padding).", "keys", bad)
    return Keys(offsets, data, text.valid)


def from_hex(text: Keys) -> Keys:
    """The bytes of hexadecimal digits, two per byte; raises InvalidQuestion for the first key that is invalid."""
    offsets, data, bad = codecs.decode_hex(text.offsets, text.data, codecs.HEX_VALUES)
    if bad >= 0:
        raise InvalidQuestion("Not valid hexadecimal (two digits per byte).", "keys", bad)
    return Keys(offsets, data, text.valid)


def uuids(text: Keys) -> Text:
    """UUIDs as UUID.toString() writes them, in lower case; raises InvalidQuestion for the first key that is invalid."""
    data, bad = codecs.lower_uuids(
        text.offsets, text.data, codecs.HEX_VALUES, np.ones(len(text), np.bool_) if text.valid is None else text.valid
    )
    if bad >= 0:
        raise InvalidQuestion("Not a valid UUID (36 characters: 8-4-4-4-12 hexadecimal digits).", "keys", bad)
    return Text(Keys(text.offsets, data, text.valid))


def from_text(text: Text, key_format: str) -> Column:
    """Text as the column of its format: ``string``, ``uuid`` or one of BYTES."""
    if key_format == "string":
        return text
    if key_format == "uuid":
        return uuids(text.keys)
    return from_hex(text.keys) if key_format == "hex" else from_base64(text.keys)


def length(column: Column) -> int:
    """The number of keys in a column."""
    if isinstance(column, Numbers):
        return len(column.values)
    return len(column.keys if isinstance(column, Text) else column)


def data_bytes(column: Column) -> int:
    """The bytes of all keys of a column."""
    if isinstance(column, Numbers):
        return column.values.nbytes
    keys = column.keys if isinstance(column, Text) else column
    return int(keys.offsets[-1]) - int(keys.offsets[0])


def rows_of(column: Column, rows: slice | Int64s) -> Column:
    """Some rows of a column. rows : a slice with a start and a stop within the column, which copies nothing; or indices"""
    if isinstance(column, Text):
        return Text(rows_of_keys(column.keys, rows), column.surrogates)
    if isinstance(column, Numbers):
        return Numbers(column.values[rows], None if column.valid is None else column.valid[rows])
    return rows_of_keys(column, rows)


def rows_of_keys(keys: Keys, rows: slice | Int64s) -> Keys:
    """The same of keys."""
    valid = None if keys.valid is None else keys.valid[rows]
    if isinstance(rows, slice):
        return Keys(keys.offsets[rows.start : rows.stop + 1], keys.data, valid)
    offsets = offsets_of(keys.offsets[rows + 1] - keys.offsets[rows])
    return Keys(offsets, codecs.copy_rows(keys.data, keys.offsets[rows], offsets), valid)


def _serialize(column: Column, _: str) -> Keys:
    """Kafka's serializers (org.apache.kafka.common.serialization, 4.3.1)."""
    if isinstance(column, Text):
        return _without_surrogates(column)
    if isinstance(column, Numbers):
        return _fixed(_bits(column), ">", column.valid)
    return column


def _object(column: Column, key_format: str) -> Keys:
    """As serialized, but a string keeps its UTF-16 units, which String.hashCode() hashes."""
    return column.keys if isinstance(column, Text) else _serialize(column, key_format)


def _pulsar_text(column: Column, key_format: str) -> Keys:
    """The key as Pulsar keeps it: a string."""
    return column.keys if isinstance(column, Text) else _to_base64(_serialize(column, key_format))


def _pulsar_utf8(column: Column, key_format: str) -> Keys:
    """The key string as the bytes of getBytes(UTF_8)."""
    return _without_surrogates(column) if isinstance(column, Text) else _pulsar_text(column, key_format)


def _text(column: Column, _: str) -> Keys:
    """The value as a string; integers as their decimal digits."""
    if isinstance(column, Numbers):
        digits = byte_strings([str(value).encode() for value in column.values.tolist()])
        return Keys(digits.offsets, digits.data, column.valid)
    return cast("Text", column).keys


def _text_utf8(column: Column, key_format: str) -> Keys:
    """The string as the bytes of getBytes(UTF_8)."""
    return _without_surrogates(column) if isinstance(column, Text) else _text(column, key_format)


def _low_bytes(column: Column, key_format: str) -> Keys:
    """The bytes charCodeAt(i) & 0xff of a JavaScript string."""
    text = column.keys if isinstance(column, Text) else _serialize(column, key_format)
    offsets, data = codecs.low_bytes(text.offsets, text.data)
    return Keys(offsets, data, text.valid)


def _spark(column: Column, key_format: str) -> Keys:
    """Spark's HashExpression: a short or boolean is an int first; hashInt and hashLong are the hash of little-endian bytes."""
    if not isinstance(column, Numbers):
        return _serialize(column, key_format)
    values = column.values
    if key_format in FLOATS:
        return _fixed(_bits(Numbers(np.where(values == 0, np.zeros_like(values), values))), "<", column.valid)
    return _fixed(values if key_format == "long" else values.astype(np.int32), "<", column.valid)


def _bits(column: Numbers) -> npt.NDArray[Any]:
    """Numbers as integers of the same width: floatToIntBits, with one NaN."""
    values = column.values
    if values.dtype.kind == "f":
        return np.where(np.isnan(values), values.dtype.type(np.nan), values).view(f"i{values.itemsize}")
    return values.view(np.int8) if values.dtype == np.bool_ else values


def _fixed(values: npt.NDArray[Any], order: Literal[">", "<"], valid: Bools | None) -> Keys:
    """Integers as keys of their width; order : ">" big-endian, "<" little-endian."""
    width = values.itemsize
    data = np.ascontiguousarray(values.astype(values.dtype.newbyteorder(order))).view(np.uint8)
    return Keys(np.arange(len(values) + 1, dtype=np.int32) * np.int32(width), data, valid)


_NUMBERS = (*INTEGERS, *FLOATS, "boolean")
SERIALIZED: Final = Encoding("Kafka's serializers", FORMATS, _serialize)
CASSANDRA: Final = Encoding("Cassandra's serialized partition key", ("string", *BYTES, *_NUMBERS), _serialize)
OBJECT: Final = Encoding("Java object", ("string", *_NUMBERS), _object)
SPARK: Final = Encoding("Spark value", ("string", *BYTES, *_NUMBERS), _spark)
LOW_BYTES: Final = Encoding("low byte of each UTF-16 unit of a string", ("string",), _low_bytes)
PULSAR: Final = Encoding("Pulsar's key string (bytes: their base64 text)", ("string", *BYTES), _pulsar_text)
PULSAR_UTF8: Final = Encoding("UTF-8 of Pulsar's key string (bytes: their base64 text)", ("string", *BYTES), _pulsar_utf8)
TEXT: Final = Encoding("the value's text", ("string", *INTEGERS), _text)
TEXT_UTF8: Final = Encoding("UTF-8 of the value's text", ("string", *INTEGERS), _text_utf8)
TEXT_OF_STRINGS: Final = Encoding("a string", ("string",), _text)
SERIALIZED_OBJECT: Final = Encoding("Java object, a string as its UTF-8", ("string", *_NUMBERS), _serialize)
WHOLE_NUMBERS: Final = Encoding("a whole number", tuple(INTEGERS), _serialize)
UTF8: Final = Encoding("UTF-8 of a string", ("string",), _serialize)


def _to_base64(keys: Keys) -> Keys:
    """Standard base64 with padding."""
    offsets = offsets_of((np.diff(keys.offsets).astype(np.int64) + 2) // 3 * 4)
    return Keys(offsets, codecs.write_base64(keys.offsets, keys.data, offsets, codecs.BASE64), keys.valid)


def _without_surrogates(text: Text) -> Keys:
    """Half a surrogate pair becomes ``?``, as in String.getBytes."""
    if not text.surrogates:
        return text.keys
    offsets, data = codecs.replace_surrogates(text.keys.offsets, text.keys.data)
    return Keys(offsets, data, text.keys.valid)


def key_value(serialized: bytes, key_format: str) -> Any:
    """The JSON value of the key of which Kafka's serializer for the format makes these bytes."""
    if key_format in INTEGERS:
        return int.from_bytes(serialized, "big", signed=True)
    if key_format in FLOATS:
        number = float(np.frombuffer(serialized, FLOATS[key_format].newbyteorder(">"))[0])
        return number if np.isfinite(number) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(number), "NaN")
    if key_format == "boolean":
        return serialized != b"\0"
    if key_format == "hex":
        return serialized.hex()
    if key_format in ("base64", "bytes"):
        return base64.b64encode(serialized).decode()
    return serialized.decode(errors="replace")


def key_text(serialized: bytes, key_format: str) -> str:
    """The same key as text; bytes that are not printable text in hexadecimal."""
    if key_format in BYTES:
        text = serialized.decode(errors="replace")
        return text if text.isprintable() and text.encode() == serialized else f"0x{serialized.hex()}"
    value = key_value(serialized, key_format)
    if key_format in FLOATS:
        return repr(float(value))
    return str(value).lower() if key_format == "boolean" else str(value)
