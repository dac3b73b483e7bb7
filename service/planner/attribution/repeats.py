"""Keys that repeat: the first row of each distinct key, so that what is costly happens once for a long key of many rows.

Rows of an Arrow dictionary may share one key: a kilobyte then names hundreds of megabytes of keys.
"""

from typing import Final

import numpy as np

from service.core.kernels import kernel
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.model import Bools, Bytes, Int32s, Int64s
from service.core.partitioners.murmur3 import cassandra_tokens

LONG: Final = 64
"""Bytes from which on the mean key is long. Looking for repeats takes about as long as one of the twenty hashes of a key."""

MAX_TRIES: Final = 16
"""Most keys that a key is compared with, lest keys made to collide be compared with all others."""


def distinct(column: Column) -> tuple[Column, Int32s] | None:
    """The distinct keys of a column of long ones, and for each row which it has; None if the keys are short or do not repeat."""
    if isinstance(column, columns.Numbers) or columns.data_bytes(column) < LONG * columns.length(column):
        return None
    keys = column.keys if isinstance(column, columns.Text) else column
    rows, index = first_rows(*keys.arrays(), np.asarray(cassandra_tokens(keys), np.int64))
    if 2 * len(rows) > len(keys):
        return None
    return columns.rows_of(column, rows), index


@kernel
def first_rows(offsets: Int32s, data: Bytes, valid: Bools, tokens: Int64s) -> tuple[Int64s, Int32s]:
    """The first row of each distinct key, ascending, and for each row the number of its key among them.

    Keys that collide may be more than once among the distinct ones.

    offsets : int32[n + 1]; data : uint8[...]; valid : bool[n], as KeyArrays; n > 0
    tokens : int64[n], the same for equal keys
    Returns int64[distinct] and int32[n]. Plain-Python twin: tests/reference/repeats.py.
    """
    n = len(tokens)
    slots = 1
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    rows = np.empty(n, np.int64)
    index = np.empty(n, np.int32)
    known = 0
    for i in range(n):
        slot = tokens[i] & (slots - 1)
        index[i] = -1
        for _ in range(MAX_TRIES):
            number = table[slot]
            if number < 0:
                table[slot] = known
                break
            row = rows[number]
            length = offsets[i + 1] - offsets[i]
            if tokens[row] == tokens[i] and valid[row] == valid[i] and offsets[row + 1] - offsets[row] == length:
                differing = 0  # without a way out of the loop, 32 bytes are compared at once
                for at in range(length):
                    differing |= data[offsets[row] + at] ^ data[offsets[i] + at]
                if not differing:
                    index[i] = number
                    break
            slot = (slot + 1) & (slots - 1)
        if index[i] < 0:
            rows[known] = i
            index[i] = known
            known += 1
    return rows[:known].copy(), index
