"""Long lists of integers taken out of a JSON text before Arrow reads the rest: it would make a string of each number first."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bytes, Int32s

INT32: Final = 2**31 - 1

WORTH_IT: Final = 8
"""Commas for each list from which on Arrow is slower."""


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
