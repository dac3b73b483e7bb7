"""Java's hash codes as hashes of keys."""

import numpy as np

from service.core.jvm import hashing
from service.core.model import Int32s, Keys
from service.core.partitioners.hashing_rule import Hash


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


STRING = Hash("String.hashCode", lambda encoded, _: hashing.string_hash_codes(encoded))
ARRAY = Hash("Arrays.hashCode(byte[])", lambda encoded, _: hashing.byte_array_hash_codes(encoded))
OBJECT = Hash("Object.hashCode", _object_hash_codes)
