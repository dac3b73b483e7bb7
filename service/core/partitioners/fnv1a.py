"""FNV-1a, 32 bits: Sarama's default, kafka-go's Hash, librdkafka's fnv1a."""

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import hash_by
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

_BASIS, _BYTE = np.uint32(0x811C9DC5), np.uint32(0xFF)


@kernel
def _fnv1a(offsets: Int32s, data: Bytes) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]. Plain-Python twin: tests/reference/hashes.py."""
    hashes = np.full(len(offsets) - 1, _BASIS, np.uint32)
    pairs = np.empty((PAIRS, TOGETHER), np.uint64)
    for first in range(0, len(hashes), TOGETHER):
        some, of_some = offsets[first : first + TOGETHER + 1], hashes[first : first + TOGETHER]
        done = in_rows(some, np.uint64(8))
        _mix_pairs(some, data, done, of_some, pairs)
        if not are_hashed(some, done):
            for i in range(len(of_some)):  # what comes after the first ``done`` bytes of each key
                h = of_some[i]
                for at in range(np.uint64(some[i]) + done, np.uint64(some[i + 1])):
                    h = _mixed(h, np.uint32(data[at]))
                of_some[i] = h
    return hashes.view(np.int32)


@inner_kernel
def _mix_pairs(offsets: Int32s, data: Bytes, end: np.uint64, hashes: UInt32s, pairs: UInt64s) -> None:
    """Mix in the first ``end`` bytes of each key."""
    words = pairs.view(np.uint32)
    for begin in range(np.uint64(0), end, np.uint64(8 * PAIRS)):
        for row in range(fill(offsets, data, begin, end, pairs)):
            for i in range(np.uint64(len(hashes))):
                hashes[i] = _mixed_word(_mixed_word(hashes[i], words[row, TWO * i]), words[row, TWO * i + ONE])


@inner_kernel
def _mixed_word(h: np.uint32, word: np.uint32) -> np.uint32:
    """The hash with four bytes more."""
    h = _mixed(h, word & _BYTE)
    h = _mixed(h, (word >> np.uint32(8)) & _BYTE)
    h = _mixed(h, (word >> np.uint32(16)) & _BYTE)
    return _mixed(h, word >> np.uint32(24))


@inner_kernel
def _mixed(h: np.uint32, byte: np.uint32) -> np.uint32:
    """The hash with one byte more."""
    return np.uint32(np.uint32(h ^ byte) * np.uint32(0x01000193))


FNV1A = hash_by("FNV-1a 32", _fnv1a)
