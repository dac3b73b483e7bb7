"""The hash functions by name, each from encoded keys to int32[n]."""

import numpy as np

from service.core.jvm import hashing
from service.core.model import Int32s, Keys
from service.core.partitioners import murmur3
from service.core.partitioners.crc32 import crc32
from service.core.partitioners.fnv1a import fnv1a
from service.core.partitioners.kafkajs_legacy import kafkajs_legacy_murmur2
from service.core.partitioners.model import Hash
from service.core.partitioners.murmur2 import murmur2


def _object_hash_codes(encoded: Keys, key_format: str) -> Int32s:
    """Object.hashCode() of String, Short, Integer, Long, Float, Double and Boolean; 0 for null.

    encoded : as ``service.core.keys.columns.OBJECT`` has them, text or big-endian numbers
    """
    if key_format == "string":
        return hashing.string_hash_codes(encoded)
    if key_format in ("long", "double"):
        codes = hashing.long_hash_codes(encoded.data.view(">i8").astype(np.int64))
    elif key_format == "boolean":
        codes = np.where(encoded.data != 0, np.int32(1231), np.int32(1237))
    else:
        codes = encoded.data.view(">i2" if key_format == "short" else ">i4").astype(np.int32)
    return codes if encoded.valid is None else np.where(encoded.valid, codes, np.int32(0))


MURMUR2 = Hash("murmur2, seed 0x9747b28c", lambda encoded, _: murmur2(encoded))
MURMUR2_SEED_0 = Hash("murmur2, seed 0", lambda encoded, _: murmur2(encoded, 0))
LEGACY = Hash("murmur2 in IEEE doubles", lambda encoded, _: kafkajs_legacy_murmur2(encoded))
CRC32 = Hash("CRC-32 (IEEE)", lambda encoded, _: crc32(encoded))
FNV1A = Hash("FNV-1a 32", lambda encoded, _: fnv1a(encoded))
MURMUR3 = Hash("murmur3 x86 32, seed 0", lambda encoded, _: murmur3.murmur3(encoded))
SPARK = Hash("murmur3 x86 32 with Spark's tail, seed 42", lambda encoded, _: murmur3.spark_murmur3(encoded))
CASSANDRA = Hash("murmur3 x64 128 with signed tail bytes, first half", lambda encoded, _: murmur3.cassandra_tokens(encoded))  # type: ignore[arg-type,return-value]
STRING = Hash("String.hashCode", lambda encoded, _: hashing.string_hash_codes(encoded))
ARRAY = Hash("Arrays.hashCode(byte[])", lambda encoded, _: hashing.byte_array_hash_codes(encoded))
OBJECT = Hash("Object.hashCode", _object_hash_codes)
