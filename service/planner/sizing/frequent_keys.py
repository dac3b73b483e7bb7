"""The frequent keys of a stream: every key that weighs more than ``error``."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numba import njit

from service.core.kernels import kernel
from service.core.model import Bools, Int64s

SLOTS: Final = 2**14
"""Slots of a list, half of which may be in use: 0.4 MB."""

CELLS: Final = 2**16
"""Cells for the keys that are in no list: 0.6 MB, so that list and cells fit into the processor's cache."""

STEP: Final = 32
"""``error`` rises by at least 1 ÷ STEP: with many light keys, the table would be half full again after a rise by 1."""

CELL_SHIFT: Final = 20
"""The lowest bit of a key hash that selects its cell: below those that select a sample."""


def random_multiplier() -> int:
    """An odd number for ``slot_of``, below 2^63."""
    return secrets.randbits(63) | 1


class Slots(NamedTuple):
    """Keys with their weights: the slots of a table, or rows that are to be put into one.

    key_hashes : int64[slots]   0 is a free slot
    weights : int64[slots]      the greatest possible weight
    errors : int64[slots]       by how much that may be too large
    """

    key_hashes: Int64s
    weights: Int64s
    errors: Int64s

    @classmethod
    def free(cls, count: int) -> Slots:
        """A table without keys. count : a power of two"""
        return cls(*(np.zeros(count, np.int64) for _ in cls._fields))


class Cells(NamedTuple):
    """The filter before the table.

    weights : int64[cells]   the greatest possible weight of a key that is not in the table, at most ``error``
    listed : bool[cells]     is a key of this cell in the table? For most cells none is, and the table need not be searched
    """

    weights: Int64s
    listed: Bools

    @classmethod
    def of(cls, weights: Int64s) -> Cells:
        """Cells before an empty table. weights : as many as a power of two"""
        return cls(weights, np.zeros(len(weights), np.bool_))


@dataclass
class FrequentKeys:
    """An open-addressing hash table of key hashes with the greatest possible weight of each key, and a filter before it.

    A key that is not in the table belongs to one of CELLS, by its key hash. A cell holds the greatest possible weight of any of
    its keys: the sum of what they weigh since. A key enters the table when its cell would rise above ``error``, with the value of
    the cell as its own error. When half of the slots are in use, the median of the weights becomes ``error``, or one STEPth more
    than before if that is larger, and the keys that weigh no more go back to their cells. So a weight is never too small, and
    never too large by more than its error.

    ``error`` rises only when half a table of keys have overfilled their cells, and key hashes spread the light keys evenly: for a
    total weight W of many light keys it is about W ÷ CELLS, and all but a few percent never enter (Homem & Carvalho, "Finding
    top-k elements in data streams", 2010).

    held : the slots in use
    multiplier : see ``slot_of``
    """

    slots: Slots = field(default_factory=lambda: Slots.free(SLOTS))
    cells: Cells = field(default_factory=lambda: Cells.of(np.zeros(CELLS, np.int64)))
    held: int = 0
    error: int = 0
    multiplier: int = field(default_factory=random_multiplier)

    def add(self, key_hashes: Int64s, weights: Int64s, risen: Bools, risen_above: int) -> None:
        """Add keys, which may repeat.

        key_hashes : int64[n]; weights : int64[n], or int64[1] if all are equal
        risen : bool[n], set to True where the least possible weight of a key rises above ``risen_above``
        """
        done = 0
        while True:
            entered, self.held = count_frequent(
                key_hashes[done:], weights if len(weights) == 1 else weights[done:], self.error, risen_above, self.held,
                self.slots, self.cells, self.multiplier, risen[done:],
            )  # fmt: skip
            done += entered
            if done == len(key_hashes):
                return
            median = int(np.median(self.slots.weights[self.slots.key_hashes != 0]))
            self.error = max(median, self.error + self.error // STEP)
            before, self.slots = self.slots, Slots.free(SLOTS)
            self.held = self._put(before)  # keys that weigh no more go back to their cells

    def merged(self, other: FrequentKeys) -> FrequentKeys:
        """The list of both streams. A key in only one list may have the weight of its cell in the other."""
        known = np.union1d(self.slots.key_hashes, other.slots.key_hashes)
        known = known[known != 0]
        weights, errors = (a + b for a, b in zip(self.weights_of(known), other.weights_of(known), strict=True))
        both = FrequentKeys(cells=Cells.of(self.cells.weights + other.cells.weights), error=self.error + other.error)
        if len(known) > SLOTS // 4:
            both.error = max(both.error, int(np.partition(weights, -(SLOTS // 4))[-(SLOTS // 4)]))
        both.held = both._put(Slots(known, weights, errors))
        return both

    def weights_of(self, key_hashes: Int64s) -> tuple[Int64s, Int64s]:
        """int64[n] twice: the greatest possible weights of these keys, and by how much they may be too large."""
        listed, weights, errors = self.slots
        at = find(key_hashes, listed, self.multiplier)
        known, of_cells = at >= 0, self.cells.weights
        elsewhere = of_cells[key_hashes.view(np.uint64) >> np.uint64(CELL_SHIFT) & np.uint64(len(of_cells) - 1)]
        return np.where(known, weights[at], elsewhere), np.where(known, errors[at], elsewhere)

    def surest(self, count: int) -> tuple[Int64s, Int64s]:
        """At most ``count`` keys whose weight is known to within a tenth, heaviest first: key hashes, least possible weights."""
        key_hashes, weights, errors = self.slots
        least = weights - errors
        sure = np.flatnonzero((key_hashes != 0) & (weights > 0) & (errors * 10 <= weights))
        sure = sure[np.lexsort((key_hashes[sure], -least[sure]))[:count]]
        return key_hashes[sure], least[sure]

    def _put(self, keys: Slots) -> int:
        """Put the keys that weigh more than ``error`` into the table, which is empty, and the others into their cells."""
        self.cells.listed[:] = False
        return put(keys, self.error, self.slots, self.cells, self.multiplier)


@njit(nogil=True, cache=True, inline="always")
def slot_of(key_hash: np.int64, multiplier: int, slots: int) -> np.int64:
    """Where the search for a key begins: the first bits of ``key_hash * multiplier``. slots : a power of two

    Callers can choose keys whose hashes share any bits, but do not know the table's multiplier: the odds that two keys meet are
    no more than 4 / slots (Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair problem", 1997).
    """
    first = np.uint64(key_hash) * np.uint64(multiplier) >> np.uint64(32)
    return np.int64(first * np.uint64(slots) >> np.uint64(32))


@njit(nogil=True, cache=True, inline="always")
def cell(key_hash: np.int64, cells: int) -> np.int64:
    """The cell of a key."""
    return np.int64((np.uint64(key_hash) >> np.uint64(CELL_SHIFT)) & np.uint64(cells - 1))


@kernel
def put(keys: Slots, above: int, slots: Slots, cells: Cells, multiplier: int) -> int:
    """Put the keys that weigh more than ``above`` into an empty table, and the others into their cells.

    keys : distinct; a key hash of 0 is skipped
    Returns the number of slots in use.
    """
    key_hashes, weights, errors = keys
    table, table_weights, table_errors = slots
    filtered, listed = cells
    mask = len(table) - 1
    held = 0
    for i in range(len(key_hashes)):
        if key_hashes[i] == 0:
            continue
        c = cell(key_hashes[i], len(filtered))
        if weights[i] <= above:
            filtered[c] = max(filtered[c], weights[i])
            continue
        slot = slot_of(key_hashes[i], multiplier, len(table))
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot], table_weights[slot], table_errors[slot] = key_hashes[i], weights[i], errors[i]
        listed[c] = True
        held += 1
    return held


@kernel
def count_frequent(
    key_hashes: Int64s, weights: Int64s, error: int, risen_above: int, held: int, slots: Slots, cells: Cells, multiplier: int,
    risen: Bools,
) -> tuple[int, int]:  # fmt: skip
    """Count rows until one needs a slot and half of them are in use.

    key_hashes : int64[n]; weights : int64[n], or int64[1] if all are equal; error : the highest value of a cell
    risen : bool[n], set to True where the least possible weight of the row's key rises above ``risen_above``
    Returns the number of rows done, and the number of slots in use. Plain-Python twin: tests/reference/counter.py.
    """
    table, table_weights, table_errors = slots
    filtered, listed = cells
    mask = len(table) - 1
    step = 1 if len(weights) > 1 else 0
    for i in range(len(key_hashes)):
        key_hash, weight = key_hashes[i], weights[i * step]
        c = cell(key_hash, len(filtered))
        light = filtered[c] + weight <= error
        if light and not listed[c]:
            filtered[c] += weight
            continue
        slot = slot_of(key_hash, multiplier, len(table))
        while table[slot] != 0 and table[slot] != key_hash:
            slot = (slot + 1) & mask
        if table[slot] == 0:
            if light:
                filtered[c] += weight
                continue
            if held == len(table) // 2:
                return i, held
            held += 1
            table[slot] = key_hash
            listed[c] = True
            table_weights[slot] = table_errors[slot] = filtered[c]
        before = table_weights[slot]
        table_weights[slot] = before + weight
        least = before - table_errors[slot]
        if least <= risen_above < least + weight:
            risen[i] = True
    return len(key_hashes), held


@kernel
def find(key_hashes: Int64s, table: Int64s, multiplier: int) -> Int64s:
    """int64[n], the slot of each key hash in a table of int64[slots], or -1."""
    mask = len(table) - 1
    slots = np.full(len(key_hashes), -1, np.int64)
    for i in range(len(key_hashes)):
        slot = slot_of(key_hashes[i], multiplier, len(table))
        while table[slot] != 0 and table[slot] != key_hashes[i]:
            slot = (slot + 1) & mask
        if table[slot] != 0:
            slots[i] = slot
    return slots
