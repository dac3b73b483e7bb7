"""What Kafka's message definitions are made of: fields with types, versions, tags and defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

NEWEST: Final = 32767


@dataclass(frozen=True)
class IntegerType:
    """An integer. size : in bytes"""

    size: int
    is_signed: bool = True


INT8, INT16, INT32, INT64 = (IntegerType(size) for size in (1, 2, 4, 8))
UINT16 = IntegerType(2, is_signed=False)


@dataclass(frozen=True)
class StringType:
    """A string."""


@dataclass(frozen=True)
class BytesType:
    """Bytes. ``copied`` : does Kafka copy them? The two ways fail with different messages."""

    copied: bool = True


@dataclass(frozen=True)
class UuidType:
    """Sixteen bytes."""


@dataclass(frozen=True)
class ArrayType:
    """Any number of elements of one type."""

    of: Type


@dataclass(frozen=True)
class MessageField:
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

    fields: tuple[MessageField, ...]
    flexible: int = NEWEST
    newest: int = 0


Type = IntegerType | StringType | BytesType | UuidType | ArrayType | Message
