"""Records of coordinators in bulk: keys and values to lines of JSON.

A kernel writes what is well-formed, by the spans of its fields, as the JSON that ``coordinator_records`` gives as documents: an
offset commit in 0.3 µs instead of 15. What is malformed, it leaves to the reader there, which knows Kafka's exception for it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.core.clock import OUT_OF_TIME, Deadline, check_time, current_deadline, in_time, is_over, reserve
from service.core.kernels import borrowing_kernel, kernel
from service.core.model import Bytes, Int64s, KeyArrays, Keys
from service.wire import schema_tables as table
from service.wire import spans as wire
from service.wire.json_text import Int64, put, put_base64, put_byte, put_number, put_string, put_uuid
from service.wire.schema_tables import GROUP_TABLES, SHARE_GROUP_STATE_TABLES, Tables
from service.wire.spans import Arrays, MessageReading

Int16s = npt.NDArray[np.int16]

FIRST_BYTES: Final = 4
"""Bytes of text for each byte of a record for which there is room at first."""

BYTES_BETWEEN_LOOKS: Final = 2**20
"""Bytes of records between two looks at the time, some 20 ms."""

ROUNDS_BETWEEN_LOOKS: Final = 2**12
"""The same within a record: each round reads some 250 spans."""

UNREAD, TOMBSTONE, VALUE = 0, 1, 2

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


def read_group_records(keys: Keys, values: Keys) -> RecordTexts:
    """Records of ``__consumer_offsets``. keys, values : of one length; a null value is a tombstone."""
    return _read(keys, values, GROUP_TABLES)


def read_share_group_state_records(keys: Keys, values: Keys) -> RecordTexts:
    """Records of ``__share_group_state``, likewise."""
    return _read(keys, values, SHARE_GROUP_STATE_TABLES)


def _read(keys: Keys, values: Keys, tables: Tables) -> RecordTexts:
    n = len(keys)
    reserve(64 * n)
    numbers, offsets, spans = np.zeros((2, n), np.int16), np.zeros(n + 1, np.int64), np.zeros((2, n, 2), np.int64)
    size = 256 * n + FIRST_BYTES * int(values.offsets[-1] - values.offsets[0])
    reserve(size)
    texts = RecordTexts(np.zeros(n, np.int8), numbers[0], numbers[1], offsets, spans[0], spans[1], np.empty(size, np.uint8))
    row, sources = 0, (keys.arrays(), values.arrays(), tables, wire.new_arrays())
    while (row := in_time(_write_lines(*sources, row, texts, current_deadline()))) < n:
        reserve(2 * len(texts.text))
        texts = texts._replace(text=np.concatenate((texts.text, np.empty(len(texts.text) + 1024, np.uint8))))
    check_time()  # the last record may have been left for lack of time
    return texts


# ---- kernels -------------------------------------------------------------------------------------------------------------


@kernel
def _write_lines(
    keys: KeyArrays, values: KeyArrays, tables: Tables, arrays: Arrays, first: Int64, texts: RecordTexts, deadline: Deadline
) -> Int64:
    """Write the lines from row ``first`` on; returns the first row that does not fit, or OUT_OF_TIME.

    Reproduces CoordinatorRecordJsonConverters and the classes generated from Kafka's message definitions.
    Plain-Python twin: tests/reference/wire.py.
    """
    looked = np.int64(0)
    for i in range(first, len(texts.kind)):
        done = np.int64(keys.offsets[i]) + np.int64(values.offsets[i])
        if done - looked > BYTES_BETWEEN_LOOKS:
            looked = done
            if is_over(deadline):
                return OUT_OF_TIME
        end = _write_line(keys, values, tables, arrays, i, texts, deadline)
        if end > len(texts.text):
            return i
        texts.offsets[i + 1] = end
    return len(texts.kind)


@borrowing_kernel
def _write_line(
    keys: KeyArrays, values: KeyArrays, tables: Tables, arrays: Arrays, i: Int64, texts: RecordTexts, deadline: Deadline
) -> Int64:
    """Write the line of row i; returns its end, or its begin if the record is malformed or the time is over."""
    text, start, version = texts.text, texts.offsets[i], np.int64(0)
    number = wire.record_type(keys, tables, i)
    if number < 0:
        return start
    to = _put_text(tables, tables.types[number, table.HEAD], text, start)
    texts.key[i, 0] = to
    is_read, to = _put_document(tables, wire.key_reading(keys, tables, number, i, arrays), text, to, deadline)
    texts.key[i, 1] = to
    to = put(VERSION_MEMBER, text, to)
    if values.valid[i]:
        version = wire.value_version(values, tables, number, i)
    if not is_read or version < 0:
        return start
    to = put_number(version, text, to) if values.valid[i] else put(NULL, text, to)
    texts.value[i, 0] = to = put(VALUE_MEMBER, text, to)
    if values.valid[i]:
        reading = wire.value_reading(values, tables, number, version, i, arrays)
        is_read, to = _put_document(tables, reading, text, to, deadline)
    else:
        to = put(NULL, text, to)
    texts.value[i, 1] = to
    to = put_byte(CLOSE_BRACE, text, to)
    if not is_read:
        return start
    if to <= len(text):
        texts.kind[i] = VALUE if values.valid[i] else TOMBSTONE
        texts.record_type[i], texts.version[i] = number, version
    return to


@borrowing_kernel
def _put_document(tables: Tables, reading: MessageReading, text: Bytes, to: Int64, deadline: Deadline) -> tuple[bool, Int64]:
    """Write a message. Returns whether it is well-formed, and its end in ``text``: beyond its length if it does not fit.

    If the time is over, it is not read to its end.
    """
    fields, data, spans = reading.fields, reading.data, reading.spans
    follows, tagged, rounds = False, (to, to, False), 1
    while reading.state[wire.ROW] >= 0 and (rounds % ROUNDS_BETWEEN_LOOKS or not is_over(deadline)):
        rounds += 1
        for i in range(wire.next_spans(reading)):
            row, start, length = spans[i, 0], spans[i, 1], spans[i, 2]
            kind = fields[row if row >= 0 else ~row, table.KIND]
            if row < 0:
                row = ~row
                to = put_byte(CLOSE_BRACE if kind == table.MESSAGE else CLOSE_BRACKET, text, to)
            else:
                before = to
                if follows:
                    to = put_byte(COMMA, text, to)
                if fields[row, table.NAME] >= 0:
                    to = _put_text(tables, fields[row, table.NAME], text, to)
                if fields[row, table.TAG] >= 0:
                    tagged = (before, to, follows)
                if kind >= table.ARRAY and length >= 0:
                    to = put_byte(OPEN_BRACE if kind == table.MESSAGE else OPEN_BRACKET, text, to)
                    follows = False
                    continue
                if kind == table.TEXT and not wire.is_utf8(data, start, start + length):
                    return False, to
                to = _put_leaf(kind, fields[row, table.SIZE], data, start, length, text, to)
            follows = True
            if fields[row, table.TAG] >= 0 and _is_text(tables, fields[row, table.DEFAULT], text, tagged[1], to):
                to, _, follows = tagged
    return reading.state[wire.ROW] < 0 and reading.state[wire.FAULT] == 0 and reading.state[wire.IS_ODD] == 0, to


@borrowing_kernel
def _put_leaf(kind: Int64, size: Int64, data: Bytes, start: Int64, length: Int64, text: Bytes, to: Int64) -> Int64:
    """Write a string, bytes, a Uuid, a number, a list of signed numbers, or null."""
    if length < 0:
        return put(NULL, text, to)
    if kind == table.TEXT:
        return put_string(data, start, length, text, to)
    if kind == table.BLOB:
        return put_base64(data, start, length, text, to)
    if kind == table.UUID:
        return put_uuid(data, start, text, to)
    if kind == table.LIST:
        to = put_byte(OPEN_BRACKET, text, to)
        for i in range(length):
            to = put_byte(COMMA, text, to) if i else to
            to = put_number(wire.number_at(data, start + i * size, size), text, to)
        return put_byte(CLOSE_BRACKET, text, to)
    number = wire.number_at(data, start, length)
    return put_number(number & 0xFFFF if kind == table.UNSIGNED else number, text, to)


@borrowing_kernel
def _is_text(tables: Tables, index: Int64, text: Bytes, start: Int64, end: Int64) -> bool:
    """Is ``text[start:end]`` the text at ``index`` of the tables? False where it had no room."""
    first, last = tables.text_offsets[index], tables.text_offsets[index + 1]
    if end - start != last - first or end > len(text):
        return False
    same = True
    for i in range(end - start):
        same &= text[start + i] == tables.texts[first + i]
    return same


@borrowing_kernel
def _put_text(tables: Tables, index: Int64, text: Bytes, to: Int64) -> Int64:
    return put(tables.texts[tables.text_offsets[index] : tables.text_offsets[index + 1]], text, to)
