"""The part of a partitioner that depends on the key: hash, sign rule, and what stands for a record without a key.

``allocation.py`` has the sign rules, and applies all of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.core.keys.columns import Encoding
from service.core.model import Int32s, Keys


@dataclass(frozen=True)
class Hash:
    """A hash function: ``run(keys, key_format)`` → int32[n].

    Cassandra's tokens are int64[n]. ``bits`` is over 32 where a partition depends on more of them: int64[n] numbers, or an MD5 as
    uint64[n, 2].
    """

    name: str
    run: Callable[[Keys, str], Int32s]
    bits: int = 32


def hash_by(name: str, loop: Callable[..., Any], *arguments: Any, bits: int = 32) -> Hash:
    """The hash of a kernel: ``loop(offsets, data, *arguments)`` of the keys' bytes."""
    return Hash(name, lambda keys, _: loop(keys.offsets, keys.data, *arguments), bits)


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
    """The part of a partitioner that depends on the key.

    ::

        key ── encoding ──→ bytes ── hash ──→ int32 ── sign rule ──→ not negative ── modulo ──→ partition

    A record without a key is either hashed as some fixed value (``null_hash``), or its partition does not depend on keys at all.

    encoding : how the client turns a key into the bytes that it hashes
    null_hash : the hash that stands for a record without a key; None where a counter or a random number decides
    empty_as_null : is a record with an empty key treated as one without a key?
    """

    encoding: Encoding
    hash: Hash
    sign: Sign
    null_hash: int | None
    empty_as_null: bool
