"""Any message of ``schemas.py``, read as by the classes that Kafka generates from its message definitions.

``read_spans`` walks a message by the table of its fields, and says where each value lies. A message's fields come in the order of
the table; in flexible versions, those with a tag come after all others, strings, bytes and arrays have compact lengths, and
unknown tags are skipped (KIP-482). It allocates nothing: callers get SPANS spans at a time, whatever the length of an array.

Source: org.apache.kafka.message.MessageDataGenerator, org.apache.kafka.common.protocol.ByteBufferAccessor.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import Bytes, Int64s, KeyArrays
from service.wire.schemas import (
    ASSIGNMENT,
    COOPERATIVE_STICKY_USER_DATA,
    GROUP_RECORDS,
    OFFSET_COMMIT_3_9,
    SHARE_GROUP_STATE_RECORDS,
    STICKY_USER_DATA,
    SUBSCRIPTION,
    ArrayType,
    BytesType,
    IntegerType,
    Message,
    MessageField,
    StringType,
    UuidType,
)

# The schemas of ``schemas.py`` as a table, for kernels.

TEXT, BLOB, UUID, UNSIGNED, NUMBER, LIST, ARRAY, MESSAGE = range(8)
"""Kinds of fields. LIST : an array of numbers"""

KIND, SINCE, UNTIL, NULLABLE, TAG, FIRST, COUNT, SIZE = range(8)
"""Columns of the table of fields.

FIRST : row of an array's element, or of a message's first field;  SIZE : of a number, a UuidType or a list's numbers, in bytes
"""

_fields: Final[list[MessageField]] = []
_rows: Final[list[list[int]]] = []
"""The table while it is written, and the field of each row; an array's element has a name, for errors."""


def _add(*fields: MessageField) -> int:
    """Add fields to the table, with all that they consist of; returns the row of the first."""
    first = len(_fields)
    _fields.extend(fields)
    _rows.extend([] for _ in fields)
    for row, field in enumerate(fields, first):
        kind, parts, count, size = _kind(field.type), 0, 0, 0
        if isinstance(field.type, IntegerType):
            size = field.type.size
        elif isinstance(field.type, ArrayType):
            element = field.type.of
            parts = _add(MessageField(field.name if isinstance(element, Message) else f"{field.name} element", element))
            size = element.size if isinstance(element, IntegerType) else 0
        elif isinstance(field.type, Message):
            parts, count = _add(*field.type.fields), len(field.type.fields)
        elif isinstance(field.type, UuidType):
            size = 16
        tag = -1 if field.tag is None else field.tag
        _rows[row] = [kind, field.since, field.until, field.nullable, tag, parts, count, size]
    return first


def _kind(kind: Any) -> int:
    if isinstance(kind, IntegerType):
        return NUMBER if kind.is_signed else UNSIGNED
    if isinstance(kind, ArrayType) and isinstance(kind.of, IntegerType):
        return LIST
    return {StringType: TEXT, BytesType: BLOB, ArrayType: ARRAY, Message: MESSAGE}.get(type(kind), UUID)


for _record in (*GROUP_RECORDS.values(), *SHARE_GROUP_STATE_RECORDS.values()):
    _add(MessageField("", _record.key), MessageField("", _record.value))
for _message in (OFFSET_COMMIT_3_9, SUBSCRIPTION, ASSIGNMENT, STICKY_USER_DATA, COOPERATIVE_STICKY_USER_DATA):
    _add(MessageField("", _message))

FIELDS: Final = tuple(_fields)
"""The field in each row of the table."""

ROW_OF: Final = {id(field.type): row for row, field in enumerate(FIELDS) if not field.name}
"""The row of each message of ``schemas.py``, by its identity."""

TABLE: Final = np.array(_rows, np.int64)
"""int64[rows, 8], the schemas of every message, for kernels."""


Int64 = Any
"""A number in a kernel: an int to Python, an int64 to Numba."""

DEPTH: Final = 16
"""More messages and arrays than lie in one another in any message."""

SPANS: Final = 256
"""Spans that are read at once."""

LONGEST_STRING: Final = 32767

ROW, AT, OPEN, IS_ODD, FAULT, FAULT_ROW, FAULT_AT, FAULT_NUMBER, FAULT_LEFT, FAULT_TAG = range(10)
"""Elements of the state of a reading.

ROW : the field that is read next, or -1 at the end of the message
AT : its place
OPEN : messages and arrays that have begun and not ended
IS_ODD : is a known tag repeated, or behind one of a later field? No writer does that
FAULT : why reading failed, or 0; then FAULT_ROW, FAULT_AT : the field and where it was to be;
    FAULT_NUMBER, FAULT_LEFT : what it says, and how many bytes there are;  FAULT_TAG : the tag of an UNKNOWN_TAG
"""

UNDERFLOW, LONG_VARINT, NULL, LONG_TEXT, TOO_LONG, NEGATIVE = range(1, 7)
"""Faults."""

TAGS_COUNT, A_TAG, TAG_SIZE, UNKNOWN_TAG = -1, -2, -3, -4
"""In the place of a fault's field."""

_FIELD, _NEXT, _TAGS_LEFT = range(3)
"""Columns of the stack: a message or array, its next field or the elements left, the tagged fields left (-1: not there yet)."""


class MessageReading(NamedTuple):
    """A message that is being read.

    fields : TABLE
    data, end, version : it is in ``data[...:end]``;  flexible : 1 with tagged fields and compact lengths, or 0
    state : int64[10], see ROW … FAULT_TAG;  stack : int64[DEPTH, 3]
    spans : int64[SPANS, 3]   field, start, and length: the bytes of a text, of bytes or of a number, the elements of an array or
        of a list of numbers, 0 of a message, -1 of null. The end of a message or array, not of a list, has the field ``~field``
    """

    fields: Int64s
    data: Bytes
    end: Int64
    version: Int64
    flexible: Int64
    state: Int64s
    stack: Int64s
    spans: Int64s


Arrays = tuple[Int64s, Int64s, Int64s]
"""``state``, ``stack`` and ``spans`` for any number of messages, one after the other."""


def new_arrays() -> Arrays:
    """For a new thread."""
    return np.zeros(10, np.int64), np.zeros((DEPTH, 3), np.int64), np.empty((SPANS, 3), np.int64)


@borrowing_kernel
def reading_of(
    source: KeyArrays, fields: Int64s, row: Int64, version: Int64, flexible: Int64, i: Int64, arrays: Arrays
) -> MessageReading:
    """Of the message in the key or value of record i, behind its type or version. fields : TABLE; row : the message's"""
    arrays[0][:] = 0
    arrays[0][ROW], arrays[0][AT] = row, np.int64(source.offsets[i]) + 2
    end = np.int64(source.offsets[i + 1])
    return MessageReading(fields, source.data, end, version, flexible, arrays[0], arrays[1], arrays[2])


@kernel
def read_spans(reading: MessageReading) -> Int64:
    """``next_spans`` for Python. Plain-Python twin: tests/reference/wire.py."""
    return next_spans(reading)


@borrowing_kernel
def next_spans(reading: MessageReading) -> Int64:
    """Read on until the spans are full, the message is complete or a fault is found; returns the number of spans.

    Reproduces the methods ``read`` of Kafka's generated classes, with the checks of ByteBufferAccessor.
    Plain-Python twin: tests/reference/wire.py.
    """
    fields, state, stack, spans = reading.fields, reading.state, reading.stack, reading.spans
    row, at, depth, n = state[ROW], state[AT], state[OPEN], 0
    while row >= 0 and n < len(spans) - DEPTH:
        at, length = _value(reading, row, at)
        if at < 0:
            break
        spans[n, 0], spans[n, 1], spans[n, 2] = row, at, length
        n += 1
        kind = fields[row, KIND]
        if kind <= LIST:
            at += max(length, 0) * (fields[row, SIZE] if kind == LIST else 1)
        elif length >= 0:
            stack[depth, _FIELD], stack[depth, _TAGS_LEFT] = row, -1
            stack[depth, _NEXT] = length if kind == ARRAY else fields[row, FIRST]
            depth += 1
        row = np.int64(-1)
        while row < 0 and at >= 0 and depth:  # until something else follows, close what is complete
            row, at = _next(reading, at, stack[depth - 1])
            if row < 0 and at >= 0:
                depth -= 1
                spans[n, 0], spans[n, 1] = ~stack[depth, _FIELD], at
                n += 1
    state[ROW], state[AT], state[OPEN] = row if at >= 0 else -1, at, depth
    return n


@borrowing_kernel
def _value(reading: MessageReading, row: Int64, at: Int64) -> tuple[Int64, Int64]:  # noqa: C901, PLR0911 (a kernel)
    """Where a value begins, behind its length, and its length; -1 for a fault."""
    kind, start, size = reading.fields[row, KIND], at, reading.fields[row, SIZE]
    if kind == MESSAGE:  # behind the mark of a nullable one; its length is 0, or -1 for null
        if not reading.fields[row, NULLABLE]:
            return at, np.int64(0)
        if reading.fields[row, TAG] >= 0:
            length, at = _varint(reading, row, at)
            return at, np.int64(-1 if length <= 0 else 0)
        if at >= reading.end:
            return _fault(reading, UNDERFLOW, row, at, 1)
        return at + 1, np.int64(-1 if reading.data[at] >= 128 else 0)
    if kind in (UUID, UNSIGNED, NUMBER):
        return (at, size) if size <= reading.end - at else _fault(reading, UNDERFLOW, row, at, size)
    if reading.flexible:
        length, at = _varint(reading, row, at)
        length = np.int64(np.int32(length - 1))
    else:
        width = np.int64(2 if kind == TEXT else 4)
        if width > reading.end - at:
            return _fault(reading, UNDERFLOW, row, at, width)
        length, at = number_at(reading.data, at, width), at + width
    left = reading.end - at
    if at < 0 or (length < 0 and reading.fields[row, NULLABLE]):
        length = np.int64(-1)
    elif length < 0 or (kind == TEXT and length > LONGEST_STRING):
        return _fault(reading, NULL if length < 0 else LONG_TEXT, row, start, length)
    elif length > left:
        fault = _fault(reading, TOO_LONG, row, at if kind < LIST else start, length)
        reading.state[FAULT_LEFT] = left
        return fault
    elif kind == LIST and length > left // size:  # it ends within an element
        return _fault(reading, UNDERFLOW, reading.fields[row, FIRST], at + left // size * size, size)
    return at, length


@borrowing_kernel
def _next(reading: MessageReading, at: Int64, top: Int64s) -> tuple[Int64, Int64]:
    """The next field of a message, or element of an array, or -1; and its place, -1 for a fault. top : its row of the stack"""
    row, following, fields = top[_FIELD], top[_NEXT], reading.fields
    first = fields[row, FIRST]
    if fields[row, KIND] == ARRAY:
        top[_NEXT] -= 1
        return (first if following else np.int64(-1)), at
    last = first + fields[row, COUNT]
    if top[_TAGS_LEFT] < 0:
        for part in range(following, last):
            if fields[part, TAG] < 0 and fields[part, SINCE] <= reading.version <= fields[part, UNTIL]:
                top[_NEXT] = part + 1
                return part, at
        top[_NEXT], top[_TAGS_LEFT] = first, 0
        if reading.flexible:
            count, at = _varint(reading, TAGS_COUNT, at)
            top[_TAGS_LEFT] = max(count, 0)
    while at >= 0 and top[_TAGS_LEFT]:
        top[_TAGS_LEFT] -= 1
        part, at = _tagged(reading, first, last, at)
        if part >= 0:
            reading.state[IS_ODD] |= part < top[_NEXT]
            top[_NEXT] = part + 1
            return part, at
    return np.int64(-1), at


@borrowing_kernel
def _tagged(reading: MessageReading, first: Int64, last: Int64, at: Int64) -> tuple[Int64, Int64]:
    """The field with the tag at this place, and the place of its value; -1 and its end if there is none; -1 for a fault."""
    fields, size = reading.fields, np.int64(0)
    tag, at = _varint(reading, A_TAG, at)
    if at >= 0:
        size, at = _varint(reading, TAG_SIZE, at)
    if at < 0:
        return np.int64(-1), at
    for part in range(first, last):
        if fields[part, TAG] == tag and tag >= 0 and fields[part, SINCE] <= reading.version <= fields[part, UNTIL]:
            return part, at  # read by its type, whatever its size
    if size < 0 or size > reading.end - at:
        reading.state[FAULT_TAG] = tag
        return _fault(reading, NEGATIVE if size < 0 else TOO_LONG, UNKNOWN_TAG, at, size)
    return np.int64(-1), at + size


@borrowing_kernel
def _fault(reading: MessageReading, fault: Int64, row: Int64, at: Int64, number: Int64) -> tuple[Int64, Int64]:
    state = reading.state
    state[FAULT], state[FAULT_ROW], state[FAULT_AT], state[FAULT_NUMBER] = fault, row, at, number
    state[FAULT_LEFT] = reading.end - at
    return np.int64(-1), np.int64(-1)


@borrowing_kernel
def _varint(reading: MessageReading, row: Int64, at: Int64) -> tuple[Int64, Int64]:
    """An unsigned varint of up to five bytes, as the Java int that it becomes, and its end; -1 for a fault."""
    start, value = at, np.int64(0)
    for shift in range(0, 35, 7):
        if at >= reading.end:
            return _fault(reading, UNDERFLOW, row, at, 1)
        byte = np.int64(reading.data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return np.int64(np.int32(value)), at
    return _fault(reading, LONG_VARINT, row, start, value & 0xFFFFFFFF)


@borrowing_kernel
def number_at(data: Bytes, at: Int64, size: Int64) -> Int64:
    """A signed big-endian number of ``size`` bytes, which must exist."""
    value = np.int64(np.int8(data[at]))
    for j in range(at + 1, at + size):
        value = (value << 8) | np.int64(data[j])
    return value


@borrowing_kernel
def is_utf8(data: Bytes, at: Int64, end: Int64) -> bool:
    """Is ``data[at:end]`` UTF-8, to the letter of RFC 3629?"""
    while at < end:
        first = np.int64(data[at])
        at += 1
        if first < 0x80:
            continue
        more = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if first < 0xC2 or first > 0xF4 or end - at < more:
            return False
        second = np.int64(data[at])
        low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        if second < low or second > high:
            return False
        for j in range(at + 1, at + more):
            if np.int64(data[j]) & 0xC0 != 0x80:
                return False
        at += more
    return True
