"""Keys as doors give them, lists or Arrow columns → the core's columns: a million of them without a million Python objects.

Arrow columns are not copied where that is possible.
"""

import math
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.core.model import Bools, Keys
from service.decisions.rows import FORMAT_OF_TYPE, TYPE_OF_FORMAT, is_text, read_array

VIEW_BYTES: Final = 16
"""Of a view: its length, four bytes of its value, a buffer and an offset."""

MAX_BYTES: Final = 2**31 - 1
"""What the offsets of keys can name."""

_INT32: Final = np.dtype(np.int32)
_UINT8: Final = np.dtype(np.uint8)
TEXTUAL: Final = (*columns.TEXTS, *columns.BYTES)
"""Formats whose keys are strings in JSON."""


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
        if own not in TEXTUAL:
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


FEW: Final = 8
"""Below this many strings, Python is faster than Arrow."""

KEY_BYTES: Final = 24
"""Memory for each key beside its value, such as hash, partition and answer. Measured for 2,000,000: 16 if they are null."""


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
        array = read_array(values, pa.int64())
        if array is None:
            raise _misfit(values, key_format)
        return columns.integers(filled(array, 0), validity(array), key_format)
    if key_format in columns.FLOATS:
        array = read_array(values, pa.float64())
        if array is None:
            array = pa.array([_number(value, key_format, row) for row, value in enumerate(values)], pa.float64())
        return columns.floats(filled(array, 0.0), validity(array), key_format)
    array = read_array(values, pa.bool_())
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


@runtime_checkable
class Stream(Protocol):
    """A table of keys that arrives batch by batch. It is read once: whole, or batch by batch."""

    def table(self, *columns: str) -> pa.Table:
        """All of it, as a table of exactly these columns."""

    def batches(self, columns: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Its batches, while it arrives, with these columns and perhaps the optional ones."""
