"""Keys and the partitions they were seen on, as evidence: each different pair once, and what every writer says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from service.core.attribution import equivalents as of
from service.core.attribution.mixtures import Patterns
from service.core.keys import columns as encodings
from service.core.partitioners.murmur3 import cassandra_tokens

if TYPE_CHECKING:
    import numpy.typing as npt

    from service.core.attribution.equivalents import Writer
    from service.core.keys.columns import Column
    from service.core.model import Int32s, Int64s

    Dividends = npt.NDArray[np.float64]

NO_KEY, EMPTY_KEY = 1, 2
"""Kinds of keys of which a writer may say nothing."""

KIND = 60
"""The bit from which on a pattern's code holds the kind; below, a bit for each writer."""


@dataclass(frozen=True)
class Observations:
    """Keys, where they were seen, and which observations are the first of their pair. Keys are told apart by 64 bits of a hash.

    partition_ids : int32[n]
    times : int64[n], how often the pair was seen, at its first row; 0 at the others
    kinds : uint8[n], 0, NO_KEY or EMPTY_KEY
    keys : how many different keys there are, those without one not counted
    """

    column: Column
    key_format: str
    partition_ids: Int32s
    times: Int64s
    kinds: npt.NDArray[np.uint8]
    keys: int

    @property
    def pairs(self) -> int:
        """How many different pairs there are."""
        return int(np.count_nonzero(self.times))


def observe(column: Column, key_format: str, partition_ids: Int32s) -> Observations:
    """The observations, each different pair found out. partition_ids : int32[n]"""
    serialized = encodings.SERIALIZED.run(column, key_format)
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


def sample(writers: tuple[Writer, ...], observations: Observations, most: int) -> tuple[Dividends, Int32s]:
    """The first different pairs: what each writer divides by the partition count, and where they were seen.

    Returns float64[writers, n], as ``Hashes.dividends``, and int32[n], n being at most ``most``.
    """
    dividends, seen, left = [], [], most
    for start, part in of.blocks(observations.column):
        first = np.flatnonzero(observations.times[start : start + of.BLOCK])[:left]
        dividends.append(of.hash_all(writers, part, observations.key_format).dividends()[:, first])
        seen.append(observations.partition_ids[start + first])
        left -= len(first)
        if left == 0:
            break
    return np.ascontiguousarray(np.concatenate(dividends, axis=1)), np.concatenate(seen)


@njit(nogil=True, cache=True)
def matches(dividends: Dividends, partitions: Int32s, counts: Int64s) -> Int64s:
    """How often a writer's partition is the given one, for each writer and partition count.

    dividends : float64[writers, n], whole numbers below 2^33, or NaN where the writer says nothing
    partitions : int32[n]
    counts : int64[...]   partition counts
    Returns int64[writers, counts]. A quotient that is whole is exact in float64, also by a reciprocal and rounding, and this way
    a processor does several at once. Plain-Python twin: tests/reference/fingerprints.py.
    """
    found = np.zeros((len(dividends), len(counts)), np.int64)
    for c in range(len(counts)):
        count = np.float64(counts[c])
        reciprocal = 1.0 / count
        for w in range(len(dividends)):
            total = np.int64(0)
            for i in range(len(partitions)):
                difference = dividends[w, i] - partitions[i]
                total += (np.rint(difference * reciprocal) * count == difference) and partitions[i] < count
            found[w, c] = total
    return found


@njit(nogil=True, cache=True)
def explained_by(partitions: Int32s, seen: Int32s) -> Int64s:
    """int64[n]: bit w is set where writer w puts the key where it was seen.

    partitions : int32[writers, n], at most 60 writers; seen : int32[n]
    """
    bits = np.zeros(len(seen), np.int64)
    for w in range(len(partitions)):
        for i in range(len(seen)):
            if partitions[w, i] == seen[i]:
                bits[i] |= np.int64(1) << w
    return bits


def patterns(writers: tuple[Writer, ...], observations: Observations, partitions_counts: list[int]) -> dict[int, Patterns]:
    """The different pairs by who explains them, at each of several partition counts."""
    tallies: dict[int, dict[int, list[int]]] = {n: {} for n in partitions_counts}
    for start, part in of.blocks(observations.column):
        rows = slice(start, start + of.BLOCK)
        first = np.flatnonzero(observations.times[rows])
        seen, times = observations.partition_ids[rows], observations.times[rows][first]
        # Beside who explains a pair, its kind says who has nothing to say.
        kinds = observations.kinds[rows][first].astype(np.int64) << KIND
        hashes = of.hash_all(writers, part, observations.key_format)
        for n, tally in tallies.items():
            codes, which = np.unique(explained_by(hashes.partitions(n), seen)[first] | kinds, return_inverse=True)
            pairs, often = np.bincount(which), np.bincount(which, times).astype(np.int64)
            for code, number, seen_times in zip(codes.tolist(), pairs.tolist(), often.tolist(), strict=True):
                row = tally.setdefault(code, [0, 0])
                row[0] += number
                row[1] += seen_times
    return {n: _patterns(writers, n, tally) for n, tally in tallies.items()}


def _patterns(writers: tuple[Writer, ...], partitions_count: int, tally: dict[int, list[int]]) -> Patterns:
    codes = np.array(sorted(tally), np.int64)
    totals = np.array([tally[code] for code in sorted(tally)], np.int64).reshape(-1, 2)
    explained = (codes[:, None] >> np.arange(len(writers))) & 1 == 1
    nothing = np.array([_says_nothing(writer) for writer in writers], np.bool_).reshape(-1, 3)
    return Patterns(partitions_count, explained, nothing[:, codes >> KIND].T, totals[:, 0], totals[:, 1])


def _says_nothing(writer: Writer) -> tuple[bool, bool, bool]:
    """Of which kinds of keys the writer says nothing."""
    return False, writer.keyless is None, not writer.empty_hashed and writer.empty is None


def first_rows(
    writers: tuple[Writer, ...], observations: Observations, partitions_count: int, masks: list[tuple[int, int]], most: int
) -> list[list[int]]:
    """For each (mask, bits) the first rows of different pairs with a key that of the mask's writers those of bits explain."""
    found: list[list[int]] = [[] for _ in masks]
    for start, part in of.blocks(observations.column):
        rows = slice(start, start + of.BLOCK)
        partitions = of.hash_all(writers, part, observations.key_format).partitions(partitions_count)
        bits = explained_by(partitions, observations.partition_ids[rows])
        telling = (observations.times[rows] > 0) & (observations.kinds[rows] != NO_KEY)
        for (mask, wanted), held in zip(masks, found, strict=True):
            hits = np.flatnonzero(telling & (bits & mask == wanted))
            held.extend((start + hits[: most - len(held)]).tolist())
        if all(len(held) >= most for held in found):
            break
    return found
