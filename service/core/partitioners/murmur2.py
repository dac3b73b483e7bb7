"""Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2, 4.3.1; the same since 0.8.2)."""

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s, Keys
from service.core.partitioners.model import Hash
from service.core.partitioners.words import word

SEED = 0x9747B28C
_M = np.uint32(0x5BD1E995)


def murmur2(keys: Keys, seed: int = SEED) -> Int32s:
    """Utils.murmur2 of each key; with another seed than Kafka's, the same algorithm. Returns int32[len(keys)]."""
    hashes: Int32s = _murmur2(keys.offsets, keys.data, np.uint32(seed))
    return hashes


@kernel
def _murmur2(offsets: Int32s, data: Bytes, seed: np.uint32) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]. Plain-Python twin: tests/reference/hashes.py."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        length = end - at
        tail = length & np.uint64(3)
        h = np.uint32(seed ^ np.uint32(length))
        blocks_end = end - tail
        while at < blocks_end:
            k = np.uint32(word(data, at) * _M)
            k = np.uint32((k ^ (k >> np.uint32(24))) * _M)
            h = np.uint32(h * _M) ^ k
            at += np.uint64(4)
        if tail:
            if tail == 3:
                h ^= np.uint32(data[at + np.uint64(2)]) << np.uint32(16)
            if tail >= 2:
                h ^= np.uint32(data[at + np.uint64(1)]) << np.uint32(8)
            h = np.uint32((h ^ np.uint32(data[at])) * _M)
        h = np.uint32((h ^ (h >> np.uint32(13))) * _M)
        hashes[i] = np.int32(h ^ (h >> np.uint32(15)))
    return hashes


MURMUR2 = Hash("murmur2, seed 0x9747b28c", lambda keys, _: murmur2(keys))
MURMUR2_SEED_0 = Hash("murmur2, seed 0", lambda keys, _: murmur2(keys, 0))
