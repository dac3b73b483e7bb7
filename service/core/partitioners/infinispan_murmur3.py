"""Infinispan's MurmurHash3_x64_32, which Debezium and Apache Pinot have copies of.

It is an early form of murmur3 x64, whose multipliers change from block to block. The hash is the upper half of its first word.
Reproduces io.debezium.util.MurmurHash3 and Pinot's Murmur3PartitionFunction with the variant x64_32.
"""

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import hash_by
from service.core.partitioners.murmur3 import fmix64, signed_tail
from service.core.words import long_word, rotl64

_H1, _H2 = np.uint64(0x9368E53C2F6AF274), np.uint64(0x586DCD208F7CD3FD)
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)


@kernel
def _infinispan_murmur3(offsets: Int32s, data: Bytes, seed: np.uint64) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]. Plain-Python twin: tests/reference/hashes.py."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        length = end - at
        h1, h2, c1, c2 = _H1 ^ seed, _H2 ^ seed, _C1, _C2
        while at < end:
            if end - at >= np.uint64(16):
                k1, k2 = long_word(data, at), long_word(data, at + np.uint64(8))
                at += np.uint64(16)
            else:
                k1, k2 = signed_tail(data, at, end)
                at = end
            h1 = (h1 ^ (rotl64(k1 * c1, 23) * c2)) + h2
            h2 = (rotl64(h2, 41) ^ (rotl64(k2 * c2, 23) * c1)) + h1
            h1 = h1 * np.uint64(3) + np.uint64(0x52DCE729)
            h2 = h2 * np.uint64(3) + np.uint64(0x38495AB5)
            c1 = c1 * np.uint64(5) + np.uint64(0x7B7D159C)
            c2 = c2 * np.uint64(5) + np.uint64(0x6BCE6396)
        h2 ^= length
        h1 += h2
        h2 += h1
        hashes[i] = np.int32((fmix64(h1) + fmix64(h2)) >> np.uint64(32))
    return hashes


INFINISPAN = hash_by("Infinispan's murmur3 x64 32, seed 0", _infinispan_murmur3, np.uint64(0))
DEBEZIUM = hash_by("Infinispan's murmur3 x64 32, seed 9001", _infinispan_murmur3, np.uint64(9001))
