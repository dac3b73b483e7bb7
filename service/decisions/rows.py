"""What rows of any family have in common: lists as Arrow columns, with no Python work per row, the names and numbers in them,
and what is wrong with them.

Whatever is not plainly well-formed is left to the door's own rules, which name the exact place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from json.encoder import encode_basestring_ascii
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import MAX_ERRORS, InvalidQuestion, LimitExceeded
from service.core.model import LARGEST, SMALLEST

_TYPES: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}


FORMAT_OF_TYPE: Final = {
    pa.int16(): "short",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}
"""The key format of a column of numbers."""

TYPE_OF_FORMAT: Final = {key_format: kind for kind, key_format in FORMAT_OF_TYPE.items()}
"""The reverse; keys of other formats are strings or bytes."""


def columns(text: str) -> dict[str, pa.DataType]:
    """The types of columns, written as Spark does: ``topic string, partition int``."""
    return {name: _TYPES[kind] for name, _, kind in (column.partition(" ") for column in text.split(", "))}


def read_array(value: Any, target: pa.DataType) -> pa.Array | None:
    """``value``, a JSON list, as an Arrow array of type ``target``; None unless every row fits it to the letter.

    Missing and null members become nulls (the caller looks at ``null_count``); members that ``target`` does not name,
    floats for integers, booleans for numbers, strings for lists and anything out of range are all None.
    """
    if type(value) is not list:
        return None
    try:
        # Inference alone sees members without a place and floats that are whole; conversion alone sees the rest.
        inferred = pa.infer_type(value)
        if not _fits(inferred, target) or not _numbers(value, pa.list_(inferred), pa.list_(target)):
            return None
        return pa.array(value, target)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        return None


def struct_rows(kind: pa.StructType, columns: Mapping[str, pa.Array], count: int) -> pa.StructArray:
    """So many rows of a type; what is not among the columns is null."""
    arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(count, f.type) for f in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def with_columns(rows: pa.StructArray, columns: Mapping[str, pa.Array]) -> pa.StructArray:
    """The rows with these columns instead of their own."""
    kinds = list(rows.type)
    return pa.StructArray.from_arrays([columns.get(f.name, rows.field(f.name)) for f in kinds], fields=kinds)


def _fits(inferred: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_null(inferred):
        return True
    if pa.types.is_struct(target):
        return pa.types.is_struct(inferred) and all(
            target.get_field_index(f.name) >= 0 and _fits(f.type, target.field(f.name).type) for f in inferred
        )
    if pa.types.is_list(target):
        return pa.types.is_list(inferred) and _fits(inferred.value_type, target.value_type)
    if pa.types.is_integer(target):
        return bool(pa.types.is_integer(inferred))
    if pa.types.is_floating(target):
        return bool(pa.types.is_integer(inferred) or pa.types.is_floating(inferred))
    return bool(inferred.equals(target))


def _numbers(value: Any, inferred: pa.DataType, target: pa.DataType) -> bool:
    """Is there no boolean where the target has a float? Neither inference nor conversion sees it: they take true for 1.0."""
    if value is None or not _floats(inferred, target):
        return True
    if pa.types.is_floating(target):
        return type(value) is not bool
    if pa.types.is_struct(target):
        return all(_numbers(value.get(f.name), f.type, target.field(f.name).type) for f in inferred)
    if pa.types.is_floating(target.value_type):
        return bool not in set(map(type, value))
    return all(_numbers(each, inferred.value_type, target.value_type) for each in value)


def _floats(inferred: pa.DataType, target: pa.DataType) -> bool:
    """Has the target a float anywhere where the value is not null?"""
    if pa.types.is_null(inferred):
        return False
    if pa.types.is_struct(target):
        return any(_floats(f.type, target.field(f.name).type) for f in inferred)
    if pa.types.is_list(target):
        return _floats(inferred.value_type, target.value_type)
    return bool(pa.types.is_floating(target))


# Arrow columns of text that may not be UTF-8: neither PyArrow nor Spark checks the text of a Parquet file.


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


def raise_all(faults: Iterable[InvalidQuestion]) -> None:
    """Raise the first of these faults, if there is one, with the others; at most MAX_ERRORS in all."""
    several = list(islice(faults, MAX_ERRORS))
    if several:
        several[0].others = several[1:]
        raise several[0]


def faults_of(*checks: Callable[[], object]) -> Iterator[InvalidQuestion]:
    """What each of these checks finds wrong, so that no fault hides another. Raises LimitExceeded at once."""
    for check in checks:
        try:
            check()
        except LimitExceeded:
            raise
        except InvalidQuestion as fault:
            yield fault
            yield from fault.others


def duplicates_in_column(field: str, rows: pa.StructArray, name: str) -> Iterator[InvalidQuestion]:
    """The rows of a field with the same ``name`` as an earlier row; nulls are not the same."""
    values = rows.field(name)
    if values.null_count == len(values):
        return
    codes = values.dictionary_encode().indices.drop_null().to_numpy(zero_copy_only=False)
    _, firsts = np.unique(codes, return_index=True)
    if len(firsts) == len(codes):
        return
    places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    for at in np.delete(places, firsts)[:MAX_ERRORS].tolist():
        yield InvalidQuestion(f"Duplicate {name} {values[at].as_py()!r}.", field, at, name)


def duplicates_in_rows(rows: Iterable[Mapping[str, Any]], name: str, *place: str | int) -> Iterator[InvalidQuestion]:
    """The rows of a list with the same ``name`` as an earlier row. place : of the list"""
    seen = set()
    for i, row in enumerate(rows):
        if row[name] in seen:
            yield InvalidQuestion(f"Duplicate {name} {row[name]!r}.", *place, i, name)
        seen.add(row[name])


def duplicates_in_list(values: Iterable[Any], *place: str | int) -> Iterator[InvalidQuestion]:
    """The values of a list that are the same as an earlier one. place : of the list"""
    seen = set()
    for i, value in enumerate(values):
        if value in seen:
            yield InvalidQuestion(f"Duplicate value {value!r}.", *place, i)
        seen.add(value)


NAME = pa.string()

LONGEST_TOPIC_NAME: Final = 249
"""org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH."""

LONGEST_NAME: Final = 1024
"""Bytes of UTF-8 in any other name: of a member, an instance, a rack, a group or a client. Kafka has no limit below 32 KiB."""

NAME_BYTES: Final = 500
NAME_COPIES: Final = 10
"""Memory of what is made of a name, and of each of its bytes."""

_ONE_BYTE_IN_JSON: Final = bytes(set(range(32, 127)) - set(b'"\\'))


def plain_names(names: pa.Array, longest: int = LONGEST_NAME, shortest: int = 1) -> bool:
    """Are all lengths between ``shortest`` and ``longest`` bytes (hence at most as many characters)?"""
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 30 ms, and keys need none of it

    if names.null_count == len(names):
        return True
    lengths = pc.min_max(pc.binary_length(names)).as_py()
    return bool(shortest <= lengths["min"] and lengths["max"] <= longest)


def names_bytes(names: pa.StringArray) -> int:
    """Most memory of what is made of some names: texts of Python, their order in Java, and their part of the answer."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    return NAME_BYTES * len(names) + NAME_COPIES * int(pc.sum(pc.binary_length(names), min_count=0).as_py())


def longest_text(names: Iterable[str]) -> int:
    """Most bytes that one of some names takes in a JSON text: up to six for a character. An answer may have it many times."""
    return max(map(len, map(encode_basestring_ascii, names)), default=0)


def longest_name(names: pa.StringArray) -> int:
    """``longest_text`` of a column without nulls; only if a character of it is escaped in JSON, each name is looked at."""
    _, offsets, text = names.buffers()
    if not len(names):
        return 0
    ends = np.frombuffer(offsets, np.int32)[names.offset : names.offset + len(names) + 1]
    if text is None or not bytes(memoryview(text)[ends[0] : ends[-1]]).translate(None, _ONE_BYTE_IN_JSON):
        return int(np.diff(ends).max()) + 2
    return longest_text(names.to_pylist())


MOST: Final = 2**53
"""Largest number of records, or bytes, of one row; also JSON's largest exact one."""


def in_range(values: pa.Array, least: float, most: float = np.inf) -> bool:
    """Are all values that are not null between these?"""
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 30 ms, and keys need none of it

    if values.null_count == len(values):
        return True
    bounds = pc.min_max(values).as_py()
    return bool(least <= bounds["min"] and bounds["max"] <= most)


def plain_rates(values: pa.Array) -> bool:
    """Is each that is not null 0, or a number that floats have digits for?"""
    known = np.array(values.drop_null(), np.float64)
    return bool(((known == 0) | ((known >= SMALLEST) & (known <= LARGEST))).all())


def plain_brokers(rows: pa.StructArray) -> bool:
    """Is every row of type BROKER, none null, well-formed by itself?"""
    named = rows.field("broker_id").null_count == 0 and plain_names(rows.field("rack_id"), shortest=0)
    return named and in_range(rows.field("weight"), SMALLEST, LARGEST)
