"""Keys between JSON or Arrow and the core's columns: a million of them without a million Python objects in between."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from service.api import bulk
from service.core import keys
from service.core.errors import InvalidQuestion
from service.core.model import Keys

if TYPE_CHECKING:
    import numpy.typing as npt

    from service.core.model import Bools

FORMAT_OF_TYPE: Final = {
    pa.int16(): "short",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}
"""The key format of an Arrow column of numbers."""

FEW: Final = 8
"""Fewer strings than these are read sooner without Arrow."""

_INT32: Final = np.dtype(np.int32)
_UINT8: Final = np.dtype(np.uint8)
_TEXTUAL: Final = (*keys.TEXTS, *keys.BYTES)


def from_json(values: list[Any], key_format: str, at: str) -> keys.Column:
    """The keys of a JSON list; raises InvalidQuestion for the first that does not fit the format.

    at : JSON pointer to a key, with {} for its index
    """
    if key_format in _TEXTUAL:
        return keys.from_text(_texts(values, at), key_format, at)
    if key_format in keys.INTEGERS:
        array = bulk.read(values, pa.int64())
        if array is None:
            raise _misfit(values, key_format, at)
        return keys.integers(_filled(array, 0), _valid(array), key_format, at)
    if key_format in keys.FLOATS:
        array = bulk.read(values, pa.float64())
        if array is None:
            array = pa.array([_number(value, key_format, at.format(i)) for i, value in enumerate(values)], pa.float64())
        return keys.floats(_filled(array, 0.0), _valid(array), key_format, at)
    array = bulk.read(values, pa.bool_())
    if array is None:
        raise _misfit(values, key_format, at)
    return keys.Numbers(_filled(array, False), _valid(array))


def from_arrow(column: pa.ChunkedArray, key_format: str | None, at: str) -> tuple[keys.Column, str]:
    """The keys of an Arrow column, and their format.

    key_format : None: that of the column's type. Strings may be of any textual format; numbers have their own; binary keys are
        bytes already, and what the request calls them is ``base64`` or ``hex``.
    """
    try:
        # A stream may say anything about its own buffers; kernels trust offsets.
        column.validate(full=True)
    except pa.ArrowException as error:
        raise InvalidQuestion(f"the column is not valid: {error}", "/key") from None
    # combine_chunks copies, even where there is nothing to combine.
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if kind in FORMAT_OF_TYPE:
        own = FORMAT_OF_TYPE[kind]
        if key_format not in (None, own):
            raise InvalidQuestion(f"a column of {kind} holds keys of the format {own}, not {key_format}", "/key_format")
        return keys.Numbers(_filled(array, False if own == "boolean" else 0), _valid(array)), own
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        own = key_format or "string"
        if own not in _TEXTUAL:
            raise InvalidQuestion(f"a column of {kind} holds no keys of the format {own}", "/key_format")
        return keys.from_text(keys.Text(_flat(array.cast(pa.string()))), own, at), own
    if (
        pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
    ):
        own = key_format or "base64"
        if own not in keys.BYTES:
            raise InvalidQuestion(f"a column of {kind} holds bytes, not keys of the format {own}", "/key_format")
        return _flat(array.cast(pa.binary())), own
    if pa.types.is_null(kind):
        own = key_format or "string"
        return from_json([None] * len(array), own, at), own
    raise InvalidQuestion(f"a column of {kind} holds no keys: binary, string, integers, floats or booleans do", "/key")


def _texts(values: list[Any], at: str) -> keys.Text:
    if len(values) >= FEW:
        try:
            return keys.Text(_flat(pa.array(values, pa.string())))
        except (pa.ArrowException, UnicodeEncodeError):
            pass  # something else than a string, or half a surrogate pair, which Arrow has no room for
    for i, value in enumerate(values):
        if value is not None and type(value) is not str:
            raise InvalidQuestion(f"{_shown(value)} is not a string", at.format(i))
    return keys.strings(values)


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


def _filled(array: pa.Array, nothing: Any) -> npt.NDArray[Any]:
    """The values, with ``nothing`` where there is none."""
    full = array.fill_null(nothing) if array.null_count else array
    return np.array(full.to_numpy(zero_copy_only=False))


def _valid(array: pa.Array) -> Bools | None:
    return np.array(array.is_valid().to_numpy(zero_copy_only=False)) if array.null_count else None


def _flat(array: pa.Array) -> Keys:
    """A binary or string array as Keys, uncopied."""
    if not len(array):
        return Keys(np.zeros(1, np.int32), np.zeros(0, np.uint8))
    _, offsets, data = array.buffers()
    return Keys(
        _memory(offsets, _INT32)[array.offset : array.offset + len(array) + 1],
        _memory(data, _UINT8),
        _valid(array),
    )


class _Memory:
    """An Arrow buffer as memory that NumPy takes to be writable, so that kernels are compiled for one kind of array.

    Nobody writes to keys.
    """

    def __init__(self, buffer: pa.Buffer, dtype: np.dtype[Any]) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "data": (buffer.address, False),
            "shape": (buffer.size // dtype.itemsize,),
            "typestr": dtype.str,
            "version": 3,
        }


def _memory(buffer: pa.Buffer | None, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if buffer is None or buffer.size == 0:
        return np.zeros(0, dtype)
    return np.asarray(_Memory(buffer, dtype))
