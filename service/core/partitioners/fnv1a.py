"""FNV-1a, 32 bits: Sarama's default, kafka-go's Hash, librdkafka's fnv1a."""

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import hash_by


@kernel
def _fnv1a(offsets: Int32s, data: Bytes) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]. Plain-Python twin: tests/reference/hashes.py."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(hashes)):
        h = np.uint32(0x811C9DC5)
        for at in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            h = np.uint32((h ^ np.uint32(data[at])) * np.uint32(0x01000193))
        hashes[i] = np.int32(h)
    return hashes


FNV1A = hash_by("FNV-1a 32", _fnv1a)
