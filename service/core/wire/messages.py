"""Any message of ``schemas.py``, read as by the classes that Kafka generates from its message definitions.

A message's fields come in the order of the table; in flexible versions, those with a tag come after all others, strings, bytes
and arrays have compact lengths, and unknown tags are skipped (KIP-482).

Source: org.apache.kafka.message.MessageDataGenerator, and JsonConverterGenerator for the documents (Apache Kafka 4.3.1).
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import Any, Final

from service.core.wire.errors import Runtime
from service.core.wire.reader import INT8, INT16, INT32, Reader, java_text

NEWEST: Final = 32767
LONGEST_STRING: Final = 32767

Document = dict[str, Any]
"""A message as returned by Kafka's JSON converters: names as in the table, bytes in base64, a Uuid as text."""


@dataclass(frozen=True)
class Text:
    """A string."""


@dataclass(frozen=True)
class Blob:
    """Bytes. ``copied`` : does Kafka copy them? The two ways fail with different messages."""

    copied: bool = True


@dataclass(frozen=True)
class Uuid:
    """Sixteen bytes."""


@dataclass(frozen=True)
class Array:
    """Any number of elements of one type."""

    of: Type


@dataclass(frozen=True)
class Field:
    """One field of a message.

    since, until : the first and last version with this field
    nullable : may it be null?
    tag : its number among the tagged fields; a tagged field with its default is left out of the document
    """

    name: str
    type: Type
    since: int = 0
    until: int = NEWEST
    nullable: bool = False
    tag: int | None = None
    default: Any = None


@dataclass(frozen=True)
class Message:
    """A message, or a part of one.

    flexible : the first flexible version
    newest : the highest version in this release
    """

    fields: tuple[Field, ...]
    flexible: int = NEWEST
    newest: int = 0


Type = struct.Struct | Text | Blob | Uuid | Array | Message
"""A ``struct.Struct`` is a number."""


def read_message(reader: Reader, message: Message, version: int) -> Document:
    """The message that begins at the reader's position, in a version that the message has. The reader stops behind it.

    Raises Unreadable, of the class that Kafka's generated class throws.
    """
    return _MessageReader(reader, version, version >= message.flexible).fields(message.fields)


@dataclass(frozen=True)
class _MessageReader:
    """Reads messages of one version."""

    reader: Reader
    version: int
    flexible: bool

    def fields(self, fields: tuple[Field, ...]) -> Document:
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

    def _tagged(self, by_tag: dict[int, Field]) -> dict[int | None, Any]:
        """The values of the known tagged fields, by tag."""
        reader, values = self.reader, dict[int | None, Any]()
        for _ in range(reader.varint("the number of tagged fields")):
            tag, size = reader.varint("a tag"), reader.varint("the size of a tagged field")
            if tag in by_tag:
                values[tag] = self._value(by_tag[tag])  # by its type, whatever its size
            else:
                reader.take(size, f"the tagged field {tag}")
        return values

    def _value(self, field: Field) -> Any:
        kind = field.type
        if isinstance(kind, struct.Struct):
            return self.reader.number(kind, field.name)
        if isinstance(kind, Uuid):
            return self.reader.uuid(field.name)
        if isinstance(kind, Message):
            return None if self._is_null(field) else self.fields(kind.fields)
        return self._sized(kind, field)

    def _is_null(self, field: Field) -> bool:
        """Is a nullable message null?"""
        if not field.nullable:
            return False
        if field.tag is not None:
            return self.reader.varint(field.name) <= 0
        mark: int = self.reader.number(INT8, field.name)
        return mark < 0

    def _sized(self, kind: Text | Blob | Array, field: Field) -> Any:
        """A value that begins with its length."""
        reader, name, start = self.reader, field.name, self.reader.at
        length = reader.length(name, INT16 if isinstance(kind, Text) else INT32, compact=self.flexible)
        if length < 0:
            if field.nullable:
                return None
            raise Runtime(f"non-nullable field {name} was serialized as null", start, f"{name} is null, and may not be")
        if isinstance(kind, Blob):
            data = reader.take(length, name) if kind.copied else reader.view(length, name)
            return base64.b64encode(data).decode()
        if isinstance(kind, Text):
            if length > LONGEST_STRING:
                message = f"string field {name} had invalid length {length}"
                raise Runtime(message, start, f"{name} is to have {length} bytes, and no string has more than {LONGEST_STRING}")
            return java_text(reader.take(length, name))
        if length > reader.remaining:
            message = f"Tried to allocate a collection of size {length}, but there are only {reader.remaining} bytes remaining."
            raise Runtime(message, start, f"{name} is to have {length} elements, and {reader.remaining} bytes are left")
        element = Field(name if isinstance(kind.of, Message) else f"{name} element", kind.of)
        return [self._value(element) for _ in range(length)]
