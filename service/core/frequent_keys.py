"""The frequent keys of a stream: no key is missing that weighs more than ``error``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from service.core.model import Bools, Int64s

SLOTS: Final = 2**15
"""Of a list, half of which may be in use: 0.8 MB, so that the processor keeps it at hand."""


@dataclass
class FrequentKeys:
    """An open-addressing hash table of fingerprints with what each key weighs at most.

    When half of the slots are in use, the keys that weigh no more than the median are forgotten; the median becomes ``error``,
    and a key that comes (again) later is taken to have weighed that much. So a weight is never too small, and too large by no
    more than the error at the time of its entry. After a total weight W the error is at most W ÷ (SLOTS ÷ 4).

    fingerprints : int64[SLOTS]   0 is a free slot
    weights : int64[SLOTS]        what the key weighs at most
    errors : int64[SLOTS]         by how much that may be too much
    """

    fingerprints: Int64s = field(default_factory=lambda: np.zeros(SLOTS, np.int64))
    weights: Int64s = field(default_factory=lambda: np.zeros(SLOTS, np.int64))
    errors: Int64s = field(default_factory=lambda: np.zeros(SLOTS, np.int64))
    held: int = 0
    error: int = 0

    def add(self, fingerprints: Int64s, weights: Int64s, risen: Bools, risen_above: int) -> None:
        """Add keys, each as often as it comes.

        fingerprints, weights : int64[n] each
        risen : bool[n], set to True where what a key weighs at least rises above ``risen_above``
        """
        done = 0
        while True:
            entered, self.held = count_frequent(
                fingerprints[done:], weights[done:], self.error, risen_above, self.held,
                self.fingerprints, self.weights, self.errors, risen[done:],
            )  # fmt: skip
            done += entered
            if done == len(fingerprints):
                return
            self._forget(int(np.median(self.weights[self.fingerprints != 0])))

    def merged(self, other: FrequentKeys) -> FrequentKeys:
        """The list of both streams: a key that only one knows may have weighed the other's error there."""
        known = np.union1d(self.fingerprints, other.fingerprints)
        known = known[known != 0]
        weights, errors = (a + b for a, b in zip(self.weights_of(known), other.weights_of(known), strict=True))
        both = FrequentKeys(error=self.error + other.error)
        if len(known) > SLOTS // 4:
            both.error = max(both.error, int(np.partition(weights, -(SLOTS // 4))[-(SLOTS // 4)]))
            heavy = weights > both.error
            known, weights, errors = known[heavy], weights[heavy], errors[heavy]
        both.held = put(known, weights, errors, 0, both.fingerprints, both.weights, both.errors)
        return both

    def weights_of(self, fingerprints: Int64s) -> tuple[Int64s, Int64s]:
        """int64[n] twice: what these keys weigh at most, and by how much that may be too much."""
        order = np.argsort(self.fingerprints)
        at = order[np.searchsorted(self.fingerprints, fingerprints, sorter=order).clip(max=SLOTS - 1)]
        known = self.fingerprints[at] == fingerprints
        return np.where(known, self.weights[at], self.error), np.where(known, self.errors[at], self.error)

    def surest(self, count: int) -> tuple[Int64s, Int64s]:
        """At most ``count`` keys whose weight is known to within a tenth: fingerprints and least weights, heaviest first."""
        least = self.weights - self.errors
        slots = np.flatnonzero((self.fingerprints != 0) & (self.weights > 0) & (self.errors * 10 <= self.weights))
        slots = slots[np.argsort(-least[slots], kind="stable")[:count]]
        return self.fingerprints[slots], least[slots]

    def _forget(self, weight: int) -> None:
        """Forget the keys that weigh no more than this."""
        known, weights, errors = self.fingerprints, self.weights, self.errors
        self.fingerprints, self.weights, self.errors = (np.zeros(SLOTS, np.int64) for _ in range(3))
        self.held = put(known, weights, errors, weight, self.fingerprints, self.weights, self.errors)
        self.error = weight


@njit(nogil=True, cache=True)
def put(
    fingerprints: Int64s, weights: Int64s, errors: Int64s, above: int, table: Int64s, table_weights: Int64s, table_errors: Int64s
) -> int:
    """Put the keys that weigh more than ``above`` into an empty table.

    fingerprints, weights, errors : int64[n], different keys; a fingerprint of 0 is passed over
    table, table_weights, table_errors : int64[slots], slots a power of two. Returns how many slots are in use.
    """
    mask = len(table) - 1
    held = 0
    for i in range(len(fingerprints)):
        if fingerprints[i] == 0 or weights[i] <= above:
            continue
        slot = np.int64(np.uint64(fingerprints[i]) & np.uint64(mask))
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot], table_weights[slot], table_errors[slot] = fingerprints[i], weights[i], errors[i]
        held += 1
    return held


@njit(nogil=True, cache=True)
def count_frequent(
    fingerprints: Int64s, weights: Int64s, error: int, risen_above: int, held: int,
    table: Int64s, table_weights: Int64s, table_errors: Int64s, risen: Bools,
) -> tuple[int, int]:  # fmt: skip
    """Count rows until one needs a slot and half of them are in use.

    fingerprints, weights : int64[n]; error : what a key that is not in the table may have weighed
    table, table_weights, table_errors : int64[slots], slots a power of two
    risen : bool[n], set to True where what the row's key weighs at least rises above ``risen_above``
    Returns how many rows are done, and how many slots are in use. Plain-Python twin: tests/reference/partition_counts.py.
    """
    mask = len(table) - 1
    for i in range(len(fingerprints)):
        fingerprint = fingerprints[i]
        slot = np.int64(np.uint64(fingerprint) & np.uint64(mask))
        while table[slot] != 0 and table[slot] != fingerprint:
            slot = (slot + 1) & mask
        before = table_weights[slot]
        if table[slot] == 0:
            if held == len(table) // 2:
                return i, held
            held += 1
            table[slot] = fingerprint
            table_errors[slot] = error
            before = np.int64(error)
        table_weights[slot] = before + weights[i]
        least = before - table_errors[slot]
        if least <= risen_above < least + weights[i]:
            risen[i] = True
    return len(fingerprints), held
