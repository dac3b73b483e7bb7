"""The frequent keys of a stream: no key is missing that weighs more than ``error``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from service.core.model import Bools, Int64s

SLOTS: Final = 2**14
"""Of a list, half of which may be in use: 0.4 MB …"""

CELLS: Final = 2**16
"""… and 0.6 MB for the keys that are in no list, so that the processor keeps all of it at hand."""

STEP: Final = 32
"""``error`` rises by no less than one in so many: with many light keys each rise by 1 would fill half the table again."""

CELL_SHIFT: Final = 20
"""A cell is a fingerprint's bits from here on: neither those of its slot, nor those that decide about a sample."""


@dataclass
class FrequentKeys:
    """An open-addressing hash table of fingerprints with what each key weighs at most, and a filter before it.

    A key that is not in the table belongs to one of CELLS, by its fingerprint. A cell holds the most that any of its keys can
    have weighed: what all of them weigh since, together. A key enters the table when its cell would rise above ``error``, with
    what the cell holds as its own error. When half of the slots are in use, the median of the weights becomes ``error``, or one
    STEPth more than it was if that is more, and the keys that weigh no more go back to their cells. So a weight is never too
    small, and too large by no more than its error.

    ``error`` rises only when half a table of keys have overfilled their cells, and fingerprints spread the light keys evenly:
    of a total weight W of many light keys it is about W ÷ CELLS, and all but a few in a hundred never enter (Homem & Carvalho,
    "Finding top-k elements in data streams", 2010).

    fingerprints : int64[SLOTS]   0 is a free slot
    weights : int64[SLOTS]        what the key weighs at most
    errors : int64[SLOTS]         by how much that may be too much
    cells : int64[CELLS]          what a key that is not in the table weighs at most, none above ``error``
    listed : bool[CELLS]          is a key of this cell in the table? Of most cells none is, and nothing has to be looked for
    """

    fingerprints: Int64s = field(default_factory=lambda: np.zeros(SLOTS, np.int64))
    weights: Int64s = field(default_factory=lambda: np.zeros(SLOTS, np.int64))
    errors: Int64s = field(default_factory=lambda: np.zeros(SLOTS, np.int64))
    cells: Int64s = field(default_factory=lambda: np.zeros(CELLS, np.int64))
    listed: Bools = field(init=False)
    held: int = 0
    error: int = 0

    def __post_init__(self) -> None:
        self.listed = np.zeros(len(self.cells), np.bool_)

    def add(self, fingerprints: Int64s, weights: Int64s, risen: Bools, risen_above: int) -> None:
        """Add keys, each as often as it comes.

        fingerprints : int64[n]; weights : int64[n], or int64[1] if they are all alike
        risen : bool[n], set to True where what a key weighs at least rises above ``risen_above``
        """
        done = 0
        while True:
            entered, self.held = count_frequent(
                fingerprints[done:], weights if len(weights) == 1 else weights[done:], self.error, risen_above, self.held,
                self.fingerprints, self.weights, self.errors, self.cells, self.listed, risen[done:],
            )  # fmt: skip
            done += entered
            if done == len(fingerprints):
                return
            median = int(np.median(self.weights[self.fingerprints != 0]))
            self._forget(max(median, self.error + self.error // STEP))

    def merged(self, other: FrequentKeys) -> FrequentKeys:
        """The list of both streams: a key that only one knows may have weighed what its cell holds in the other."""
        known = np.union1d(self.fingerprints, other.fingerprints)
        known = known[known != 0]
        weights, errors = (a + b for a, b in zip(self.weights_of(known), other.weights_of(known), strict=True))
        both = FrequentKeys(cells=self.cells + other.cells, error=self.error + other.error)
        if len(known) > SLOTS // 4:
            both.error = max(both.error, int(np.partition(weights, -(SLOTS // 4))[-(SLOTS // 4)]))
        both.held = both._put(known, weights, errors)
        return both

    def weights_of(self, fingerprints: Int64s) -> tuple[Int64s, Int64s]:
        """int64[n] twice: what these keys weigh at most, and by how much that may be too much."""
        order = np.argsort(self.fingerprints)
        at = order[np.searchsorted(self.fingerprints, fingerprints, sorter=order).clip(max=SLOTS - 1)]
        known = self.fingerprints[at] == fingerprints
        elsewhere = self.cells[fingerprints.view(np.uint64) >> np.uint64(CELL_SHIFT) & np.uint64(len(self.cells) - 1)]
        return np.where(known, self.weights[at], elsewhere), np.where(known, self.errors[at], elsewhere)

    def surest(self, count: int) -> tuple[Int64s, Int64s]:
        """At most ``count`` keys whose weight is known to within a tenth: fingerprints and least weights, heaviest first."""
        least = self.weights - self.errors
        slots = np.flatnonzero((self.fingerprints != 0) & (self.weights > 0) & (self.errors * 10 <= self.weights))
        slots = slots[np.argsort(-least[slots], kind="stable")[:count]]
        return self.fingerprints[slots], least[slots]

    def _forget(self, weight: int) -> None:
        """Give the keys that weigh no more than this back to their cells."""
        known, weights, errors = self.fingerprints, self.weights, self.errors
        self.fingerprints, self.weights, self.errors = (np.zeros(SLOTS, np.int64) for _ in range(3))
        self.error = weight
        self.held = self._put(known, weights, errors)

    def _put(self, fingerprints: Int64s, weights: Int64s, errors: Int64s) -> int:
        """Put the keys that weigh more than ``error`` into the table, which is empty, and the others into their cells."""
        self.listed[:] = False
        return put(
            fingerprints, weights, errors, self.error, self.fingerprints, self.weights, self.errors, self.cells, self.listed
        )


@njit(nogil=True, cache=True, inline="always")
def cell(fingerprint: np.int64, cells: int) -> np.int64:
    """The cell of a key."""
    return np.int64((np.uint64(fingerprint) >> np.uint64(CELL_SHIFT)) & np.uint64(cells - 1))


@njit(nogil=True, cache=True)
def put(
    fingerprints: Int64s, weights: Int64s, errors: Int64s, above: int,
    table: Int64s, table_weights: Int64s, table_errors: Int64s, cells: Int64s, listed: Bools,
) -> int:  # fmt: skip
    """Put the keys that weigh more than ``above`` into an empty table, and the others into their cells.

    fingerprints, weights, errors : int64[n], different keys; a fingerprint of 0 is passed over
    table, table_weights, table_errors : int64[slots], slots a power of two; cells, listed : int64[cells], bool[cells], of a power
        of two
    Returns how many slots are in use.
    """
    mask = len(table) - 1
    held = 0
    for i in range(len(fingerprints)):
        if fingerprints[i] == 0:
            continue
        c = cell(fingerprints[i], len(cells))
        if weights[i] <= above:
            cells[c] = max(cells[c], weights[i])
            continue
        slot = np.int64(np.uint64(fingerprints[i]) & np.uint64(mask))
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot], table_weights[slot], table_errors[slot] = fingerprints[i], weights[i], errors[i]
        listed[c] = True
        held += 1
    return held


@njit(nogil=True, cache=True)
def count_frequent(
    fingerprints: Int64s, weights: Int64s, error: int, risen_above: int, held: int,
    table: Int64s, table_weights: Int64s, table_errors: Int64s, cells: Int64s, listed: Bools, risen: Bools,
) -> tuple[int, int]:  # fmt: skip
    """Count rows until one needs a slot and half of them are in use.

    fingerprints : int64[n]; weights : int64[n], or int64[1] if they are all alike; error : what a cell may rise to
    table, table_weights, table_errors : int64[slots], slots a power of two; cells, listed : int64[cells], bool[cells], of a power
        of two
    risen : bool[n], set to True where what the row's key weighs at least rises above ``risen_above``
    Returns how many rows are done, and how many slots are in use. Plain-Python twin: tests/reference/counter.py.
    """
    mask = len(table) - 1
    step = 1 if len(weights) > 1 else 0
    for i in range(len(fingerprints)):
        fingerprint, weight = fingerprints[i], weights[i * step]
        c = cell(fingerprint, len(cells))
        light = cells[c] + weight <= error
        if light and not listed[c]:
            cells[c] += weight
            continue
        slot = np.int64(np.uint64(fingerprint) & np.uint64(mask))
        while table[slot] != 0 and table[slot] != fingerprint:
            slot = (slot + 1) & mask
        if table[slot] == 0:
            if light:
                cells[c] += weight
                continue
            if held == len(table) // 2:
                return i, held
            held += 1
            table[slot] = fingerprint
            listed[c] = True
            table_weights[slot] = table_errors[slot] = cells[c]
        before = table_weights[slot]
        table_weights[slot] = before + weight
        least = before - table_errors[slot]
        if least <= risen_above < least + weight:
            risen[i] = True
    return len(fingerprints), held
