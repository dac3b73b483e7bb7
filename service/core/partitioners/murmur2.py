"""Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2, 4.3.1; the same since 0.8.2)."""

import numpy as np
import numpy.typing as npt

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bytes, Int32s, Keys
from service.core.partitioners.hashing_rule import Hash
from service.core.partitioners.words import word

SEED = 0x9747B28C
_M = np.uint32(0x5BD1E995)
_TOGETHER = 128
"""So many keys are hashed together if they have one length: the loops over fewer are short, and more leave the L1 cache."""

UInt32s = npt.NDArray[np.uint32]


def murmur2(keys: Keys, seed: int = SEED) -> Int32s:
    """Utils.murmur2 of each key; with another seed than Kafka's, the same algorithm. Returns int32[len(keys)]."""
    return _murmur2(keys.offsets, keys.data, np.uint32(seed)).view(np.int32)


@kernel
def _murmur2(offsets: Int32s, data: Bytes, seed: np.uint32) -> UInt32s:
    """The loops. offsets : int32[n + 1]; data : uint8[...]. Returns uint32[n]. Plain-Python twin: tests/reference/hashes.py."""
    hashes = np.empty(len(offsets) - 1, np.uint32)
    for first in range(0, len(hashes), _TOGETHER):
        some = offsets[first : first + _TOGETHER + 1]
        if _have_one_length(some):
            _hash_together(some, data, seed, hashes[first : first + _TOGETHER])
        else:
            _hash_each(some, data, seed, hashes[first : first + _TOGETHER])
    return hashes


@inner_kernel
def _have_one_length(offsets: Int32s) -> bool:
    alike = True
    for i in range(1, len(offsets) - 1):
        alike &= offsets[i + 1] - offsets[i] == offsets[1] - offsets[0]
    return alike


@inner_kernel
def _hash_together(offsets: Int32s, data: Bytes, seed: np.uint32, hashes: UInt32s) -> None:
    """Hash keys of one length: the first word of each, then the second, and so on, which LLVM makes vectors of."""
    start, length = np.uint64(offsets[0]), np.uint64(offsets[1] - offsets[0])
    tail = length & np.uint64(3)
    for i in range(np.uint64(len(hashes))):
        hashes[i] = seed ^ np.uint32(length)
    for at in range(start, start + length - tail, np.uint64(4)):
        for i in range(np.uint64(len(hashes))):
            hashes[i] = _mixed(hashes[i], word(data, at + i * length))
    for at in range(tail):
        for i in range(np.uint64(len(hashes))):
            hashes[i] ^= np.uint32(data[start + (i + np.uint64(1)) * length - tail + at]) << np.uint32(np.uint64(8) * at)
    for i in range(np.uint64(len(hashes))):
        hashes[i] = _shuffled(np.uint32(hashes[i] * _M) if tail else hashes[i])


@inner_kernel
def _hash_each(offsets: Int32s, data: Bytes, seed: np.uint32, hashes: UInt32s) -> None:
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
