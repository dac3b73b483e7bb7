"""A few thousand keys, by their bytes, that stand for all: the histogram of a summary.

Kept are the keys whose hash is below a threshold; when they become too many it is halved. So every key has the same chance to be
in, a key that is in was counted from its first record on, and samples of parts of the data make that of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from service.columns import flat
from service.core.keys import byte_strings
from service.core.partition_counts import add_up, fingerprints_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from service.core.model import Int64s, Keys

KEYS: Final = 4096
"""Most keys kept."""


@dataclass
class KeySample:
    """``weights``: key → its records and bytes. All keys are in it while ``threshold`` is 2^32."""

    threshold: int = 2**32
    weights: dict[bytes, list[int]] = field(default_factory=dict)

    def add(self, keys: Keys, fingerprints: Int64s, sizes: Int64s | None) -> None:
        """Add records: their serialized keys, the int64[n] fingerprints, and int64[n] bytes. Null keys are passed over."""
        rows = np.flatnonzero(fingerprints.view(np.uint64) <= np.uint64((self.threshold << 32) - 1))
        if keys.valid is not None:
            rows = rows[keys.valid[rows]]
        if not len(rows):
            return
        column = pa.Array.from_buffers(pa.binary(), len(keys), [None, pa.py_buffer(keys.offsets), pa.py_buffer(keys.data)])
        of_rows = np.ones((len(rows), 2), np.int64)
        of_rows[:, 1] = 0 if sizes is None else sizes[rows]
        encoded = column.take(pa.array(rows)).dictionary_encode()
        found, weights = encoded.dictionary, np.zeros((len(encoded.dictionary), 2), np.int64)
        add_up(encoded.indices.to_numpy(), of_rows, weights)
        if len(found) > KEYS:
            # More than may stay: lower the threshold before there is Python work for each.
            hashes = hashes_of(flat(found))
            self.threshold = min(self.threshold, _threshold(hashes))
            stays = hashes < self.threshold
            found, weights = found.filter(pa.array(stays)), weights[stays]
            self._keep_below()
        for key, (records, size) in zip(found.to_pylist(), weights.tolist(), strict=True):
            self._add(key, records, size)
        self._trim()

    def merge(self, other: KeySample) -> None:
        """Add what another one has seen."""
        self.threshold = min(self.threshold, other.threshold)
        for key, (records, size) in other.weights.items():
            self._add(key, records, size)
        self._keep_below()
        self._trim()

    def _add(self, key: bytes, records: int, size: int) -> None:
        weights = self.weights.setdefault(key, [0, 0])
        weights[0] += records
        weights[1] += size

    def _trim(self) -> None:
        while len(self.weights) > KEYS:
            self.threshold //= 2
            self._keep_below()

    def _keep_below(self) -> None:
        names = [*self.weights]
        below = hashes_of(byte_strings(names)) < self.threshold
        self.weights = {name: self.weights[name] for name, is_below in zip(names, below.tolist(), strict=True) if is_below}


def hashes_of(keys: Keys) -> npt.NDArray[np.uint64]:
    """uint64[len(keys)] below 2^32, by which keys are chosen: the upper halves of their fingerprints."""
    return _upper(fingerprints_of(keys))


def _upper(fingerprints: Int64s) -> npt.NDArray[np.uint64]:
    return fingerprints.view(np.uint64) >> np.uint64(32)


def _threshold(hashes: npt.NDArray[np.uint64]) -> int:
    """The largest 2^32 ÷ 2^k that no more than KEYS of these hashes are below."""
    ascending, threshold = np.sort(hashes), 2**32
    while np.searchsorted(ascending, threshold) > KEYS:
        threshold //= 2
    return threshold
