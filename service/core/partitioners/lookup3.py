"""Bob Jenkins' lookup3 as Azure Event Hubs hashes partition keys, and as its Java and Python libraries do.

The hash is the low 16 bits of the two words that hashlittle2 gives, xored, as a signed short. The libraries for .NET and
JavaScript port the service's code. Java's adds the last bytes of a key with their signs, Python's takes a key's code points
instead of the bytes of its UTF-8: for ASCII all of them agree. Reproduces PartitionResolver (Azure.Messaging.EventHubs,
azure-messaging-eventhubs, azure-eventhub) and hashPartitionKey (@azure/event-hubs).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from service.core.kernels import kernel
from service.core.model import Bytes, Int32s, Keys
from service.core.partitioners.hashing_rule import Hash, hash_by
from service.core.words import rotl32


def lookup3_code_points(keys: Keys) -> Int32s:
    """As the Python library, of a key's code points. keys : UTF-8"""
    first, last = keys.offsets[0], keys.offsets[-1]  # some of many keys share the data of all
    data, offsets = keys.data[first:last], keys.offsets - first
    continued = np.concatenate([np.zeros(1, np.int32), np.cumsum((data & 0xC0) == 0x80, dtype=np.int32)])
    text = data.tobytes().decode("utf-8", "surrogatepass")
    units = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return _lookup3(offsets - continued[offsets], units, False)


@njit(nogil=True, cache=True, inline="always")
def _sum(data: npt.NDArray[Any], at: np.uint64, count: np.uint64, signed: bool) -> np.uint32:  # noqa: FBT001
    """``count`` units, each eight bits higher than the last. signed : as bytes with a sign"""
    total = np.uint32(0)
    for i in range(count):
        unit = np.uint32(np.int32(np.int8(data[at + i]))) if signed else np.uint32(data[at + i])
        total = np.uint32(total + (unit << np.uint32(np.uint64(8) * i)))
    return total


@kernel
def _lookup3(offsets: Int32s, data: Bytes | npt.NDArray[np.uint32], signed: bool) -> Int32s:  # noqa: FBT001
    """The loop. offsets : int32[n + 1]; data : uint8[...] bytes or uint32[...] code points. Returns int32[n], -32768 … 32767.

    signed : as the Java library, the last bytes, which fill no word, with their signs.
    Plain-Python twin: tests/reference/hashes.py.
    """
    hashes = np.empty(len(offsets) - 1, np.int32)
    word, twelve = np.uint64(4), np.uint64(12)
    for i in range(len(hashes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        a = np.uint32(np.uint32(0xDEADBEEF) + np.uint32(end - at))
        b, c = a, a
        while end - at > twelve:
            a = np.uint32(a + _sum(data, at, word, False))
            b = np.uint32(b + _sum(data, at + word, word, False))
            c = np.uint32(c + _sum(data, at + np.uint64(8), word, False))
            a, c = np.uint32(np.uint32(a - c) ^ rotl32(c, 4)), np.uint32(c + b)
            b, a = np.uint32(np.uint32(b - a) ^ rotl32(a, 6)), np.uint32(a + c)
            c, b = np.uint32(np.uint32(c - b) ^ rotl32(b, 8)), np.uint32(b + a)
            a, c = np.uint32(np.uint32(a - c) ^ rotl32(c, 16)), np.uint32(c + b)
            b, a = np.uint32(np.uint32(b - a) ^ rotl32(a, 19)), np.uint32(a + c)
            c, b = np.uint32(np.uint32(c - b) ^ rotl32(b, 4)), np.uint32(b + a)
            at += twelve
        if at < end:
            left = min(end - at, word)
            a = np.uint32(a + _sum(data, at, left, signed and bool(left < word)))
            at += left
            left = min(end - at, word)
            b = np.uint32(b + _sum(data, at, left, signed and bool(left < word)))
            at += left
            left = end - at
            c = np.uint32(c + _sum(data, at, left, signed and bool(left < word)))
            c = np.uint32((c ^ b) - rotl32(b, 14))
            a = np.uint32((a ^ c) - rotl32(c, 11))
            b = np.uint32((b ^ a) - rotl32(a, 25))
            c = np.uint32((c ^ b) - rotl32(b, 16))
            a = np.uint32((a ^ c) - rotl32(c, 4))
            b = np.uint32((b ^ a) - rotl32(a, 14))
            c = np.uint32((c ^ b) - rotl32(b, 24))
        hashes[i] = np.int32(np.int16(b ^ c))
    return hashes


LOOKUP3 = hash_by("lookup3, 16 bits", _lookup3, False)
LOOKUP3_SIGNED = hash_by("lookup3 with signed last bytes, 16 bits", _lookup3, True)
LOOKUP3_CODE_POINTS = Hash("lookup3 of code points, 16 bits", lambda keys, _: lookup3_code_points(keys))
