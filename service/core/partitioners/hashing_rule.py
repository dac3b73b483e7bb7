"""What a partitioner does with a key: the part of a partitioner that depends on the key.

::

    key ── encoding ──→ bytes ── hash ──→ int32 ── sign rule ──→ not negative ── modulo ──→ partition

A record without a key is either hashed as some fixed value (``null_hash``), or its partition does not depend on keys at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.keys.columns import Encoding
    from service.core.model import Bools, Int32s, Keys


@dataclass(frozen=True)
class Hash:
    """A hash function: ``run(keys, key_format)`` → int32[n] (int64[n] for Cassandra's tokens)."""

    name: str
    run: Callable[[Keys, str], Int32s]


@dataclass(frozen=True)
class Sign:
    """How a hash becomes a partition: ``run(hashes, partitions_count)`` → int32[n].

    ``before_modulo`` is its first step, for an int or an int64[n]: the partition is its result's mathematical modulo.
    """

    name: str
    rule: str
    run: Callable[[Int32s, int], Int32s]
    before_modulo: Callable[[Any], Any]


@dataclass(frozen=True)
class HashingRule:
    """A partitioner's way from keys to partitions.

    encoding : how the client turns a key into the bytes that it hashes
    null_hash : the hash that stands for a record without a key; None where a counter or a random number decides
    empty_as_null : is a record with an empty key treated as one without a key?
    """

    encoding: Encoding
    hash: Hash
    sign: Sign
    null_hash: int | None
    empty_as_null: bool

    def unhashed(self, keys: Keys) -> Bools | None:
        """bool[n], the records whose key is not hashed; None if there are none."""
        unhashed = None if keys.valid is None else ~keys.valid
        if self.empty_as_null:
            empty = keys.offsets[1:] == keys.offsets[:-1]
            if empty.any():
                unhashed = empty if unhashed is None else unhashed | empty
        return unhashed

    def settle(self, hashes: Int32s, keys: Keys) -> tuple[Int32s, Bools | None]:
        """The hashes, int32[n], with ``null_hash`` where the key is not hashed; and the records without a hash, as ``unhashed``.

        hashes : int32[n], of all keys; those of keys that are not hashed may have any value
        """
        unhashed = self.unhashed(keys)
        if unhashed is None or self.null_hash is None:
            return hashes, unhashed
        return np.where(unhashed, np.int32(self.null_hash), hashes), None
