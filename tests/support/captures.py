"""The bytes of the golden vectors, for tests that alter them."""

from __future__ import annotations

import base64
from functools import cache
from typing import NamedTuple

from tests.support.golden import lines

RECORDS = {
    **dict.fromkeys(("consumer-group", "group-metadata", "odd-records", "offset-commits"), "group_record"),
    **dict.fromkeys(("printed-by-0.10.2.1", "printed-by-3.9.1", "share-and-streams-groups", "share-group-lines"), "group_record"),
    "share-group-state": "share_group_state_record",
}
"""The kind of record that each file holds."""

PROTOCOL = ("subscriptions", "assignments", "sticky-user-data")


class Capture(NamedTuple):
    """Bytes and their kind, as ``/v1/decodings`` calls it; data is all there is unless it is a record."""

    kind: str
    data: bytes
    key: bytes = b""
    value: bytes | None = None


@cache
def captures() -> tuple[Capture, ...]:
    """All of them."""
    records = [
        Capture(kind, b"", base64.b64decode(case["input"]["key_base64"]), _bytes(case["input"]["value_base64"]))
        for name, kind in RECORDS.items()
        for case in lines(f"offsets/{name}")
    ]
    messages = [
        Capture(case["kind"], base64.b64decode(case["bytes_base64"])) for name in PROTOCOL for case in lines(f"protocol/{name}")
    ]
    return (*records, *messages)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
