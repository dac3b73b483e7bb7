"""Keys and the partitions on which they were seen, as evidence: each distinct pair once, and which classes explain it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.core.attribution import equivalents
from service.core.attribution.equivalents import PartitionerClass
from service.core.attribution.mixtures import Patterns
from service.core.kernels import kernel
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.model import Int32s, Int64s
from service.core.partitioners.murmur3 import cassandra_tokens

Dividends = npt.NDArray[np.float64]

NO_KEY, EMPTY_KEY = 1, 2
"""Kinds of records whose partition may not depend on the key."""

KIND = 60
"""The lowest bit of the kind in a pattern's code; the bits below it are one for each class."""


@dataclass(frozen=True)
class Observations:
    """Keys, where they were seen, and which observations are the first of their pair. Keys are equal if their key hashes are.

    partition_ids : int32[n]
    times : int64[n], how often the pair was seen, at its first row; 0 at the others
    kinds : uint8[n], 0, NO_KEY or EMPTY_KEY
    keys : the number of distinct keys; records without a key do not count
    """

    column: Column
    key_format: str
    partition_ids: Int32s
    times: Int64s
    kinds: npt.NDArray[np.uint8]
    keys: int

    @property
    def pairs(self) -> int:
        """The number of distinct pairs."""
        return int(np.count_nonzero(self.times))


def observe(column: Column, key_format: str, partition_ids: Int32s) -> Observations:
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
    times = np.zeros(n, np.int64)
    times[order[starts]] = np.diff(np.append(starts, n))
    return Observations(column, key_format, partition_ids, times, kinds, int((new_key & (kinds[order] != NO_KEY)).sum()))


def sample(classes: tuple[PartitionerClass, ...], observations: Observations, most: int) -> tuple[Dividends, Int32s]:
    """The first distinct pairs: what each class takes modulo the partition count, and where they were seen.

    Returns float64[classes, n], as ``Hashes.dividends``, and int32[n]; n is at most ``most``.
    """
    dividends, partitions, left = [], [], most
    for start, block in equivalents.blocks(observations.column):
        first = np.flatnonzero(observations.times[start : start + equivalents.BLOCK])[:left]
        dividends.append(equivalents.hash_all(classes, block, observations.key_format).dividends()[:, first])
        partitions.append(observations.partition_ids[start + first])
        left -= len(first)
        if left == 0:
            break
    return np.ascontiguousarray(np.concatenate(dividends, axis=1)), np.concatenate(partitions)


@kernel
def matches(dividends: Dividends, partitions: Int32s, counts: Int64s) -> Int64s:
    """How often a class puts a key on the partition where it was seen, for each class and partition count.

    dividends : float64[classes, n], whole numbers below 2^33, or NaN where the partition does not depend on the key
    partitions : int32[n]
    counts : int64[...]   partition counts
    Returns int64[classes, counts]. A whole quotient is exact in float64, even by a reciprocal and rounding, and this form
    vectorises. Plain-Python twin: tests/reference/fingerprints.py.
    """
    matching = np.zeros((len(dividends), len(counts)), np.int64)
    for c in range(len(counts)):
        count = np.float64(counts[c])
        reciprocal = 1.0 / count
        for k in range(len(dividends)):
            total = np.int64(0)
            for i in range(len(partitions)):
                difference = dividends[k, i] - partitions[i]
                total += (np.rint(difference * reciprocal) * count == difference) and partitions[i] < count
            matching[k, c] = total
    return matching


@kernel
def explained_by(partitions: Int32s, partition_ids: Int32s) -> Int64s:
    """int64[n]: bit k is set if class k puts the key where it was seen.

    partitions : int32[classes, n], at most 60 classes; partition_ids : int32[n], where the keys were seen
    """
    bits = np.zeros(len(partition_ids), np.int64)
    for k in range(len(partitions)):
        for i in range(len(partition_ids)):
            if partitions[k, i] == partition_ids[i]:
                bits[i] |= np.int64(1) << k
    return bits


def find_patterns(
    classes: tuple[PartitionerClass, ...], observations: Observations, partitions_counts: list[int]
) -> dict[int, Patterns]:
    """The distinct pairs by the classes that explain them, at each of several partition counts."""
    tallies: dict[int, dict[int, list[int]]] = {n: {} for n in partitions_counts}
    for start, block in equivalents.blocks(observations.column):
        rows = slice(start, start + equivalents.BLOCK)
        first = np.flatnonzero(observations.times[rows])
        partition_ids, times = observations.partition_ids[rows], observations.times[rows][first]
        # The kind is part of the code: it decides for which classes the partition does not depend on the key.
        kinds = observations.kinds[rows][first].astype(np.int64) << KIND
        hashes = equivalents.hash_all(classes, block, observations.key_format)
        for n, tally in tallies.items():
            codes, code_of = np.unique(explained_by(hashes.partitions(n), partition_ids)[first] | kinds, return_inverse=True)
            pairs, seen_times = np.bincount(code_of), np.bincount(code_of, times).astype(np.int64)
            for code, *counts in zip(codes.tolist(), pairs.tolist(), seen_times.tolist(), strict=True):
                tally[code] = [a + b for a, b in zip(tally.get(code, (0, 0)), counts, strict=True)]
    return {n: _patterns(classes, n, tally) for n, tally in tallies.items()}


def _patterns(classes: tuple[PartitionerClass, ...], partitions_count: int, tally: dict[int, list[int]]) -> Patterns:
    codes = np.array(sorted(tally), np.int64)
    totals = np.array([tally[code] for code in sorted(tally)], np.int64).reshape(-1, 2)
    explained = (codes[:, None] >> np.arange(len(classes))) & 1 == 1
    undecided = np.array([_undecided_kinds(each) for each in classes], np.bool_).reshape(-1, 3)
    return Patterns(partitions_count, explained, undecided[:, codes >> KIND].T, totals[:, 0], totals[:, 1])


def _undecided_kinds(each: PartitionerClass) -> tuple[bool, bool, bool]:
    """For each kind of record (0, NO_KEY, EMPTY_KEY): does its partition not depend on the key?"""
    no_hash = each.rule.null_hash is None
    return False, no_hash, no_hash and each.rule.empty_as_null


def first_rows(
    classes: tuple[PartitionerClass, ...],
    observations: Observations,
    partitions_count: int,
    masks: list[tuple[int, int]],
    most: int,
) -> list[list[int]]:
    """For each (mask, bits), the first rows of distinct pairs with a key that, of the classes in mask, those in bits explain."""
    first: list[list[int]] = [[] for _ in masks]
    for start, block in equivalents.blocks(observations.column):
        rows = slice(start, start + equivalents.BLOCK)
        partitions = equivalents.hash_all(classes, block, observations.key_format).partitions(partitions_count)
        bits = explained_by(partitions, observations.partition_ids[rows])
        candidates = (observations.times[rows] > 0) & (observations.kinds[rows] != NO_KEY)
        for (mask, explaining), firsts in zip(masks, first, strict=True):
            hits = np.flatnonzero(candidates & (bits & mask == explaining))
            firsts.extend((start + hits[: most - len(firsts)]).tolist())
        if all(len(firsts) >= most for firsts in first):
            break
    return first
