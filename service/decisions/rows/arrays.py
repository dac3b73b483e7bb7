"""Python lists as Arrow arrays, with no Python work per row; and rows of columns.

Whatever is not plainly well-formed is left to the door's own rules, which name the exact place.
"""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

_TYPES: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}


def columns(text: str) -> dict[str, pa.DataType]:
    """The types of columns, written as Spark does: ``topic string, partition int``."""
    return {name: _TYPES[kind] for name, _, kind in (column.partition(" ") for column in text.split(", "))}


def read(value: Any, target: pa.DataType) -> pa.Array | None:
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
