"""Java's hash codes as hashes of keys, keys that are numbers themselves, and records without a key."""

from typing import Any

import numpy as np

from service.core.jvm import hashing
from service.core.keys import columns
from service.core.keys.columns import INTEGERS
from service.core.model import Int32s, Keys
from service.core.partitioners.hashing_rule import Hash
from service.core.partitioners.model import NullRule
from service.core.partitioners.murmur3 import SPARK_SEED

# Records without a key that have a fixed hash, or are refused.

NO_NULL = NullRule("refused: there is always a key", None)
SPARK_NULL = NullRule("the hash is 42, the seed", None, because="the hash of null is 42", counts_as=lambda: SPARK_SEED)
ZERO = NullRule("0", None, because="null is 0", counts_as=lambda: 0)


def as_empty(hash_keys: Hash) -> NullRule:
    """A record without a key is hashed as one with an empty key."""
    return NullRule(
        "as an empty key",
        None,
        because=f"as an empty key, {hash_keys.name}",
        counts_as=lambda: int(hash_keys.run(columns.byte_strings([b""]), "base64")[0]),
    )


# Keys that are whole numbers and are not hashed: Pinot's Modulo, TiCDC's ts.


def _values(encoded: Keys, key_format: str) -> Any:
    """int64[n], the numbers. encoded : big-endian numbers of the format"""
    return encoded.data.view(INTEGERS[key_format].newbyteorder(">")).astype(np.int64)


WHOLE_NUMBER = Hash("the number itself", _values, bits=64)


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
