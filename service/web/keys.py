"""Keys between JSON or Arrow and the core's columns: a million of them without a million Python objects in between."""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any, Final

import pyarrow as pa
from marshmallow import ValidationError, fields

from service.arrow.keys import filled, flat, from_arrow, validity
from service.config import environment_name
from service.core.errors import InvalidQuestion, LimitExceeded
from service.core.keys import columns
from service.web import json_arrays
from service.web.context import settings

FEW: Final = 8
"""Fewer strings than these are read sooner without Arrow."""

_TEXTUAL: Final = (*columns.TEXTS, *columns.BYTES)


class KeyList(fields.Raw):
    """The keys as they came, a list or an Arrow column: what they may be is the key format's to say."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, pa.Table):
            return value.column("key")
        if not isinstance(value, list):
            raise ValidationError("Not a list.")
        return value


def check_limit(count: int, at: str) -> None:
    """Raise LimitExceeded for more keys than this installation allows. at : JSON pointer to the keys"""
    allowed = settings().max_keys
    if count > allowed:
        raise LimitExceeded(environment_name("max_keys"), allowed, count, "keys", at)


def read(values: Any, key_format: str | None, at: str) -> tuple[columns.Column, str]:
    """The keys of a KeyList, and their format; raises InvalidQuestion. at : JSON pointer to a key, with {} for its index"""
    if isinstance(values, pa.ChunkedArray):
        return from_arrow(values, key_format, at)
    return from_json(values, key_format or "string", at), key_format or "string"


def shown(values: Any, row: int) -> Any:
    """A key of a KeyList as JSON has it; bytes of an Arrow column are base64."""
    value = values[row].as_py() if isinstance(values, pa.ChunkedArray) else values[row]
    return b64encode(value).decode() if isinstance(value, bytes) else value


def from_json(values: list[Any], key_format: str, at: str) -> columns.Column:
    """The keys of a JSON list; raises InvalidQuestion for the first that does not fit the format.

    at : JSON pointer to a key, with {} for its index
    """
    if key_format in _TEXTUAL:
        return columns.from_text(_texts(values, at), key_format, at)
    if key_format in columns.INTEGERS:
        array = json_arrays.read(values, pa.int64())
        if array is None:
            raise _misfit(values, key_format, at)
        return columns.integers(filled(array, 0), validity(array), key_format, at)
    if key_format in columns.FLOATS:
        array = json_arrays.read(values, pa.float64())
        if array is None:
            array = pa.array([_number(value, key_format, at.format(i)) for i, value in enumerate(values)], pa.float64())
        return columns.floats(filled(array, 0.0), validity(array), key_format, at)
    array = json_arrays.read(values, pa.bool_())
    if array is None:
        raise _misfit(values, key_format, at)
    return columns.Numbers(filled(array, False), validity(array))


def _texts(values: list[Any], at: str) -> columns.Text:
    if len(values) >= FEW:
        try:
            return columns.Text(flat(pa.array(values, pa.string())))
        except (pa.ArrowException, UnicodeEncodeError):
            pass  # something else than a string, or half a surrogate pair, which Arrow has no room for
    for i, value in enumerate(values):
        if value is not None and type(value) is not str:
            raise InvalidQuestion(f"{_shown(value)} is not a string", at.format(i))
    return columns.strings(values)


def _misfit(values: list[Any], key_format: str, at: str) -> InvalidQuestion:
    """The complaint about the first of the values that is none of its format."""
    boolean = key_format == "boolean"
    for i, value in enumerate(values):
        if value is not None and type(value) is not (bool if boolean else int):
            return InvalidQuestion(f"{_shown(value)} is no {key_format}", at.format(i))
        if not boolean and value is not None and not -(2**63) <= value < 2**63:
            return InvalidQuestion(f"{value} does not fit a Java {key_format}", at.format(i))
    raise AssertionError("every value fits")


def _number(value: Any, key_format: str, at: str) -> float | None:
    if value is None:
        return None
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    if type(value) not in (int, float):
        raise InvalidQuestion(f'{_shown(value)} is no {key_format} (nor "NaN", "Infinity", "-Infinity")', at)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise InvalidQuestion(f"{_shown(value)} does not fit a Java {key_format}", at)
    return number


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 50 else text[:47] + "..."
