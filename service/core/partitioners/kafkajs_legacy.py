"""KafkaJS's murmur2 before 2.0, which computes in JavaScript's doubles.

``*`` is a float64 product that is not wrapped to 32 bits, so that low bits are lost; ``^``, ``>>>`` and ``&`` convert with
ToInt32 first. The block loop runs ceil(length / 4) times, with the last block padded with zero bytes; then the usual tail
processes the same bytes again.
"""

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import hash_by

_M = float(0x5BD1E995)
_SEED = 0x9747B28C


@inner_kernel
def _to_int32(x: float) -> np.int64:
    """ECMAScript's ToInt32 of a whole double below 2^63, as an int64. No product here is larger than 2^62."""
    return np.int64(np.int32(np.int64(x)))


@kernel
def _legacy_murmur2(offsets: Int32s, data: Bytes) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]. Plain-Python twin: tests/reference/hashes.py."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(hashes)):
        start, length = offsets[i], offsets[i + 1] - offsets[i]
        h = float(_to_int32(float(_SEED ^ length)))
        for block in range((length + 3) // 4):
            k = np.int64(0)
            for b in range(min(4, length - 4 * block)):
                k += np.int64(data[start + 4 * block + b]) << (8 * b)
            x = float(np.int32(k)) * _M
            x = float(_to_int32(x) ^ ((_to_int32(x) & 0xFFFFFFFF) >> 24))
            x *= _M
            h *= _M
            h = float(_to_int32(h) ^ _to_int32(x))
        tail = length % 4
        if tail:
            last = start + length - tail
            if tail == 3:
                h = float(_to_int32(h) ^ (np.int64(data[last + 2]) << 16))
            if tail >= 2:
                h = float(_to_int32(h) ^ (np.int64(data[last + 1]) << 8))
            h = float(_to_int32(h) ^ np.int64(data[last]))
            h *= _M
        h = float(_to_int32(h) ^ ((_to_int32(h) & 0xFFFFFFFF) >> 13))
        h *= _M
        hashes[i] = np.int32(_to_int32(h) ^ ((_to_int32(h) & 0xFFFFFFFF) >> 15))
    return hashes


LEGACY = hash_by("murmur2 in IEEE doubles", _legacy_murmur2)
