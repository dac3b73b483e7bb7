"""A message as a document, or the exception with which Kafka's reader fails.

The kernel of ``spans.py`` finds the values and the faults; here they get their names and words.
"""

import base64
import re
import struct
from typing import Any, Final

import numpy as np

from service.core.budget import check_time
from service.wire import spans
from service.wire.errors import BufferUnderflow, IllegalArgument, NegativeArraySize, Runtime, Unreadable
from service.wire.schemas import ArrayType, BytesType, Message
from service.wire.spans import FIELDS, ROW_OF, TABLE

Document = dict[str, Any]
"""A message as returned by Kafka's JSON converters: names as in the table, bytes in base64, a Uuid as text."""

_NAMES: Final = {
    spans.TAGS_COUNT: "the number of tagged fields",
    spans.A_TAG: "a tag",
    spans.TAG_SIZE: "the size of a tagged field",
}

_KINDS: Final[list[int]] = TABLE[:, spans.KIND].tolist()
_SIZES: Final[list[int]] = TABLE[:, spans.SIZE].tolist()
_TAGGED: Final = {
    row: field.type
    for row, field in enumerate(FIELDS)
    if isinstance(field.type, Message) and any(part.tag is not None for part in field.type.fields)
}
"""The messages that have tagged fields, by their row."""
_FORMS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}
"""The formats of signed numbers, by their size."""

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def java_text(data: bytes) -> str:
    """``new String(data, UTF_8)``: invalid UTF-8 becomes U+FFFD, an encoded surrogate just one of them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(b"\xef\xbf\xbd", data).decode(errors="replace")


def uuid_text(data: bytes) -> str:
    """A Kafka Uuid as text: 22 characters of base64 for URLs."""
    return base64.urlsafe_b64encode(data)[:22].decode()


def read_version(data: bytes, name: str) -> int:
    """The number of two bytes with which the data begins. name : for errors. Raises BufferUnderflow."""
    if len(data) < 2:
        raise BufferUnderflow(None, 0, f"{name} takes 2 bytes, and {len(data)} are left")
    return int.from_bytes(data[:2], signed=True)


def read_message(data: bytes, message: Message, version: int, at: int = 0) -> tuple[Document, int]:
    """The message that begins at ``data[at]``, in a version that it has, and its end.

    message : one of ``schemas.py``

    Raises Unreadable, of the class that Kafka's generated class throws.
    """
    buffer, flexible = np.frombuffer(bytearray(data), np.uint8), int(version >= message.flexible)
    reading = spans.MessageReading(TABLE, buffer, len(data), version, flexible, *spans.new_arrays())
    reading.state[spans.ROW], reading.state[spans.AT] = ROW_OF[id(message)], at
    containers: list[Any] = [[]]
    while reading.state[spans.ROW] >= 0:
        check_time()
        count = spans.read_spans(reading)
        for row, start, length in reading.spans[:count].tolist():
            if length >= 0 <= row and _KINDS[row] in (spans.ARRAY, spans.MESSAGE):
                containers.append([] if _KINDS[row] == spans.ARRAY else {})
                continue
            value = _complete(~row, containers.pop()) if row < 0 else _value(row, data, start, length)
            if isinstance(containers[-1], list):
                containers[-1].append(value)
            else:
                containers[-1][FIELDS[row if row >= 0 else ~row].name] = value
    if reading.state[spans.FAULT]:
        raise _error(*reading.state[spans.FAULT :].tolist())
    return containers[0][0], int(reading.state[spans.AT])


def _value(row: int, data: bytes, start: int, length: int) -> Any:
    kind, size = _KINDS[row], _SIZES[row]
    if length < 0:
        return None
    if kind == spans.LIST:
        return list(struct.unpack_from(f">{length}{_FORMS[size]}", data, start))
    part = data[start : start + length]
    if kind in (spans.NUMBER, spans.UNSIGNED):
        return int.from_bytes(part, signed=kind == spans.NUMBER)
    if kind == spans.TEXT:
        return java_text(part)
    return base64.b64encode(part).decode() if kind == spans.BLOB else uuid_text(part)


def _complete(row: int, value: Any) -> Any:
    """An array, or a message in the order of its fields, without tagged fields that have their defaults."""
    if row not in _TAGGED:
        return value
    present = (part for part in _TAGGED[row].fields if part.name in value)
    return {part.name: value[part.name] for part in present if part.tag is None or value[part.name] != part.default}


def _error(fault: int, row: int, at: int, number: int, left: int, tag: int) -> Unreadable:
    """The exception for a fault of ``read_spans``."""
    kind = FIELDS[row].type if row >= 0 else None
    name = FIELDS[row].name if row >= 0 else _NAMES.get(row, f"the tagged field {tag}")
    reason = f"{name} has a length of {number} bytes, and {left} are left"
    error: type[Unreadable] = Runtime
    text: str | None = f"Error reading byte array of {number} byte(s): only {left} byte(s) available"
    if fault == spans.UNDERFLOW:
        error, text, reason = BufferUnderflow, None, f"{name} takes {number} byte{'s' * (number > 1)}, and {left} are left"
    elif fault == spans.LONG_VARINT:
        text = f"Varint is too long, the most significant bit in the 5th byte is set, converted value: {number:x}"
        error, reason = IllegalArgument, f"the length of {name} is longer than a varint can be"
    elif fault == spans.NULL:
        text, reason = f"non-nullable field {name} was serialized as null", f"{name} is null, and may not be"
    elif fault == spans.LONG_TEXT:
        text = f"string field {name} had invalid length {number}"
        reason = f"{name} has a length of {number} bytes, and no string has more than {spans.LONGEST_STRING}"
    elif fault == spans.NEGATIVE:
        error, text, reason = NegativeArraySize, str(number), f"{name} has a length of {number} bytes"
    elif isinstance(kind, ArrayType):
        text = f"Tried to allocate a collection of size {number}, but there are only {left} bytes remaining."
        reason = f"{name} has {number} elements, and {left} bytes are left"
    elif isinstance(kind, BytesType) and not kind.copied:
        error, text = IllegalArgument, f"newLimit > capacity: ({number} > {left})"
    return error(text, at, reason)
