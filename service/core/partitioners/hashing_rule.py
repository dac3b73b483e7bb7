"""The part of a partitioner that depends on the key: hash, sign rule, and what stands for a record without a key.

Each client deals with the sign of a 32-bit hash in its own way. A sign rule makes the hash a number that is not negative, and
takes it modulo the partition count; only Spark's takes the mathematical modulo of the signed hash. With h = -5 and 3 partitions:
mask 2147483643 % 3 = 0, unsigned 4294967291 % 3 = 2, rem-neg 5 % 3 = 2, abs0 5 % 3 = 2, pmod 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from service.core.kernels import kernel
from service.core.keys.columns import Encoding
from service.core.model import Bools, Int32s, Keys


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


_ALL_BITS, _WITHOUT_SIGN = np.int32(-1), np.int32(0x7FFFFFFF)


def _modulo(hashes: Int32s, n: int, bits: np.int32 = _ALL_BITS, plus: int = 2**32, *, absolute: bool = False) -> Int32s:
    """int32[...], ``value % n``, value being ``hash & bits``, or that of the absolute hash in Java, with ``plus`` if negative.

    n : 1 … 2147483647; plus : 2³¹ … 2³²
    """
    remainders = np.empty(len(hashes), np.int32)  # here, as in murmur2.py
    if n == 1:
        remainders[:] = 0
    else:
        _take_modulo(hashes, n, bits, plus, absolute, remainders)
    return remainders


def _debezium(hashes: Int32s, n: int) -> Int32s:
    masked = hashes & np.int32(0x7FFFFFFF)
    return _modulo(np.where(masked == 0x7FFFFFFF, np.int32(0), masked), n)


def _pmod(hashes: Int32s, n: int) -> Int32s:
    return _modulo(hashes, n, plus=-(-(2**31) // n) * n)  # the least multiple of n with which no hash is negative


MASK = Sign("mask", "(h & 0x7fffffff) % n", partial(_modulo, bits=_WITHOUT_SIGN), lambda h: h & 0x7FFFFFFF)
UNSIGNED = Sign("unsigned", "(h as uint32) % n", _modulo, lambda h: h % 2**32)
REM_NEG = Sign("rem-neg", "|h % n|, the remainder having the sign of h", partial(_modulo, absolute=True), abs)
ABS0 = Sign(
    "abs0",
    "abs(h) % n, where abs(-2147483648) is 0",
    partial(_modulo, bits=_WITHOUT_SIGN, absolute=True),
    lambda h: abs(h) & 0x7FFFFFFF,
)
PMOD = Sign("pmod", "the mathematical modulo of the signed h", _pmod, lambda h: h)
DEBEZIUM = Sign("debezium", "(h & 0x7fffffff) % n, 2147483647 being 0", _debezium, lambda h: (h & 0x7FFFFFFF) % 0x7FFFFFFF)
WIDE_PMOD = Sign("modulo", "the mathematical modulo of h", lambda h, n: (h % n).astype(np.int32), lambda h: h)


@kernel
def _take_modulo(hashes: Int32s, n: int, bits: np.int32, plus: int, absolute: bool, remainders: Int32s) -> None:  # noqa: FBT001
    """The loop, by a float64 reciprocal, which vectorises where a division does not: the quotient is right or one too small.

    n : 2 or more, so that quotients are int32. Processors without AVX-512 convert no vectors between float64 and int64.
    """
    reciprocal, divisor = 1.0 / n, np.float64(n)
    for i in range(len(hashes)):
        h = hashes[i]
        if absolute and h < 0:
            h = np.int32(-h)
        value = np.float64(np.int32(h & bits))
        if value < 0:
            value += plus
        # r >= 0: a quotient below an integer is at least 1 / n below it, and the error is less than value / n / 2⁵¹ < 1 / n.
        r = value - np.int32(value * reciprocal) * divisor
        if r >= divisor:
            r -= divisor
        remainders[i] = np.int32(r)
