"""Many partition counts and partitioners in one scan over the keys.

A key's partition is its hash, made positive, modulo the count. So the totals of each residue modulo L give those of every count
that divides L, and modulo the least common multiple of two counts they give both at once: what moves from which old partition to
which new one. So ``KeyCounter`` holds a few tables of residues instead of one table for each count and each pair of counts. A key
is hashed once for each hash function and adds to one row of each table.

Use, in a Spark executor or anywhere else::

    counter = KeyCounter(("java", "librdkafka:consistent_random"), partitions_counts=(12, 18, 24), current=12)
    counter.add(column, "string", records, sizes)       # for every batch: a Column, and int64[n] or None for each of the others
    counter.merge(other)                                # a counter with the same parameters; counters can be pickled
    counter.totals("java", 24)                          # KeyTotals: int64[24] keys, records, bytes of each partition
    counter.moved("java", 24)                           # Moved: keys, records and bytes that leave their current partition
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Final, NamedTuple

import numpy as np

from service.core.budget import check_time
from service.core.errors import InvalidQuestion
from service.core.kernels import kernel
from service.core.keys import columns
from service.core.keys.columns import Column, Encoding
from service.core.model import Bools, Int32s, Int64s, Keys
from service.core.partitioners import PARTITIONERS
from service.core.partitioners.allocation import settle
from service.core.partitioners.hashing_rule import Hash, HashingRule
from service.core.partitioners.murmur3 import cassandra_tokens
from service.planner.sizing.distinct_keys import MAX_KEYS, DistinctKeys
from service.planner.sizing.random_baseline import HEAVY, Weights

BLOCK: Final = 2**16
"""Keys per block, so that their hashes and weights stay in the processor's cache."""

LARGEST_SHARED: Final = 2**15
"""Counts share a table up to this least common multiple: half a megabyte, which stays in the cache too."""

LARGEST_PAIRED: Final = 2**16
"""Largest least common multiple of the current count and another for which moves are counted by partition."""

ONE_RECORD: Final = np.array([1, 0], np.int64)
"""The weight of most rows: one record of unknown size."""

LARGEST: Final = 2**62
"""The most records, and the most bytes, that may be counted, those without a key included."""

TOO_MUCH: Final = "All records, or all bytes, add up to more than 2^62."


class KeyTotals(NamedTuple):
    """The totals of each of n partitions: int64[n] each. ``keys`` are distinct keys."""

    keys: Int64s
    records: Int64s
    bytes: Int64s


@dataclass(frozen=True)
class Moved:
    """What another count moves, in total and by partition.

    keys, records, bytes : those that leave their partition
    from_partitions, to_partitions : int32[cells], the nonempty cells of the matrix from old to new partition, in this order; None
        if the least common multiple of both counts is above LARGEST_PAIRED
    cells : the totals of each cell, int64[cells] each
    """

    keys: int
    records: int
    bytes: int
    from_partitions: Int32s | None
    to_partitions: Int32s | None
    cells: KeyTotals | None


class KeyCounter:
    """The load of each partition, for each of several partitioners and partition counts.

    names : of the partitioners, without duplicates; each must hash keys to partitions
    partitions_counts : the counts to compare, each 1 … 2147483647
    current : the current count, or None
    max_keys : most distinct keys that are held, and up to which distinct keys are counted exactly
    distinct : the distinct keys
    records, bytes : of all records with a key; has_bytes : are bytes known?
    keyless : int64[2], records and bytes without a key
    """

    def __init__(
        self, names: tuple[str, ...], partitions_counts: tuple[int, ...], current: int | None = None, max_keys: int = MAX_KEYS
    ) -> None:
        self.names = names
        self.partitions_counts = partitions_counts
        self.current = current
        self.has_bytes = False
        self.all = np.zeros(2, np.int64)
        self.keyless = np.zeros(2, np.int64)
        self.empty = np.zeros(2, np.int64)  # those with an empty key, which some partitioners treat as no key
        rules = [hashing_rule(name) for name in names]
        self.moduli = moduli_of(partitions_counts, current)
        self.wide = tuple(n for n in partitions_counts if current is not None and lcm(n, current) > LARGEST_PAIRED)
        self.tables = [[np.zeros((2, modulus), np.int64) for modulus in self.moduli] for _ in names]
        self.wide_moved = np.zeros((len(names), len(self.wide), 2), np.int64)
        self.distinct = DistinctKeys(len(_functions(rules)), max_keys)
        self._heaviest: dict[tuple[str, int], tuple[Int32s, Int64s]] = {}  # what heaviest_hashes gives
        self._hashes: dict[int, Int32s] = {}  # of the distinct keys, by partitioner; computed when needed
        self._keys: dict[tuple[int, int], Int64s] = {}  # the distinct keys on each residue, by partitioner and modulus

    @property
    def records(self) -> int:
        """All records with a key."""
        return int(self.all[0])

    @property
    def bytes(self) -> int:
        """The bytes of all records with a key."""
        return int(self.all[1])

    def add(
        self,
        column: Column,
        key_format: str,
        records: Int64s | None = None,
        sizes: Int64s | None = None,
        key_hashes: Int64s | None = None,
    ) -> None:
        """Add a batch.

        column : n keys; null is a record without a key
        records, sizes : int64[n], the records and bytes that each row stands for; None: one record, and unknown bytes
        key_hashes : int64[n], ``key_hashes_of`` the serialized keys, if the caller already has them
        Raises InvalidQuestion if a partitioner does not accept such keys, or if the totals exceed 2^62.
        """
        rules = [hashing_rule(name) for name in self.names]
        for name, rule in zip(self.names, rules, strict=True):
            if key_format not in rule.encoding.formats:
                known = ", ".join(rule.encoding.formats)
                raise InvalidQuestion(
                    f"The partitioner {name} does not accept {key_format} keys; it accepts {known}.", "key_format"
                )
        n = columns.length(column)
        self.has_bytes |= sizes is not None
        for start in range(0, n, BLOCK):
            check_time()
            rows = slice(start, min(start + BLOCK, n))
            block = columns.rows_of(column, rows)
            serialized = columns.SERIALIZED.run(block, key_format)
            empty = serialized.offsets[1:] == serialized.offsets[:-1]
            weights = None
            if not (records is None and sizes is None and serialized.valid is None) or empty.any():
                weights = np.ones((len(serialized), 2), np.int64)
                if records is not None:
                    weights[:, 0] = records[rows]
                weights[:, 1] = 0 if sizes is None else sizes[rows]
            hashes = key_hashes_of(serialized) if key_hashes is None else key_hashes[rows]
            self._add(block, key_format, serialized, hashes, empty, weights, rules)

    def _add(
        self, column: Column, key_format: str, serialized: Keys, key_hashes: Int64s, empty: Bools, weights: Int64s | None,
        rules: list[HashingRule],
    ) -> None:  # fmt: skip
        """Add a block of keys.

        weights : None is the common case, with a fraction of the work: each row is one record, and its key is not empty
        """
        self._hashes, self._keys, self._heaviest = {}, {}, {}
        all_weights = None if weights is None else weights.copy()
        if weights is None:
            self.all[0] += len(serialized)
        else:
            self._weigh(serialized, empty, weights)
        encoded = {
            encoding: encoding.run(column, key_format) for encoding in {rule.encoding for rule in rules} - {columns.SERIALIZED}
        }
        encoded[columns.SERIALIZED] = serialized
        hashed = {(encoding, hash_): hash_.run(encoded[encoding], key_format) for encoding, hash_ in _functions(rules)}
        for p, rule in enumerate(rules):
            hashes, sign, placed = hashed[rule.encoding, rule.hash], rule.sign, all_weights
            if all_weights is not None:
                hashes, undecided = settle(rule, hashes, serialized)
                placed = all_weights if undecided is None else np.where(undecided[:, None], 0, all_weights)
            for table, modulus in zip(self.tables[p], self.moduli, strict=True):
                residues = sign.run(hashes, modulus)
                if placed is None:
                    count_up(residues, table[0])
                else:
                    add_up(residues, placed, table)
            for w, n in enumerate(self.wide):
                moves = sign.run(hashes, n) != sign.run(hashes, self.current or n)
                self.wide_moved[p, w] += ONE_RECORD * np.count_nonzero(moves) if placed is None else placed[moves].sum(axis=0)
        hash_columns = list(hashed.values())

        def name(row: int) -> bytes:
            return serialized.data[serialized.offsets[row] : serialized.offsets[row + 1]].tobytes()

        if weights is None:
            self.distinct.add(key_hashes, ONE_RECORD[None], hash_columns, name)
        elif serialized.valid is None:
            self.distinct.add(key_hashes, weights, hash_columns, name)
        else:
            present = np.flatnonzero(serialized.valid)
            hash_columns = [hashes[present] for hashes in hash_columns]
            self.distinct.add(key_hashes[present], weights[present], hash_columns, lambda row: name(int(present[row])))

    def _weigh(self, keys: Keys, empty: Bools, weights: Int64s) -> None:
        """Count all records, and set the weights of those without a key to 0."""
        if weights.sum(axis=0, dtype=np.float64).max() + (self.all + self.keyless).max() > LARGEST:
            raise InvalidQuestion(TOO_MUCH)
        if empty.any():
            self.empty += weights[empty if keys.valid is None else empty & keys.valid].sum(axis=0)
        if keys.valid is not None:
            self.keyless += weights[~keys.valid].sum(axis=0)
            weights[~keys.valid] = 0
        self.all += weights.sum(axis=0)

    def merge(self, other: KeyCounter) -> None:
        """Add the counts of another counter, which must have the same parameters."""
        if (self.names, self.partitions_counts, self.current) != (other.names, other.partitions_counts, other.current):
            raise ValueError("the counters have different partitioners or partition counts")
        if (self.all + self.keyless > LARGEST - other.all - other.keyless).any():
            raise InvalidQuestion(TOO_MUCH)
        self._hashes, self._keys, self._heaviest = {}, {}, {}
        self.has_bytes |= other.has_bytes
        self.all += other.all
        self.keyless += other.keyless
        self.empty += other.empty
        self.wide_moved += other.wide_moved
        for mine, others in zip(self.tables, other.tables, strict=True):
            for table, addition in zip(mine, others, strict=True):
                np.add(table, addition, out=table)
        self.distinct.merge(other.distinct)

    def without_key(self, name: str) -> tuple[int, int]:
        """Records and bytes that this partitioner places without a hash; no other figure includes them."""
        rule = hashing_rule(name)
        if rule.null_hash is not None:
            return 0, 0
        records, sizes = self.keyless + (self.empty if rule.empty_as_null else 0)
        return int(records), int(sizes)

    def as_one_key(self, name: str) -> tuple[int, int]:
        """Records and bytes without a key that this partitioner sends to one partition, as if all had the same key."""
        return (0, 0) if hashing_rule(name).null_hash is None else (int(self.keyless[0]), int(self.keyless[1]))

    def totals(self, name: str, partitions_count: int) -> KeyTotals:
        """The totals of each partition of one count. ``keys`` is an estimate if ``distinct.level`` is not 0."""
        p = self.names.index(name)
        return self._residues(p, partitions_count)

    def moved(self, name: str, partitions_count: int) -> Moved:
        """What moves from the current count to this one. Raises ValueError if the current count is not known."""
        if self.current is None:
            raise ValueError("the current count is not known")
        p = self.names.index(name)
        both = lcm(partitions_count, self.current)
        if both > LARGEST_PAIRED:
            records, sizes = self.wide_moved[p, self.wide.index(partitions_count)].tolist()
            hashes, sign = self._distinct_hashes(p), hashing_rule(name).sign
            stays = sign.run(hashes, partitions_count) == sign.run(hashes, self.current)
            return Moved(int((~stays).sum()) << self.distinct.level, records, sizes, None, None, None)
        distinct, records, sizes = self._residues(p, both)
        residues = np.arange(both, dtype=np.int32)
        old, new = residues % np.int32(self.current), residues % np.int32(partitions_count)
        moves = old != new
        cells = np.flatnonzero((distinct > 0) | (records > 0))
        cells = cells[np.lexsort((new[cells], old[cells]))]
        return Moved(
            keys=int(distinct[moves].sum()),
            records=int(records[moves].sum()),
            bytes=int(sizes[moves].sum()),
            from_partitions=old[cells],
            to_partitions=new[cells],
            cells=KeyTotals(distinct[cells], records[cells], sizes[cells]),
        )

    def _residues(self, p: int, modulus: int) -> KeyTotals:
        """The totals of each residue: the table of the smallest multiple, folded."""
        multiple, at = min((m, i) for i, m in enumerate(self.moduli) if m % modulus == 0)
        if (p, multiple) not in self._keys:
            residues = hashing_rule(self.names[p]).sign.run(self._distinct_hashes(p), multiple)
            self._keys[p, multiple] = np.bincount(residues, minlength=multiple).astype(np.int64) << self.distinct.level
        folded = (multiple // modulus, modulus)
        records, sizes = self.tables[p][at].reshape(2, *folded).sum(axis=1)
        return KeyTotals(self._keys[p, multiple].reshape(folded).sum(axis=0), records, sizes)

    def _distinct_hashes(self, p: int) -> Int32s:
        """The hashes of the distinct keys that this partitioner hashes."""
        if p not in self._hashes:
            self._hashes[p] = self.entries(self.names[p])[2]
        return self._hashes[p]

    def placed(self, name: str) -> Int64s:
        """int64[2], the records and bytes that this partitioner places by a hash."""
        return self.all + self.keyless - self.without_key(name)

    def weights(self, name: str, column: int | None) -> Weights:
        """The weights of the keys that this partitioner hashes, by RECORDS or BYTES; None: each key weighs 1.

        Beyond ``max_keys`` the least possible ones of the frequent keys, and an estimate. The records without a key are one more
        key if they have a hash.
        """
        if column is None:
            return Weights.equal(len(self._distinct_hashes(self.names.index(name))))  # a sample is as uneven as that many keys
        unhashed = _empty_key() if hashing_rule(name).empty_as_null else 0
        return self.distinct.weights_by(column, unhashed).and_one(self.as_one_key(name)[column])

    def entries(self, name: str) -> tuple[Int64s, Int64s, Int32s]:
        """The distinct keys that are held and that this partitioner hashes.

        Returns int64[held] key hashes, int64[held, 2] weights, int32[held] hashes.
        """
        rules = [hashing_rule(each) for each in self.names]
        rule = rules[self.names.index(name)]
        key_hashes, weights, hashes = self.distinct.entries()
        hashes = np.ascontiguousarray(hashes[:, _functions(rules).index((rule.encoding, rule.hash))])
        if not rule.empty_as_null:
            return key_hashes, weights, hashes
        hashed = key_hashes != _empty_key()
        return key_hashes[hashed], weights[hashed], hashes[hashed]

    def heaviest_hashes(self, name: str, column: int) -> tuple[Int32s, Int64s]:
        """The heaviest keys that are held, at most HEAVY, descending: int32[...] hashes, int64[...] RECORDS or BYTES."""
        if (name, column) not in self._heaviest:
            _, weights, hashes = self.entries(name)
            order = np.argsort(-weights[:, column], kind="stable")[:HEAVY]
            self._heaviest[name, column] = hashes[order], weights[order, column]
        return self._heaviest[name, column]


def key_hashes_of(keys: Keys) -> Int64s:
    """int64[len(keys)], never 0: 64 well-mixed bits of each key. Two of a million keys collide in 1 of 40 million cases."""
    tokens = cassandra_tokens(keys)
    if not tokens.all():
        tokens[tokens == 0] = 1
    return tokens


def _empty_key() -> int:
    """The key hash of the empty key."""
    return int(key_hashes_of(columns.byte_strings([b""]))[0])


def hashing_rule(name: str) -> HashingRule:
    """What a partitioner does with keys; raises UnknownStrategy, or InvalidQuestion if it ignores keys or gives tokens."""
    partitioner = PARTITIONERS[name]
    rule = partitioner.hashing_rule
    if rule is None:
        compared = ", so partition counts cannot be compared" if partitioner.hash is None else ""
        raise InvalidQuestion(f"The partitioner {name} {partitioner.without_rule}{compared}.", "partitioners")
    return rule


def _functions(rules: list[HashingRule]) -> list[tuple[Encoding, Hash]]:
    """The distinct encodings and hashes, in the order of the partitioners."""
    return list(dict.fromkeys((rule.encoding, rule.hash) for rule in rules))


def moduli_of(partitions_counts: tuple[int, ...], current: int | None) -> tuple[int, ...]:
    """The moduli of the tables, largest first: they include a multiple of every count, and of its pair with the current one."""
    counts = set(partitions_counts)
    if current is not None:
        counts |= {current} | {lcm(n, current) for n in partitions_counts if lcm(n, current) <= LARGEST_PAIRED}
    moduli: list[int] = []
    for n in sorted(counts, reverse=True):
        if any(modulus % n == 0 for modulus in moduli):
            continue
        together = [(lcm(modulus, n) // modulus, i) for i, modulus in enumerate(moduli) if lcm(modulus, n) <= LARGEST_SHARED]
        if together:
            growth, i = min(together)
            moduli[i] *= growth
        else:
            moduli.append(n)
    return tuple(moduli)


@kernel
def add_up(residues: Int32s, weights: Int64s, table: Int64s) -> None:
    """Add ``weights[i]`` to ``table[:, residues[i]]``: int32[n], int64[n, 2], int64[2, modulus]."""
    for i in range(len(residues)):
        residue = np.uint32(residues[i])  # not negative, which Numba would check
        table[0, residue] += weights[i, 0]
        table[1, residue] += weights[i, 1]


@kernel
def count_up(residues: Int32s, records: Int64s) -> None:
    """Add one record to ``records[residues[i]]``: int32[n], n at most BLOCK, and int64[modulus].

    Many are first counted in a quarter of the memory: the tables of all partitioners are more than a core's cache holds.
    """
    if len(residues) < len(records):
        for residue in residues:
            records[np.uint32(residue)] += 1
        return
    counts = np.zeros(len(records), np.uint16)
    for residue in residues:
        counts[np.uint32(residue)] += np.uint16(1)
    if counts[np.uint32(residues[0])] == 0:  # BLOCK records are more than a count holds, by one; then all are of this residue
        records[np.uint32(residues[0])] += BLOCK
    for residue in range(len(records)):
        records[residue] += counts[residue]
