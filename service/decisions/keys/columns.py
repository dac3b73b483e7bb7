"""Arrow columns as the core's columns of keys, uncopied where that is possible."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.core.model import Bools, Keys
from service.decisions.keys.types import FORMAT_OF_TYPE, TYPE_OF_FORMAT
from service.decisions.rows.texts import is_text

VIEW_BYTES: Final = 16
"""Of a view: its length, four bytes of its value, a buffer and an offset."""

MAX_BYTES: Final = 2**31 - 1
"""What the offsets of keys can name."""

_INT32: Final = np.dtype(np.int32)
_UINT8: Final = np.dtype(np.uint8)
_TEXTUAL: Final = (*columns.TEXTS, *columns.BYTES)


def from_arrow(
    column: pa.ChunkedArray, key_format: str | None, reserve: Callable[[int], object] = int
) -> tuple[columns.Column, str]:
    """The keys of an Arrow column, and their format.

    key_format : None: that of the column's type. Strings may be of any textual format; numbers have their own; binary keys are
        bytes already, and what the request calls them is ``base64`` or ``hex``.
    reserve : called with the bytes that keys take beyond the column: those of a dictionary, of views, of several chunks
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (kind in FORMAT_OF_TYPE or is_text(kind) or _is_binary(kind) or pa.types.is_null(kind)):
        raise InvalidQuestion(
            f"A column of {column.type} cannot hold keys; use binary, string, integers, floats or booleans.", "key"
        )
    try:
        array = _checked(column, reserve) if column.num_chunks else pa.array([], kind)
    except pa.ArrowException as error:
        raise InvalidQuestion(f"The column is not valid: {str(error).rstrip('.')}.", "key") from None
    kind = array.type
    if kind in FORMAT_OF_TYPE:
        own = FORMAT_OF_TYPE[kind]
        if key_format not in (None, own):
            raise InvalidQuestion(f"A column of {kind} holds keys of the format {own}, not {key_format}.", "key_format")
        return columns.Numbers(filled(array, False if own == "boolean" else 0), validity(array)), own
    if is_text(kind):
        own = key_format or "string"
        if own not in _TEXTUAL:
            raise InvalidQuestion(f"A column of {kind} holds no keys of the format {own}.", "key_format")
        return columns.from_text(columns.Text(flat(array.cast(pa.string()))), own), own
    if _is_binary(kind):
        own = key_format or "base64"
        if own not in columns.BYTES:
            raise InvalidQuestion(f"A column of {kind} holds bytes, not keys of the format {own}.", "key_format")
        return flat(array.cast(pa.binary())), own
    own = key_format or "string"
    return from_arrow(pa.chunked_array([pa.nulls(len(array), TYPE_OF_FORMAT.get(own, pa.string()))]), own)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def dictionary_of(array: pa.Array) -> tuple[int, ...]:
    """What is the same for arrays with the same dictionary, and empty for those without one."""
    if not pa.types.is_dictionary(array.type):
        return ()
    values = array.dictionary
    return len(values), values.offset, *(0 if buffer is None else buffer.address for buffer in values.buffers())


def _checked(column: pa.ChunkedArray, reserve: Callable[[int], object]) -> pa.Array:
    """A column as one array without a dictionary, whose buffers hold what they say: kernels trust offsets.

    Views may all name the same megabyte, and so may a dictionary's indices: what each key takes by itself is added up first.
    Raises pa.ArrowException.
    """
    chunks = []
    for chunk in _by_dictionary(column):
        chunk.validate()  # the lengths of the buffers
        array = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
            array.validate()
            _reserve(_view_bytes(array), reserve)
        chunk.validate(full=True)
        chunks.append((_decoded if array is not chunk else _without_text_of_nulls)(chunk, reserve))
    if len(chunks) == 1:  # which concat_arrays would copy, too
        return chunks[0]
    reserve(sum(chunk.nbytes for chunk in chunks))
    return pa.concat_arrays(chunks)


def _without_text_of_nulls(array: pa.Array, reserve: Callable[[int], object]) -> pa.Array:
    """A text array whose nulls have no text that is not UTF-8: Arrow does not look at it, but kernels read it."""
    if not array.null_count or array.type not in (pa.string(), pa.large_string()):
        return array
    try:
        pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], 0, array.offset).validate(full=True)
    except pa.ArrowInvalid:
        reserve(array.nbytes + 8 * len(array))
        return array.take(pa.array(np.arange(len(array))))
    return array


def _by_dictionary(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The chunks, those together that share a dictionary: it is checked and decoded once. Raises pa.ArrowException."""
    if not pa.types.is_dictionary(column.type):
        yield from column.chunks
        return
    for _, chunks in groupby(column.chunks, dictionary_of):
        arrays = [*chunks]
        for array in arrays:
            array.validate()
        indices = pa.concat_arrays([array.indices for array in arrays])
        yield pa.DictionaryArray.from_arrays(indices, arrays[0].dictionary, safe=False)


def _view_bytes(array: pa.Array) -> int:
    """Bytes of the values of an array of views."""
    lengths = np.frombuffer(array.buffers()[1], np.int32)[:: VIEW_BYTES // 4]
    return int(np.maximum(lengths[array.offset : array.offset + len(array)], 0).sum(dtype=np.int64))


def _decoded(array: pa.DictionaryArray, reserve: Callable[[int], object]) -> pa.Array:
    """A valid dictionary array without its dictionary."""
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 30 ms, and most keys need none of it

    values, indices = array.dictionary, array.indices
    if is_text(values.type) or _is_binary(values.type):
        values = values.cast(pa.string() if is_text(values.type) else pa.binary())
        lengths = filled(pc.binary_length(values), 0).astype(np.int64)
        uses = np.bincount(indices.drop_null().cast(pa.int64()).to_numpy(), minlength=len(lengths))
        _reserve(int(uses @ lengths), reserve)
    return values.take(indices)


def _reserve(size: int, reserve: Callable[[int], object]) -> None:
    """Reserve a copy of the keys, in decoding, and another. Raises InvalidQuestion."""
    if size > MAX_BYTES:
        raise InvalidQuestion(f"The keys of the column take {size} bytes; at most {MAX_BYTES} are allowed.", "key")
    reserve(2 * size)


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

    Keys are not written to.
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
