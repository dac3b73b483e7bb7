"""The murmur3 family: the standard x86 32 (Pulsar), Spark's with its own tail, Cassandra's x64 128 with signed tail bytes.

mmh3 hashes one Python object a call; a million keys would be a million objects, so these are kernels. mmh3 answers where it is
exact and the keys are few: the standard one. In the tests it is the oracle of the standard one, and of Cassandra's unless a tail
byte is 0x80 or more.
"""

from itertools import pairwise
from typing import Final

import mmh3
import numpy as np
from numba import njit

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bytes, Int32s, Int64s, Keys
from service.core.partitioners.hashing_rule import Hash, hash_by
from service.core.partitioners.side_by_side import (
    ONE,
    PAIRS,
    TOGETHER,
    TWO,
    UInt32s,
    UInt64s,
    are_hashed,
    fill,
    in_rows,
)
from service.core.words import long_word, rotl32, rotl64, word

SPARK_SEED = 42

FEW: Final = 2
"""Up to this many keys mmh3 is used: as fast as a kernel's call, and without loading the kernel. See docs/adr/0007."""

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_D1, _D2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_MIN_LONG, _MAX_LONG = np.int64(-(2**63)), np.int64(2**63 - 1)


def murmur3(keys: Keys) -> Int32s:
    """The standard murmur3 x86 32, seed 0, of each key (Pulsar's Murmur3_32Hash). Returns int32[len(keys)]."""
    if len(keys) <= FEW:
        return np.array([mmh3.hash(keys.data[start:end].tobytes()) for start, end in pairwise(keys.offsets.tolist())], np.int32)
    return _murmur3_x86_32(keys.offsets, keys.data, np.uint32(0), False)


def cassandra_tokens(keys: Keys) -> Int64s:
    """Murmur3Partitioner.getToken of each key (Cassandra 5.0.9).

    An empty key has the smallest long; a hash that equals it becomes the largest long. Returns int64[len(keys)].
    """
    return _cassandra_tokens(keys.offsets, keys.data)


@njit(nogil=True, cache=True, inline="always")
def _scramble(k: np.uint32) -> np.uint32:
    return np.uint32(rotl32(np.uint32(k * _C1), 15) * _C2)


@njit(nogil=True, cache=True, inline="always")
def _mix(h: np.uint32, k: np.uint32) -> np.uint32:
    """One block."""
    return np.uint32(rotl32(h ^ _scramble(k), 13) * np.uint32(5) + np.uint32(0xE6546B64))


@kernel
def _murmur3_x86_32(offsets: Int32s, data: Bytes, seed: np.uint32, by_byte: bool) -> Int32s:  # noqa: FBT001 (a kernel)
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n].

    by_byte : as Spark, for which each byte of the tail is a block of its own, sign-extended
    """
    hashes = np.full(len(offsets) - 1, seed, np.uint32)
    pairs = np.empty((PAIRS, TOGETHER), np.uint64)
    for first in range(0, len(hashes), TOGETHER):
        some, of_some = offsets[first : first + TOGETHER + 1], hashes[first : first + TOGETHER]
        done = in_rows(some, np.uint64(8))
        _mix_pairs(some, data, done, of_some, pairs)
        if not are_hashed(some, done):
            _mix_rests(some, data, done, by_byte, of_some)
        for i in range(len(of_some)):
            mixed = np.uint32(of_some[i] ^ np.uint32(some[i + 1] - some[i]))
            mixed = np.uint32((mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B))
            mixed = np.uint32((mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35))
            of_some[i] = np.uint32(mixed ^ (mixed >> np.uint32(16)))
    return hashes.view(np.int32)


@inner_kernel
def _mix_pairs(offsets: Int32s, data: Bytes, end: np.uint64, hashes: UInt32s, pairs: UInt64s) -> None:
    """Mix in the first ``end`` bytes of each key."""
    words = pairs.view(np.uint32)
    for begin in range(np.uint64(0), end, np.uint64(8 * PAIRS)):
        for row in range(fill(offsets, data, begin, end, pairs)):
            for i in range(np.uint64(len(hashes))):
                hashes[i] = _mix(_mix(hashes[i], words[row, TWO * i]), words[row, TWO * i + ONE])


@inner_kernel
def _mix_rests(offsets: Int32s, data: Bytes, done: np.uint64, by_byte: bool, hashes: UInt32s) -> None:  # noqa: FBT001 (a kernel)
    """Mix in what comes after the first ``done`` bytes of each key."""
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]) + done, np.uint64(offsets[i + 1])
        h = hashes[i]
        while end - at >= np.uint64(4):
            h = _mix(h, word(data, at))
            at += np.uint64(4)
        k, shift = np.uint32(0), np.uint32(0)
        while by_byte and at < end:
            h = _mix(h, np.uint32(np.int8(data[at])))
            at += np.uint64(1)
        while at < end:
            k = np.uint32(k | (np.uint32(data[at]) << shift))
            shift = np.uint32(shift + np.uint32(8))
            at += np.uint64(1)
        hashes[i] = h ^ _scramble(k)


@njit(nogil=True, cache=True, inline="always")
def fmix64(k: np.uint64) -> np.uint64:
    """How murmur3 x64 mixes a word at the end."""
    k = (k ^ (k >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    k = (k ^ (k >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return k ^ (k >> np.uint64(33))


@njit(nogil=True, cache=True, inline="always")
def signed_tail(data: Bytes, at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The last bytes, 15 at most, as two words. They are Java's: the sign of each is carried into all higher bits."""
    k1, k2, shift = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(at, end):
        signed = np.uint64(np.int64(np.int8(data[i])))
        if shift < np.uint64(64):
            k1 ^= signed << shift
        else:
            k2 ^= signed << (shift - np.uint64(64))
        shift += np.uint64(8)
    return k1, k2


@kernel
def _cassandra_tokens(offsets: Int32s, data: Bytes) -> Int64s:
    """The loop: the first half of hash3_x64_128, seed 0. offsets : int32[n + 1]; data : uint8[...]. Returns int64[n]."""
    tokens = np.empty(len(offsets) - 1, np.int64)
    pairs = np.empty((PAIRS, TOGETHER), np.uint64)
    h1, h2 = np.empty(TOGETHER, np.uint64), np.empty(TOGETHER, np.uint64)
    for first in range(0, len(tokens), TOGETHER):
        some, of_some = offsets[first : first + TOGETHER + 1], tokens[first : first + TOGETHER]
        h1[:] = 0
        h2[:] = 0
        done = in_rows(some, np.uint64(16))
        _mix_blocks(some, data, done, h1, h2, pairs)
        if not are_hashed(some, done):
            _mix_ends(some, data, done, h1, h2)
        for i in range(len(of_some)):
            length = np.uint64(some[i + 1] - some[i])
            x, y = h1[i] ^ length, h2[i] ^ length
            x += y
            y += x
            token = np.int64(fmix64(x) + fmix64(y))
            if length == 0:
                token = _MIN_LONG
            elif token == _MIN_LONG:
                token = _MAX_LONG
            of_some[i] = token
    return tokens


@inner_kernel
def _mix_blocks(offsets: Int32s, data: Bytes, end: np.uint64, h1: UInt64s, h2: UInt64s, pairs: UInt64s) -> None:
    """Mix in the first ``end`` bytes of each key: blocks of two pairs."""
    for begin in range(np.uint64(0), end, np.uint64(8 * PAIRS)):
        for row in range(np.uint64(0), fill(offsets, data, begin, end, pairs), np.uint64(2)):
            for i in range(np.uint64(len(offsets) - 1)):
                h1[i], h2[i] = _mix_block(h1[i], h2[i], pairs[row, i], pairs[row + np.uint64(1), i])


@njit(nogil=True, cache=True, inline="always")
def _mix_block(h1: np.uint64, h2: np.uint64, k1: np.uint64, k2: np.uint64) -> tuple[np.uint64, np.uint64]:
    """One block."""
    h1 = rotl64(h1 ^ (rotl64(k1 * _D1, 31) * _D2), 27) + h2
    h1 = h1 * np.uint64(5) + np.uint64(0x52DCE729)
    h2 = rotl64(h2 ^ (rotl64(k2 * _D2, 33) * _D1), 31) + h1
    return h1, h2 * np.uint64(5) + np.uint64(0x38495AB5)


@inner_kernel
def _mix_ends(offsets: Int32s, data: Bytes, done: np.uint64, h1s: UInt64s, h2s: UInt64s) -> None:
    """Mix in what comes after the first ``done`` bytes of each key."""
    for i in range(len(offsets) - 1):
        at, end = np.uint64(offsets[i]) + done, np.uint64(offsets[i + 1])
        h1, h2 = h1s[i], h2s[i]
        while end - at >= np.uint64(16):
            h1, h2 = _mix_block(h1, h2, long_word(data, at), long_word(data, at + np.uint64(8)))
            at += np.uint64(16)
        k1, k2 = signed_tail(data, at, end)
        h1s[i] = h1 ^ (rotl64(k1 * _D1, 31) * _D2)
        h2s[i] = h2 ^ (rotl64(k2 * _D2, 33) * _D1)


MURMUR3 = Hash("murmur3 x86 32, seed 0", lambda keys, _: murmur3(keys))
MAXWELL = hash_by("murmur3 x86 32, seed 25342", _murmur3_x86_32, np.uint32(25342), False)
SPARK = hash_by("murmur3 x86 32 with Spark's tail, seed 42", _murmur3_x86_32, np.uint32(SPARK_SEED), True)
CASSANDRA = hash_by("murmur3 x64 128 with signed tail bytes, first half", _cassandra_tokens)
"""Spark's is hashUnsafeBytes; its hashInt and hashLong are that of 4 or 8 bytes."""
