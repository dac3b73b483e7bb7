"""Ragged arrays inverted: label → indices, and value → rows."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Ragged

PIECE: Final = 1 << 16
"""The number of int32 that fit into the cache of one core and leave room. Kernels that read rows in order and write far apart
work in pieces of this size: at four million partitions that takes 23 ms instead of 60."""


def grouped(labels: Int32s, groups: int) -> Ragged:
    """Ragged group → the indices i with ``labels[i] == group``, ascending.

    labels : int32[...]   0 … groups - 1, or NONE for an index in no group
    """
    return Ragged(*grouped_arrays(labels, groups))


def transposed(rows: Ragged, columns: int) -> Ragged:
    """Ragged value → the rows that have it, ascending; a row with duplicates appears as often as the value.

    rows : Ragged row → values, each 0 … columns - 1
    """
    return Ragged(*_transposed(rows.offsets, rows.values, columns))


def taken(rows: Ragged, indices: npt.NDArray[Any]) -> Ragged:
    """The rows of these indices. indices : integers"""
    return Ragged(*_taken(rows.offsets, rows.values, indices.astype(np.int32, copy=False)))


def changed(before: Ragged, after: Ragged) -> Bools:
    """bool[rows], whose values, or whose order of them, is not the same."""
    result: Bools = before.lengths() != after.lengths()
    values = [rows.values[~result[rows.row_of_each_value()]] for rows in (before, after)]
    rows = after.row_of_each_value()[~result[after.row_of_each_value()]]
    result[rows[values[0] != values[1]]] = True
    return result


def repeats(rows: npt.NDArray[np.integer[Any]], values: Int32s) -> Bools:
    """bool[values], those that stand earlier in their row too. rows : integers[values], the row of each, below 2^31"""
    pairs = rows.astype(np.int64) << 32 | values.astype(np.uint32).astype(np.int64)
    repeated = np.ones(len(values), np.bool_)
    repeated[np.unique(pairs, return_index=True)[1]] = False
    return repeated


def first_repeat(rows: Ragged, columns: int) -> int:
    """The index of the first value that its row already has, or NONE.

    rows : Ragged row → values, each 0 … columns - 1
    """
    return int(_first_repeat(rows.offsets, rows.values, columns))


def claimed_once(owned: Ragged, counting: Bools) -> Int32s | None:
    """int32[members], how many of the partitions that count each claims; None if one is claimed twice.

    owned : Ragged member → partitions; counting : bool[partitions], those that count
    """
    counted = owned.values < len(counting)
    counted[counted] = counting[owned.values[counted]]
    if np.bincount(owned.values[counted]).max(initial=0) > 1:
        return None
    return np.bincount(owned.row_of_each_value()[counted], minlength=len(owned)).astype(np.int32)


@inner_kernel
def put(values: npt.NDArray[Any], room: npt.NDArray[Any], at: int) -> int:
    """Copy the values to ``room[at:]``; returns their end. An assignment to a slice takes five times as long to compile."""
    start = np.uint64(at)  # an unsigned index is not asked whether it counts from the end, so several values are copied at once
    for i in range(len(values)):
        room[start + np.uint64(i)] = values[i]
    return at + len(values)


@kernel
def _taken(offsets: Int32s, values: Int32s, indices: Int32s) -> tuple[Int32s, Int32s]:
    """``taken``, as offsets int32[indices + 1] and values."""
    offsets_taken = np.zeros(len(indices) + 1, np.int32)
    for i in range(len(indices)):
        offsets_taken[i + 1] = offsets_taken[i] + offsets[indices[i] + 1] - offsets[indices[i]]
    values_taken = np.empty(offsets_taken[-1], np.int32)
    end = 0
    for i in range(len(indices)):
        for place in range(offsets[indices[i]], offsets[indices[i] + 1]):
            values_taken[end] = values[place]
            end += 1
    return offsets_taken, values_taken


@kernel
def _first_repeat(offsets: Int32s, values: Int32s, columns: int) -> int:
    last_row = np.full(columns, NONE, np.int32)
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if last_row[values[i]] == row:
                return i
            last_row[values[i]] = row
    return NONE


@kernel
def ascending(offsets: Int32s, values: Int32s) -> bool:
    """Is every row ascending? Duplicates are allowed."""
    for row in range(len(offsets) - 1):
        of_row = values[offsets[row] : offsets[row + 1]]
        descents = 0
        for i in range(1, len(of_row)):
            descents += of_row[i] < of_row[i - 1]
        if descents:
            return False
    return True


@kernel
def alike(offsets: Int32s, topics: Int32s) -> bool:
    """Are all rows the same, to the letter? False if there are none. offsets, topics : member → topics"""
    if len(offsets) < 2:
        return False
    first_row = topics[: offsets[1]]
    for row in range(1, len(offsets) - 1):
        of_row = topics[offsets[row] : offsets[row + 1]]
        if len(of_row) != len(first_row):
            return False
        differ = 0  # most often nothing does, which a loop without a way out finds faster
        for i in range(len(first_row)):
            differ += of_row[i] != first_row[i]
        if differ:
            return False
    return True


@kernel
def indices_of(flags: Bools) -> Int32s:
    """int32[...], where the flags are set, ascending; np.flatnonzero takes twice the memory, for int64."""
    count = 0
    for flag in flags:
        count += flag
    indices: Int32s = np.empty(count, np.int32)
    end = 0
    for i in range(len(flags)):
        if flags[i]:
            indices[end] = i
            end += 1
    return indices


def rows_and_places(offsets: Int32s) -> tuple[Int32s, Int32s]:
    """For each value of rows with these offsets, its row and its position in the row: int32[values] each."""
    lengths = np.diff(offsets)
    rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return rows, np.arange(offsets[-1], dtype=np.int32) - np.repeat(offsets[:-1], lengths)


@kernel
def _transposed(offsets: Int32s, values: Int32s, columns: int) -> tuple[Int32s, Int32s]:
    """``transposed``, as offsets int32[columns + 1] and rows: a counting sort, or less if every value occurs once."""
    only_row, no_duplicates = _only_row(offsets, values, columns)
    if no_duplicates:
        if len(values) == columns:
            return np.arange(columns + 1, dtype=np.int32), only_row
        rows_of = np.zeros(columns + 1, np.int32)
        rows = np.empty(len(values), np.int32)
        end = 0
        for column in range(columns):
            if only_row[column] != NONE:
                rows[end] = only_row[column]
                end += 1
            rows_of[column + 1] = end
        return rows_of, rows
    rows_of = np.zeros(columns + 1, np.int32)
    for value in values:
        rows_of[value + 1] += 1
    for column in range(columns):
        rows_of[column + 1] += rows_of[column]
    cursor = rows_of[:-1].copy()
    rows = np.empty(len(values), np.int32)
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            rows[cursor[values[i]]] = row
            cursor[values[i]] += 1
    return rows_of, rows


@inner_kernel
def _only_row(offsets: Int32s, values: Int32s, columns: int) -> tuple[Int32s, bool]:
    """int32[columns], the row that has each value, or NONE; and True, or False at the first duplicate value."""
    rows = np.full(columns, NONE, np.int32)
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if rows[values[i]] != NONE:
                return rows, False
            rows[values[i]] = row
    return rows, True


@kernel
def grouped_arrays(labels: Int32s, groups: int) -> tuple[Int32s, Int32s]:
    """``grouped`` for kernels, as offsets int32[groups + 1] and indices: a counting sort, O(labels + groups)."""
    offsets = np.zeros(groups + 1, np.int32)
    for label in labels:
        if label >= 0:
            offsets[label + 1] += 1
    for group in range(groups):
        offsets[group + 1] += offsets[group]
    cursor = offsets[:-1].copy()
    indices = np.empty(offsets[groups], np.int32)
    for i in range(len(labels)):
        label = labels[i]
        if label >= 0:
            indices[cursor[label]] = i
            cursor[label] += 1
    return offsets, indices
