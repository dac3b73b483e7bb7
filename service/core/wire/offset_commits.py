"""Offset commits in bulk: keys and values of ``__consumer_offsets`` to columns.

Nearly all records of the topic are offset commits. A kernel reads those that are well-formed. All others are for
``coordinator_records.read_group_record``, which reads every type and raises an error for what is unreadable.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bytes, Int32s, Int64s, KeyArrays, Keys

Int8s = npt.NDArray[np.int8]

OTHER, COMMIT, TOMBSTONE = 0, 1, 2

ABSENT: Final = -1
"""The leader epoch, expiry or number of a record that has none."""


@dataclass(frozen=True)
class OffsetCommits:
    """One row for each record; where ``kind`` is OTHER, the rest of the row is undefined.

    kind : int8[n]   COMMIT, TOMBSTONE (of a commit, with its group, topic and partition), or OTHER: not read
    group, topic, metadata : Keys[n]   UTF-8
    topic_id : Keys[n]   the Uuid's 16 bytes, or none
    partition, leader_epoch : int32[n]
    offset, commit_timestamp, expire_timestamp : int64[n]   timestamps in ms; or ABSENT
    """

    kind: Int8s
    group: Keys
    topic: Keys
    partition: Int32s
    offset: Int64s
    leader_epoch: Int32s
    metadata: Keys
    commit_timestamp: Int64s
    expire_timestamp: Int64s
    topic_id: Keys


def read_offset_commits(keys: Keys, values: Keys) -> OffsetCommits:
    """The offset commits among some records. keys, values : of the same length; a null value is a tombstone."""
    n = len(keys)
    kind = np.zeros(n, np.int8)
    spans = np.zeros((4, 2, n), np.int32)
    numbers = np.full((5, n), ABSENT, np.int64)
    _read(keys.arrays(), values.arrays(), kind, spans, numbers)
    group, topic, metadata, topic_id = (
        Keys(*_gathered(source.data, starts, lengths))
        for source, (starts, lengths) in zip((keys, keys, values, values), spans, strict=True)
    )
    partition, offset, leader_epoch, commit_timestamp, expire_timestamp = numbers
    return OffsetCommits(
        kind,
        group,
        topic,
        partition.astype(np.int32),
        offset,
        leader_epoch.astype(np.int32),
        metadata,
        commit_timestamp,
        expire_timestamp,
        topic_id,
    )


@kernel
def _read(keys: KeyArrays, values: KeyArrays, kind: Int8s, spans: Int32s, numbers: Int64s) -> None:
    """Fill ``kind``, ``spans`` and ``numbers``, which are zero, zero and ABSENT.

    keys, values : of one length
    kind : int8[n]
    spans : int32[4, 2, n]   start and length of group and topic in ``keys.data``, of metadata and topic id in ``values.data``
    numbers : int64[5, n]    partition, offset, leader epoch, commit and expire timestamp

    Reproduces OffsetCommitKey.read and OffsetCommitValue.read of versions 0–4, also of LegacyOffsetCommit (Apache Kafka 4.3.1).
    Plain-Python twin: service.core.wire.coordinator_records itself.
    """
    for i in range(len(kind)):
        if not keys.valid[i]:
            continue
        at, end = np.int64(keys.offsets[i]), np.int64(keys.offsets[i + 1])
        if end - at < 2:
            continue
        record_type = number_at(keys.data, at, 2)
        if record_type not in (0, 1):
            continue
        at = _text(keys.data, at + 2, end, spans[0], i)
        at = _text(keys.data, at, end, spans[1], i)
        if at < 0 or end - at < 4:
            continue
        numbers[0, i] = number_at(keys.data, at, 4)
        if not values.valid[i]:
            kind[i] = TOMBSTONE
        elif _value(values.data, np.int64(values.offsets[i]), np.int64(values.offsets[i + 1]), record_type, i, spans, numbers):
            kind[i] = COMMIT


@kernel
def _value(data: Bytes, at: np.int64, end: np.int64, record_type: np.int64, i: int, spans: Int32s, numbers: Int64s) -> bool:
    """Read the value of row i, ``data[at:end]``; False if it is not well-formed."""
    if end - at < 2:
        return False
    version = number_at(data, at, 2)
    if version < 0 or version > (0 if record_type == 0 else 4):
        return False
    at += 2
    size = np.int64(12 if version >= 3 else 8)
    if end - at < size:
        return False
    numbers[1, i] = number_at(data, at, 8)
    if version >= 3:
        numbers[2, i] = number_at(data, at + 8, 4)
    at += size
    at = _compact_text(data, at, end, spans[2], i) if version >= 4 else _text(data, at, end, spans[2], i)
    size = np.int64(16 if version == 1 else 8)
    if at < 0 or end - at < size:
        return False
    numbers[3, i] = number_at(data, at, 8)
    if version == 1:
        numbers[4, i] = number_at(data, at + 8, 8)
    return bool(version < 4) or _tagged(data, at + size, end, spans[3], i)


@kernel
def _tagged(data: Bytes, at: np.int64, end: np.int64, span: Int32s, i: int) -> bool:
    """Find the topic id, tag 0, among the tagged fields; a Uuid of zeros counts as absent."""
    count, at = varint_at(data, at, end)
    for _ in range(count):
        tag, at = varint_at(data, at, end)
        size, at = varint_at(data, at, end)
        if at < 0:
            return False
        if tag == 0:
            size = np.int64(16)
        if end - at < size:
            return False
        if tag == 0:
            span[0, i], span[1, i] = at, 16 if data[at : at + 16].any() else 0
        at += size
    return bool(at >= 0)


@inner_kernel
def varint_at(data: Bytes, at: np.int64, end: np.int64) -> tuple[np.int64, np.int64]:
    """An unsigned varint below 2³¹ and its end, or 0 and -1; ``at`` may be -1."""
    value = np.int64(0)
    if at >= 0:
        for shift in range(0, 35, 7):
            if at >= end:
                break
            byte = np.int64(data[at])
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= 2**31:
                    break
                return value, at
    return np.int64(0), np.int64(-1)


@kernel
def _text(data: Bytes, at: np.int64, end: np.int64, span: Int32s, i: int) -> np.int64:
    """Store the span of a string with a length of two bytes. Returns its end, or -1."""
    if at < 0 or end - at < 2:
        return np.int64(-1)
    return _noted(data, at + 2, number_at(data, at, 2), end, span, i)


@inner_kernel
def _compact_text(data: Bytes, at: np.int64, end: np.int64, span: Int32s, i: int) -> np.int64:
    """Store the span of a string with a compact length. Returns its end, or -1."""
    length, at = varint_at(data, at, end)
    return _noted(data, at, length - 1, end, span, i)


@inner_kernel
def _noted(data: Bytes, at: np.int64, length: np.int64, end: np.int64, span: Int32s, i: int) -> np.int64:
    if at < 0 or length < 0 or end - at < length or not is_text(data, at, length):
        return np.int64(-1)
    span[0, i], span[1, i] = at, length
    return at + length


@inner_kernel
def number_at(data: Bytes, at: np.int64, size: int | np.int64) -> np.int64:
    """A signed big-endian number of ``size`` bytes, which must exist."""
    value = np.int64(np.int8(data[at]))
    for j in range(at + 1, at + size):
        value = (value << 8) | np.int64(data[j])
    return value


@inner_kernel
def is_text(data: Bytes, at: np.int64, length: np.int64) -> bool:
    """Is ``data[at:at + length]`` UTF-8, and no longer than Kafka's strings?"""
    return bool(length <= 0x7FFF) and _is_utf8(data, at, at + length)


@inner_kernel
def _is_utf8(data: Bytes, at: np.int64, end: np.int64) -> bool:
    """Is ``data[at:end]`` UTF-8, to the letter of RFC 3629?"""
    while at < end:
        first = np.int64(data[at])
        at += 1
        if first < 0x80:
            continue
        more = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if first < 0xC2 or first > 0xF4 or end - at < more:
            return False
        second = np.int64(data[at])
        low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        if second < low or second > high:
            return False
        for j in range(at + 1, at + more):
            if np.int64(data[j]) & 0xC0 != 0x80:
                return False
        at += more
    return True


@kernel
def _gathered(data: Bytes, starts: Int32s, lengths: Int32s) -> tuple[Int32s, Bytes]:
    """Pieces of ``data``, concatenated.

    data : uint8[...];  starts, lengths : int32[n]
    Returns int32[n + 1] and uint8[...], as in Keys.
    """
    offsets = np.zeros(len(starts) + 1, np.int32)
    for i in range(len(starts)):
        offsets[i + 1] = offsets[i] + lengths[i]
    gathered = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        start, to = np.int64(starts[i]), np.int64(offsets[i])
        for j in range(np.int64(lengths[i])):
            gathered[to + j] = data[start + j]
    return offsets, gathered
