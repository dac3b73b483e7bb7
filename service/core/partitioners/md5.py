"""MD5 of partition keys, and the shard of Amazon Kinesis whose hash key range has it.

Kinesis takes the MD5 of a partition key as an unsigned number of 128 bits. ``CreateStream`` gives n shards ranges of one width,
2¹²⁸ / n rounded down, and the last one what is left. (Shards that were split or merged since have other ranges.) hashlib hashes
one Python object a call; this is a kernel. Oracle in the tests: hashlib.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import Sign, hash_by

UInt64s = npt.NDArray[np.uint64]

_SINES = np.floor(np.abs(np.sin(np.arange(1, 65, dtype=np.float64))) * 2.0**32).astype(np.uint32)
_ROTATIONS = np.array([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21], np.uint32)
_BLOCK = 64


@njit(nogil=True, cache=True, inline="always")
def _byte(data: Bytes, start: int, length: int, at: int, padded: int) -> np.uint32:
    """Byte ``at`` of a padded message: its bytes, 0x80, zeros, and its length in bits as a little-endian uint64."""
    if at < length:
        return np.uint32(data[start + at])
    if at == length:
        return np.uint32(0x80)
    if at < padded - 8:
        return np.uint32(0)
    return np.uint32((length * 8 >> (8 * (at - padded + 8))) & 0xFF)


@kernel
def _md5(offsets: Int32s, data: Bytes) -> UInt64s:
    """The MD5 of each key as a big-endian number, the higher half first. offsets : int32[n + 1]; data : uint8[...].

    Returns uint64[n, 2].
    """
    digests = np.empty((len(offsets) - 1, 2), np.uint64)
    words = np.empty(16, np.uint32)
    state = np.empty(4, np.uint32)
    for i in range(len(digests)):
        start, length = int(offsets[i]), int(offsets[i + 1]) - int(offsets[i])
        padded = (length + 8) // _BLOCK * _BLOCK + _BLOCK
        state[0], state[1], state[2], state[3] = 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476
        for block in range(0, padded, _BLOCK):
            for j in range(16):
                at = block + 4 * j
                words[j] = np.uint32(
                    _byte(data, start, length, at, padded)
                    | (_byte(data, start, length, at + 1, padded) << np.uint32(8))
                    | (_byte(data, start, length, at + 2, padded) << np.uint32(16))
                    | (_byte(data, start, length, at + 3, padded) << np.uint32(24))
                )
            a, b, c, d = state[0], state[1], state[2], state[3]
            for step in range(64):
                if step < 16:
                    mixed, which = np.uint32((b & c) | (~b & d)), step
                elif step < 32:
                    mixed, which = np.uint32((d & b) | (~d & c)), (5 * step + 1) % 16
                elif step < 48:
                    mixed, which = np.uint32(b ^ c ^ d), (3 * step + 5) % 16
                else:
                    mixed, which = np.uint32(c ^ (b | ~d)), 7 * step % 16
                turned = np.uint32(a + mixed + _SINES[step] + words[which])
                by = _ROTATIONS[step // 16 * 4 + step % 4]
                turned = np.uint32((turned << by) | (turned >> (np.uint32(32) - by)))
                a, d, c, b = d, c, b, np.uint32(b + turned)
            state[0], state[1], state[2], state[3] = (
                np.uint32(state[0] + a),
                np.uint32(state[1] + b),
                np.uint32(state[2] + c),
                np.uint32(state[3] + d),
            )
        for half in range(2):
            number = np.uint64(0)
            for j in range(8):
                byte = (state[2 * half + j // 4] >> np.uint32(8 * (j % 4))) & np.uint32(0xFF)
                number = (number << np.uint64(8)) | np.uint64(byte)
            digests[i, half] = number
    return digests


def shards(digests: Any, n: int) -> Int32s:
    """The range of each digest among n. digests : uint64[k, 2]; n : 1 … 2147483647. Returns int32[k]."""
    width = 2**128 // n
    high, low = digests[:, 0], digests[:, 1]
    if n == 1:
        return np.zeros(len(digests), np.int32)
    # The quotient by the high halves is right or one too small or too large; the range's first hash key decides.
    found = np.minimum((high.astype(np.float64) * (n / 2.0**64)).astype(np.int64), n - 1)
    for _ in range(2):
        first_high, first_low = _halves(found, width)
        below = (high < first_high) | ((high == first_high) & (low < first_low))
        next_high, next_low = _halves(np.minimum(found + 1, n - 1), width)
        above = (found + 1 < n) & ((high > next_high) | ((high == next_high) & (low >= next_low)))
        found = found - below + above
    shard: Int32s = found.astype(np.int32)
    return shard


def _halves(shard: npt.NDArray[np.int64], width: int) -> tuple[UInt64s, UInt64s]:
    """``shard * width`` as two halves. shard : int64[k], below 2³¹; width : below 2¹²⁷. Returns uint64[k] twice."""
    factor = shard.astype(np.uint64)
    mask = np.uint64(2**32 - 1)
    parts = [np.uint64((width >> (32 * j)) & 0xFFFFFFFF) for j in range(4)]
    carry = np.zeros(len(factor), np.uint64)
    words = []
    for part in parts:
        product = factor * part + carry
        words.append(product & mask)
        carry = product >> np.uint64(32)
    return (words[3] << np.uint64(32)) | words[2], (words[1] << np.uint64(32)) | words[0]


MD5 = hash_by("MD5", _md5, bits=128)
RANGES = Sign("range", "h / floor(2^128 / n) rounded down, at most n - 1", shards, lambda h: h)
