"""Long lists of integers taken out of a JSON text before Arrow reads the rest: it would make a string of each number first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numba import njit

if TYPE_CHECKING:
    from service.core.model import Bytes, Int32s

INT32: Final = 2**31 - 1

WORTH_IT: Final = 8
"""Commas for each list from which on Arrow is slower."""


@dataclass(frozen=True)
class Taken:
    """A text without its lists of integers.

    rest : the text with ``[0]`` in place of each
    lengths : int32[lists]   how long they were
    values : int32[...]      what they held, end to end
    """

    rest: bytes
    lengths: Int32s
    values: Int32s


def taken_out(text: bytes) -> Taken | None:
    """The text without its lists of integers from 0 to 2³¹ - 1; what is in strings stays.

    None where nothing would be won, because lists are short, and where a list begins with a number and holds anything else.
    """
    lists, commas = _counted(np.frombuffer(text, np.uint8))
    if commas < WORTH_IT * lists:
        return None
    integers = commas + lists
    rest, lengths, values = np.empty(len(text), np.uint8), np.empty(lists, np.int32), np.empty(integers, np.int32)
    end, lists, integers = _take_out(np.frombuffer(text, np.uint8), rest, lengths, values)
    return None if end < 0 else Taken(rest[:end].tobytes(), lengths[:lists], values[:integers])


def put_back(rows: pa.ListArray, taken: Taken) -> pa.ListArray | None:
    """The lists in their places, which are where Arrow read ``[0]``; None if there are too many or too few places."""
    if rows.null_count or rows.values.null_count:
        return None
    lengths = np.diff(rows.offsets.to_numpy()).astype(np.int32)
    if lengths.max(initial=0) > 1 or np.count_nonzero(lengths) != len(taken.lengths):
        return None
    lengths[lengths == 1] = taken.lengths
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(taken.values))


@njit(nogil=True, cache=True)
def _counted(text: Bytes) -> tuple[int, int]:
    """How many ``[`` and how many commas there are, those in strings included."""
    lists = commas = 0
    for c in text:
        lists += c == 91
        commas += c == 44
    return lists, commas


@njit(nogil=True, cache=True)
def _take_out(text: Bytes, rest: Bytes, lengths: Int32s, values: Int32s) -> tuple[int, int, int]:  # noqa: C901 (a kernel)
    """How much is written of ``rest``, ``lengths`` and ``values``; -1 for the first if the text is to be left alone.

    Plain-Python twin: tests/reference/json_integer_lists.py.
    """
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
            at = _space(text, i)
            if at == n or not (48 <= text[at] <= 57 or text[at] == 45):
                continue
            before = integers
            while True:
                start, value = at, np.int64(0)
                while at < n and 48 <= text[at] <= 57 and at - start < 10:
                    value = value * 10 + np.int64(text[at]) - 48
                    at += 1
                if at == start or value > INT32 or (text[start] == 48 and at - start > 1):
                    return -1, 0, 0
                values[integers] = value
                integers += 1
                at = _space(text, at)
                if at == n or text[at] not in (44, 93):
                    return -1, 0, 0
                if text[at] == 93:
                    break
                at = _space(text, at + 1)
            lengths[lists] = integers - before
            lists += 1
            rest[end], rest[end + 1] = 48, 93
            end += 2
            i = at + 1
    return end, lists, integers


@njit(nogil=True, cache=True)
def _space(text: Bytes, at: int) -> int:
    """Where the white space that JSON knows ends, from ``at`` on."""
    while at < len(text) and text[at] in (32, 9, 10, 13):
        at += 1
    return at
