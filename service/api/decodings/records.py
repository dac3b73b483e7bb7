"""The answers of ``POST /v1/decodings`` to many records: JSON lines, a table, or the groups that they describe."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.api.decodings.request import GROUP_RECORD, Captures
from service.core.errors import MAX_ERRORS
from service.core.model import Bools, Int64s, Keys
from service.core.wire.coordinator_records import read_group_record, read_share_group_state_record
from service.core.wire.errors import Unreadable
from service.core.wire.offset_commits import ABSENT, COMMIT, OTHER, read_offset_commits
from service.core.wire.offsets_topic import read_offsets_topic, record_bytes
from service.core.wire.reader import uuid_text
from service.core.wire.record_texts import UNREAD, VALUE, RecordTexts, read_group_records, read_share_group_state_records
from service.core.wire.schemas import GROUP_RECORDS, SHARE_GROUP_STATE_RECORDS
from service.web.context import check_time, reserve
from service.web.json.codec import LongText, dumps
from service.web.json.rows import enclosed

ODD_BYTES: Final = 200
"""Memory for each byte of a record that is read field by field, with its fields and their JSON."""

COLUMN_BYTES: Final = 120
"""Memory for each row of the table beside its texts."""

BLOCK_RECORDS: Final = 2**12
"""Records whose JSON is put together at once."""

CHECKED_RECORDS: Final = 1_000
"""Records read field by field between two checks of the time."""


def lines(captures: Captures, separator: bytes) -> LongText:
    """For each record JSON: what it says, or why it cannot be read, with the separator between the records."""
    texts = _texts(captures)
    return LongText(_lines(captures, texts, separator), int(texts.offsets[-1]) + len(texts.kind))


def _lines(captures: Captures, texts: RecordTexts, separator: bytes) -> Iterator[bytes]:
    for start in range(0, len(texts.kind), BLOCK_RECORDS):
        kinds, bounds = texts.kind[start : start + BLOCK_RECORDS], texts.offsets[start : start + BLOCK_RECORDS + 1]
        text, bounds = texts.text[bounds[0] : bounds[-1]].tobytes(), (bounds - bounds[0]).tolist()
        block = [text[begin:end] for begin, end in pairwise(bounds)]
        for row in np.flatnonzero(kinds == UNREAD).tolist():
            block[row] = dumps(_document(captures, start + row))
        yield (separator if start else b"") + separator.join(block)


def _texts(captures: Captures) -> RecordTexts:
    read = read_group_records if captures.kind == GROUP_RECORD else read_share_group_state_records
    return read(captures.keys, captures.values, reserve)


def _document(captures: Captures, row: int) -> dict[str, Any]:
    """A record that the kernel leaves out, as a line has it."""
    if row % CHECKED_RECORDS == 0:
        check_time()
    key, value = record_bytes(captures.keys, captures.values, row)
    reserve(ODD_BYTES * (len(key) + len(value or b"")))
    read = read_group_record if captures.kind == GROUP_RECORD else read_share_group_state_record
    try:
        record = read(key, value)
    except Unreadable as error:
        return unreadable_document(error)
    return {
        "record_type": record.type,
        "record_name": record.name,
        "key": record.key,
        "value_version": record.version,
        "value": record.value,
    }


def unreadable_document(error: Unreadable) -> dict[str, Any]:
    """Why a record cannot be read."""
    return {
        "error": type(error).__name__,
        "exception": error.exception,
        "message": error.message,
        "detail": str(error),
        "part": error.part,
        "offset": error.offset,
    }


def document(captures: Captures) -> dict[str, Any]:
    """The answer as one JSON document."""
    return {"records": enclosed(b"[", lines(captures, b","), b"]")}


def json_lines(captures: Captures) -> LongText:
    """The answer as JSON lines."""
    return enclosed(b"", lines(captures, b"\n"), b"\n" if len(captures.keys) else b"")


def groups_document(captures: Captures) -> dict[str, Any]:
    """The groups that the records describe."""
    topic = read_offsets_topic(captures.keys, captures.values, captures.topic_names, reserve, check_time)
    return {
        "records_count": len(captures.keys),
        "tombstones_count": topic.tombstones,
        "unreadable_count": len(topic.unreadable),
        "unreadable_records": [{"row": row, **unreadable_document(error)} for row, error in topic.unreadable[:MAX_ERRORS]],
        "groups": topic.groups,
    }


def table(captures: Captures) -> pa.Table:
    """The answer as a table: key and value as JSON texts, and the fields of offset commits as columns of their own."""
    texts, n = _texts(captures), len(captures.keys)
    reserve(COLUMN_BYTES * n + 2 * int(texts.offsets[-1]))
    odd = {int(row): _document(captures, int(row)) for row in np.flatnonzero(texts.kind == UNREAD)}
    types, versions = texts.record_type, texts.version
    for row, each in odd.items():
        types[row], versions[row] = each.get("record_type", 0), each.get("value_version") or 0
    unknown, absent = texts.kind == UNREAD, texts.kind != VALUE
    for row, each in odd.items():
        unknown[row], absent[row] = "record_type" not in each, each.get("value_version") is None
    names = {
        number: each.name
        for number, each in (GROUP_RECORDS if captures.kind == GROUP_RECORD else SHARE_GROUP_STATE_RECORDS).items()
    }
    columns = {
        "record_type": pa.array(types, mask=unknown),
        "record_name": pa.array(
            [None if odd_ else names[number] for odd_, number in zip(unknown, types.tolist(), strict=True)]
        ).dictionary_encode(),
        "key": _json_column(texts, texts.key, {row: each.get("key") for row, each in odd.items()}),
        "value_version": pa.array(versions, mask=absent),
        "value": _json_column(texts, texts.value, {row: each.get("value") for row, each in odd.items()}, absent),
        "error": pa.array([odd[row].get("detail") if row in odd else None for row in range(n)], pa.string()),
    }
    return pa.table(columns | (_commit_columns(captures) if captures.kind == GROUP_RECORD else {}))


def _json_column(texts: RecordTexts, spans: Int64s, odd: dict[int, Any], absent: Bools | None = None) -> pa.Array:
    """The key or the value of each record as JSON; null where there is none. odd : those that the kernel left out, by row"""
    text = texts.text.tobytes()
    column: list[bytes | None] = [text[start:end] for start, end in spans.tolist()]
    for row in [] if absent is None else np.flatnonzero(absent).tolist():
        column[row] = None
    for row, document in odd.items():
        column[row] = None if document is None else dumps(document)
    return pa.array(column, pa.large_binary()).cast(pa.large_string())


def _commit_columns(captures: Captures) -> dict[str, pa.Array]:
    """The fields of offset commits; null for other records. Of a tombstone there are only group, topic and partition."""
    commits = read_offset_commits(captures.keys, captures.values)
    other, no_value = commits.kind == OTHER, commits.kind != COMMIT
    texts = {"group_id": (commits.group, other), "topic_name": (commits.topic, other), "metadata": (commits.metadata, no_value)}
    numbers = {
        "committed_offset": commits.offset,
        "leader_epoch": commits.leader_epoch,
        "commit_timestamp": commits.commit_timestamp,
        "expire_timestamp": commits.expire_timestamp,
    }
    ids = [uuid_text(topic_id) if topic_id else None for topic_id in _pieces(commits.topic_id)]
    return {
        **{name: _text_column(column, mask) for name, (column, mask) in texts.items()},
        "partition_id": pa.array(commits.partition, mask=other),
        **{name: pa.array(column, mask=no_value | (column == ABSENT)) for name, column in numbers.items()},
        "topic_id": pa.array(ids, pa.string()),
    }


def _text_column(column: Keys, mask: Bools) -> pa.Array:
    texts = [None if absent else text for text, absent in zip(_pieces(column), mask.tolist(), strict=True)]
    return pa.array(texts, pa.binary()).cast(pa.string())


def _pieces(column: Keys) -> list[bytes]:
    data = column.data.tobytes()
    return [data[start:end] for start, end in pairwise(column.offsets.tolist())]
