"""Records of coordinators in bulk: keys and values to lines of JSON, one record after the other, some 40 µs each."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from service.core.clock import looking, reserve, reserve_in_turn
from service.core.model import Bytes, Int64s, Keys
from service.wire.coordinator_records import CoordinatorRecord, record_bytes
from service.wire.errors import Unreadable

Int16s = npt.NDArray[np.int16]

ROW_BYTES: Final = 64
"""Memory for each record beside its text."""

FIELD_BYTES: Final = 200
"""Memory for each byte of the record that is being read: its fields, and their JSON."""

TEXT_BYTES: Final = 4
"""Memory for each byte of JSON: it is copied as it grows, and where all of it becomes an array."""

UNREADABLE_BYTES: Final = 1_400
"""Memory for each record that cannot be read, with its JSON."""

CHECKED_RECORDS: Final = 100
"""Records between two looks at the time, some 4 ms."""

UNREAD, TOMBSTONE, VALUE = 0, 1, 2


class RecordTexts(NamedTuple):
    """Lines of JSON, one for each record that could be read: record_type, record_name, key, value_version and value.

    kind : int8[n]           UNREAD, TOMBSTONE or VALUE
    record_type, version : int16[n]   undefined where there is none
    offsets : int64[n + 1]   line i is ``text[offsets[i]:offsets[i + 1]]``, without a line break; empty where it is UNREAD
    key, value : int64[n, 2] the ends of the two documents in the text
    unreadable : row → why it is UNREAD
    """

    kind: npt.NDArray[np.int8]
    record_type: Int16s
    version: Int16s
    offsets: Int64s
    key: Int64s
    value: Int64s
    text: Bytes
    unreadable: dict[int, Unreadable]


def read_records(keys: Keys, values: Keys, read: Callable[[bytes, bytes | None], CoordinatorRecord]) -> RecordTexts:
    """The lines of some records.

    keys, values : of one length; a null value is a tombstone
    read : how one is read
    """
    n = len(keys)
    reserve(ROW_BYTES * n)
    kind, numbers, ends = np.full(n, UNREAD, np.int8), np.zeros((2, n), np.int16), np.zeros((5, n), np.int64)
    text, unreadable = bytearray(), dict[int, Unreadable]()
    for row in looking(range(n), CHECKED_RECORDS):
        key, value = record_bytes(keys, values, row)
        reserve_in_turn(FIELD_BYTES * (len(key) + len(value or b"")))
        try:
            record = read(key, value)
        except Unreadable as error:
            reserve(UNREADABLE_BYTES)
            unreadable[row] = error.alone()
            ends[:, row] = len(text)
            continue
        head = b'{"record_type":%d,"record_name":"%s","key":' % (record.type, record.name.encode())
        version = b',"value_version":%s,"value":' % orjson.dumps(record.version)
        parts = head, orjson.dumps(record.key), version, orjson.dumps(record.value), b"}"
        ends[:, row] = np.cumsum([len(text) + len(head), *map(len, parts[1:])])
        reserve(TEXT_BYTES * (int(ends[-1, row]) - len(text)))
        text += b"".join(parts)
        kind[row] = TOMBSTONE if value is None else VALUE
        numbers[:, row] = record.type, record.version or 0
    offsets = np.append(0, ends[-1])
    return RecordTexts(kind, numbers[0], numbers[1], offsets, ends[:2].T, ends[2:4].T, np.frombuffer(text, np.uint8), unreadable)
