"""A sample, of bounded size, of the distinct (key, partition) pairs of ``mismatch``. Executors run this.

It holds the PAIRS pairs with the smallest hashes, so samples of parts of the data merge into the sample of the whole.
"""

from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from service.core.model import Int32s, Int64s

UInt64s = npt.NDArray[np.uint64]

PAIRS: Final = 2**15
"""Distinct pairs of each sample, at most."""


@dataclass
class PairSample:
    """The distinct pairs with the smallest hashes.

    hashes : uint64[at most PAIRS], ascending
    keys : int64[...], the 64-bit hash of the pair's key
    explained, undecided : int64[...], a bit for each writer: it puts the key there; it does not derive the partition from the key
    places : int32[..., 1 + hash functions], the partition, and the key's hash by each function of the writers
    times : int64[...], occurrences of the pair
    full : whether there were more pairs
    """

    hashes: UInt64s = field(default_factory=lambda: np.empty(0, np.uint64))
    keys: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    explained: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    undecided: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    places: Int32s | None = None
    times: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    full: bool = False

    def add(self, hashes: UInt64s, keys: Int64s, explained: Int64s, undecided: Int64s, places: Int32s, times: Int64s) -> None:
        """Add pairs, possibly repeated; all arrays [n], places [n, 1 + hash functions]."""
        if self.full:
            near = hashes <= self.hashes[-1]
            hashes, keys, explained, undecided, times = (each[near] for each in (hashes, keys, explained, undecided, times))
            places = places[near]
        everything = np.concatenate([self.hashes, hashes])
        kept, first, rank = np.unique(everything, return_index=True, return_inverse=True)
        counts = np.zeros(len(kept), np.int64)
        np.add.at(counts, rank, np.concatenate([self.times, times]))
        self.full = self.full or len(kept) > PAIRS
        first = first[:PAIRS]
        self.hashes, self.times = kept[:PAIRS], counts[:PAIRS]
        self.keys = np.concatenate([self.keys, keys])[first]
        self.explained = np.concatenate([self.explained, explained])[first]
        self.undecided = np.concatenate([self.undecided, undecided])[first]
        self.places = (places if self.places is None else np.concatenate([self.places, places]))[first]

    def merge(self, other: Self) -> None:
        """Add another sample. What a full sample left out has larger hashes than its PAIRS pairs, so it is not missed."""
        if other.places is not None:
            self.add(other.hashes, other.keys, other.explained, other.undecided, other.places, other.times)
        self.full = self.full or other.full

    @property
    def distinct(self) -> int:
        """The number of distinct pairs; an estimate (to about 1/√PAIRS) if there are more than the sample holds."""
        if not self.full:
            return len(self.hashes)
        return round((len(self.hashes) - 1) / (int(self.hashes[-1]) + 1) * 2**64)
