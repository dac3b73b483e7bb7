"""Java's hash codes over arrays: String, Long, Double, UUID, byte[], and Kafka's Uuid and TopicPartition.

Text is UTF-8 as in Arrow; half a surrogate pair is the three bytes that UTF-8 would give its code point.
Plain-Python twin: tests/reference/hashes.py.
"""

from collections.abc import Sequence

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bytes, Group, Int32s, Int64s, Keys, offsets_of

_ONE = np.uint64(1)
_31 = np.uint32(31)
_31_TO_THE_4TH = np.uint32(31**4)


def text_bytes(text: str) -> bytes:
    """A Python string as the UTF-8 described above."""
    return text.encode("utf-8", "surrogatepass")


def string_hash_code(text: str) -> int:
    """String.hashCode() of one string: 31·h + unit over its UTF-16 units."""
    return int(java_hash_codes((text,))[0])


def java_hash_codes(names: Sequence[str]) -> Int32s:
    """String.hashCode() of each name. Returns int32[len(names)]."""
    text = "".join(names)
    data, lengths = bytearray(text_bytes(text)), np.fromiter(map(len, names), np.int32, len(names))
    if len(data) > len(text):  # not only ASCII: encode each name alone, so that halves of a pair in two names do not join
        texts = [text_bytes(name) for name in names]
        data, lengths = bytearray(b"".join(texts)), np.fromiter(map(len, texts), np.int32, len(texts))
    return _string_hash_codes(offsets_of(lengths), np.frombuffer(data, np.uint8))


def member_hash_codes(group: Group) -> Int32s:
    """String.hashCode() of each member_id. Returns int32[members]."""
    return java_hash_codes(group.member_ids) if group.hash_codes is None else group.hash_codes


def string_hash_codes(text: Keys) -> Int32s:
    """String.hashCode() of each text; 0 for null, like Objects.hashCode(null) and Optional.empty().

    Returns int32[len(text)].
    """
    codes: Int32s = _string_hash_codes(text.offsets, text.data)
    return codes if text.valid is None else np.where(text.valid, codes, np.int32(0))


def byte_array_hash_codes(keys: Keys) -> Int32s:
    """Arrays.hashCode(byte[]) of each key: 31·h + signed byte, from 1; 0 for null. Returns int32[len(keys)]."""
    codes: Int32s = _byte_array_hash_codes(keys.offsets, keys.data)
    return codes if keys.valid is None else np.where(keys.valid, codes, np.int32(0))


def long_hash_codes(values: Int64s) -> Int32s:
    """Long.hashCode() of each value, ``(int) (v ^ v >>> 32)``; also Double's and (of both halves xored) UUID's and Uuid's."""
    bits = values.view(np.uint64)
    return (bits ^ (bits >> np.uint64(32))).astype(np.uint32).view(np.int32)


def topic_partition_hash_codes(topic_hash_codes: Int32s, partition_ids: Int32s) -> Int32s:
    """TopicPartition.hashCode() from the topic names' hash codes. Returns int32[...], the two broadcast."""
    partitions = partition_ids.view(np.uint32)
    return ((_31 + partitions) * _31 + topic_hash_codes.view(np.uint32)).view(np.int32)


@kernel
def _string_hash_codes(offsets: Int32s, data: Bytes) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...], UTF-8. Returns int32[n]."""
    codes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(codes)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        h = np.uint32(0)
        while at < end:
            if end - at >= np.uint64(4):
                a, b, c, d = data[at], data[at + _ONE], data[at + np.uint64(2)], data[at + np.uint64(3)]
                if a | b | c | d < np.uint8(0x80):  # four ASCII characters, whose products are independent of each other
                    tail = _31 * (_31 * (_31 * np.uint32(a) + np.uint32(b)) + np.uint32(c)) + np.uint32(d)
                    h = np.uint32(_31_TO_THE_4TH * h + tail)
                    at += np.uint64(4)
                    continue
            point = np.uint32(data[at])
            at += _ONE
            if point >= np.uint32(0x80):
                more = np.uint64(1 if point < 0xE0 else 2 if point < 0xF0 else 3)
                point &= np.uint32(0x3F) >> np.uint32(more)
                stop = min(at + more, end)
                while at < stop:
                    point = (point << np.uint32(6)) | np.uint32(data[at] & np.uint8(0x3F))
                    at += _ONE
            if point >= np.uint32(0x10000):
                high = np.uint32(0xD7C0) + (point >> np.uint32(10))
                h = np.uint32(_31 * h + high)
                point = np.uint32(0xDC00) + (point & np.uint32(0x3FF))
            h = np.uint32(_31 * h + point)
        codes[i] = np.int32(h)
    return codes


@kernel
def _byte_array_hash_codes(offsets: Int32s, data: Bytes) -> Int32s:
    """The loop. offsets : int32[n + 1]; data : uint8[...]. Returns int32[n]."""
    codes = np.empty(len(offsets) - 1, np.int32)
    for i in range(len(codes)):
        h = np.uint32(1)
        for at in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            h = np.uint32(_31 * h + np.uint32(np.int8(data[at])))
        codes[i] = np.int32(h)
    return codes
