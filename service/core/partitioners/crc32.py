"""CRC-32 (IEEE), the hash of librdkafka's default partitioner and of Sarama's and kafka-go's CRC partitioners.

Eight bytes a step through eight tables (slicing by 8). Oracle in the tests: zlib.crc32.
"""

import numpy as np
import numpy.typing as npt

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import hash_by
from service.core.words import word


def _tables() -> npt.NDArray[np.uint32]:
    """uint32[8, 256]: ``[0]`` is the usual table, ``[k][b]`` the CRC of byte b followed by k zero bytes."""
    tables = np.zeros((8, 256), np.uint32)
    tables[0] = np.arange(256)
    for _ in range(8):
        tables[0] = np.where(tables[0] & 1, (tables[0] >> 1) ^ np.uint32(0xEDB88320), tables[0] >> 1)
    for k in range(1, 8):
        tables[k] = (tables[k - 1] >> 8) ^ tables[0][tables[k - 1] & 0xFF]
    return tables


_TABLES = _tables()


@kernel
def _crc32(offsets: Int32s, data: Bytes) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        crc = np.uint32(0xFFFFFFFF)
        while end - at >= np.uint64(8):
            low = crc ^ word(data, at)
            high = word(data, at + np.uint64(4))
            crc = (
                _TABLES[7][np.uint8(low)]
                ^ _TABLES[6][np.uint8(low >> np.uint32(8))]
                ^ _TABLES[5][np.uint8(low >> np.uint32(16))]
                ^ _TABLES[4][np.uint8(low >> np.uint32(24))]
                ^ _TABLES[3][np.uint8(high)]
                ^ _TABLES[2][np.uint8(high >> np.uint32(8))]
                ^ _TABLES[1][np.uint8(high >> np.uint32(16))]
                ^ _TABLES[0][np.uint8(high >> np.uint32(24))]
            )
            at += np.uint64(8)
        while at < end:
            crc = (crc >> np.uint32(8)) ^ _TABLES[0][np.uint8(crc) ^ data[at]]
            at += np.uint64(1)
        hashes[i] = np.int32(~crc)
    return hashes


CRC32 = hash_by("CRC-32 (IEEE)", _crc32)
