"""Records of coordinators in bulk: keys and values to lines of JSON.

A kernel reads what is well-formed by the tables of ``schemas.py``, and writes the JSON that ``coordinator_records`` gives as
documents, without an object per field: about 1 µs for a record instead of 30. What is malformed, it leaves to the reader there,
which knows Kafka's exception for it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bytes, Int64s, KeyArrays, Keys
from service.core.wire.json_text import Int64, put, put_base64, put_byte, put_number, put_string, put_uuid
from service.core.wire.offset_commits import is_text, number_at, varint_at
from service.core.wire.schema_tables import (
    ARRAY,
    BLOB,
    COUNT,
    DEFAULT,
    FIRST,
    GROUP_TABLES,
    KIND,
    MESSAGE,
    NAME,
    NULLABLE,
    NUMBER,
    SHARE_GROUP_STATE_TABLES,
    SINCE,
    TAG,
    TEXT,
    UNSIGNED,
    UNTIL,
    UUID,
    Tables,
)

Int16s = npt.NDArray[np.int16]

FIRST_BYTES: Final = 4
"""Bytes of text for each byte of a record for which there is room at first."""

UNREAD, TOMBSTONE, VALUE = 0, 1, 2

DEPTH: Final = 16
"""More messages and arrays than lie in one another in any record."""

ROW, NEXT, TAGS_LEFT, TAGGED, MEMBER, START = range(6)
"""Columns of the kernel's stack."""

NULL: Final = np.frombuffer(b"null", np.uint8)
VERSION_MEMBER: Final = np.frombuffer(b',"value_version":', np.uint8)
VALUE_MEMBER: Final = np.frombuffer(b',"value":', np.uint8)
OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA = b"{}[],"


class RecordTexts(NamedTuple):
    """Lines of JSON, one for each record that could be read: record_type, record_name, key, value_version and value.

    kind : int8[n]           UNREAD, TOMBSTONE or VALUE
    record_type, version : int16[n]   undefined where there is none
    offsets : int64[n + 1]   line i is ``text[offsets[i]:offsets[i + 1]]``, without a line break; empty where it is UNREAD
    key, value : int64[n, 2] the ends of the two documents in the text
    """

    kind: npt.NDArray[np.int8]
    record_type: Int16s
    version: Int16s
    offsets: Int64s
    key: Int64s
    value: Int64s
    text: Bytes

    def lines(self) -> Iterator[bytes]:
        """The line of each record that could be read."""
        text = self.text.tobytes()
        bounds = self.offsets.tolist()
        return (text[start:end] for start, end in pairwise(bounds) if end > start)


def read_group_records(keys: Keys, values: Keys, reserve: Callable[[int], None]) -> RecordTexts:
    """Records of ``__consumer_offsets``. keys, values : of one length; a null value is a tombstone.

    reserve : is called with a number of bytes before they are allocated
    """
    return _read(keys, values, GROUP_TABLES, reserve)


def read_share_group_state_records(keys: Keys, values: Keys, reserve: Callable[[int], None]) -> RecordTexts:
    """Records of ``__share_group_state``, likewise."""
    return _read(keys, values, SHARE_GROUP_STATE_TABLES, reserve)


def _read(keys: Keys, values: Keys, tables: Tables, reserve: Callable[[int], None]) -> RecordTexts:
    n = len(keys)
    reserve(64 * n)
    numbers, offsets, spans = np.zeros((2, n), np.int16), np.zeros(n + 1, np.int64), np.zeros((2, n, 2), np.int64)
    size = 256 * n + FIRST_BYTES * int(values.offsets[-1] - values.offsets[0])
    reserve(size)
    texts = RecordTexts(np.zeros(n, np.int8), numbers[0], numbers[1], offsets, spans[0], spans[1], np.empty(size, np.uint8))
    row, records = 0, (keys.arrays(), values.arrays())
    while (row := _write_lines(*records, tables, row, texts)) < n:
        reserve(2 * len(texts.text))
        texts = texts._replace(text=np.concatenate((texts.text, np.empty(len(texts.text) + 1024, np.uint8))))
    return texts


# ---- kernels -------------------------------------------------------------------------------------------------------------


class _Source(NamedTuple):
    """A key or a value that is read: it ends at ``data[end]``, and is of this version, with tagged fields if that is flexible."""

    data: Bytes
    end: Int64
    version: Int64
    flexible: bool


@kernel
def _write_lines(keys: KeyArrays, values: KeyArrays, tables: Tables, first: Int64, texts: RecordTexts) -> Int64:
    """Write the lines from row ``first`` on; returns the first row that does not fit.

    Reproduces CoordinatorRecordJsonConverters and the classes generated from Kafka's message definitions (Apache Kafka 4.3.1).
    Plain-Python twin: service.core.wire.coordinator_records itself.
    """
    stack = np.zeros((DEPTH, 6), np.int64)
    text = texts.text
    for i in range(first, len(texts.kind)):
        start = texts.offsets[i]
        texts.offsets[i + 1] = start
        at, end = np.int64(keys.offsets[i]), np.int64(keys.offsets[i + 1])
        if not keys.valid[i] or end - at < 2:
            continue
        number = number_at(keys.data, at, 2)
        if number < 0 or number >= len(tables.types) or tables.types[number, 0] < 0:
            continue
        to = _put_text(tables, tables.heads[number], text, start)
        texts.key[i, 0] = to
        key = _Source(keys.data, end, np.int64(0), False)
        at, to = _document(tables, tables.types[number, 0], key, at + 2, text, to, stack)
        texts.key[i, 1] = to
        if at < 0:
            continue
        to = put(VERSION_MEMBER, text, to)
        if values.valid[i]:
            at, end = np.int64(values.offsets[i]), np.int64(values.offsets[i + 1])
            version, texts.value[i, 0], to = _write_value(tables, number, values.data, at, end, text, to, stack)
            if version < 0:
                continue
            texts.version[i] = version
        else:
            to = put(VALUE_MEMBER, text, put(NULL, text, to))
            texts.value[i, 0] = to
            to = put(NULL, text, to)
        texts.value[i, 1] = to
        to = put_byte(CLOSE_BRACE, text, to)
        if to > len(text):
            return i
        texts.kind[i] = VALUE if values.valid[i] else TOMBSTONE
        texts.record_type[i] = number
        texts.offsets[i + 1] = to
    return len(texts.kind)


@inner_kernel
def _write_value(
    tables: Tables, number: Int64, data: Bytes, at: Int64, end: Int64, text: Bytes, to: Int64, stack: Int64s
) -> tuple[Int64, Int64, Int64]:
    """Write the version and the value of a record of this type, ``data[at:end]``, into the text from ``to`` on.

    Returns the version, or -1 for bytes that cannot be read, and where the value begins and ends in the text.
    """
    version = number_at(data, at, 2) if end - at >= 2 else np.int64(-1)
    if version < 0 or version > tables.types[number, 3]:
        return np.int64(-1), to, to
    start = put(VALUE_MEMBER, text, put_number(version, text, to))
    value = _Source(data, end, version, bool(version >= tables.types[number, 2]))
    at, to = _document(tables, tables.types[number, 1], value, at + 2, text, start, stack)
    return version if at >= 0 else np.int64(-1), start, to


@inner_kernel
def _document(
    tables: Tables, row: Int64, source: _Source, at: Int64, text: Bytes, to: Int64, stack: Int64s
) -> tuple[Int64, Int64]:
    """Write the message at ``row`` of the table, which begins at ``at`` of the source.

    Returns its end in the source and in ``text``: -1 for malformed data, and beyond ``text`` if it does not fit.
    stack : int64[DEPTH, 6]   for each message or array that is open its row, the next field or the elements left, the tagged
        fields left (-1: not there yet), the tagged field that is being read (-1: none), and where its member and its value begin
    """
    fields, depth = tables.fields, 0
    while True:
        kind, nullable = fields[row, KIND], fields[row, NULLABLE]
        if kind in (MESSAGE, ARRAY):
            length, at = _size(kind, fields[row, TAG], nullable, source, at)
            if length < 0 or at < 0:
                to = put(NULL, text, to)
            else:
                to = put_byte(OPEN_BRACE if kind == MESSAGE else OPEN_BRACKET, text, to)
                stack[depth, ROW], stack[depth, NEXT] = row, fields[row, FIRST] if kind == MESSAGE else length
                stack[depth, TAGS_LEFT], stack[depth, TAGGED], stack[depth, MEMBER] = -1, -1, to
                depth += 1
        else:
            at, to = _leaf(kind, nullable, source, at, text, to)
        row = np.int64(-1)
        while row < 0:  # until something else follows, close what is complete
            if at < 0 or depth == 0:
                return at, to
            frame = stack[depth - 1]
            if fields[frame[ROW], KIND] == MESSAGE:
                row, at, to = _next_member(tables, source, at, text, to, frame)
            else:
                row, to = _next_element(tables, text, to, frame)
            if row < 0:
                depth -= 1
    return at, to


@inner_kernel
def _next_element(tables: Tables, text: Bytes, to: Int64, frame: Int64s) -> tuple[Int64, Int64]:
    """The row of an array's next element, or -1 at its end, which is written; and the end of the text."""
    if frame[NEXT] == 0:
        return np.int64(-1), put_byte(CLOSE_BRACKET, text, to)
    frame[NEXT] -= 1
    if to > frame[MEMBER]:
        to = put_byte(COMMA, text, to)
    return tables.fields[frame[ROW], FIRST], to


@inner_kernel
def _next_member(tables: Tables, source: _Source, at: Int64, text: Bytes, to: Int64, frame: Int64s) -> tuple[Int64, Int64, Int64]:
    """The row of a message's next field, whose name is written, or -1 at its end; and the ends in the source and ``text``."""
    fields = tables.fields
    first = fields[frame[ROW], FIRST]
    last = first + fields[frame[ROW], COUNT]
    if frame[TAGS_LEFT] < 0:
        for part in range(frame[NEXT], last):
            if fields[part, TAG] < 0 and fields[part, SINCE] <= source.version <= fields[part, UNTIL]:
                frame[NEXT] = part + 1
                return part, at, _put_name(tables, part, text, to)
        frame[NEXT], frame[TAGS_LEFT] = first, 0
        if source.flexible:
            frame[TAGS_LEFT], at = varint_at(source.data, at, source.end)
    elif frame[TAGGED] >= 0:
        if _is_text(tables, fields[frame[TAGGED], DEFAULT], text, frame[START], to):
            to = frame[MEMBER]
        frame[TAGGED] = -1
    part, at = _next_tagged(fields, first, last, source, at, frame)
    if part < 0:
        return part, at, put_byte(CLOSE_BRACE, text, to)
    frame[MEMBER] = to
    frame[START] = to = _put_name(tables, part, text, to)
    return part, at, to


@inner_kernel
def _next_tagged(fields: Int64s, first: Int64, last: Int64, source: _Source, at: Int64, frame: Int64s) -> tuple[Int64, Int64]:
    """The row of a message's next tagged field that is known, or -1; and its place in the source, or else the message's end."""
    while at >= 0 and frame[TAGS_LEFT]:
        frame[TAGS_LEFT] -= 1
        tag, at = varint_at(source.data, at, source.end)
        size, at = varint_at(source.data, at, source.end)
        part = _tagged_field(fields, first, last, tag)
        if part >= frame[NEXT] and at >= 0:
            frame[NEXT], frame[TAGGED] = part + 1, part
            return part, at
        # A field that is known is repeated, or comes after one with a higher tag, which no writer does.
        if at < 0 or size > source.end - at or part >= 0:
            return np.int64(-1), np.int64(-1)
        at += size
    return np.int64(-1), at


@inner_kernel
def _tagged_field(fields: Int64s, first: Int64, last: Int64, tag: Int64) -> Int64:
    """The row of the field with this tag, or -1. A message has no two fields with the same tag."""
    for part in range(first, last):
        if fields[part, TAG] == tag:
            return part
    return np.int64(-1)


@inner_kernel
def _put_name(tables: Tables, part: Int64, text: Bytes, to: Int64) -> Int64:
    """A member's name, after a comma unless it is the first."""
    if to > len(text) or text[to - 1] != OPEN_BRACE:
        to = put_byte(COMMA, text, to)
    return _put_text(tables, tables.fields[part, NAME], text, to)


@inner_kernel
def _size(kind: Int64, tag: Int64, nullable: Int64, source: _Source, at: Int64) -> tuple[Int64, Int64]:
    """The length of an array, 0 for a message, -1 for null; and the end of what says so, or -1."""
    length, end = np.int64(0), source.end
    if kind == ARRAY:
        length, at = _length(kind, source, at)
    elif nullable and tag >= 0:
        length, at = varint_at(source.data, at, end)
        length = np.int64(-1 if length == 0 else 0)
    elif nullable:
        length = np.int64(-1 if at < end and source.data[at] >= 128 else 0)
        at = at + 1 if at < end else np.int64(-1)
    if at < 0 or length > end - at or (length < 0 and not nullable):
        return length, np.int64(-1)
    return length, at


@inner_kernel
def _length(kind: Int64, source: _Source, at: Int64) -> tuple[Int64, Int64]:
    """The length of a string, bytes or an array, negative for null, and its end, or -1."""
    if source.flexible:
        length, at = varint_at(source.data, at, source.end)
        return length - 1, at
    size = 2 if kind == TEXT else 4
    if source.end - at < size:
        return np.int64(0), np.int64(-1)
    return number_at(source.data, at, size), at + size


@inner_kernel
def _leaf(kind: Int64, nullable: Int64, source: _Source, at: Int64, text: Bytes, to: Int64) -> tuple[Int64, Int64]:
    """Write a string, bytes, a Uuid or a number; returns as ``_document``."""
    malformed, data = np.int64(-1), source.data
    if kind in (TEXT, BLOB):
        length, at = _length(kind, source, at)
        if at < 0 or length > source.end - at or (length < 0 and not nullable):
            return malformed, to
        if length < 0:
            return at, put(NULL, text, to)
        if kind == BLOB:
            return at + length, put_base64(data, at, length, text, to)
        return (at + length, put_string(data, at, length, text, to)) if is_text(data, at, length) else (malformed, to)
    return _fixed(kind, source, at, text, to)


@inner_kernel
def _fixed(kind: Int64, source: _Source, at: Int64, text: Bytes, to: Int64) -> tuple[Int64, Int64]:
    """Write a Uuid or a number; returns as ``_document``."""
    size = np.int64(16 if kind == UUID else 2 if kind == UNSIGNED else kind - NUMBER)
    if source.end - at < size:
        return np.int64(-1), to
    if kind == UUID:
        return at + size, put_uuid(source.data, at, text, to)
    number = number_at(source.data, at, size)
    return at + size, put_number(number & 0xFFFF if kind == UNSIGNED else number, text, to)


@inner_kernel
def _is_text(tables: Tables, index: Int64, text: Bytes, start: Int64, end: Int64) -> bool:
    """Is ``text[start:end]`` the text at ``index`` of the tables? False where it had no room."""
    texts, first, last = tables.texts, tables.text_offsets[index], tables.text_offsets[index + 1]
    if end - start != last - first or end > len(text):
        return False
    return np.array_equal(text[start:end], texts[first:last])


@inner_kernel
def _put_text(tables: Tables, index: Int64, text: Bytes, to: Int64) -> Int64:
    return put(tables.texts[tables.text_offsets[index] : tables.text_offsets[index + 1]], text, to)
