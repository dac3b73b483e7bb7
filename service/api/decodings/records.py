"""What many captured records say, as JSON lines, as a table, or as the groups that they describe."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from service.core.clock import looking
from service.core.model import Bools, Int64s, Keys
from service.core.wire.coordinator_records import CoordinatorRecord
from service.core.wire.errors import Unreadable
from service.core.wire.offset_commits import ABSENT, COMMIT, OTHER, read_offset_commits
from service.core.wire.reader import uuid_text
from service.core.wire.record_texts import UNREAD, VALUE, RecordTexts
from service.core.wire.schemas import GROUP_RECORDS, SHARE_GROUP_STATE_RECORDS
from service.decisions.decodings import GROUP_RECORD, DecodedRecords, DecodingAnswer, RecordsToDecode
from service.web.json.codec import LongText, dumps
from service.web.json.rows import enclosed

_T = TypeVar("_T")

COLUMN_BYTES: Final = 120
"""Memory for each row of the table beside its texts."""

BLOCK_RECORDS: Final = 2**12
"""Records whose JSON is put together at once, and between two looks at the time."""


def lines(records: DecodedRecords, separator: bytes) -> LongText:
    """For each record JSON: what it says, or why it cannot be read, with the separator between the records."""
    return LongText(_lines(records, separator), int(records.texts.offsets[-1]) + len(records.texts.kind), exact=False)


def _lines(records: DecodedRecords, separator: bytes) -> Iterator[bytes]:
    texts = records.texts
    for start in range(0, len(texts.kind), BLOCK_RECORDS):
        kinds, bounds = texts.kind[start : start + BLOCK_RECORDS], texts.offsets[start : start + BLOCK_RECORDS + 1]
        text, bounds = texts.text[bounds[0] : bounds[-1]].tobytes(), (bounds - bounds[0]).tolist()
        block = [text[begin:end] for begin, end in pairwise(bounds)]
        for row in np.flatnonzero(kinds == UNREAD).tolist():
            block[row] = dumps(_odd(records.odd[start + row]))
        yield (separator if start else b"") + separator.join(block)


def json_lines(answer: DecodingAnswer) -> LongText:
    """The answer as JSON lines. Raises TypeError unless it is of several records."""
    records = _records(answer)
    return enclosed(b"", lines(records, b"\n"), b"\n" if len(records.texts.kind) else b"")


def _records(answer: DecodingAnswer) -> DecodedRecords:
    if not isinstance(answer.decoded, DecodedRecords):
        raise TypeError("only several records have lines and a table")
    return answer.decoded


def _odd(record: CoordinatorRecord | Unreadable) -> dict[str, Any]:
    return unreadable(record) if isinstance(record, Unreadable) else fields_of(record)


def fields_of(record: CoordinatorRecord) -> dict[str, Any]:
    """What a record is and says."""
    return {
        "record_type": record.type,
        "record_name": record.name,
        "key": record.key,
        "value_version": record.version,
        "value": record.value,
    }


def unreadable(error: Unreadable) -> dict[str, Any]:
    """Why a record cannot be read."""
    return {
        "error": type(error).__name__,
        "exception": error.exception,
        "message": error.message,
        "detail": str(error),
        "part": error.part,
        "offset": error.offset,
    }


def table(answer: DecodingAnswer) -> pa.Table:
    """The answer as a table: key and value as JSON texts, and the fields of offset commits as columns of their own.

    Raises TypeError unless it is of several records.
    """
    records = _records(answer)
    question, texts = answer.question, records.texts
    n = len(texts.kind)
    answer.budget.reserve(COLUMN_BYTES * n + 2 * int(texts.offsets[-1]))
    odd = {row: _odd(record) for row, record in records.odd.items()}
    types, versions = texts.record_type.copy(), texts.version.copy()
    unknown, absent = texts.kind == UNREAD, texts.kind != VALUE
    for row, each in odd.items():
        types[row], versions[row] = each.get("record_type", 0), each.get("value_version") or 0
        unknown[row], absent[row] = "record_type" not in each, each.get("value_version") is None
    schemas = GROUP_RECORDS if question.kind == GROUP_RECORD else SHARE_GROUP_STATE_RECORDS
    names = {number: each.name for number, each in schemas.items()}
    check_time = answer.budget.check_time
    columns = {
        "record_type": pa.array(types, mask=unknown),
        "record_name": pa.array(
            [None if odd_ else names[number] for odd_, number in _timed(zip(unknown, types.tolist(), strict=True), check_time)]
        ).dictionary_encode(),
        "key": _json_column(texts, texts.key, {row: each.get("key") for row, each in odd.items()}, check_time),
        "value_version": pa.array(versions, mask=absent),
        "value": _json_column(texts, texts.value, {row: each.get("value") for row, each in odd.items()}, check_time, absent),
        "error": pa.array([odd[row].get("detail") if row in odd else None for row in range(n)], pa.string()),
    }
    if question.records and question.kind == GROUP_RECORD:
        columns |= _commit_columns(question.records, check_time)
    return pa.table(columns)


def _timed(rows: Iterable[_T], check_time: Callable[[], None]) -> Iterator[_T]:
    return looking(rows, check_time, BLOCK_RECORDS)


def _json_column(
    texts: RecordTexts, spans: Int64s, odd: dict[int, Any], check_time: Callable[[], None], absent: Bools | None = None
) -> pa.Array:
    """The key or the value of each record as JSON; null where there is none. odd : those that the kernel left out, by row"""
    text = texts.text.tobytes()
    column: list[bytes | None] = [text[start:end] for start, end in _timed(spans.tolist(), check_time)]
    for row in [] if absent is None else np.flatnonzero(absent).tolist():
        column[row] = None
    for row, document in odd.items():
        column[row] = None if document is None else dumps(document)
    return pa.array(column, pa.large_binary()).cast(pa.large_string())


def _commit_columns(records: RecordsToDecode, check_time: Callable[[], None]) -> dict[str, pa.Array]:
    """The fields of offset commits; null for other records. Of a tombstone there are only group, topic and partition."""
    commits = read_offset_commits(records.keys, records.values)
    other, no_value = commits.kind == OTHER, commits.kind != COMMIT
    texts = {"group_id": (commits.group, other), "topic_name": (commits.topic, other), "metadata": (commits.metadata, no_value)}
    numbers = {
        "committed_offset": commits.offset,
        "leader_epoch": commits.leader_epoch,
        "commit_timestamp": commits.commit_timestamp,
        "expire_timestamp": commits.expire_timestamp,
    }
    ids = [uuid_text(topic_id) if topic_id else None for topic_id in _pieces(commits.topic_id, check_time)]
    return {
        **{name: _text_column(column, mask, check_time) for name, (column, mask) in texts.items()},
        "partition_id": pa.array(commits.partition, mask=other),
        **{name: pa.array(column, mask=no_value | (column == ABSENT)) for name, column in numbers.items()},
        "topic_id": pa.array(ids, pa.string()),
    }


def _text_column(column: Keys, mask: Bools, check_time: Callable[[], None]) -> pa.Array:
    texts = [None if absent else text for text, absent in zip(_pieces(column, check_time), mask.tolist(), strict=True)]
    return pa.array(texts, pa.binary()).cast(pa.string())


def _pieces(column: Keys, check_time: Callable[[], None]) -> list[bytes]:
    data = column.data.tobytes()
    return [data[start:end] for start, end in _timed(pairwise(column.offsets.tolist()), check_time)]
