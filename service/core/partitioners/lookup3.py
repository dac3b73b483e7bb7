"""Bob Jenkins' lookup3 as Azure Event Hubs hashes partition keys, and as its Java and Python libraries do.

The hash is the low 16 bits of the two words that hashlittle2 gives, xored, as a signed short. The libraries for .NET and
JavaScript port the service's code. Java's adds the last bytes of a key with their signs, Python's takes a key's code points
instead of the bytes of its UTF-8: for ASCII all of them agree. Reproduces PartitionResolver (Azure.Messaging.EventHubs,
azure-messaging-eventhubs, azure-eventhub) and hashPartitionKey (@azure/event-hubs).
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s
from service.core.partitioners.hashing_rule import hash_by
from service.core.words import rotl32

Units = Bytes | npt.NDArray[np.uint32]
"""Bytes, or code points."""

_START = np.uint32(0xDEADBEEF)
_WORD, _TWELVE = np.uint64(4), np.uint64(12)


@njit(nogil=True, cache=True, inline="always")
def _sum(data: Units, at: np.uint64, count: np.uint64, signed: bool) -> np.uint32:  # noqa: FBT001
    """``count`` units, each eight bits higher than the last. signed : as bytes with a sign"""
    total = np.uint32(0)
    for i in range(count):
        unit = np.uint32(np.int32(np.int8(data[at + i]))) if signed else np.uint32(data[at + i])
        total = np.uint32(total + (unit << np.uint32(np.uint64(8) * i)))
    return total


@njit(nogil=True, cache=True, inline="always")
def _mixed(a: np.uint32, b: np.uint32, c: np.uint32, data: Units, at: np.uint64) -> tuple[np.uint32, np.uint32, np.uint32]:
    """The state with twelve units more."""
    a = np.uint32(a + _sum(data, at, _WORD, False))
    b = np.uint32(b + _sum(data, at + _WORD, _WORD, False))
    c = np.uint32(c + _sum(data, at + np.uint64(8), _WORD, False))
    a, c = np.uint32(np.uint32(a - c) ^ rotl32(c, 4)), np.uint32(c + b)
    b, a = np.uint32(np.uint32(b - a) ^ rotl32(a, 6)), np.uint32(a + c)
    c, b = np.uint32(np.uint32(c - b) ^ rotl32(b, 8)), np.uint32(b + a)
    a, c = np.uint32(np.uint32(a - c) ^ rotl32(c, 16)), np.uint32(c + b)
    b, a = np.uint32(np.uint32(b - a) ^ rotl32(a, 19)), np.uint32(a + c)
    c, b = np.uint32(np.uint32(c - b) ^ rotl32(b, 4)), np.uint32(b + a)
    return a, b, c


@njit(nogil=True, cache=True, inline="always")
def _last(
    a: np.uint32, b: np.uint32, c: np.uint32, data: Units, at: np.uint64, end: np.uint64, signed: bool  # noqa: FBT001
) -> np.int32:  # fmt: skip
    """The hash, -32768 … 32767, with the last units, at most twelve."""
    if at < end:
        left = min(end - at, _WORD)
        a = np.uint32(a + _sum(data, at, left, signed and bool(left < _WORD)))
        at += left
        left = min(end - at, _WORD)
        b = np.uint32(b + _sum(data, at, left, signed and bool(left < _WORD)))
        at += left
        left = end - at
        c = np.uint32(c + _sum(data, at, left, signed and bool(left < _WORD)))
        c = np.uint32((c ^ b) - rotl32(b, 14))
        a = np.uint32((a ^ c) - rotl32(c, 11))
        b = np.uint32((b ^ a) - rotl32(a, 25))
        c = np.uint32((c ^ b) - rotl32(b, 16))
        a = np.uint32((a ^ c) - rotl32(c, 4))
        b = np.uint32((b ^ a) - rotl32(a, 14))
        c = np.uint32((c ^ b) - rotl32(b, 24))
    return np.int32(np.int16(b ^ c))


@kernel
def _lookup3(offsets: Int32s, data: Bytes, signed: bool) -> Int32s:  # noqa: FBT001
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n].

    signed : as the Java library, the last bytes, which fill no word, with their signs.
    Plain-Python twin: tests/reference/hashes.py.
    """
    hashes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        a = np.uint32(_START + np.uint32(end - at))
        b, c = a, a
        while end - at > _TWELVE:
            a, b, c = _mixed(a, b, c, data, at)
            at += _TWELVE
        hashes[i] = _last(a, b, c, data, at, end, signed)
    return hashes


@kernel
def _lookup3_code_points(offsets: Int32s, data: Bytes) -> Int32s:
    """The same as the Python library, of the code points of UTF-8, of which there are twelve at a time."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    points = np.empty(_TWELVE, np.uint32)
    none = np.uint64(0)
    for i in range(len(hashes)):
        at, left = np.uint64(offsets[i]), none
        for j in range(at, np.uint64(offsets[i + 1])):
            left += np.uint64((data[j] & 0xC0) != 0x80)
        a = np.uint32(_START + np.uint32(left))
        b, c = a, a
        while left > _TWELVE:
            at = _decode(data, at, points, _TWELVE)
            a, b, c = _mixed(a, b, c, points, none)
            left -= _TWELVE
        _decode(data, at, points, left)
        hashes[i] = _last(a, b, c, points, none, left, False)
    return hashes


@njit(nogil=True, cache=True, inline="always")
def _decode(data: Bytes, at: np.uint64, points: npt.NDArray[np.uint32], count: np.uint64) -> np.uint64:
    """Decode ``count`` code points, and return where the next one is."""
    for i in range(count):
        lead = np.uint32(data[at])
        more = np.uint64(lead >= 0xC0) + np.uint64(lead >= 0xE0) + np.uint64(lead >= 0xF0)
        point = lead & np.uint32(0x7F >> (more + np.uint64(more > 0)))
        for j in range(np.uint64(1), more + np.uint64(1)):
            point = np.uint32(point << np.uint32(6)) | np.uint32(data[at + j] & 0x3F)
        points[i] = point
        at += more + np.uint64(1)
    return at


LOOKUP3 = hash_by("lookup3, 16 bits", _lookup3, False)
LOOKUP3_SIGNED = hash_by("lookup3 with signed last bytes, 16 bits", _lookup3, True)
LOOKUP3_CODE_POINTS = hash_by("lookup3 of code points, 16 bits", _lookup3_code_points)
