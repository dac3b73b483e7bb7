"""A few records of ``__consumer_offsets`` as bytes, for tests that need many or particular ones."""

from __future__ import annotations

import base64
import struct

ABSENT = -1


def text(value: str | None) -> bytes:
    data = (value or "").encode()
    return struct.pack(">h", ABSENT if value is None else len(data)) + data


def compact(value: str | None) -> bytes:
    data = (value or "").encode()
    return varint(0 if value is None else len(data) + 1) + data


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def blob(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def commit_key(group: str, topic: str, partition: int) -> bytes:
    return struct.pack(">h", 1) + text(group) + text(topic) + struct.pack(">i", partition)


def commit_value(offset: int, commit_timestamp: int, expire_timestamp: int = ABSENT, topic_id: str | None = None) -> bytes:
    """As a broker writes it: version 1 if it expires, version 4 with a topic id, else 3."""
    if expire_timestamp != ABSENT:
        return struct.pack(">hq", 1, offset) + text("") + struct.pack(">qq", commit_timestamp, expire_timestamp)
    if topic_id is None:
        return struct.pack(">hqi", 3, offset, ABSENT) + text("") + struct.pack(">q", commit_timestamp)
    tagged = b"\x01\x00\x10" + base64.urlsafe_b64decode(topic_id + "==")
    return struct.pack(">hqi", 4, offset, ABSENT) + compact("") + struct.pack(">q", commit_timestamp) + tagged


def topic_partitions(partitions: dict[str, list[int]]) -> bytes:
    rows = [text(name) + struct.pack(f">i{len(ids)}i", len(ids), *ids) for name, ids in partitions.items()]
    return struct.pack(">i", len(rows)) + b"".join(rows)


def classic_key(group: str) -> bytes:
    return struct.pack(">h", 2) + text(group)


def classic_value(
    members: dict[str, dict[str, list[int]]], state_timestamp: int, generation: int = 1, protocol_type: str = "consumer"
) -> bytes:
    """A group of consumers. members : by id, the partitions of the topics that each subscribes to."""
    out = struct.pack(">h", 3) + text(protocol_type) + struct.pack(">i", generation) + text("range" if members else None)
    out += text(next(iter(members), None)) + struct.pack(">qi", state_timestamp, len(members))
    for name, partitions in members.items():
        topics = b"".join(map(text, partitions))
        subscription = struct.pack(">hi", 1, len(partitions)) + topics + b"\xff\xff\xff\xff" + struct.pack(">i", 0)
        assignment = struct.pack(">h", 1) + topic_partitions(partitions) + b"\xff\xff\xff\xff"
        out += text(name) + text(None) + text(f"client-{name}") + text("/10.0.0.1") + struct.pack(">ii", 60000, 45000)
        out += blob(subscription) + blob(assignment)
    return out


def consumer_group(group: str, members: dict[str, tuple[list[str], dict[str, list[int]]]]) -> list[tuple[bytes, bytes]]:
    """A KIP-848 group: members by id, the topics each wants, and its partitions by topic id."""
    records = [(struct.pack(">h", 3) + text(group), struct.pack(">hi", 0, 7) + b"\x00")]
    for name, (topics, partitions) in members.items():
        tail = text(group) + text(name)
        subscribed = varint(len(topics) + 1) + b"".join(map(compact, topics))
        member = compact(None) * 2 + compact(f"client-{name}") + compact("/10.0.0.1") + subscribed + compact(None)
        records.append(
            (struct.pack(">h", 5) + tail, struct.pack(">h", 0) + member + struct.pack(">i", 1) + compact(None) + b"\x00")
        )
        rows = [
            base64.urlsafe_b64decode(topic + "==") + varint(len(ids) + 1) + struct.pack(f">{len(ids)}i", *ids) + b"\x00"
            for topic, ids in partitions.items()
        ]
        state = struct.pack(">hiib", 0, 7, 6, 0) + varint(len(rows) + 1) + b"".join(rows) + varint(1) + b"\x00"
        records.append((struct.pack(">h", 8) + tail, state))
    return records


def regular_expression(group: str, expression: str, topics: list[str]) -> tuple[bytes, bytes]:
    """What an expression of a KIP-848 group has been found to match."""
    matched = varint(len(topics) + 1) + b"".join(map(compact, topics))
    return struct.pack(">h", 16) + text(group) + text(expression), struct.pack(">h", 0) + matched + bytes(17)


def share_group(group: str, members: dict[str, list[str]]) -> list[tuple[bytes, bytes]]:
    """A share group: members by id, the topics each wants."""
    records = [(struct.pack(">h", 11) + text(group), struct.pack(">hiq", 0, 7, 0) + b"\x00")]
    for name, topics in members.items():
        subscribed = varint(len(topics) + 1) + b"".join(map(compact, topics))
        member = compact(None) + compact(f"client-{name}") + compact("/10.0.0.1") + subscribed
        records.append((struct.pack(">h", 10) + text(group) + text(name), struct.pack(">h", 0) + member + b"\x00"))
    return records


def streams_group(group: str, members: list[str], sources: list[str], repartitions: list[str]) -> list[tuple[bytes, bytes]]:
    """A streams group of one subtopology, which reads ``sources`` and what it repartitions itself."""
    names = varint(len(sources) + 1) + b"".join(map(compact, sources))
    written = varint(len(repartitions) + 1) + b"".join(map(compact, repartitions))
    read = varint(len(repartitions) + 1) + b"".join(compact(name) + bytes(6) + b"\x01\x00" for name in repartitions)
    topology = compact("0") + names + b"\x01\x01" + written + read + b"\x01\x00"
    records = [
        (struct.pack(">h", 17) + text(group), struct.pack(">hiq", 0, 7, 0) + b"\x00"),
        (struct.pack(">h", 23) + text(group), struct.pack(">hi", 0, 1) + b"\x02" + topology + b"\x00"),
    ]
    for name in members:
        member = compact(None) * 2 + compact(f"client-{name}") + compact("/10.0.0.1") + struct.pack(">ii", 60000, 1)
        tail = compact("process") + b"\xff" + b"\x01\x00"
        records.append((struct.pack(">h", 19) + text(group) + text(name), struct.pack(">h", 0) + member + tail))
    return records
