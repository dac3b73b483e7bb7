"""Every kind of bytes through its reader, for the tests and for ``make fuzz``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.core.kafka_versions import FORMATTERS
from service.core.wire.consumer_protocol import (
    read_assignment,
    read_cooperative_sticky_user_data,
    read_sticky_user_data,
    read_subscription,
)
from service.core.wire.coordinator_records import read_group_record, read_share_group_state_record
from service.core.wire.errors import Unreadable
from service.core.wire.members import group_request, member_document
from service.core.wire.printed import OF_GROUP_RECORDS, OF_SHARE_GROUP_STATE, lines

if TYPE_CHECKING:
    from tests.support.captures import Capture

RECORDS = ("group_record", "share_group_state_record")
KINDS = (*RECORDS, "subscription", "assignment", "sticky_user_data", "cooperative_sticky_user_data")


def read(capture: Capture) -> Unreadable | None:
    """Read it, and all that is made of it; anything but success and Unreadable, at a place within the bytes, is a failure."""
    error = _fault(capture)
    if error is not None:
        data = {"key": capture.key, "value": capture.value or b"", "bytes": capture.data}[error.part]
        assert 0 <= error.offset <= len(data)
        assert error.reason
    return error


def _fault(capture: Capture) -> Unreadable | None:
    try:
        _read(capture)
    except Unreadable as error:
        return error
    return None


def _read(capture: Capture) -> None:
    if capture.kind == "group_record":
        record = read_group_record(capture.key, capture.value)
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
