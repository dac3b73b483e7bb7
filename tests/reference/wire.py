"""Any message of ``schemas.py``, read field by field: the twin of ``read_spans``, and of what is made of its spans."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import Any, NoReturn

from service.wire.errors import BufferUnderflow, IllegalArgument, NegativeArraySize, Runtime
from service.wire.reader import Document, java_text, uuid_text
from service.wire.schemas import ArrayType, BytesType, IntegerType, Message, MessageField, StringType, UuidType

LONGEST_STRING = 32767
INT8 = struct.Struct(">b")
INT16 = struct.Struct(">h")
UINT16 = struct.Struct(">H")
INT32 = struct.Struct(">i")
INT64 = struct.Struct(">q")
FORMS = {(1, True): INT8, (2, True): INT16, (2, False): UINT16, (4, True): INT32, (8, True): INT64}


class Reader:
    """Bytes and a position in them.

    ``what`` is always the name of the field, for error messages.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def remaining(self) -> int:
        """The number of bytes left."""
        return len(self.data) - self.at

    def number(self, form: struct.Struct, what: str) -> Any:
        """A number of fixed size; raises BufferUnderflow."""
        if self.remaining < form.size:
            self._underflow(form.size, what)
        (value,) = form.unpack_from(self.data, self.at)
        self.at += form.size
        return value

    def varint(self, what: str) -> int:
        """An unsigned varint of up to five bytes, as the Java int that it becomes, which may be negative."""
        start, value = self.at, 0
        for shift in range(0, 35, 7):
            if not self.remaining:
                self._underflow(1, what)
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return _int32(value)
        message = "Varint is too long, the most significant bit in the 5th byte is set, converted value: "
        raise IllegalArgument(f"{message}{value & 0xFFFFFFFF:x}", start, f"the length of {what} is longer than a varint can be")

    def length(self, what: str, size: struct.Struct, *, compact: bool) -> int:
        """The length of a string, an array or bytes; negative for null. A compact length is one more, as a varint."""
        if compact:
            return _int32(self.varint(what) - 1)
        length: int = self.number(size, what)
        return length

    def take(self, length: int, what: str) -> bytes:
        """The next bytes, copied (``readArray``)."""
        if length > self.remaining:
            message = f"Error reading byte array of {length} byte(s): only {self.remaining} byte(s) available"
            raise Runtime(message, self.at, f"{what} has a length of {length} bytes, and {self.remaining} are left")
        if length < 0:
            raise NegativeArraySize(str(length), self.at, f"{what} has a length of {length} bytes")
        return self._next(length)

    def view(self, length: int, what: str) -> bytes:
        """The next bytes, where Kafka copies nothing (``readByteBuffer``) and fails with another message."""
        if length > self.remaining:
            message = f"newLimit > capacity: ({length} > {self.remaining})"
            raise IllegalArgument(message, self.at, f"{what} has a length of {length} bytes, and {self.remaining} are left")
        return self._next(length)

    def uuid(self, what: str) -> str:
        """A Uuid as text."""
        if self.remaining < 16:
            self._underflow(16, what)
        return uuid_text(self._next(16))

    def _next(self, length: int) -> bytes:
        start, self.at = self.at, self.at + length
        return self.data[start : self.at]

    def _underflow(self, size: int, what: str) -> NoReturn:
        raise BufferUnderflow(None, self.at, f"{what} takes {size} byte{'s' * (size > 1)}, and {self.remaining} are left")


def _int32(value: int) -> int:
    """The value as a Java int."""
    return (value + 2**31) % 2**32 - 2**31


def read_message(data: bytes, message: Message, version: int, at: int) -> tuple[Document, int]:
    """The message that begins at ``data[at]``, and its end; raises Unreadable."""
    reader = Reader(data)
    reader.at = at
    return _MessageReader(reader, version, version >= message.flexible).fields(message.fields), reader.at


@dataclass(frozen=True)
class _MessageReader:
    """Reads messages of one version."""

    reader: Reader
    version: int
    flexible: bool

    def fields(self, fields: tuple[MessageField, ...]) -> Document:
        present = [field for field in fields if field.since <= self.version <= field.until]
        document = {field.name: self._value(field) for field in present if field.tag is None}
        if not self.flexible:
            return document
        by_tag = {field.tag: field for field in present if field.tag is not None}
        tagged = self._tagged(by_tag)
        if not tagged:
            return document
        document |= {
            field.name: tagged[field.tag] for field in present if field.tag in tagged and tagged[field.tag] != field.default
        }
        return {field.name: document[field.name] for field in present if field.name in document}

    def _tagged(self, by_tag: dict[int, MessageField]) -> dict[int | None, Any]:
        """The values of the known tagged fields, by tag."""
        reader, values = self.reader, dict[int | None, Any]()
        for _ in range(reader.varint("the number of tagged fields")):
            tag, size = reader.varint("a tag"), reader.varint("the size of a tagged field")
            if tag in by_tag:
                values[tag] = self._value(by_tag[tag])  # by its type, whatever its size
            else:
                reader.take(size, f"the tagged field {tag}")
        return values

    def _value(self, field: MessageField) -> Any:
        kind = field.type
        if isinstance(kind, IntegerType):
            return self.reader.number(FORMS[kind.size, kind.is_signed], field.name)
        if isinstance(kind, UuidType):
            return self.reader.uuid(field.name)
        if isinstance(kind, Message):
            return None if self._is_null(field) else self.fields(kind.fields)
        return self._sized(kind, field)

    def _is_null(self, field: MessageField) -> bool:
        """Is a nullable message null?"""
        if not field.nullable:
            return False
        if field.tag is not None:
            return self.reader.varint(field.name) <= 0
        mark: int = self.reader.number(INT8, field.name)
        return mark < 0

    def _sized(self, kind: StringType | BytesType | ArrayType, field: MessageField) -> Any:
        """A value that begins with its length."""
        reader, name, start = self.reader, field.name, self.reader.at
        length = reader.length(name, INT16 if isinstance(kind, StringType) else INT32, compact=self.flexible)
        if length < 0:
            if field.nullable:
                return None
            raise Runtime(f"non-nullable field {name} was serialized as null", start, f"{name} is null, and may not be")
        if isinstance(kind, BytesType):
            data = reader.take(length, name) if kind.copied else reader.view(length, name)
            return base64.b64encode(data).decode()
        if isinstance(kind, StringType):
            if length > LONGEST_STRING:
                message = f"string field {name} had invalid length {length}"
                raise Runtime(
                    message, start, f"{name} has a length of {length} bytes, and no string has more than {LONGEST_STRING}"
                )
            return java_text(reader.take(length, name))
        if length > reader.remaining:
            message = f"Tried to allocate a collection of size {length}, but there are only {reader.remaining} bytes remaining."
            raise Runtime(message, start, f"{name} has {length} elements, and {reader.remaining} bytes are left")
        element = MessageField(name if isinstance(kind.of, Message) else f"{name} element", kind.of)
        return [self._value(element) for _ in range(length)]
