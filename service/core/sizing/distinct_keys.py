"""The different keys of a stream in memory that does not grow with it: exactly while they are few, then a sample of them.

A key is known by its fingerprint, 64 bits of a hash. ``DistinctKeys`` holds every key with what it weighs (records and bytes),
up to MAX_KEYS. When they become more, it keeps those whose fingerprint begins with one zero bit, then with two, and so on: each
key with the same probability 2^-level, and with all that it ever weighed, because a key that is in the sample now always was in
it (adaptive sampling: Flajolet, "On adaptive sampling", 1990). The number of keys is then known to about 1/√(keys held).

A sample misses single heavy keys. So from then on two lists of ``frequent`` keys, by records and by bytes, are kept as well, in
which no key can be missing that weighs more than the list's ``error`` (Metwally et al., "Space-Saving", 2005, in the form of
Anderson et al., "A high-performance algorithm for identifying frequent items in data streams", 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from service.core.sizing.frequent_keys import FrequentKeys
from service.core.sizing.random_baseline import HEAVY, Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.core.model import Bools, Int32s, Int64s

MAX_KEYS: Final = 2**20
"""Most keys that are held one by one; also the most that the answer is exact for."""

NAMED: Final = 256
"""How many of the heaviest keys are known by their bytes, not only by their fingerprint."""

RECORDS, BYTES = 0, 1
"""The columns of weights."""


@dataclass
class DistinctKeys:
    """An open-addressing hash table of fingerprints, at most half full.

    functions : how many hash functions' values are held of each key
    max_keys : most keys held
    level : the sample holds one key in 2^level; 0 means all
    fingerprints : int64[slots]   0 is a free slot
    weights : int64[slots, 2]     records and bytes of the key
    hashes : int32[slots, functions]
    held : slots in use
    names : fingerprint → the key's bytes, of the heaviest keys
    risen_above : the least weight of a named key, by records and by bytes: a key that is not heavier needs no name
    frequent : the frequent keys by records and by bytes, once there is a sample
    """

    functions: int
    max_keys: int = MAX_KEYS
    level: int = 0
    fingerprints: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))
    weights: Int64s = field(default_factory=lambda: np.zeros((1024, 2), np.int64))
    hashes: Int32s = field(init=False)
    held: int = 0
    names: dict[int, bytes] = field(default_factory=dict)
    risen_above: Int64s = field(default_factory=lambda: np.zeros(2, np.int64))
    frequent: tuple[FrequentKeys, FrequentKeys] | None = None

    def __post_init__(self) -> None:
        self.hashes = np.zeros((len(self.fingerprints), self.functions), np.int32)

    @property
    def distinct(self) -> int:
        """How many different keys there were; an estimate unless ``level`` is 0."""
        return self.held << self.level

    @property
    def relative_error(self) -> float:
        """The standard error of ``distinct``, as a share of it; 0 while it is exact."""
        return 0.0 if self.level == 0 else 1 / max(self.held, 1) ** 0.5

    def entries(self) -> tuple[Int64s, Int64s, Int32s]:
        """The keys held: their fingerprints int64[held], ascending; weights int64[held, 2]; hashes int32[held, functions]."""
        slots = np.flatnonzero(self.fingerprints)
        return self._at(slots[np.argsort(self.fingerprints[slots])])

    def _at(self, slots: Int64s) -> tuple[Int64s, Int64s, Int32s]:
        return self.fingerprints[slots], self.weights[slots], self.hashes[slots]

    def add(self, fingerprints: Int64s, weights: Int64s, hashes: Sequence[Int32s], name: Callable[[int], bytes | None]) -> None:
        """Add the keys of a batch, each as often as it comes.

        fingerprints : int64[n]   never 0
        weights : int64[n, 2], or int64[1, 2] if they are all alike
        hashes : int32[n] of each function
        name : the bytes of the batch's key of that row; None where they are not known
        """
        risen = np.zeros(len(fingerprints), np.bool_)
        done = 0
        if self.frequent is None:
            rows = np.arange(len(fingerprints))
            done = self._enter(fingerprints, *_of_rows(rows, weights, hashes), risen)
            self._name(fingerprints, risen, name)
            if done == len(fingerprints):
                return
            # Full: what has been counted so far goes into the lists of frequent keys, and the rest of the batch into both.
            self.frequent = self._as_frequent()
            self._thin_out()
        self.sample(fingerprints, weights, hashes, done)
        risen[:] = False
        for column, frequent in enumerate(self.frequent):
            of_column = np.ascontiguousarray(weights[done if len(weights) > 1 else 0 :, column])
            if of_column.any():
                frequent.add(fingerprints[done:], of_column, risen[done:], int(self.risen_above[column]))
        self._name(fingerprints, risen, name)

    def sample(self, fingerprints: Int64s, weights: Int64s, hashes: Sequence[Int32s], done: int = 0) -> Int64s:
        """Enter those of the rows from ``done`` on that the sample takes: soon few, so that nothing is done for the others.

        The other parameters are those of ``add``. Nothing becomes ``frequent``, or named. Returns the rows, int64[...], of keys
        that came in while this has no names: some may have had to leave again.
        """
        rows = done + np.flatnonzero(fingerprints[done:].view(np.uint64) <= np.uint64(2 ** (64 - self.level) - 1))
        some, (of_rows, hashed) = fingerprints[rows], _of_rows(rows, weights, hashes)
        done = 0
        risen = np.zeros(len(rows), np.bool_)
        while (done := done + self._enter(some[done:], of_rows[done:], hashed[done:], risen[done:])) < len(rows):
            self._thin_out()
        return rows[risen]

    def merge_sample(self, other: DistinctKeys) -> None:
        """Add the sample of another one to this one's."""
        while self.level < other.level:
            self._thin_out()
        fingerprints, weights, hashes = other.entries()
        self.sample(fingerprints, weights, [*hashes.T])

    def holds(self, fingerprints: Int64s) -> Bools:
        """bool[n]: is the key held?"""
        return find(fingerprints, self.fingerprints) >= 0

    def merge(self, other: DistinctKeys) -> None:
        """Add what another one has seen."""
        fingerprints, weights, hashes = other.entries()
        if self.frequent is None and other.frequent is None:
            self.add(fingerprints, weights, [*hashes.T], lambda row: other.names.get(int(fingerprints[row])))
            return
        mine, others = self._as_frequent(), other._as_frequent()
        self.frequent = (mine[RECORDS].merged(others[RECORDS]), mine[BYTES].merged(others[BYTES]))
        self.merge_sample(other)
        self._rank(self.names | other.names)

    def heaviest(self, column: int, count: int) -> list[tuple[bytes, int, int]]:
        """The heaviest keys by RECORDS or BYTES: their bytes, what they weigh at most, and by how much that may be too much.

        In the order of what they weigh at least.
        """
        known = np.array(sorted(self.names), np.int64)
        weights, errors = self._weights_of(known, column)
        order = np.argsort(errors - weights, kind="stable")[:count]
        return [(self.names[int(known[i])], int(weights[i]), int(errors[i])) for i in order if weights[i] > 0]

    def weights_for_chance(self, column: int) -> Weights:
        """What the keys weigh by RECORDS or BYTES; beyond ``max_keys``: the frequent ones, and the rest as the sample says."""
        fingerprints, weights, _ = self.entries()
        if self.frequent is None:
            return Weights.of(weights[:, column])
        known, heavy = self.frequent[column].surest(HEAVY)
        light = weights[~np.isin(fingerprints, known), column]
        return Weights.of(light, 2.0**self.level, heavy.astype(np.float64))

    def _enter(self, fingerprints: Int64s, weights: Int64s, hashes: Int32s, risen: Bools) -> int:
        """Enter rows until the table is full at MAX_KEYS; returns how many were."""
        done = 0
        while True:
            room = min(self.max_keys, len(self.fingerprints) // 2)
            entered, self.held = enter(
                fingerprints[done:], weights[done:], hashes[done:], self.level, self.risen_above, room, self.held,
                self.fingerprints, self.weights, self.hashes, risen[done:],
            )  # fmt: skip
            done += entered
            if done == len(fingerprints) or room == self.max_keys:
                return done
            self._rebuild(min(4 * len(self.fingerprints), 2 * self.max_keys))

    def _thin_out(self) -> None:
        """Keep every second key of the sample."""
        self.level += 1
        self._rebuild(len(self.fingerprints))

    def _rebuild(self, slots: int) -> None:
        fingerprints, weights, hashes = self._at(np.flatnonzero(self.fingerprints))
        self.fingerprints, self.weights = np.zeros(slots, np.int64), np.zeros((slots, 2), np.int64)
        self.hashes = np.zeros((slots, self.functions), np.int32)
        _, self.held = enter(
            fingerprints, weights, hashes, self.level, np.full(2, 2**62, np.int64), slots // 2, 0,
            self.fingerprints, self.weights, self.hashes, np.zeros(len(fingerprints), np.bool_),
        )  # fmt: skip

    def _as_frequent(self) -> tuple[FrequentKeys, FrequentKeys]:
        if self.frequent is not None:
            return self.frequent
        lists = (FrequentKeys(), FrequentKeys())
        fingerprints, weights, _ = self.entries()
        for column, frequent in enumerate(lists):
            frequent.add(fingerprints, weights[:, column].copy(), np.zeros(len(fingerprints), np.bool_), 2**62)
        return lists

    def _name(self, fingerprints: Int64s, risen: Bools, name: Callable[[int], bytes | None]) -> None:
        """Learn the bytes of keys that have become heavier than the lightest of those named.

        A key's weight only grows and so does the lightest's, so a key that is not named has not risen above it since.
        """
        rows = np.flatnonzero(risen)
        if not len(rows):
            return
        wanted, first = np.unique(fingerprints[rows], return_index=True)
        # Of a first batch all have risen: the bytes of those alone that may stay are looked up.
        keep: dict[int, int] = {}
        for column in (RECORDS, BYTES):
            heaviest = np.argsort(-self._at_least(wanted, column), kind="stable")[:NAMED]
            keep.update(zip(wanted[heaviest].tolist(), rows[first[heaviest]].tolist(), strict=True))
        learned = {fingerprint: name(row) for fingerprint, row in keep.items() if fingerprint not in self.names}
        self._rank(self.names | {fingerprint: text for fingerprint, text in learned.items() if text is not None})

    def _rank(self, names: dict[int, bytes]) -> None:
        """Keep the names of the heaviest by records and by bytes."""
        known = np.array(sorted(names), np.int64)
        keep: set[int] = set()
        for column in (RECORDS, BYTES):
            weights = self._at_least(known, column)
            order = np.argsort(-weights, kind="stable")[:NAMED]
            keep.update(known[order[weights[order] > 0]].tolist())
            if len(order) == NAMED:
                self.risen_above[column] = max(self.risen_above[column], weights[order[-1]])
        self.names = {fingerprint: names[fingerprint] for fingerprint in keep}

    def _at_least(self, fingerprints: Int64s, column: int) -> Int64s:
        weights, errors = self._weights_of(fingerprints, column)
        return weights - errors

    def _weights_of(self, fingerprints: Int64s, column: int) -> tuple[Int64s, Int64s]:
        """int64[n] twice: what these keys weigh, and by how much that may be too much."""
        if self.frequent is not None:
            return self.frequent[column].weights_of(fingerprints)
        slots = find(fingerprints, self.fingerprints)
        return np.where(slots >= 0, self.weights[slots, column], 0), np.zeros(len(slots), np.int64)


def _of_rows(rows: Int64s, weights: Int64s, hashes: Sequence[Int32s]) -> tuple[Int64s, Int32s]:
    """int64[rows, 2] and int32[rows, functions] of some rows of a batch."""
    of_rows = weights[rows] if len(weights) > 1 else np.repeat(weights, len(rows), axis=0)
    hashed = np.empty((len(rows), len(hashes)), np.int32)
    for function, of in enumerate(hashes):
        hashed[:, function] = of[rows]
    return of_rows, hashed


@njit(nogil=True, cache=True)
def enter(
    fingerprints: Int64s, weights: Int64s, hashes: Int32s, level: int, risen_above: Int64s, room: int, held: int,
    table: Int64s, table_weights: Int64s, table_hashes: Int32s, risen: Bools,
) -> tuple[int, int]:  # fmt: skip
    """Enter rows into the table until one needs a slot and ``room`` slots are in use.

    fingerprints : int64[n]; weights : int64[n, 2]; hashes : int32[n, functions]; level : of the sample
    risen_above : int64[2]   rows[i] of ``risen``, bool[n], becomes True when a weight of the row's key rises above this
    table, table_weights, table_hashes : int64[slots], int64[slots, 2], int32[slots, functions]; slots is a power of two
    Returns how many rows are done, and how many slots are in use. Plain-Python twin: tests/reference/counter.py.
    """
    mask = len(table) - 1
    beyond = np.uint64(64 - level)
    for i in range(len(fingerprints)):
        fingerprint = fingerprints[i]
        if level > 0 and (np.uint64(fingerprint) >> beyond) != 0:
            continue
        slot = np.int64(np.uint64(fingerprint) & np.uint64(mask))
        while table[slot] != 0 and table[slot] != fingerprint:
            slot = (slot + 1) & mask
        if table[slot] == 0:
            if held == room:
                return i, held
            held += 1
            table[slot] = fingerprint
            for f in range(hashes.shape[1]):
                table_hashes[slot, f] = hashes[i, f]
        for column in range(2):
            before = table_weights[slot, column]
            after = before + weights[i, column]
            table_weights[slot, column] = after
            if before <= risen_above[column] < after:
                risen[i] = True
    return len(fingerprints), held


@njit(nogil=True, cache=True)
def find(fingerprints: Int64s, table: Int64s) -> Int64s:
    """int64[n], the slot of each fingerprint in a table of int64[slots], or -1."""
    mask = len(table) - 1
    slots = np.full(len(fingerprints), -1, np.int64)
    for i in range(len(fingerprints)):
        slot = np.int64(np.uint64(fingerprints[i]) & np.uint64(mask))
        while table[slot] != 0 and table[slot] != fingerprints[i]:
            slot = (slot + 1) & mask
        if table[slot] != 0:
            slots[i] = slot
    return slots
