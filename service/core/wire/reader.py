"""Kafka's primitive types, read from the front of some bytes.

Each method reproduces one of ByteBufferAccessor (kafka-clients 4.3.1) with its exceptions, to which ``offset`` and ``reason`` are
added. Nothing is allocated before the bytes are known to exist.
"""

import base64
import re
import struct
from typing import Any, Final, NoReturn

from service.core.wire.errors import BufferUnderflow, IllegalArgument, NegativeArraySize, Runtime

INT8: Final = struct.Struct(">b")
INT16: Final = struct.Struct(">h")
UINT16: Final = struct.Struct(">H")
INT32: Final = struct.Struct(">i")
INT64: Final = struct.Struct(">q")

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def java_text(data: bytes) -> str:
    """``new String(data, UTF_8)``: invalid UTF-8 becomes U+FFFD, an encoded surrogate just one of them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(b"\xef\xbf\xbd", data).decode(errors="replace")


def uuid_text(data: bytes) -> str:
    """A Kafka Uuid as text: 22 characters of base64 for URLs."""
    return base64.urlsafe_b64encode(data)[:22].decode()


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
            raise Runtime(message, self.at, f"{what} is to have {length} bytes, and {self.remaining} are left")
        if length < 0:
            raise NegativeArraySize(str(length), self.at, f"{what} is to have {length} bytes")
        return self._next(length)

    def view(self, length: int, what: str) -> bytes:
        """The next bytes, where Kafka copies nothing (``readByteBuffer``) and fails with another message."""
        if length > self.remaining:
            message = f"newLimit > capacity: ({length} > {self.remaining})"
            raise IllegalArgument(message, self.at, f"{what} is to have {length} bytes, and {self.remaining} are left")
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
