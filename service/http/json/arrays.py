"""Large JSON texts without a Python object for each row: long lists of integers and strings are taken out of the text, and Arrow
reads the rest. A million keys never become a million objects.

Whatever is not plainly well-formed is left to the declarative schema, which names the exact place.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.json

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bools, Bytes, Int32s
from service.core.words import long_word
from service.http.json.limits import is_plain

INT32: Final = 2**31 - 1

WORTH_IT: Final = 8
"""Commas for each list from which on Arrow, which makes a string of each number first, is slower."""


@dataclass(frozen=True)
class IntegerLists:
    """Lists of integers, and the text that they are missing from.

    rest : the text with ``[0]`` in place of each
    lengths : int32[lists]   the length of each list
    values : int32[...]      their integers, end to end
    """

    rest: bytes
    lengths: Int32s
    values: Int32s


def take_out(text: bytes) -> IntegerLists | None:
    """The lists of integers from 0 to 2³¹ - 1 of a JSON text, strings left alone.

    None if the lists are too short for this to be faster, or if a list begins with a number and holds anything else.
    """
    end, rest, lengths, values = _take_out(np.frombuffer(text, np.uint8), WORTH_IT)
    return None if end < 0 else IntegerLists(rest[:end].tobytes(), lengths, values)


def put_back(array: pa.Array, path: tuple[str, ...], lists: IntegerLists) -> pa.Array | None:
    """An array that Arrow read from ``rest``, with the integers back in the list at ``path``, through structs and lists of them.

    None if that list does not have the place of each, which reads ``[0]``.
    """
    if pa.types.is_struct(array.type):
        columns = {field.name: array.field(field.name) for field in array.type}
        column = put_back(columns[path[0]], path[1:], lists)
        if column is None or array.null_count:
            return None
        return pa.StructArray.from_arrays(
            [column if name == path[0] else columns[name] for name in columns], fields=list(array.type)
        )
    if path:
        rows = put_back(array.values, path, lists)
        mask = array.is_null() if array.null_count else None
        return None if rows is None else pa.ListArray.from_arrays(array.offsets, rows, mask=mask)
    if array.null_count or array.values.null_count:
        return None
    lengths = np.diff(array.offsets.to_numpy()).astype(np.int32)
    if lengths.max(initial=0) > 1 or np.count_nonzero(lengths) != len(lists.lengths):
        return None
    lengths[lengths == 1] = lists.lengths
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(lists.values))


@kernel
def _take_out(text: Bytes, worth_it: int) -> tuple[int, Bytes, Int32s, Int32s]:  # noqa: C901, PLR0912 (a kernel)
    """How much of ``rest`` is the text, and the fields of IntegerLists; -1 for the first if the text is to be left alone.

    Plain-Python twin: tests/reference/json_integer_lists.py.
    """
    lists = commas = 0  # those in strings included, so these are the most that there can be
    for c in text:
        lists += c == 91
        commas += c == 44
    none = np.empty(0, np.int32)
    if commas < worth_it * lists:
        return -1, text[:0].copy(), none, none
    rest, lengths, values = np.empty(len(text), np.uint8), np.empty(lists, np.int32), np.empty(commas + lists, np.int32)
    n, i, end, lists, integers = len(text), 0, 0, 0, 0
    while i < n:
        c = text[i]
        rest[end] = c
        end += 1
        i += 1
        if c == 34:  # a string, copied up to its end
            while i < n and text[i] != 34:
                if text[i] == 92 and i + 1 < n:
                    rest[end] = text[i]
                    end += 1
                    i += 1
                rest[end] = text[i]
                end += 1
                i += 1
            if i < n:
                rest[end] = 34
                end += 1
                i += 1
        elif c == 91:
            at = space(text, i)
            if at == n or not (48 <= text[at] <= 57 or text[at] == 45):
                continue
            before = integers
            while True:
                start, value = at, np.int64(0)
                while at < n and 48 <= text[at] <= 57 and at - start < 10:
                    value = value * 10 + np.int64(text[at]) - 48
                    at += 1
                if at == start or value > INT32 or (text[start] == 48 and at - start > 1):
                    return -1, rest, none, none
                values[integers] = value
                integers += 1
                at = space(text, at)
                if at == n or text[at] not in (44, 93):
                    return -1, rest, none, none
                if text[at] == 93:
                    break
                at = space(text, at + 1)
            lengths[lists] = integers - before
            lists += 1
            rest[end], rest[end + 1] = 48, 93
            end += 2
            i = at + 1
    return end, rest, lengths[:lists], values[:integers]


@inner_kernel
def space(text: Bytes, at: int) -> int:
    """Where the white space that JSON knows ends, from ``at`` on."""
    while at < len(text) and text[at] in (32, 9, 10, 13):
        at += 1
    return at


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


def take_out_texts(text: bytes, name: str) -> tuple[bytes, pa.StringArray] | None:
    """The list of strings and nulls that the text's object has as its member ``name``, and the text with ``[]`` in its place.

    None if there is no such list, if it is empty, or if it holds anything else, an escape or what is not UTF-8. Nothing is said
    about the rest of the text.
    """
    start, end, offsets, data, valid = _take_out_texts(np.frombuffer(text, np.uint8), np.frombuffer(name.encode(), np.uint8))
    if end < 0:
        return None
    nulls = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.StringArray.from_buffers(len(valid), pa.py_buffer(offsets), pa.py_buffer(data), nulls)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return text[:start] + b"[]" + text[end:], array


@kernel
def _take_out_texts(text: Bytes, name: Bytes) -> tuple[int, int, Int32s, Bytes, Bools]:
    """Where the list begins and ends in the text, and its strings; -1 for the end if the text is to be left alone.

    Returns also int32[n + 1] and uint8[...], the offsets and the UTF-8 of the strings, and bool[n], False for null.
    Plain-Python twin: tests/reference/json_string_lists.py.
    """
    n, start = len(text), _list_of(text, name)
    most = max(0, n - start) // 3 + 1  # an element is at least two quotes and a comma
    offsets, data, valid = np.empty(most + 1, np.int32), np.empty(max(0, n - start), np.uint8), np.empty(most, np.bool_)
    offsets[0] = count = size = 0
    at, more = start, start < n
    while more:
        at = space(text, at + 1)
        valid[count] = at < n and text[at] == 34
        if valid[count]:
            at += 1
            while at < n and text[at] != 34 and text[at] != 92 and text[at] >= 32:
                if at + 8 <= n:
                    eight = long_word(text, np.uint64(at))
                    if is_plain(eight):
                        for k in range(8):  # which the compiler makes one store
                            data[np.uint64(size + k)] = np.uint8(eight >> np.uint64(8 * k))
                        size += 8
                        at += 8
                        continue
                data[size] = text[at]
                size += 1
                at += 1
            if at == n or text[at] != 34:
                break
            at += 1
        elif at + 4 <= n and text[at] == 110 and text[at + 1] == 117 and text[at + 2] == 108 and text[at + 3] == 108:
            at += 4
        else:
            break
        count += 1
        offsets[count] = size
        at = space(text, at)
        more = at < n and text[at] == 44
    complete = count > 0 and not more and at < n and text[at] == 93
    return start, at + 1 if complete else -1, offsets[: count + 1], data[:size], valid[:count]


@inner_kernel
def _list_of(text: Bytes, name: Bytes) -> int:
    """Where the list begins that is the member ``name`` of the object that the text is; the end of the text if there is none."""
    i, depth, n = 0, 0, len(text)
    while i < n:
        c = text[i]
        i += 1
        if c == 34:
            first = i
            while i < n and text[i] != 34:
                i += 2 if text[i] == 92 else 1
            is_it = depth == 1 and i - first == len(name) and i < n
            for k in range(len(name)):
                is_it = is_it and text[first + k] == name[k]
            i += 1
            after = space(text, i)
            if is_it and after < n and text[after] == 58:
                at = space(text, after + 1)
                return at if at < n and text[at] == 91 else n
        elif c in (123, 91):
            depth += 1
        elif c in (125, 93):
            depth -= 1
    return n
