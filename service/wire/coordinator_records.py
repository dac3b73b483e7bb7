"""The records of coordinators: their keys and values.

::

    __consumer_offsets      the group coordinator's: committed offsets, and groups of every protocol
    __share_group_state     the share coordinator's: the state of each share group for each partition (KIP-932)

A key begins with the record's type, a value with its version; a record without a value is a tombstone.

Source: CoordinatorRecordSerde, GroupCoordinatorRecordSerde, ShareCoordinatorRecordSerde.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from service.core.model import Keys
from service.wire.errors import BufferUnderflow, Runtime, UnknownRecordType, UnknownRecordVersion, Unreadable
from service.wire.messages import Message
from service.wire.reader import Document, read_message, read_version
from service.wire.schemas import GROUP_RECORDS, SHARE_GROUP_STATE_RECORDS, RecordType

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
