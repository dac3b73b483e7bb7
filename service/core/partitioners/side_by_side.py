"""Keys of one length, hashed side by side: a pair of words of each, then the next, in loops that LLVM makes vectors of.

Some pairs of each key are first put into rows: one key after the other, as they are in memory, and in a loop of its own. LLVM
would otherwise gather words from all over the keys, which takes longer than hashing them. A hash of 32 bits takes the words of a
pair by a view: a loop over 64 bits has vectors of half as many keys.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba.core import config

from service.core.kernels import inner_kernel
from service.core.model import Bytes, Int32s
from service.core.words import long_word

UInt32s = npt.NDArray[np.uint32]
UInt64s = npt.NDArray[np.uint64]

TWO, ONE = np.uint64(2), np.uint64(1)
"""Of row r of pairs, viewed as words, ``[r, TWO * i]`` and ``[r, TWO * i + ONE]`` are those of key i, the lower half first."""

TOGETHER: Final = 128
"""Keys per batch: the loops over fewer are short, and more leave the L1 cache."""

PAIRS: Final = 8
"""So many pairs of words of each key are put into rows at a time."""

FOR_ANY_CPU: Final = config.CPU_NAME == "generic"  # type: ignore[attr-defined]  # made from the environment
"""Kernels for an architecture's baseline, as in the image: x86-64 multiplies words faster one by one than in its vectors."""


@inner_kernel
def have_one_length(offsets: Int32s) -> bool:
    """Whether all keys of a batch, int32[n + 1] offsets, have the same length."""
    alike = True
    for i in range(1, len(offsets) - 1):
        alike &= offsets[i + 1] - offsets[i] == offsets[1] - offsets[0]
    return alike


@inner_kernel
def in_rows(offsets: Int32s, unit: np.uint64) -> np.uint64:
    """How many bytes of each key of a batch to hash side by side: whole units of a power of two bytes; 0 if lengths differ."""
    if FOR_ANY_CPU or not have_one_length(offsets):
        return np.uint64(0)
    return np.uint64(offsets[1] - offsets[0]) & ~(unit - np.uint64(1))


@inner_kernel
def are_hashed(offsets: Int32s, done: np.uint64) -> bool:
    """Whether ``done`` bytes of each key of a batch are all of its bytes."""
    return bool(np.uint64(offsets[-1] - offsets[0]) == done * np.uint64(len(offsets) - 1))


@inner_kernel
def fill(offsets: Int32s, data: Bytes, begin: int, end: np.uint64, pairs: UInt64s) -> np.uint64:
    """Put bytes ``begin`` to ``end`` of each key of a batch into ``pairs``, uint64[PAIRS, TOGETHER]; returns the rows filled.

    Those are at most PAIRS; the bytes are pairs of words.
    """
    start, length = np.uint64(offsets[0]) + np.uint64(begin), np.uint64(offsets[1] - offsets[0])
    rows = min(np.uint64(PAIRS), (end - np.uint64(begin)) >> np.uint64(3))
    for row in range(ONE, rows, TWO):
        for i in range(np.uint64(len(offsets) - 1)):
            at = start + i * length + np.uint64(8) * row
            pairs[row - ONE, i] = long_word(data, at - np.uint64(8))
            pairs[row, i] = long_word(data, at)
    if rows & ONE:
        for i in range(np.uint64(len(offsets) - 1)):
            pairs[rows - ONE, i] = long_word(data, start + i * length + np.uint64(8) * (rows - ONE))
    return rows
