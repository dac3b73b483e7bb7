"""Offset commits in bulk: keys and values of ``__consumer_offsets`` to columns.

Nearly all records of the topic are offset commits. A kernel reads those that are well-formed, by the spans of their fields. All
others are for ``coordinator_records.read_group_record``, which reads every type and raises an error for what is unreadable.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.core.budget import check_time
from service.core.kernels import borrowing_kernel, kernel
from service.core.keys.codecs import copy_rows
from service.core.model import Int32s, Int64s, KeyArrays, Keys, offsets_of
from service.wire import spans
from service.wire.schemas import GROUP_RECORDS
from service.wire.spans import FIELDS, ROW_OF, TABLE, Arrays, MessageReading

Int8s = npt.NDArray[np.int8]

OTHER, COMMIT, TOMBSTONE = 0, 1, 2

ABSENT: Final = -1
"""The leader epoch, expiry or number of a record that has none."""

RECORDS_BETWEEN_LOOKS: Final = 2**14
"""Records between two looks at the time, some 3 ms."""

_TEXTS: Final = ("group", "topic", "metadata", "topicId")
_NUMBERS: Final = ("partition", "offset", "leaderEpoch", "commitTimestamp", "expireTimestamp")
_TOPIC_ID: Final = 3
_FIRST_NUMBER: Final = len(_TEXTS)

_KEY_ROW, _VALUE_ROW, _FLEXIBLE, _NEWEST = range(4)
_COMMITS: Final = (GROUP_RECORDS[0], GROUP_RECORDS[1])
_TYPES: Final = np.array([[ROW_OF[id(of.key)], ROW_OF[id(of.value)], of.value.flexible, of.value.newest] for of in _COMMITS])
"""int64[2, 4], of each type of commit the rows of its key and its value, and the first flexible and the newest version."""


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


class _Columns(NamedTuple):
    """What the kernel fills.

    of_field : int64[fields]   for each field of a commit its index in _TEXTS, or _FIRST_NUMBER and that in _NUMBERS
    kind : int8[n]
    spans : int32[4, 2, n]   start and length of group and topic in the keys, of metadata and topic id in the values
    numbers : int64[5, n]
    """

    of_field: Int64s
    kind: Int8s
    spans: Int32s
    numbers: Int64s


def read_offset_commits(keys: Keys, values: Keys) -> OffsetCommits:
    """The offset commits among some records. keys, values : of the same length; a null value is a tombstone."""
    n, names = len(keys), (*_TEXTS, *_NUMBERS)
    of_field = np.array([names.index(field.name) if field.name in names else 0 for field in FIELDS])
    columns = _Columns(of_field, np.zeros(n, np.int8), np.zeros((4, 2, n), np.int32), np.full((5, n), ABSENT, np.int64))
    sources = keys.arrays(), values.arrays(), TABLE, _TYPES, spans.new_arrays()
    for start in range(0, n, RECORDS_BETWEEN_LOOKS):
        check_time()
        _read(*sources, start, min(start + RECORDS_BETWEEN_LOOKS, n), columns)
    group, topic, metadata, topic_id = (
        Keys(offsets := offsets_of(lengths), copy_rows(source.data, starts, offsets))
        for source, (starts, lengths) in zip((keys, keys, values, values), columns.spans, strict=True)
    )
    partition, offset, leader_epoch, commit_ms, expire_ms = columns.numbers
    partition, leader_epoch = partition.astype(np.int32), leader_epoch.astype(np.int32)
    return OffsetCommits(columns.kind, group, topic, partition, offset, leader_epoch, metadata, commit_ms, expire_ms, topic_id)


@kernel
def _read(
    keys: KeyArrays, values: KeyArrays, fields: Int64s, types: Int64s, arrays: Arrays, start: int, stop: int, columns: _Columns
) -> None:
    """Fill the columns, which are zero, or ABSENT, from row ``start`` up to ``stop``.

    keys, values : of one length; fields : TABLE; types : _TYPES

    Reproduces OffsetCommitKey.read and OffsetCommitValue.read of versions 0–4, also of LegacyOffsetCommit.
    Plain-Python twin: tests/reference/wire.py.
    """
    for i in range(start, stop):
        columns.kind[i] = _read_row(keys, values, fields, types, arrays, columns, i)


@borrowing_kernel
def _read_row(
    keys: KeyArrays, values: KeyArrays, fields: Int64s, types: Int64s, arrays: Arrays, columns: _Columns, i: int
) -> int:
    """Read row i; returns its kind."""
    at = np.int64(keys.offsets[i])
    number = spans.number_at(keys.data, at, 2) if keys.valid[i] and keys.offsets[i + 1] - at >= 2 else np.int64(-1)
    if number not in (0, 1):
        return OTHER
    row, old = types[number, _KEY_ROW], np.int64(0)
    if not _read_fields(spans.reading_of(keys, fields, row, old, old, i, arrays), columns, i):
        return OTHER
    if not values.valid[i]:
        return TOMBSTONE
    at = np.int64(values.offsets[i])
    version = spans.number_at(values.data, at, 2) if values.offsets[i + 1] - at >= 2 else np.int64(-1)
    if version < 0 or version > types[number, _NEWEST]:
        return OTHER
    row, flexible = types[number, _VALUE_ROW], np.int64(version >= types[number, _FLEXIBLE])
    if not _read_fields(spans.reading_of(values, fields, row, version, flexible, i, arrays), columns, i):
        return OTHER
    return COMMIT


@borrowing_kernel
def _read_fields(reading: MessageReading, columns: _Columns, i: int) -> bool:
    """Read a message into row i; False if it is not well-formed."""
    data, places = reading.data, reading.spans
    while reading.state[spans.ROW] >= 0:
        for j in range(spans.next_spans(reading)):
            row, start, length = places[j, 0], places[j, 1], places[j, 2]
            if row < 0 or reading.fields[row, spans.KIND] == spans.MESSAGE:
                continue
            column = columns.of_field[row]
            if column >= _FIRST_NUMBER:
                columns.numbers[column - _FIRST_NUMBER, i] = spans.number_at(data, start, length)
                continue
            if column == _TOPIC_ID:  # a Uuid of zeros counts as absent
                length = length if data[start : start + length].any() else 0
            elif not spans.is_utf8(data, start, start + length):
                return False
            columns.spans[column, 0, i], columns.spans[column, 1, i] = start, length
    return bool(reading.state[spans.FAULT] == 0)
