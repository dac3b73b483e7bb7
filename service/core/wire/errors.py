"""Why bytes cannot be read: by the exception that Kafka throws, and by the place where its reading stopped.

::

    KafkaError
    └── Unreadable               bytes that are cut off, altered, or something else altogether
        ├── BufferUnderflow      more bytes were wanted than are there
        ├── IllegalArgument
        ├── NegativeArraySize
        ├── Runtime              what Kafka makes of most of them
        ├── Schema               the consumer protocol's own
        ├── UnknownRecordType
        └── UnknownRecordVersion
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from service.core import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

Printed = str | dict[str, str]
"""A formatter's line, or the ``error``, ``exception`` and ``message`` with which it ends."""


class Unreadable(errors.KafkaError):
    """Kafka cannot read these bytes.

    message : what the exception's getMessage() gives
    offset : where in the bytes reading failed: the first byte of what could not be read
    reason : what is wrong there, in our words
    part : which bytes: "key" or "value" of a record, or else "bytes"
    printed : what each of Kafka's formatters gives for such a record; none if the bytes are no record
    """

    exception = "java.lang.RuntimeException"
    part = "bytes"
    printed: Mapping[str, Printed] = MappingProxyType({})

    def __init__(self, message: str | None, offset: int, reason: str) -> None:
        super().__init__(message, f"byte {offset}: {reason}")
        self.offset = offset
        self.reason = reason

    @classmethod
    def because_of(cls, cause: Unreadable, message: str) -> Self:
        """The error that Kafka throws on another one: the place and our words stay, the message is new."""
        return cls(message, cause.offset, cause.reason)


class BufferUnderflow(Unreadable):
    """Java's own, which has no message."""

    exception = "java.nio.BufferUnderflowException"


class IllegalArgument(Unreadable, errors.IllegalArgument):
    """Java's own, of a buffer that is too short or a number that is too long."""

    exception = "java.lang.IllegalArgumentException"


class NegativeArraySize(Unreadable):
    """Java's own, of an array of fewer than no bytes."""

    exception = "java.lang.NegativeArraySizeException"


class Runtime(Unreadable):
    """What the readers that Kafka generates throw."""


class Schema(Unreadable):
    """The consumer protocol's."""

    exception = "org.apache.kafka.common.protocol.types.SchemaException"


class UnknownRecordType(Unreadable):
    """A key of a type that this release does not know."""

    exception = "org.apache.kafka.coordinator.common.runtime.Deserializer$UnknownRecordTypeException"


class UnknownRecordVersion(Unreadable):
    """A value of a version that this release does not know."""

    exception = "org.apache.kafka.coordinator.common.runtime.Deserializer$UnknownRecordVersionException"
