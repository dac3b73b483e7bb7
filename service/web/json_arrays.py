"""Large well-formed JSON values into flat Arrow arrays, with no Python work per row.

Whatever is not plainly well-formed is left to the declarative schema, which names the exact place.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.json


def read_object(text: bytes, members: dict[str, pa.DataType]) -> dict[str, pa.Array] | None:
    """A JSON object straight from its text, without Python objects: each member as an Arrow array of one value.

    members : what the object may hold
    None unless the text is an object that fits to the letter; so it says nothing about what is wrong. Null and absent are one.
    """
    # It would accept a byte order mark, which is not JSON.
    if not text.lstrip().startswith(b"{"):
        return None
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(members), unexpected_field_behavior="error", newlines_in_values=True)
    try:
        table = pa.json.read_json(pa.BufferReader(text), reading, parsing)
        table.validate(full=True)  # the strings may be no UTF-8
    except pa.ArrowException:
        return None
    return {name: table.column(name).chunk(0) for name in members} if table.num_rows == 1 else None


def read(value: Any, wanted: pa.DataType) -> pa.Array | None:
    """``value``, a JSON list, as an Arrow array of type ``wanted``; None unless every row fits it to the letter.

    Missing and null members become nulls (the caller looks at ``null_count``); members that ``wanted`` does not name,
    floats for integers, booleans for numbers, strings for lists and anything out of range are all None.
    """
    if type(value) is not list:
        return None
    try:
        # Inference alone sees members without a place and floats that are whole; conversion alone sees the rest.
        found = pa.infer_type(value)
        if not _fits(found, wanted) or not _numbers(value, pa.list_(found), pa.list_(wanted)):
            return None
        return pa.array(value, wanted)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        return None


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_null(found):
        return True
    if pa.types.is_struct(wanted):
        return pa.types.is_struct(found) and all(
            wanted.get_field_index(f.name) >= 0 and _fits(f.type, wanted.field(f.name).type) for f in found
        )
    if pa.types.is_list(wanted):
        return pa.types.is_list(found) and _fits(found.value_type, wanted.value_type)
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(found))
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_integer(found) or pa.types.is_floating(found))
    return bool(found.equals(wanted))


def _numbers(value: Any, found: pa.DataType, wanted: pa.DataType) -> bool:
    """Is there no boolean where a float is wanted? Neither inference nor conversion sees it: they take true for 1.0."""
    if value is None or not _floats(found, wanted):
        return True
    if pa.types.is_struct(wanted):
        return all(_numbers(value.get(f.name), f.type, wanted.field(f.name).type) for f in found)
    if pa.types.is_floating(wanted.value_type):
        return bool not in set(map(type, value))
    return all(_numbers(each, found.value_type, wanted.value_type) for each in value)


def _floats(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Are floats wanted anywhere where something was found?"""
    if pa.types.is_null(found):
        return False
    if pa.types.is_struct(wanted):
        return any(_floats(f.type, wanted.field(f.name).type) for f in found)
    if pa.types.is_list(wanted):
        return _floats(found.value_type, wanted.value_type)
    return bool(pa.types.is_floating(wanted))
