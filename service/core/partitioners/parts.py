"""Hashes of keys that have several parts: the fields or columns that a change-data-capture tool is told to hash.

A request has the parts in one key, with the unit separator U+001F between them. Debezium adds up the hashes of the fields; TiCDC
xors the CRC-32 of the table and that of each column.
"""

from typing import Final

import numpy as np

from service.core.model import Int32s, Keys
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.hash_codes import OBJECT
from service.core.partitioners.hashing_rule import Hash
from service.core.partitioners.infinispan_murmur3 import DEBEZIUM

SEPARATOR: Final = 0x1F


def combined(keys: Keys, hashes: Int32s, starts: Int32s, combine: np.ufunc) -> Int32s:
    """int32[len(keys)], the hashes of each key's parts put together. hashes : int32[parts]; starts : as of ``parts_of``"""
    if len(hashes) == len(keys):
        return hashes
    return combine.reduceat(hashes, starts, dtype=np.int32)  # sums wrap, as in Java


def parts_of(keys: Keys) -> tuple[Keys, Int32s]:
    """The parts of all keys end to end, and int32[len(keys)], the first part of each key: each has at least one."""
    first, last = keys.offsets[0], keys.offsets[-1]
    separators = np.flatnonzero(keys.data[first:last] == SEPARATOR).astype(np.int32) + first
    if not len(separators):
        return Keys(keys.offsets, keys.data), np.arange(len(keys), dtype=np.int32)
    starts = np.arange(len(keys), dtype=np.int32) + np.searchsorted(separators, keys.offsets[:-1]).astype(np.int32)
    # Without the separators, the part after each begins where that before it ends.
    before = np.searchsorted(separators, keys.offsets).astype(np.int32)
    kept = keys.data[first:last][keys.data[first:last] != SEPARATOR]
    ends_of_parts = separators - first - np.arange(len(separators), dtype=np.int32)
    offsets = np.sort(np.concatenate([keys.offsets - first - before, ends_of_parts]))
    return Keys(offsets.astype(np.int32), kept), starts


def _object_hash_codes(encoded: Keys, key_format: str) -> Int32s:
    if key_format != "string":
        return OBJECT.run(encoded, key_format)
    parts, starts = parts_of(encoded)
    return combined(encoded, OBJECT.run(parts, key_format), starts, np.add)


def _murmur3(encoded: Keys, key_format: str) -> Int32s:
    """MurmurHash3.hash(Object): of a string its UTF-8, of other objects the four bytes of their hash code."""
    if key_format == "string":
        parts, starts = parts_of(encoded)
        return combined(encoded, DEBEZIUM.run(parts, key_format), starts, np.add)
    codes = OBJECT.run(encoded, key_format).astype("<i4")
    return DEBEZIUM.run(Keys(np.arange(len(codes) + 1, dtype=np.int32) * np.int32(4), codes.view(np.uint8)), key_format)


def _crc32(encoded: Keys, key_format: str) -> Int32s:
    parts, starts = parts_of(encoded)
    return combined(encoded, CRC32.run(parts, key_format), starts, np.bitwise_xor)


SUM_OF_HASH_CODES = Hash("sum of the parts' Object.hashCode", _object_hash_codes)
SUM_OF_MURMUR3 = Hash("sum of the parts' Infinispan murmur3 x64 32, seed 9001", _murmur3)
XOR_OF_CRC32 = Hash("xor of the parts' CRC-32 (IEEE)", _crc32)
