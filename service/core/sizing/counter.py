"""Many partition counts and partitioners in one scan over the keys.

A key's partition is its hash, made positive, modulo the count. So what lies on each residue modulo L answers for every count that
divides L, and modulo the least common multiple of two counts it answers for both at once: which old partition loses what to which
new one. ``Counts`` therefore holds a few tables of residues instead of one table a count and one a pair of counts; a key is
hashed once for each hash function and adds to one place of each table.

A Spark executor, or anyone with batches, uses it so::

    counts = Counts(("java", "librdkafka:consistent_random"), partitions_counts=(12, 18, 24), current=12)
    counts.add(column, "string", records, sizes)        # for every batch: a Column, and int64[n] or None twice
    counts.merge(others)                                # of the same questions; it can be pickled, and is arrays throughout
    counts.totals("java", 24)                           # Totals: int64[24] keys, records, bytes of each partition
    counts.moved("java", 24)                            # Moved: keys, records and bytes that leave their partition of today
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numba import njit

from service.core.errors import InvalidQuestion
from service.core.keys import columns as encodings
from service.core.partitioners import PARTITIONERS
from service.core.partitioners.allocation import AS_NULL
from service.core.partitioners.murmur3 import cassandra_tokens
from service.core.sizing.distinct_keys import MAX_KEYS, DistinctKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.keys.columns import Column, Encoding
    from service.core.model import Bools, Int32s, Int64s, Keys
    from service.core.partitioners.model import Hash, Sign

BLOCK: Final = 2**16
"""Keys that go through all tables together: their hashes and weights stay in the processor's cache."""

TOGETHER: Final = 2**15
"""Counts share a table while their least common multiple is no larger: half a megabyte, which stays in the cache too."""

PAIRED: Final = 2**16
"""Largest least common multiple of today's count and another for which it is known what moves from where to where."""

ONE: Final = np.array([1, 0], np.int64)
"""What most records weigh: one record, of no known size."""

LARGEST: Final = 2**62
"""All records, and all bytes, together are below this."""


class Totals(NamedTuple):
    """What lies on each of n partitions: int64[n] each. ``keys`` are different keys."""

    keys: Int64s
    records: Int64s
    bytes: Int64s


@dataclass(frozen=True)
class Moved:
    """What another count moves, as totals, and from where to where.

    keys, records, bytes : of what leaves its partition
    from_partitions, to_partitions : int32[cells], the cells of the matrix from old to new partition that are not empty, in this
        order; None if the least common multiple of both counts is above PAIRED
    cells : what lies in each, int64[cells] each
    """

    keys: int
    records: int
    bytes: int
    from_partitions: Int32s | None
    to_partitions: Int32s | None
    cells: Totals | None


@dataclass(frozen=True)
class Hashing:
    """What of a partitioner decides where records go, as far as keys do.

    empty_as_null : it takes an empty key for none
    null_hash : the hash that a record without a key counts as; None where a counter or chance decides
    """

    encoding: Encoding
    hash: Hash
    sign: Sign
    empty_as_null: bool
    null_hash: int | None


class Counts:
    """What lies where, for each of several partitioners and partition counts.

    names : of the partitioners, none twice; each must hash keys to partitions
    partitions_counts : the counts asked about, each 1 … 2147483647
    current : today's count, or None
    max_keys : most different keys that are counted exactly, and held
    distinct : the different keys; exact up to its MAX_KEYS
    records, bytes : of all records with a key; has_bytes : were bytes given?
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
        self.empty = np.zeros(2, np.int64)  # those with an empty key, which some partitioners take for none
        hashings = [hashing(name) for name in names]
        self.moduli = _moduli(partitions_counts, current)
        self.wide = tuple(n for n in partitions_counts if current is not None and lcm(n, current) > PAIRED)
        self.tables = [[np.zeros((modulus, 2), np.int64) for modulus in self.moduli] for _ in names]
        self.wide_moved = np.zeros((len(names), len(self.wide), 2), np.int64)
        self.distinct = DistinctKeys(len(_functions(hashings)), max_keys)
        self._hashes: dict[int, Int32s] = {}  # of the different keys, by partitioner; made when first asked for
        self._keys: dict[tuple[int, int], Int64s] = {}  # the different keys on each residue, by partitioner and modulus

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
        fingerprints: Int64s | None = None,
    ) -> None:
        """Add a batch.

        column : n keys; null is a record without a key
        records, sizes : int64[n], how many records and bytes each stands for; None: one record, and no bytes known
        fingerprints : int64[n], ``fingerprints_of`` the serialized keys, if the caller has them already
        Raises InvalidQuestion if a partitioner takes no such keys, or if the totals exceed 2^62.
        """
        hashings = [hashing(name) for name in self.names]
        for name, encoding in zip(self.names, (of.encoding for of in hashings), strict=True):
            if key_format not in encoding.formats:
                known = ", ".join(encoding.formats)
                raise InvalidQuestion(f"the partitioner {name} takes no {key_format} keys, but {known}", "key_format")
        n = _length(column)
        self.has_bytes |= sizes is not None
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            block = encodings.part(column, rows)
            serialized = encodings.SERIALIZED.run(block, key_format)
            empty = serialized.offsets[1:] == serialized.offsets[:-1]
            weights = None
            if not (records is None and sizes is None and serialized.valid is None) or empty.any():
                weights = np.ones((len(serialized), 2), np.int64)
                if records is not None:
                    weights[:, 0] = records[rows]
                weights[:, 1] = 0 if sizes is None else sizes[rows]
            prints = fingerprints_of(serialized) if fingerprints is None else fingerprints[rows]
            self._add(block, key_format, serialized, prints, empty, weights, hashings)

    def _add(
        self, column: Column, key_format: str, serialized: Keys, fingerprints: Int64s, empty: Bools, weights: Int64s | None,
        hashings: list[Hashing],
    ) -> None:  # fmt: skip
        """Add a block of keys.

        weights : None is the common case, with a fraction of the work: each is one record with a key that is not empty
        """
        self._hashes, self._keys = {}, {}
        of_all = None if weights is None else weights.copy()
        if weights is None:
            self.all[0] += len(serialized)
        else:
            self._weigh(serialized, empty, weights)
        encoded = {encoding: encoding.run(column, key_format) for encoding in {of.encoding for of in hashings}}
        hashed = {(coded, hash_): hash_.run(encoded[coded], key_format) for coded, hash_ in _functions(hashings)}
        for p, of in enumerate(hashings):
            hashes, sign = hashed[of.encoding, of.hash], of.sign
            weighing = weights
            if weights is not None and of.empty_as_null:
                weighing = np.where(empty[:, None], 0, weights)
            if of.null_hash is not None and serialized.valid is not None:
                weighing, hashes = of_all, np.where(serialized.valid, hashes, np.int32(of.null_hash))
            for table, modulus in zip(self.tables[p], self.moduli, strict=True):
                residues = sign.run(hashes, modulus)
                if weighing is None:
                    count_up(residues, table)
                else:
                    add_up(residues, weighing, table)
            for w, n in enumerate(self.wide):
                moves = sign.run(hashes, n) != sign.run(hashes, self.current or n)
                self.wide_moved[p, w] += ONE * np.count_nonzero(moves) if weighing is None else weighing[moves].sum(axis=0)
        columns = list(hashed.values())
        name = _namer(serialized)
        if weights is None:
            self.distinct.add(fingerprints, ONE[None], columns, name)
        elif serialized.valid is None:
            self.distinct.add(fingerprints, weights, columns, name)
        else:
            present = np.flatnonzero(serialized.valid)
            columns = [column[present] for column in columns]
            self.distinct.add(fingerprints[present], weights[present], columns, lambda row: name(int(present[row])))

    def _weigh(self, keys: Keys, empty: Bools, weights: Int64s) -> None:
        """Count all records; those without a key weigh nothing from here on."""
        if empty.any():
            self.empty += weights[empty if keys.valid is None else empty & keys.valid].sum(axis=0)
        if keys.valid is not None:
            self.keyless += weights[~keys.valid].sum(axis=0)
            weights[~keys.valid] = 0
        if weights.sum(axis=0, dtype=np.float64).max() + self.all.max() > LARGEST:
            raise InvalidQuestion("all records, or all bytes, add up to more than 2^62")
        self.all += weights.sum(axis=0)

    def merge(self, other: Counts) -> None:
        """Add what another one, of the same questions, has counted."""
        if (self.names, self.partitions_counts, self.current) != (other.names, other.partitions_counts, other.current):
            raise ValueError("these Counts are of other partitioners or partition counts")
        self._hashes, self._keys = {}, {}
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
        """Records and bytes that this partitioner takes to be without a key; they are in no other figure."""
        of = hashing(name)
        if of.null_hash is not None:
            return 0, 0
        apart = self.keyless + (self.empty if of.empty_as_null else 0)
        return int(apart[0]), int(apart[1])

    def as_one_key(self, name: str) -> tuple[int, int]:
        """Records and bytes without a key that this partitioner sends where their one hash says, as if they had a key."""
        return (0, 0) if hashing(name).null_hash is None else (int(self.keyless[0]), int(self.keyless[1]))

    def totals(self, name: str, partitions_count: int) -> Totals:
        """What lies on each partition of one count. ``keys`` is an estimate if ``distinct.level`` is not 0."""
        p = self.names.index(name)
        return self._residues(p, partitions_count)

    def moved(self, name: str, partitions_count: int) -> Moved:
        """What moves from today's count to this one. Raises ValueError if there is no today's count."""
        if self.current is None:
            raise ValueError("today's count is not known")
        p = self.names.index(name)
        both = lcm(partitions_count, self.current)
        if both > PAIRED:
            records, sizes = self.wide_moved[p, self.wide.index(partitions_count)].tolist()
            hashes, sign = self._distinct_hashes(p), hashing(name).sign
            stays = sign.run(hashes, partitions_count) == sign.run(hashes, self.current)
            return Moved(int((~stays).sum()) << self.distinct.level, records, sizes, None, None, None)
        distinct, records, sizes = self._residues(p, both)
        residues = np.arange(both, dtype=np.int32)
        old, new = residues % np.int32(self.current), residues % np.int32(partitions_count)
        moves = old != new
        some = np.flatnonzero((distinct > 0) | (records > 0))
        some = some[np.lexsort((new[some], old[some]))]
        return Moved(
            keys=int(distinct[moves].sum()),
            records=int(records[moves].sum()),
            bytes=int(sizes[moves].sum()),
            from_partitions=old[some],
            to_partitions=new[some],
            cells=Totals(distinct[some], records[some], sizes[some]),
        )

    def _residues(self, p: int, modulus: int) -> Totals:
        """What lies on each residue: the table of the smallest multiple, folded."""
        multiple, at = min((m, i) for i, m in enumerate(self.moduli) if m % modulus == 0)
        if (p, multiple) not in self._keys:
            residues = hashing(self.names[p]).sign.run(self._distinct_hashes(p), multiple)
            self._keys[p, multiple] = np.bincount(residues, minlength=multiple).astype(np.int64) << self.distinct.level
        folded = (multiple // modulus, modulus)
        records, sizes = np.ascontiguousarray(self.tables[p][at].reshape(*folded, 2).sum(axis=0).T)
        return Totals(self._keys[p, multiple].reshape(folded).sum(axis=0), records, sizes)

    def _distinct_hashes(self, p: int) -> Int32s:
        """The hashes of the different keys that this partitioner hashes."""
        if p not in self._hashes:
            self._hashes[p] = self.entries(self.names[p])[2]
        return self._hashes[p]

    def entries(self, name: str) -> tuple[Int64s, Int64s, Int32s]:
        """The different keys held that this partitioner hashes.

        Returns int64[held] fingerprints, int64[held, 2] weights, int32[held] hashes.
        """
        hashings = [hashing(each) for each in self.names]
        of = hashings[self.names.index(name)]
        fingerprints, weights, hashes = self.distinct.entries()
        chosen = np.ascontiguousarray(hashes[:, _functions(hashings).index((of.encoding, of.hash))])
        if not of.empty_as_null:
            return fingerprints, weights, chosen
        some = fingerprints != fingerprints_of(encodings.byte_strings([b""]))[0]
        return fingerprints[some], weights[some], chosen[some]


def fingerprints_of(keys: Keys) -> Int64s:
    """int64[len(keys)], never 0: 64 well-mixed bits of each key's bytes, the same for two of a million once in 40 million."""
    tokens = cassandra_tokens(keys)
    if not tokens.all():
        tokens[tokens == 0] = 1
    return tokens


def hashing(name: str) -> Hashing:
    """How the partitioner of that name hashes; raises UnknownStrategy, or InvalidQuestion if it does not, or gives tokens."""
    partitioner = PARTITIONERS[name]
    if partitioner.hash is None:
        raise InvalidQuestion(f"the partitioner {name} looks at no key, so that no count moves any", "partitioners")
    if partitioner.sign is None:
        raise InvalidQuestion(f"the partitioner {name} gives tokens, not partitions", "partitioners")
    counts_as = partitioner.null.counts_as
    return Hashing(
        partitioner.encoding,
        partitioner.hash,
        partitioner.sign,
        empty_as_null=partitioner.empty_key == AS_NULL,
        null_hash=None if counts_as is None else counts_as(),
    )


def _functions(hashings: list[Hashing]) -> list[tuple[Encoding, Hash]]:
    """What has to be hashed how: each once, in the order of the partitioners."""
    return list(dict.fromkeys((of.encoding, of.hash) for of in hashings))


def _moduli(partitions_counts: tuple[int, ...], current: int | None) -> tuple[int, ...]:
    """The residues to count by, largest first: of every count and of every pair with today's one is among them a multiple."""
    wanted = set(partitions_counts)
    if current is not None:
        wanted |= {current} | {lcm(n, current) for n in partitions_counts if lcm(n, current) <= PAIRED}
    moduli: list[int] = []
    for n in sorted(wanted, reverse=True):
        if any(modulus % n == 0 for modulus in moduli):
            continue
        together = [(lcm(modulus, n), i) for i, modulus in enumerate(moduli) if lcm(modulus, n) <= TOGETHER]
        if together:
            multiple, i = min(together)
            moduli[i] = multiple
        else:
            moduli.append(n)
    return tuple(moduli)


def _length(column: Column) -> int:
    if isinstance(column, encodings.Text):
        return len(column.keys)
    return len(column.values) if isinstance(column, encodings.Numbers) else len(column)


def _namer(keys: Keys) -> Callable[[int], bytes]:
    """The bytes of a row's key."""
    return lambda row: keys.data[keys.offsets[row] : keys.offsets[row + 1]].tobytes()


@njit(nogil=True, cache=True)
def add_up(residues: Int32s, weights: Int64s, table: Int64s) -> None:
    """Add ``weights[i]`` to ``table[residues[i]]``: int32[n], int64[n, 2], int64[modulus, 2]."""
    for i in range(len(residues)):
        residue = residues[i]
        table[residue, 0] += weights[i, 0]
        table[residue, 1] += weights[i, 1]


@njit(nogil=True, cache=True)
def count_up(residues: Int32s, table: Int64s) -> None:
    """Add one record to ``table[residues[i]]``: int32[n], int64[modulus, 2]."""
    for residue in residues:
        table[residue, 0] += 1
