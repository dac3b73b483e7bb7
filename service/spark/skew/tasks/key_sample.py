"""A few thousand keys, by their bytes, that stand for all: the histogram of a summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.sizing.counter import ONE
from service.core.sizing.distinct_keys import DistinctKeys

if TYPE_CHECKING:
    from service.core.model import Int64s, Keys

KEYS: Final = 4096
"""Most keys kept."""


@dataclass
class KeySample:
    """The sample of ``DistinctKeys``, smaller, and with the bytes of each of its keys.

    names : fingerprint → the key's bytes
    """

    held: DistinctKeys = field(default_factory=lambda: DistinctKeys(functions=0, max_keys=KEYS))
    names: dict[int, bytes] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Are all keys in it?"""
        return self.held.level == 0

    @property
    def weights(self) -> dict[bytes, list[int]]:
        """Key → its records and bytes."""
        fingerprints, weights, _ = self.held.entries()
        return {self.names[key]: of for key, of in zip(fingerprints.tolist(), weights.tolist(), strict=True)}

    def add(self, keys: Keys, fingerprints: Int64s, sizes: Int64s | None) -> None:
        """Add records: their serialized keys, the int64[n] fingerprints, and int64[n] bytes. Null keys are passed over."""
        weights = ONE[None] if sizes is None else np.stack([np.ones(len(sizes), np.int64), sizes], axis=1)
        if keys.valid is None:
            rows = came = self.held.sample(fingerprints, weights, [])
        else:
            present = np.flatnonzero(keys.valid)
            fingerprints = fingerprints[present]
            came = self.held.sample(fingerprints, weights if sizes is None else weights[present], [])
            rows = present[came]
        texts = [keys.data[keys.offsets[row] : keys.offsets[row + 1]].tobytes() for row in rows.tolist()]
        self._name(dict(zip(fingerprints[came].tolist(), texts, strict=True)))

    def merge(self, other: KeySample) -> None:
        """Add what another one has seen."""
        self.held.merge_sample(other.held)
        self._name(other.names)

    def _name(self, names: dict[int, bytes]) -> None:
        """Learn names, and forget those of keys that are no longer held."""
        self.names |= names
        if len(self.names) > self.held.held:
            known = np.array([*self.names], np.int64)
            self.names = {key: self.names[key] for key in known[self.held.holds(known)].tolist()}
