"""Erlang's ``phash2`` of a binary: brod's ``hash`` and wolff's ``first_key_dispatch``.

The hash of a binary is Bob Jenkins' lookup2 over its bytes, from a constant of the term's type; ``phash2/1`` keeps its low 27
bits. It is the same in every release of Erlang/OTP. Reproduces ``make_hash2`` and ``block_hash`` of erl_term_hashing.c (OTP 25).
"""

import numpy as np
from numba import njit

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import hash_by
from service.core.words import word

_GOLDEN = np.uint32(0x9E3779B9)
_OF_BINARIES = np.uint32(13 * 0x9E3779B9 % 2**32)
_27_BITS = np.uint32(2**27 - 1)


@njit(nogil=True, cache=True, inline="always")
def _mix(a: np.uint32, b: np.uint32, c: np.uint32) -> tuple[np.uint32, np.uint32, np.uint32]:
    """MIX of lookup2."""
    a = np.uint32(np.uint32(a - b - c) ^ (c >> np.uint32(13)))
    b = np.uint32(np.uint32(b - c - a) ^ (a << np.uint32(8)))
    c = np.uint32(np.uint32(c - a - b) ^ (b >> np.uint32(13)))
    a = np.uint32(np.uint32(a - b - c) ^ (c >> np.uint32(12)))
    b = np.uint32(np.uint32(b - c - a) ^ (a << np.uint32(16)))
    c = np.uint32(np.uint32(c - a - b) ^ (b >> np.uint32(5)))
    a = np.uint32(np.uint32(a - b - c) ^ (c >> np.uint32(3)))
    b = np.uint32(np.uint32(b - c - a) ^ (a << np.uint32(10)))
    c = np.uint32(np.uint32(c - a - b) ^ (b >> np.uint32(15)))
    return a, b, c


@kernel
def _phash2(offsets: Int32s, data: Bytes) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]. Plain-Python twin: tests/reference/hashes.py."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        length = np.uint32(end - at)
        a, b, c = _GOLDEN, _GOLDEN, _OF_BINARIES
        if length == np.uint32(0):  # make_hash2 does not mix an empty binary
            hashes[i] = np.int32(c & _27_BITS)
            continue
        while end - at >= np.uint64(12):
            a = np.uint32(a + word(data, at))
            b = np.uint32(b + word(data, at + np.uint64(4)))
            c = np.uint32(c + word(data, at + np.uint64(8)))
            a, b, c = _mix(a, b, c)
            at += np.uint64(12)
        c = np.uint32(c + length)
        place = np.uint32(0)
        while at < end:
            shift = np.uint32(np.uint32(8) * (place & np.uint32(3)))
            byte = np.uint32(np.uint32(data[at]) << shift)
            if place < np.uint32(4):
                a = np.uint32(a + byte)
            elif place < np.uint32(8):
                b = np.uint32(b + byte)
            else:  # the lowest byte of c is the length's
                c = np.uint32(c + (byte << np.uint32(8)))
            place = np.uint32(place + np.uint32(1))
            at += np.uint64(1)
        a, b, c = _mix(a, b, c)
        hashes[i] = np.int32(c & _27_BITS)
    return hashes


PHASH2 = hash_by("Erlang's phash2", _phash2)
