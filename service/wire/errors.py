"""Why bytes cannot be read: the exception that Kafka throws, and the offset where its reading failed.

::

    KafkaError
    └── Unreadable               truncated or corrupt bytes, or those of something else
        ├── BufferUnderflow      fewer bytes than required
        ├── IllegalArgument
        ├── NegativeArraySize
        ├── Runtime              most others
        ├── Schema               of the consumer protocol
        ├── UnknownRecordType
        └── UnknownRecordVersion
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from service.core import errors

Printed = str | dict[str, str | None]
"""A formatter's line, or the ``error``, ``exception`` and ``message`` with which it fails."""


class Unreadable(errors.KafkaError):
    """Kafka cannot read these bytes.

    message : the result of the exception's getMessage()
    offset : the first byte of the field that could not be read
    reason : what is wrong there, in this service's words
    part : "key" or "value" of a record, or else "bytes"
    printed : what each of Kafka's formatters prints for such a record; empty if the bytes are not a record
    """

    exception = "java.lang.RuntimeException"
    part = "bytes"
    printed: Mapping[str, Printed] = MappingProxyType({})

    def __init__(self, message: str | None, offset: int, reason: str) -> None:
        super().__init__(message, f"byte {offset}: {reason}")
        self.offset = offset
        self.reason = reason

    def alone(self) -> Self:
        """Itself, without the errors and frames that led to it: they would hold what those have held."""
        self.__context__ = None
        return self.with_traceback(None)

    @classmethod
    def because_of(cls, cause: Unreadable, message: str) -> Self:
        """The error that Kafka throws because of another one: with the same offset and reason, and a new message."""
        return cls(message, cause.offset, cause.reason)


class BufferUnderflow(Unreadable):
    """Java's own, without a message."""

    exception = "java.nio.BufferUnderflowException"


class IllegalArgument(Unreadable, errors.IllegalArgument):
    """Java's own, for a buffer that is too short or a number that is too long."""

    exception = "java.lang.IllegalArgumentException"


class NegativeArraySize(Unreadable):
    """Java's own, for an array of negative size."""

    exception = "java.lang.NegativeArraySizeException"


class Runtime(Unreadable):
    """The error of the readers that Kafka generates."""


class Schema(Unreadable):
    """The error of the consumer protocol."""

    exception = "org.apache.kafka.common.protocol.types.SchemaException"


class UnknownRecordType(Unreadable):
    """A key of a record type that is unknown in this release."""

    exception = "org.apache.kafka.coordinator.common.runtime.Deserializer$UnknownRecordTypeException"


class UnknownRecordVersion(Unreadable):
    """A value of a version that is unknown in this release."""

    exception = "org.apache.kafka.coordinator.common.runtime.Deserializer$UnknownRecordVersionException"
