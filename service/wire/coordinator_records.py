"""The records of coordinators: their keys and values, one by one and in bulk.

::

    __consumer_offsets      the group coordinator's: committed offsets, and groups of every protocol
    __share_group_state     the share coordinator's: the state of each share group for each partition (KIP-932)

A key begins with the record's type, a value with its version; a record without a value is a tombstone.

Source: CoordinatorRecordSerde, GroupCoordinatorRecordSerde, ShareCoordinatorRecordSerde.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import orjson

from service.core.budget import looking, reserve, reserve_in_turn
from service.core.model import Bytes, Int64s, Keys
from service.wire.errors import BufferUnderflow, Runtime, UnknownRecordType, UnknownRecordVersion, Unreadable
from service.wire.reader import Document, read_message, read_version
from service.wire.schemas import GROUP_RECORDS, SHARE_GROUP_STATE_RECORDS, Message, RecordType

_Unreadable = TypeVar("_Unreadable", bound=Unreadable)


@dataclass(frozen=True)
class CoordinatorRecord:
    """A record, read.

    type, name : its type, as a number and as named by its coordinator's CoordinatorRecordType
    key, value : as CoordinatorRecordJsonConverters return them
    version : the value's; it and the value are None for a tombstone
    """

    type: int
    name: str
    key: Document
    version: int | None
    value: Document | None


def record_bytes(keys: Keys, values: Keys, row: int) -> tuple[bytes, bytes | None]:
    """The key and the value of one record; a record without a key has an empty one."""
    key, value = (
        part.data[part.offsets[row] : part.offsets[row + 1]].tobytes() if part.valid is None or part.valid[row] else None
        for part in (keys, values)
    )
    return key or b"", value


def read_group_record(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """A record of ``__consumer_offsets``; bytes after the end of key or value are ignored, as in Kafka.

    Raises Unreadable: UnknownRecordType, UnknownRecordVersion, or Runtime for truncated or corrupt bytes.
    """
    return _read_record(key, value, GROUP_RECORDS)


def read_share_group_state_record(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """A record of ``__share_group_state``, likewise."""
    return _read_record(key, value, SHARE_GROUP_STATE_RECORDS)


def _read_record(key: bytes, value: bytes | None, types: Mapping[int, RecordType]) -> CoordinatorRecord:
    number = _read_version(key, "key")
    record_type = types.get(number)
    if record_type is None:
        raise _part(UnknownRecordType(f"Found an unknown record type {number}", 0, f"there is no record type {number}"), "key")
    read_key = _read(key, record_type.key, 0, "key", number)
    if value is None:
        return CoordinatorRecord(number, record_type.name, read_key, None, None)
    version = _read_version(value, "value")
    newest = record_type.value.newest
    if not 0 <= version <= newest:
        message = f"Found an unknown record version {version} for {number} type"
        reason = f"{record_type.name} has no version {version}; the last is {newest}"
        raise _part(UnknownRecordVersion(message, 0, reason), "value")
    read_value = _read(value, record_type.value, version, "value", version)
    return CoordinatorRecord(number, record_type.name, read_key, version, read_value)


def _read_version(data: bytes, part: str) -> int:
    try:
        return read_version(data, "the record's type" if part == "key" else "the value's version")
    except BufferUnderflow as cause:
        raise _part(Runtime.because_of(cause, f"Could not read version from {part}'s buffer."), part) from None


def _read(data: bytes, message: Message, version: int, part: str, shown_version: int) -> Document:
    """A key's version is always 0, but Kafka's message shows the record's type in its place."""
    try:
        return read_message(data, message, version, 2)[0]
    except Unreadable as cause:
        words = "null" if cause.message is None else cause.message
        text = f"Could not read record with version {shown_version} from {part}'s buffer due to: {words}."
        raise _part(Runtime.because_of(cause, text), part) from None


def _part(error: _Unreadable, part: str) -> _Unreadable:
    error.part = part
    return error


# Records of coordinators in bulk: keys and values to lines of JSON, one record after the other, some 40 µs each.

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
