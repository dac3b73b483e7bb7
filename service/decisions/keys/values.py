"""Keys as doors give them, lists or Arrow columns → the core's columns: a million of them without a million Python objects."""

import math
from base64 import b64encode
from typing import Any, Final

import pyarrow as pa

from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.decisions.budget import Budget
from service.decisions.keys.columns import filled, flat, from_arrow, validity
from service.decisions.rows import arrays

FEW: Final = 8
"""Below this many strings, Python is faster than Arrow."""

KEY_BYTES: Final = 24
"""Memory for each key beside its value, such as hash, partition and answer. Measured for 2,000,000: 16 if they are null."""

TEXTUAL: Final = (*columns.TEXTS, *columns.BYTES)
"""Formats whose keys are strings in JSON."""


class fields_of:  # noqa: N801 - used as a function; as a generator it would take 3 µs of each key's 150
    """A context in which an error of the core, at ``(name, row)``, names the request's member instead.

    members : for each name of the core ``(list, member)``, where rows are objects of a list, or ``(member,)`` for a single value
    """

    def __init__(self, **members: tuple[str, ...]) -> None:
        self._members = members

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, InvalidQuestion) and len(error.field) == 2 and error.field[0] in self._members:
            name, *member = self._members[str(error.field[0])]
            error.field = (name, error.field[1], *member) if member else (name,)


def read(values: Any, key_format: str | None, budget: Budget) -> tuple[columns.Column, str]:
    """The keys of a question, and their format. Raises InvalidQuestion at ``("keys", row)``.

    values : a list as JSON has it, a StringArray of plain strings, or a column of Arrow's
    """
    budget.reserve(KEY_BYTES * len(values))
    if isinstance(values, pa.ChunkedArray):
        return from_arrow(values, key_format, budget.reserve)
    return from_json(values, key_format or "string"), key_format or "string"


def json_value(values: Any, row: int) -> Any:
    """A key of a question as JSON has it; bytes of an Arrow column are base64."""
    value = values[row] if isinstance(values, list) else values[row].as_py()
    return b64encode(value).decode() if isinstance(value, bytes) else value


def from_json(values: list[Any] | pa.StringArray, key_format: str) -> columns.Column:
    """The keys of a JSON list; raises InvalidQuestion for the first that does not fit the format."""
    if key_format in TEXTUAL:
        return columns.from_text(_texts(values), key_format)
    if isinstance(values, pa.StringArray):
        values = values.to_pylist()
    if key_format in columns.INTEGERS:
        array = arrays.read(values, pa.int64())
        if array is None:
            raise _misfit(values, key_format)
        return columns.integers(filled(array, 0), validity(array), key_format)
    if key_format in columns.FLOATS:
        array = arrays.read(values, pa.float64())
        if array is None:
            array = pa.array([_number(value, key_format, row) for row, value in enumerate(values)], pa.float64())
        return columns.floats(filled(array, 0.0), validity(array), key_format)
    array = arrays.read(values, pa.bool_())
    if array is None:
        raise _misfit(values, key_format)
    return columns.Numbers(filled(array, False), validity(array))


def _texts(values: list[Any] | pa.StringArray) -> columns.Text:
    if isinstance(values, pa.StringArray):
        return columns.Text(flat(values))
    if len(values) >= FEW:
        try:
            return columns.Text(flat(pa.array(values, pa.string())))
        except (pa.ArrowException, UnicodeEncodeError):
            pass  # something else than a string, or half a surrogate pair, which Arrow cannot hold
    for row, value in enumerate(values):
        if value is not None and type(value) is not str:
            raise InvalidQuestion(f"{_quoted(value)} is not a string.", "keys", row)
    return columns.strings(values)


def _misfit(values: list[Any], key_format: str) -> InvalidQuestion:
    """The error for the first of the values that does not fit an integer format or ``boolean``."""
    boolean = key_format == "boolean"
    for row, value in enumerate(values):
        if value is not None and type(value) is not (bool if boolean else int):
            return InvalidQuestion(f"{_quoted(value)} is not a valid {key_format}.", "keys", row)
        if not boolean and value is not None and not -(2**63) <= value < 2**63:
            return InvalidQuestion(f"{value} does not fit a Java {key_format}.", "keys", row)
    raise AssertionError("every value fits")


def _number(value: Any, key_format: str, row: int) -> float | None:
    if value is None:
        return None
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    if type(value) not in (int, float):
        raise InvalidQuestion(f'{_quoted(value)} is not a valid {key_format} (or "NaN", "Infinity", "-Infinity").', "keys", row)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise InvalidQuestion(f"{_quoted(value)} does not fit a Java {key_format}.", "keys", row)
    return number


def _quoted(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 50 else text[:47] + "..."
