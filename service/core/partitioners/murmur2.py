"""Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2, 4.3.1; the same since 0.8.2)."""

import numpy as np

from service.core.kernels import brief_kernel, inner_kernel, kernel
from service.core.model import Bytes, Int32s, Keys
from service.core.partitioners.hashing_rule import Hash
from service.core.partitioners.side_by_side import (
    FOR_ANY_CPU,
    ONE,
    PAIRS,
    TOGETHER,
    TWO,
    UInt32s,
    UInt64s,
    fill,
    have_one_length,
)
from service.core.words import word

SEED = 0x9747B28C
_M = np.uint32(0x5BD1E995)


def murmur2(keys: Keys, seed: int = SEED) -> Int32s:
    """Utils.murmur2 of each key; with another seed than Kafka's, the same algorithm. Returns int32[len(keys)]."""
    # NumPy's memory comes in pages of 2 MB where Linux has them, a kernel's in pages of 4 KB: first touching those takes as long
    # as hashing.
    hashes = np.empty(len(keys.offsets) - 1, np.uint32)
    hash_keys = _hash_each if len(hashes) < TOGETHER else _murmur2  # the latter takes five seconds to compile
    hash_keys(keys.offsets, keys.data, np.uint32(seed), hashes)
    return hashes.view(np.int32)


@kernel
def _murmur2(offsets: Int32s, data: Bytes, seed: np.uint32, hashes: UInt32s) -> None:
    """The loops. Plain-Python twin: tests/reference/hashes.py.

    offsets : int32[n + 1]; data : uint8[...]; hashes : uint32[n], written
    """
    pairs = np.empty((PAIRS, TOGETHER), np.uint64)
    for first in range(0, len(hashes), TOGETHER):
        some = offsets[first : first + TOGETHER + 1]
        if have_one_length(some):
            _hash_together(some, data, seed, hashes[first : first + TOGETHER], pairs)
        else:
            _hash_each(some, data, seed, hashes[first : first + TOGETHER])


@inner_kernel
def _hash_together(offsets: Int32s, data: Bytes, seed: np.uint32, hashes: UInt32s, pairs: UInt64s) -> None:
    """Hash keys of one length: the first words of each, then the next, and so on, which LLVM makes vectors of.

    pairs : uint64[PAIRS, TOGETHER]   scratch
    """
    start, length = np.uint64(offsets[0]), np.uint64(offsets[1] - offsets[0])
    tail = length & np.uint64(3)
    for i in range(np.uint64(len(hashes))):
        hashes[i] = seed ^ np.uint32(length)
    done = np.uint64(0) if FOR_ANY_CPU else _mix_pairs(offsets, data, hashes, pairs)
    for at in range(start + done, start + length - tail, np.uint64(4)):
        for i in range(np.uint64(len(hashes))):
            hashes[i] = _mixed(hashes[i], word(data, at + i * length))
    for at in range(tail):
        for i in range(np.uint64(len(hashes))):
            hashes[i] ^= np.uint32(data[start + (i + np.uint64(1)) * length - tail + at]) << np.uint32(np.uint64(8) * at)
    for i in range(np.uint64(len(hashes))):
        hashes[i] = _shuffled(np.uint32(hashes[i] * _M) if tail else hashes[i])


@inner_kernel
def _mix_pairs(offsets: Int32s, data: Bytes, hashes: UInt32s, pairs: UInt64s) -> np.uint64:
    """Mix in all pairs of words, and return how many bytes of each key they are."""
    whole, words = np.uint64(offsets[1] - offsets[0]) & ~np.uint64(7), pairs.view(np.uint32)
    for begin in range(np.uint64(0), whole, np.uint64(8 * PAIRS)):
        for row in range(fill(offsets, data, begin, whole, pairs)):
            for i in range(np.uint64(len(hashes))):
                hashes[i] = _mixed(_mixed(hashes[i], words[row, TWO * i]), words[row, TWO * i + ONE])
    return whole


@brief_kernel
def _hash_each(offsets: Int32s, data: Bytes, seed: np.uint32, hashes: UInt32s) -> None:
    """As ``_murmur2``, one key after the other."""
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        length = end - at
        tail = length & np.uint64(3)
        h = np.uint32(seed ^ np.uint32(length))
        words_end = end - tail
        while at < words_end:
            h = _mixed(h, word(data, at))
            at += np.uint64(4)
        if tail:
            if tail == 3:
                h ^= np.uint32(data[at + np.uint64(2)]) << np.uint32(16)
            if tail >= 2:
                h ^= np.uint32(data[at + np.uint64(1)]) << np.uint32(8)
            h = np.uint32((h ^ np.uint32(data[at])) * _M)
        hashes[i] = _shuffled(h)


@inner_kernel
def _mixed(h: np.uint32, k: np.uint32) -> np.uint32:
    """The hash with one word more."""
    k = np.uint32(k * _M)
    k = np.uint32((k ^ (k >> np.uint32(24))) * _M)
    return np.uint32(np.uint32(h * _M) ^ k)


@inner_kernel
def _shuffled(h: np.uint32) -> np.uint32:
    """The last steps."""
    h = np.uint32((h ^ (h >> np.uint32(13))) * _M)
    return np.uint32(h ^ (h >> np.uint32(15)))


MURMUR2 = Hash("murmur2, seed 0x9747b28c", lambda keys, _: murmur2(keys))
MURMUR2_SEED_0 = Hash("murmur2, seed 0", lambda keys, _: murmur2(keys, 0))
