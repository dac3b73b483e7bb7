"""Decodes raw records of ``__consumer_offsets``, a row each: Arrow in, Arrow out. Executors run this."""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.model import Keys
from service.decisions.keys import flat
from service.decisions.rows import columns
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable
from service.wire.offset_commits import COMMIT, OTHER, TOMBSTONE, read_offset_commits
from service.wire.schemas import NO_UUID

COMMIT_TYPE: Final = 1
"""The type of every row about an offset: legacy commits (0) have it, too."""

PLACE: Final = ("log_partition", "log_offset", "timestamp")
SCHEMA: Final = pa.schema(
    columns(
        "type int, group string, member string, topic string, partition int, log_partition int, log_offset long, timestamp long, "
        "tombstone boolean, committed_offset long, leader_epoch int, metadata string, commit_timestamp long, "
        "expire_timestamp long, topic_id binary, value string, reason string, record string"
    )
)
"""``type`` to ``partition`` are the record's key; ``value`` is that of a record that is no commit, as JSON. Where ``reason`` is
not null the record is unreadable: ``record`` has it as JSON, and ``type`` is null. Timestamps are in ms, -1 for none."""


def read_records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A SCHEMA row for every record.

    batches : of key and value (binary), log_partition (int32), log_offset and timestamp (int64, ms); and of a row that is no
        record fault, the reason, and line, its text; else null
    """
    for batch in batches:
        keys, values = (batch.column(name).cast(pa.binary()) for name in ("key", "value"))
        decoded = read_offset_commits(flat(keys), flat(values))
        commits = np.flatnonzero(decoded.kind != OTHER)
        place = {name: batch.column(name) for name in PLACE}
        ids = _text(decoded.topic_id, pa.binary())
        columns: dict[str, Any] = {
            "type": np.full(len(batch), COMMIT_TYPE, np.int32),
            "group": _text(decoded.group, pa.string()),
            "topic": _text(decoded.topic, pa.string()),
            "partition": decoded.partition,
            **place,
            "tombstone": decoded.kind == TOMBSTONE,
            "committed_offset": pa.array(decoded.offset, mask=decoded.kind != COMMIT),
            "leader_epoch": decoded.leader_epoch,
            "metadata": _text(decoded.metadata, pa.string()),
            "commit_timestamp": decoded.commit_timestamp,
            "expire_timestamp": decoded.expire_timestamp,
            "topic_id": pc.if_else(pc.equal(pc.binary_length(ids), 0), pa.scalar(None, pa.binary()), ids),
        }
        if len(commits):
            yield _batch(columns, len(batch)).take(pa.array(commits))
        others = np.flatnonzero(decoded.kind == OTHER)
        if len(others):
            rows = pa.array(others)
            records = zip(*(column.take(rows).to_pylist() for column in (keys, values)), strict=True)
            faults = zip(*(batch.column(name).take(rows).to_pylist() for name in ("fault", "line")), strict=True)
            read = [_read(*record, *fault) for record, fault in zip(records, faults, strict=True)]
            place = {name: column.take(rows) for name, column in place.items()}
            yield _batch({**{name: [row.get(name) for row in read] for name in SCHEMA.names}, **place}, len(read))


def _batch(columns: dict[str, Any], rows: int) -> pa.RecordBatch:
    arrays = []
    for field in SCHEMA:
        column = columns.get(field.name, pa.nulls(rows, field.type))
        arrays.append(column.cast(field.type) if isinstance(column, pa.Array) else pa.array(column, field.type))
    return pa.record_batch(arrays, schema=SCHEMA)


def _text(keys: Keys, kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(keys), [None, pa.py_buffer(keys.offsets), pa.py_buffer(keys.data)])


def _read(key: bytes | None, value: bytes | None, fault: str | None, line: str | None) -> dict[str, Any]:
    """One record of any type."""
    if fault is not None:
        return {"tombstone": False, "reason": fault, "record": line}
    if key is None:
        return _unreadable(key, value, "the record has no key")
    try:
        record = read_group_record(key, value)
    except Unreadable as error:
        return _unreadable(key, value, f"{error.part}, {error}")
    names = record.key
    row: dict[str, Any] = {
        "type": record.type,
        "group": names.get("group", names.get("groupId")),
        "member": names.get("memberId", names.get("regularExpression")),
        "tombstone": record.value is None,
    }
    if record.type not in (0, COMMIT_TYPE):
        return row | {"value": None if record.value is None else json.dumps(record.value)}
    row |= {"type": COMMIT_TYPE, "topic": names["topic"], "partition": names["partition"]}
    if record.value is not None:
        commit = record.value
        row |= {
            "committed_offset": commit["offset"],
            "leader_epoch": commit.get("leaderEpoch", -1),
            "metadata": commit["metadata"],
            "commit_timestamp": commit["commitTimestamp"],
            "expire_timestamp": commit.get("expireTimestamp", -1),
            "topic_id": uuid_bytes(commit.get("topicId", NO_UUID)),
        }
    return row


def uuid_bytes(text: str) -> bytes | None:
    """The bytes of a Uuid in Kafka's text form; None for the zero UUID, which stands for none."""
    return None if text == NO_UUID else base64.urlsafe_b64decode(text + "==")


def _unreadable(key: bytes | None, value: bytes | None, reason: str) -> dict[str, Any]:
    def text(data: bytes | None) -> str | None:
        return None if data is None else base64.b64encode(data).decode()

    return {"tombstone": False, "reason": reason, "record": json.dumps({"key_base64": text(key), "value_base64": text(value)})}
