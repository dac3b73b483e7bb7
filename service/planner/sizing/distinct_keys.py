"""The distinct keys of a stream in bounded memory: all of them while they are few, then a sample.

A key is identified by its key hash, 64 bits. ``DistinctKeys`` holds up to MAX_KEYS keys with their weights (records and bytes).
When there are more, it keeps those whose key hash begins with one zero bit, then with two, and so on: each key with the same
probability 2^-level, and with its full weight, because a key that is in the sample now always was in it (adaptive sampling:
Flajolet, "On adaptive sampling", 1990). The number of keys is then known to about 1/√(keys held).

A sample misses single heavy keys. So from then on there are also two lists of ``frequent`` keys, by records and by bytes, which
include every key that weighs more than the list's ``error`` (Metwally et al., "Space-Saving", 2005, in the form of
Anderson et al., "A high-performance algorithm for identifying frequent items in data streams", 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bools, Int32s, Int64s
from service.planner.sizing.frequent_keys import FrequentKeys, find, random_multiplier, slot_of
from service.planner.sizing.random_baseline import HEAVY, Weights

MAX_KEYS: Final = 2**20
"""Most keys that are held; up to this number the result is exact."""

NAMED: Final = 256
"""How many of the heaviest keys are known by their bytes, not only by their key hash."""

LEAST: Final = -(2**63)
"""The least key hash."""

RECORDS, BYTES = 0, 1
"""The columns of weights."""


class Entries(NamedTuple):
    """Keys with their weights and hashes: the slots of a table, or rows that are to be entered. See DistinctKeys."""

    key_hashes: Int64s
    weights: Int64s
    hashes: Int32s


@dataclass
class DistinctKeys:
    """An open-addressing hash table of key hashes, at most half full.

    functions : the number of hash functions whose values are held for each key
    max_keys : most keys held
    level : the sample holds one key in 2^level; 0: all keys
    key_hashes : int64[slots]   0 is a free slot
    weights : int64[slots, 2]     records and bytes of the key
    hashes : int32[slots, functions]
    held : slots in use
    names : key hash → the key's bytes, for the heaviest keys
    lightest : int64[2, 2], the weight and the key hash of the lightest named key, by records and by bytes, once there are NAMED;
        a key needs a name if it is heavier, or as heavy with a smaller key hash
    frequent : the frequent keys by records and by bytes, once there is a sample
    multiplier : see ``slot_of``
    """

    functions: int
    max_keys: int = MAX_KEYS
    level: int = 0
    key_hashes: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))
    weights: Int64s = field(default_factory=lambda: np.zeros((1024, 2), np.int64))
    hashes: Int32s = field(init=False)
    held: int = 0
    names: dict[int, bytes] = field(default_factory=dict)
    lightest: Int64s = field(default_factory=lambda: np.array([[0, LEAST], [0, LEAST]]))
    frequent: tuple[FrequentKeys, FrequentKeys] | None = None
    multiplier: int = field(default_factory=random_multiplier)

    def __post_init__(self) -> None:
        self.hashes = np.zeros((len(self.key_hashes), self.functions), np.int32)

    @property
    def distinct(self) -> int:
        """The number of distinct keys; an estimate unless ``level`` is 0."""
        return self.held << self.level

    @property
    def relative_error(self) -> float:
        """The standard error of ``distinct``, as a share of it; 0 if it is exact."""
        return 0.0 if self.level == 0 else 1 / max(self.held, 1) ** 0.5

    @property
    def named_bytes(self) -> int:
        """Bytes of the named keys."""
        return sum(map(len, self.names.values()))

    def entries(self, level: int = 0) -> Entries:
        """The keys held that a sample of this level has too, by ascending key hash."""
        slots = np.flatnonzero(_sampled(self.key_hashes, level) & (self.key_hashes != 0))
        return self._at(slots[np.argsort(self.key_hashes[slots])])

    def _at(self, slots: Int64s) -> Entries:
        return Entries(self.key_hashes[slots], self.weights[slots], self.hashes[slots])

    def _table(self) -> Entries:
        return Entries(self.key_hashes, self.weights, self.hashes)

    def add(self, key_hashes: Int64s, weights: Int64s, hashes: Sequence[Int32s], name: Callable[[int], bytes | None]) -> None:
        """Add the keys of a batch, which may repeat.

        key_hashes : int64[n]   never 0
        weights : int64[n, 2], or int64[1, 2] if all are equal
        hashes : int32[n] for each function
        name : row → the bytes of its key, or None if they are not known
        """
        risen = np.zeros(len(key_hashes), np.bool_)
        done = 0
        if self.frequent is None:
            rows = np.arange(len(key_hashes))
            done = self._enter(key_hashes, *_of_rows(rows, weights, hashes), risen)
            self._name(key_hashes, risen, name)
            if done == len(key_hashes):
                return
            # Full: what is counted so far goes into the lists of frequent keys too, and so does the rest of the batch.
            self.frequent = self._as_frequent()
            self._thin_out()
        self.sample(key_hashes, weights, hashes, done)
        risen[:] = False
        for column, frequent in enumerate(self.frequent):
            of_column = np.ascontiguousarray(weights[done if len(weights) > 1 else 0 :, column])
            if of_column.any():
                frequent.add(key_hashes[done:], of_column, risen[done:], int(self.lightest[column, 0]))
        self._name(key_hashes, risen, name)

    def sample(self, key_hashes: Int64s, weights: Int64s, hashes: Sequence[Int32s], done: int = 0) -> Int64s:
        """Enter the rows from ``done`` on that belong to the sample: soon these are few, and the others cost nothing.

        The other parameters are those of ``add``. No key becomes ``frequent`` or named. Returns int64[...], the rows of keys that
        came in, if no key is named; the sample may have dropped some of these keys again.
        """
        rows = done + np.flatnonzero(_sampled(key_hashes[done:], self.level))
        sampled, (of_rows, hashed) = key_hashes[rows], _of_rows(rows, weights, hashes)
        done = 0
        risen = np.zeros(len(rows), np.bool_)
        while (done := done + self._enter(sampled[done:], of_rows[done:], hashed[done:], risen[done:])) < len(rows):
            self._thin_out()
        return rows[risen]

    def merge_sample(self, other: DistinctKeys) -> None:
        """Add the sample of another one to this sample."""
        while self.level < other.level:
            self._thin_out()
        key_hashes, weights, hashes = other.entries(self.level)
        self.sample(key_hashes, weights, [*hashes.T])

    def holds(self, key_hashes: Int64s) -> Bools:
        """bool[n]: is the key held?"""
        return find(key_hashes, self.key_hashes, self.multiplier) >= 0

    def merge(self, other: DistinctKeys) -> None:
        """Add the keys of another one."""
        if self.frequent is None and other.frequent is None:
            key_hashes, weights, hashes = other.entries()
            self.add(key_hashes, weights, [*hashes.T], lambda row: other.names.get(int(key_hashes[row])))
            return
        mine, others = self._as_frequent(), other._as_frequent()
        self.frequent = (mine[RECORDS].merged(others[RECORDS]), mine[BYTES].merged(others[BYTES]))
        self.merge_sample(other)
        self._rank(self.names | other.names)

    def heaviest(self, column: int, count: int) -> list[tuple[bytes, int, int]]:
        """The heaviest keys by RECORDS or BYTES: bytes, greatest possible weight, and the error by which that may be too large.

        In descending order of the least possible weight, then in ascending order of the bytes. While ``level`` is 0, one counter
        names the same keys in whatever order and batches they came. A merge names every key that was named before; a key that
        was among the NAMED heaviest of no part has no name.
        """
        known = np.array([*self.names], np.int64)
        weights, errors = (of.tolist() for of in self._weights_of(known, column))
        keys = sorted(zip(self.names.values(), weights, errors, strict=True), key=lambda key: (key[2] - key[1], key[0]))
        return [key for key in keys[:count] if key[1] > 0]

    def weights_by(self, column: int, without: int = 0) -> Weights:
        """The weights of the keys by RECORDS or BYTES; beyond ``max_keys`` those of the frequent keys and an estimate.

        without : the key hash of a key to leave out; 0: none
        """
        key_hashes, weights, _ = self.entries()
        if self.frequent is None:
            return Weights.of(weights[key_hashes != without, column])
        known, heavy = self.frequent[column].surest(HEAVY)
        light = weights[~np.isin(key_hashes, known) & (key_hashes != without), column]
        return Weights.of(light, 2.0**self.level, heavy[known != without].astype(np.float64))

    def _enter(self, key_hashes: Int64s, weights: Int64s, hashes: Int32s, risen: Bools) -> int:
        """Enter rows until the table is full at ``max_keys``; returns the number of rows that were entered."""
        done = 0
        while True:
            room = min(self.max_keys, len(self.key_hashes) // 2)
            entered, self.held = enter(
                Entries(key_hashes[done:], weights[done:], hashes[done:]), self.level, self.lightest, room, self.held,
                self._table(), self.multiplier, risen[done:],
            )  # fmt: skip
            done += entered
            if done == len(key_hashes) or room == self.max_keys:
                return done
            self._rebuild(min(4 * len(self.key_hashes), 1 << (2 * self.max_keys - 1).bit_length()))

    def _thin_out(self) -> None:
        """Keep half of the sample."""
        self.level += 1
        self._rebuild(len(self.key_hashes))

    def _rebuild(self, slots: int) -> None:
        held = self._at(np.flatnonzero(self.key_hashes))
        self.key_hashes, self.weights = np.zeros(slots, np.int64), np.zeros((slots, 2), np.int64)
        self.hashes = np.zeros((slots, self.functions), np.int32)
        _, self.held = enter(
            held, self.level, np.full((2, 2), 2**62), slots // 2, 0, self._table(), self.multiplier,
            np.zeros(len(held.key_hashes), np.bool_),
        )  # fmt: skip

    def _as_frequent(self) -> tuple[FrequentKeys, FrequentKeys]:
        if self.frequent is not None:
            return self.frequent
        lists = (FrequentKeys(), FrequentKeys())
        key_hashes, weights, _ = self.entries()
        for column, frequent in enumerate(lists):
            order = np.argsort(-weights[:, column], kind="stable")  # the heaviest find empty cells, so their weights are exact
            of_column = weights[order, column]
            if of_column.any():
                frequent.add(key_hashes[order], of_column, np.zeros(len(key_hashes), np.bool_), 2**62)
        return lists

    def _name(self, key_hashes: Int64s, risen: Bools, name: Callable[[int], bytes | None]) -> None:
        """Name the keys that rose above the lightest named key.

        Both weights only grow, so a key without a name has not risen above the lightest since.
        """
        rows = np.flatnonzero(risen)
        if not len(rows):
            return
        candidates, first = np.unique(key_hashes[rows], return_index=True)
        # In a first batch every key has risen: get the bytes of only those that may keep their name.
        keep: dict[int, int] = {}
        for column in (RECORDS, BYTES):
            heaviest = np.argsort(-self._at_least(candidates, column), kind="stable")[:NAMED]
            keep.update(zip(candidates[heaviest].tolist(), rows[first[heaviest]].tolist(), strict=True))
        names = {key_hash: name(row) for key_hash, row in keep.items() if key_hash not in self.names}
        self._rank(self.names | {key_hash: text for key_hash, text in names.items() if text is not None})

    def _rank(self, names: dict[int, bytes]) -> None:
        """Keep the names of the heaviest by records and by bytes."""
        known = np.array(sorted(names), np.int64)
        keep: set[int] = set()
        for column in (RECORDS, BYTES):
            weights = self._at_least(known, column)
            order = np.argsort(-weights, kind="stable")[:NAMED]
            keep.update(known[order[weights[order] > 0]].tolist())
            if len(order) == NAMED and weights[order[-1]] > 0:
                weight, key_hash = weights[order[-1]], known[order[-1]]
                if (weight, ~key_hash) > (self.lightest[column, 0], ~self.lightest[column, 1]):
                    self.lightest[column] = weight, key_hash
        self.names = {key_hash: names[key_hash] for key_hash in keep}

    def _at_least(self, key_hashes: Int64s, column: int) -> Int64s:
        weights, errors = self._weights_of(key_hashes, column)
        return weights - errors

    def _weights_of(self, key_hashes: Int64s, column: int) -> tuple[Int64s, Int64s]:
        """int64[n] twice: the weights of these keys, and the errors by which they may be too large."""
        if self.frequent is not None:
            return self.frequent[column].weights_of(key_hashes)
        slots = find(key_hashes, self.key_hashes, self.multiplier)
        return np.where(slots >= 0, self.weights[slots, column], 0), np.zeros(len(slots), np.int64)


def _sampled(key_hashes: Int64s, level: int) -> Bools:
    """bool[n]: does a sample of this level have the key?"""
    return key_hashes.view(np.uint64) <= np.uint64(2 ** (64 - level) - 1)


def _of_rows(rows: Int64s, weights: Int64s, hashes: Sequence[Int32s]) -> tuple[Int64s, Int32s]:
    """The weights and hashes of some rows of a batch: int64[rows, 2] and int32[rows, functions]."""
    of_rows = weights[rows] if len(weights) > 1 else np.repeat(weights, len(rows), axis=0)
    hashed = np.empty((len(rows), len(hashes)), np.int32)
    for function, values in enumerate(hashes):
        hashed[:, function] = values[rows]
    return of_rows, hashed


@kernel
def enter(
    rows: Entries, level: int, lightest: Int64s, room: int, held: int, slots: Entries, multiplier: int, risen: Bools
) -> tuple[int, int]:
    """Enter rows into the table until one needs a slot and ``room`` slots are in use.

    level : of the sample
    lightest : int64[2, 2]   a weight and a key hash, by column. ``risen[i]``, bool[n], becomes True when a weight of row i's key
        rises above that weight, or reaches it and the key hash is smaller
    slots : as many as a power of two
    Returns the number of rows done, and the number of slots in use. Plain-Python twin: tests/reference/counter.py.
    """
    key_hashes, weights, hashes = rows
    table, table_weights, table_hashes = slots
    mask = len(table) - 1
    beyond = np.uint64(64 - level)
    for i in range(len(key_hashes)):
        key_hash = key_hashes[i]
        if level > 0 and (np.uint64(key_hash) >> beyond) != 0:
            continue
        slot = slot_of(key_hash, multiplier, len(table))
        while table[slot] != 0 and table[slot] != key_hash:
            slot = (slot + 1) & mask
        if table[slot] == 0:
            if held == room:
                return i, held
            held += 1
            table[slot] = key_hash
            for f in range(hashes.shape[1]):
                table_hashes[slot, f] = hashes[i, f]
        for column in range(2):
            before = table_weights[slot, column]
            after = before + weights[i, column]
            table_weights[slot, column] = after
            least = lightest[column, 0] + (key_hash >= lightest[column, 1])  # the least weight above
            if before < least <= after:
                risen[i] = True
    return len(key_hashes), held
