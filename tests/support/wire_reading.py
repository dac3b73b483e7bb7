"""Every kind of bytes through its reader, for the tests and for ``make fuzz``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.core.kafka_versions import FORMATTERS
from service.wire.consumer_protocol import (
    read_assignment,
    read_cooperative_sticky_user_data,
    read_sticky_user_data,
    read_subscription,
)
from service.wire.coordinator_records import read_group_record, read_share_group_state_record
from service.wire.errors import Unreadable
from service.wire.formatters import (
    OF_GROUP_RECORDS,
    OF_SHARE_GROUP_STATE,
    lines,
    lines_of_group_record,
    scala_lines_of_group_record,
)
from service.wire.members import group_request, member_document
from service.wire.reader import read_message
from service.wire.schemas import (
    ASSIGNMENT,
    COOPERATIVE_STICKY_USER_DATA,
    GROUP_RECORDS,
    SHARE_GROUP_STATE_RECORDS,
    STICKY_USER_DATA,
    SUBSCRIPTION,
)
from tests.reference import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.wire.reader import Document
    from service.wire.schemas import Message
    from tests.support.captures import Capture

RECORDS = ("group_record", "share_group_state_record")
MESSAGES = {
    "subscription": SUBSCRIPTION,
    "assignment": ASSIGNMENT,
    "sticky_user_data": STICKY_USER_DATA,
    "cooperative_sticky_user_data": COOPERATIVE_STICKY_USER_DATA,
}
KINDS = (*RECORDS, *MESSAGES)


def read(capture: Capture) -> Unreadable | None:
    """Read it, and all that is made of it; anything but success and Unreadable, at a place within the bytes, is a failure."""
    error = _fault(capture)
    if error is not None:
        data = {"key": capture.key, "value": capture.value or b"", "bytes": capture.data}[error.part]
        assert 0 <= error.offset <= len(data)
        assert error.reason
    return error


def check_twin(capture: Capture) -> None:
    """Every message that may lie in these bytes, in each version: the kernel reads the same as its twin, or the same error."""
    for data, message in _messages(capture):
        for version in range(message.newest + 1):
            assert _outcome(read_message, data, message, version) == _outcome(wire.read_message, data, message, version)


def _messages(capture: Capture) -> Iterator[tuple[bytes, Message]]:
    if capture.kind not in RECORDS:
        yield capture.data, MESSAGES[capture.kind]
        return
    types = GROUP_RECORDS if capture.kind == "group_record" else SHARE_GROUP_STATE_RECORDS
    each = types.get(int.from_bytes(capture.key[:2]))
    if each is not None:
        yield capture.key, each.key
        yield capture.value or b"", each.value


def _outcome(
    read_one: Callable[[bytes, Message, int, int], tuple[Document, int]], data: bytes, message: Message, version: int
) -> tuple[object, ...]:
    try:
        return read_one(data, message, version, min(2, len(data)))
    except Unreadable as error:
        return type(error), error.message, error.offset, error.reason


def _fault(capture: Capture) -> Unreadable | None:
    try:
        _read(capture)
    except Unreadable as error:
        return error
    return None


def _read(capture: Capture) -> None:
    if capture.kind == "group_record":
        record = read_group_record(capture.key, capture.value)
        lines_of_group_record(capture.key, capture.value)
        scala_lines_of_group_record(capture.key, capture.value)
        for release in FORMATTERS:
            lines(record, OF_GROUP_RECORDS, release)
        group_request(record)
    elif capture.kind == "share_group_state_record":
        lines(read_share_group_state_record(capture.key, capture.value), OF_SHARE_GROUP_STATE)
    elif capture.kind == "subscription":
        subscription = read_subscription(capture.data)
        for assignor in ("range", "sticky", "cooperative-sticky"):
            member_document(subscription, "member", None, assignor)
    elif capture.kind == "assignment":
        read_assignment(capture.data)
    elif capture.kind == "sticky_user_data":
        read_sticky_user_data(capture.data)
    else:
        read_cooperative_sticky_user_data(capture.data)
