"""What many captured records say, as JSON lines, as a table, or as the groups that they describe."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.budget import check_time, looking, reserve
from service.core.model import Bools, Keys
from service.decisions.decodings import GROUP_RECORD, DecodingAnswer, RecordsToDecode
from service.http.json.codec import LongText, dumps
from service.http.json.rows import enclosed
from service.wire.coordinator_records import UNREAD, VALUE, CoordinatorRecord, RecordTexts
from service.wire.errors import Unreadable
from service.wire.offset_commits import ABSENT, COMMIT, OTHER, read_offset_commits
from service.wire.reader import uuid_text
from service.wire.schemas import GROUP_RECORDS, SHARE_GROUP_STATE_RECORDS

COLUMN_BYTES: Final = 120
"""Memory for each row of the table beside its texts."""

BLOCK_RECORDS: Final = 2**12
"""Records whose JSON is put together at once, and between two looks at the time."""


def lines(texts: RecordTexts, separator: bytes) -> LongText:
    """For each record JSON: what it says, or why it cannot be read, with the separator between the records."""
    return LongText(_lines(texts, separator), int(texts.offsets[-1]) + len(texts.kind), exact=False)


def _lines(texts: RecordTexts, separator: bytes) -> Iterator[bytes]:
    for start in range(0, len(texts.kind), BLOCK_RECORDS):
        kinds, bounds = texts.kind[start : start + BLOCK_RECORDS], texts.offsets[start : start + BLOCK_RECORDS + 1]
        text, bounds = texts.text[bounds[0] : bounds[-1]].tobytes(), (bounds - bounds[0]).tolist()
        block = [text[begin:end] for begin, end in pairwise(bounds)]
        for row in np.flatnonzero(kinds == UNREAD).tolist():
            block[row] = dumps(unreadable(texts.unreadable[start + row]))
        yield (separator if start else b"") + separator.join(block)


def json_lines(answer: DecodingAnswer) -> LongText:
    """The answer as JSON lines. Raises TypeError unless it is of several records."""
    texts = _texts(answer)
    return enclosed(b"", lines(texts, b"\n"), b"\n" if len(texts.kind) else b"")


def _texts(answer: DecodingAnswer) -> RecordTexts:
    if not isinstance(answer.decoded, RecordTexts):
        raise TypeError("only several records have lines and a table")
    return answer.decoded


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
    question, texts = answer.question, _texts(answer)
    n = len(texts.kind)
    reserve(COLUMN_BYTES * n + 2 * int(texts.offsets[-1]))
    schemas = GROUP_RECORDS if question.kind == GROUP_RECORD else SHARE_GROUP_STATE_RECORDS
    names = [schemas[number].name if number in schemas else None for number in range(max(schemas) + 1)]
    record_type = pa.array(texts.record_type, mask=texts.kind == UNREAD)
    check_time()
    key, value = _json_columns(texts)
    columns = {
        "record_type": record_type,
        "record_name": pa.array(names).take(record_type).dictionary_encode(),
        "key": key,
        "value_version": pa.array(texts.version, mask=texts.kind != VALUE),
        "value": value,
        "error": pa.array([None if row not in texts.unreadable else str(texts.unreadable[row]) for row in range(n)], pa.string()),
    }
    if question.records and question.kind == GROUP_RECORD:
        columns |= _commit_columns(question.records)
    return pa.table(columns)


def _json_columns(texts: RecordTexts) -> tuple[pa.Array, pa.Array]:
    """The key and the value of each record as JSON; null where there is none."""
    n, unread = len(texts.kind), texts.kind == UNREAD
    bounds = np.concatenate((texts.key, texts.value), axis=1)
    ends = np.append(bounds.ravel(), texts.offsets[-1])  # of keys, of what stands behind them, of values, and so on
    pieces = pa.Array.from_buffers(pa.large_string(), 4 * n, [None, pa.py_buffer(ends), pa.py_buffer(texts.text)])
    places = np.arange(0, 4 * n, 4)
    return pieces.take(pa.array(places, mask=unread)), pieces.take(pa.array(places + 2, mask=texts.kind != VALUE))


def _commit_columns(records: RecordsToDecode) -> dict[str, pa.Array]:
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
    ids = _column(pa.binary(), commits.topic_id, no_value | (np.diff(commits.topic_id.offsets) == 0)).dictionary_encode()
    id_texts = [uuid_text(each.as_py()) for each in looking(ids.dictionary, BLOCK_RECORDS)]
    return {
        **{name: _column(pa.string(), column, mask) for name, (column, mask) in texts.items()},
        "partition_id": pa.array(commits.partition, mask=other),
        **{name: pa.array(column, mask=no_value | (column == ABSENT)) for name, column in numbers.items()},
        "topic_id": pa.array(id_texts, pa.string()).take(ids.indices),
    }


def _column(kind: pa.DataType, keys: Keys, mask: Bools) -> pa.Array:
    """Keys as a column, null where the mask is true."""
    valid = pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(kind, len(keys), [valid, pa.py_buffer(keys.offsets), pa.py_buffer(keys.data)])
