"""Keys and the partitions on which they were seen, as evidence: each distinct pair once, and which classes explain it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from service.core.budget import check_time
from service.core.kernels import kernel
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.model import Bools, Bytes, Float64s, Int32s, Int64s
from service.core.partitioners.murmur3 import cassandra_tokens
from service.planner.attribution import equivalents
from service.planner.attribution.equivalents import Hashes, PartitionerClass
from service.planner.attribution.mixtures import Pairs, Patterns

NO_KEY, EMPTY_KEY = 1, 2
"""Kinds of records whose partition may not depend on the key."""

KIND = 60
"""The lowest bit of the kind in a pattern's code; the bits below it are one for each class."""


@dataclass(frozen=True)
class KeyObservations:
    """The distinct pairs, in the order of their first rows. Keys are equal if their key hashes are.

    column : the key of each pair
    rows : int64[pairs], the row where it was seen first
    partition_ids : int32[pairs]
    times : int64[pairs], how often it was seen
    kinds : uint8[pairs], 0, NO_KEY or EMPTY_KEY
    key_indices : int32[pairs], the same for equal keys
    keys : the number of distinct keys; records without a key do not count
    pair_indices : int32[n], the pair of each row
    """

    column: Column
    key_format: str
    rows: Int64s
    partition_ids: Int32s
    times: Int64s
    kinds: Bytes
    key_indices: Int32s
    keys: int
    pair_indices: Int32s

    @property
    def pairs(self) -> int:
        """The number of distinct pairs."""
        return len(self.rows)


def observe(column: Column, key_format: str, partition_ids: Int32s) -> KeyObservations:
    """The observations, grouped into distinct pairs. partition_ids : int32[n]"""
    serialized = columns.SERIALIZED.run(column, key_format)
    n = len(partition_ids)
    kinds = np.zeros(n, np.uint8)
    kinds[np.diff(serialized.offsets) == 0] = EMPTY_KEY
    tokens = np.asarray(cassandra_tokens(serialized), np.int64)
    if serialized.valid is not None:
        kinds[~serialized.valid] = NO_KEY
        tokens = np.where(serialized.valid, tokens, 0)
    order = np.lexsort((partition_ids, tokens, kinds))
    new_key = np.ones(n, np.bool_)
    new_key[1:] = (np.diff(tokens[order]) != 0) | (np.diff(kinds[order]) != 0)
    new_pair = new_key.copy()
    new_pair[1:] |= np.diff(partition_ids[order]) != 0
    starts = np.flatnonzero(new_pair)
    in_order = np.argsort(order[starts])  # lexsort is stable, so a pair starts with its first row
    rows = order[starts][in_order]
    pair_indices = np.empty(n, np.int32)
    pair_indices[order] = np.argsort(in_order)[np.cumsum(new_pair) - 1]
    return KeyObservations(
        column if len(rows) == n else columns.rows_of(column, rows),
        key_format,
        rows,
        partition_ids[rows],
        np.diff(np.append(starts, n))[in_order],
        kinds[rows],
        (np.cumsum(new_key) - 1).astype(np.int32)[starts][in_order],
        int((new_key & (kinds[order] != NO_KEY)).sum()),
        pair_indices,
    )


def sample(classes: tuple[PartitionerClass, ...], observations: KeyObservations, most: int) -> tuple[Float64s, Int32s]:
    """float64[classes, n], ``Hashes.dividends`` of the first distinct pairs, and int32[n], where these were seen. most : of n"""
    few = slice(0, min(most, observations.pairs))
    hashes = equivalents.hash_all(classes, columns.rows_of(observations.column, few), observations.key_format)
    return hashes.dividends(), observations.partition_ids[few]


@kernel
def matches(dividends: Float64s, partitions: Int32s, counts: Int64s, tried: Bools) -> Int64s:
    """How often a class puts a key on the partition where it was seen, for each class and partition count.

    dividends : float64[classes, n], whole numbers below 2^33, or NaN where the partition does not depend on the key
    partitions : int32[n]
    counts : int64[...]   partition counts
    tried : bool[classes, counts], those to try
    Returns int64[classes, counts], 0 where not tried. A whole quotient is exact in float64, even by a reciprocal and rounding,
    and this form vectorises. Plain-Python twin: tests/reference/fingerprints.py.
    """
    matching = np.zeros((len(dividends), len(counts)), np.int64)
    for c in range(len(counts)):
        count = np.float64(counts[c])
        reciprocal = 1.0 / count
        for k in range(len(dividends)):
            if not tried[k, c]:
                continue
            total = np.int64(0)
            for i in range(len(partitions)):
                difference = dividends[k, i] - partitions[i]
                total += (np.rint(difference * reciprocal) * count == difference) and partitions[i] < count
            matching[k, c] = total
    return matching


def explained_by(partitions: Int32s, partition_ids: Int32s) -> Int64s:
    """int64[n]: bit k is set if class k puts the key where it was seen.

    partitions : int32[classes, n], at most 60 classes; partition_ids : int32[n], where the keys were seen
    """
    bits = np.zeros(len(partition_ids), np.int64)
    for k, of_class in enumerate(partitions):
        bits |= (of_class == partition_ids).astype(np.int64) << k
    return bits


def find_patterns(
    classes: tuple[PartitionerClass, ...], observations: KeyObservations, partitions_counts: list[int]
) -> dict[int, Patterns]:
    """The distinct pairs by the classes that explain them, at each of several partition counts."""
    tallies: dict[int, dict[int, list[int]]] = {n: {} for n in partitions_counts}
    for rows, hashes in _hashed_blocks(classes, observations):
        times = observations.times[rows]
        for n, tally in tallies.items():
            check_time()
            codes, code_of = np.unique(_codes(hashes, observations, rows, n), return_inverse=True)
            pairs, seen_times = np.bincount(code_of), np.bincount(code_of, times).astype(np.int64)
            for code, *counts in zip(codes.tolist(), pairs.tolist(), seen_times.tolist(), strict=True):
                tally[code] = [a + b for a, b in zip(tally.get(code, (0, 0)), counts, strict=True)]
    return {
        n: _patterns(classes, n, np.array(list(tally), np.int64), np.array(list(tally.values()), np.int64).reshape(-1, 2))
        for n, tally in ((n, dict(sorted(tally.items()))) for n, tally in tallies.items())
    }


def find_pairs(
    classes: tuple[PartitionerClass, ...], observations: KeyObservations, partitions_count: int
) -> tuple[Patterns, Pairs]:
    """The distinct pairs by the classes that explain them, and each pair with its key."""
    codes = [_codes(hashes, observations, rows, partitions_count) for rows, hashes in _hashed_blocks(classes, observations)]
    codes_seen, code_of = np.unique(np.concatenate(codes), return_inverse=True)
    pairs = Pairs(observations.key_indices, code_of, observations.times.astype(np.float64))
    totals = np.stack([np.bincount(code_of), np.bincount(code_of, pairs.times)], axis=1).astype(np.int64)
    return _patterns(classes, partitions_count, codes_seen, totals), pairs


def _hashed_blocks(classes: tuple[PartitionerClass, ...], observations: KeyObservations) -> Iterator[tuple[slice, Hashes]]:
    """The pairs of each block, and the hashes of their keys."""
    for start, block in equivalents.blocks(observations.column):
        yield slice(start, start + equivalents.BLOCK), equivalents.hash_all(classes, block, observations.key_format)


def _codes(hashes: Hashes, observations: KeyObservations, pairs: slice, partitions_count: int) -> Int64s:
    """int64[...] for some of the pairs, the bits of the classes that explain them, and their kinds.

    The kind is part of the code: it decides for which classes the partition does not depend on the key.
    """
    bits = explained_by(hashes.partitions(partitions_count), observations.partition_ids[pairs])
    return bits | observations.kinds[pairs].astype(np.int64) << KIND


def _patterns(classes: tuple[PartitionerClass, ...], partitions_count: int, codes: Int64s, totals: Int64s) -> Patterns:
    """The patterns of some codes. totals : int64[codes, 2], their pairs and observations"""
    explained = (codes[:, None] >> np.arange(len(classes))) & 1 == 1
    no_hash = np.array([each.rule.null_hash is None for each in classes], np.bool_)
    # For each kind of record (0, NO_KEY, EMPTY_KEY): does its partition not depend on the key?
    as_null = np.array([each.rule.empty_as_null for each in classes], np.bool_)
    undecided = np.stack([np.zeros_like(no_hash), no_hash, no_hash & as_null], axis=1)
    return Patterns(partitions_count, explained, undecided[:, codes >> KIND].T, totals[:, 0], totals[:, 1])


def first_rows(
    classes: tuple[PartitionerClass, ...],
    observations: KeyObservations,
    partitions_count: int,
    masks: list[tuple[int, int]],
    most: int,
) -> list[list[int]]:
    """For each (mask, bits), the first rows of distinct pairs with a key that, of the classes in mask, those in bits explain."""
    first: list[list[int]] = [[] for _ in masks]
    for pairs, hashes in _hashed_blocks(classes, observations):
        bits = explained_by(hashes.partitions(partitions_count), observations.partition_ids[pairs])
        candidates = observations.kinds[pairs] != NO_KEY
        for (mask, explaining), firsts in zip(masks, first, strict=True):
            hits = np.flatnonzero(candidates & (bits & mask == explaining))
            firsts.extend(observations.rows[pairs][hits[: most - len(firsts)]].tolist())
        if all(len(firsts) >= most for firsts in first):
            break
    return first
