"""Arrow columns as the core's columns of keys, uncopied where that is possible."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from service.arrow.key_types import FORMAT_OF_TYPE, TYPE_OF_FORMAT
from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.core.model import Bools, Keys

_INT32: Final = np.dtype(np.int32)
_UINT8: Final = np.dtype(np.uint8)
_TEXTUAL: Final = (*columns.TEXTS, *columns.BYTES)


def from_arrow(column: pa.ChunkedArray, key_format: str | None) -> tuple[columns.Column, str]:
    """The keys of an Arrow column, and their format.

    key_format : None: that of the column's type. Strings may be of any textual format; numbers have their own; binary keys are
        bytes already, and what the request calls them is ``base64`` or ``hex``.
    """
    try:
        # A stream may say anything about its own buffers; kernels trust offsets.
        column.validate(full=True)
    except pa.ArrowException as error:
        raise InvalidQuestion(f"The column is not valid: {str(error).rstrip('.')}.", "key") from None
    # combine_chunks copies, even where there is nothing to combine.
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if kind in FORMAT_OF_TYPE:
        own = FORMAT_OF_TYPE[kind]
        if key_format not in (None, own):
            raise InvalidQuestion(f"A column of {kind} holds keys of the format {own}, not {key_format}.", "key_format")
        return columns.Numbers(filled(array, False if own == "boolean" else 0), validity(array)), own
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        own = key_format or "string"
        if own not in _TEXTUAL:
            raise InvalidQuestion(f"A column of {kind} holds no keys of the format {own}.", "key_format")
        return columns.from_text(columns.Text(flat(array.cast(pa.string()))), own), own
    if (
        pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
    ):
        own = key_format or "base64"
        if own not in columns.BYTES:
            raise InvalidQuestion(f"A column of {kind} holds bytes, not keys of the format {own}.", "key_format")
        return flat(array.cast(pa.binary())), own
    if pa.types.is_null(kind):
        own = key_format or "string"
        return from_arrow(pa.chunked_array([pa.nulls(len(array), TYPE_OF_FORMAT.get(own, pa.string()))]), own)
    raise InvalidQuestion(f"A column of {kind} holds no keys: binary, string, integers, floats or booleans do.", "key")


def filled(array: pa.Array, nothing: Any) -> npt.NDArray[Any]:
    """The values, with ``nothing`` where there is none."""
    full = array.fill_null(nothing) if array.null_count else array
    return np.array(full.to_numpy(zero_copy_only=False))


def validity(array: pa.Array) -> Bools | None:
    """bool[n], False where there is no value; None when there is one everywhere."""
    return np.array(array.is_valid().to_numpy(zero_copy_only=False)) if array.null_count else None


def flat(array: pa.Array) -> Keys:
    """A binary or string array as Keys, uncopied."""
    if not len(array):
        return Keys(np.zeros(1, np.int32), np.zeros(0, np.uint8))
    _, offsets, data = array.buffers()
    return Keys(_memory(offsets, _INT32)[array.offset : array.offset + len(array) + 1], _memory(data, _UINT8), validity(array))


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
