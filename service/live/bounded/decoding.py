"""Decoders of responses that check each length against the bytes behind it.

kafka-python writes the source of a decoder for each version of a message. It trusts its peer: a length of a million bytes
is shifted into one huge integer, an entry with a tagged field copies the rest of the response, null stands where a list must be,
and an entry of five bytes becomes an object of a hundred. ``install`` replaces the parts of the library that write it:

=================== ==============================================================================================================
lengths             at most five bytes
strings and bytes   as long as they say; not null unless the message definition allows it
arrays              nor these; at most as many entries as bytes are left, and each takes from the ``Allowance`` of the response,
                    which also ends at a time
tagged fields       read where they are; those that the definition does not have are skipped
=================== ==============================================================================================================

A response that breaks this raises ValueError, for which the library closes the connection.

Source: org.apache.kafka.common.protocol.ByteBufferAccessor and the decoders that MessageDataGenerator writes, checking the same.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from math import inf
from threading import local
from typing import Any, Final

from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.codecs import Bytes, String
from kafka.protocol.schemas.fields.codecs.tagged_fields import TaggedFields
from kafka.protocol.schemas.fields.codecs.types import UnsignedVarInt32
from kafka.protocol.schemas.fields.simple import SimpleField
from kafka.protocol.schemas.fields.struct import StructField
from kafka.protocol.schemas.fields.struct_array import StructArrayField

MOST_BYTES: Final = 2 * 2**30
"""What the responses of one snapshot may take: a cluster of a million partitions with three replicas each takes 1.7 GB. And what
the records that it decompresses may take."""
ENTRY_BYTES: Final = 100
"""Bytes of an entry of an array once it is an object of Python, about."""
_ENTRIES_AT_ONCE: Final = 10_000
"""Entries between two looks at the clock: some 20 ms."""
_BYTES_BETWEEN_LOOKS: Final = ENTRY_BYTES * _ENTRIES_AT_ONCE
_LENGTH_BITS: Final = 28


@dataclass
class Allowance:
    """The memory and the time that something may still take: the responses, unless named otherwise.

    until : by the monotonic clock
    """

    left: int = MOST_BYTES
    name: str = "the responses"
    until: float = inf
    _next_look: float = inf

    def take(self, size: int) -> None:
        """Use this many bytes. Raises ValueError if there are fewer, or the time is over."""
        self.left -= size
        if self.left < self._next_look:
            self._look()

    def _look(self) -> None:
        self._next_look = max(0, self.left - _BYTES_BETWEEN_LOOKS)
        if self.left < 0:
            raise ValueError(f"{self.name} take more than {MOST_BYTES // 2**20} MiB")
        if time.monotonic() > self.until:
            raise ValueError("the time limit has expired")


_current = local()


@contextmanager
def taking_from(allowance: Allowance) -> Iterator[None]:
    """Within the block, what this thread decodes or decompresses takes from this allowance."""
    outer = getattr(_current, "allowance", None)
    _current.allowance = allowance
    try:
        yield
    finally:
        _current.allowance = outer


def take(size: int) -> None:
    """Use this many bytes of the current allowance, if there is one. Raises ValueError."""
    allowance = getattr(_current, "allowance", None)
    if allowance is not None:
        allowance.take(size)


def read_varint(data: memoryview, pos: int) -> tuple[int, int]:
    """An unsigned integer of at most five bytes, and where it ends."""
    value = 0
    for shift in range(0, _LENGTH_BITS + 1, 7):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
    raise ValueError("a length has more than five bytes")


def _entries(count: int, data: memoryview, pos: int) -> Iterable[int]:
    """The indices of an array's entries. Raises ValueError if there are fewer bytes than entries."""
    if count > len(data) - pos:
        raise ValueError(f"an array of {count} entries has {len(data) - pos} bytes")
    return _indices(count)


def _indices(count: int) -> Iterable[int]:
    """The indices of ``count`` objects, which take from the allowance."""
    if count > _ENTRIES_AT_ONCE:
        return chain.from_iterable(_parts(count))
    take(ENTRY_BYTES * count)
    return range(count)


def _parts(count: int) -> Iterator[range]:
    for begin in range(0, count, _ENTRIES_AT_ONCE):
        part = range(begin, min(begin + _ENTRIES_AT_ONCE, count))
        take(ENTRY_BYTES * len(part))
        yield part


def _part(data: memoryview, pos: int, size: int) -> memoryview:
    if size > len(data) - pos:
        raise ValueError(f"a field of {size} bytes has {len(data) - pos}")
    return data[pos : pos + size]


class _Rest:
    """The rest of a response as the stream that tagged fields are read from, uncopied."""

    def __init__(self, data: memoryview, pos: int) -> None:
        self._data, self._start, self._pos = data, pos, pos

    def read(self, size: int) -> bytes:
        if size < 0:
            raise ValueError("a tagged field has a negative size")
        self._pos += size
        return bytes(_part(self._data, self._pos - size, size))

    def tell(self) -> int:
        return self._pos - self._start


def _emit_varint(_: Any, ctx: Any, name: str, indent: str) -> None:
    ctx.globs["_varint"] = read_varint
    ctx.emit(indent, f"{name} = data[pos]")
    ctx.emit(indent, f"if {name} < 0x80: pos += 1")
    ctx.emit(indent, f"else: {name}, pos = _varint(data, pos)")


def _emit_length(ctx: Any, indent: str, form: str, *, compact: bool) -> str:
    """The length of a string or array, −1 for null. form : of a length that is not compact"""
    name: str = ctx.next_var("length")
    if compact:
        UnsignedVarInt32.emit_decode_from(ctx, name, indent)
        ctx.emit(indent, f"{name} -= 1")
    else:
        ctx.emit(indent, f'{name} = unpack_from(">{form}", data, pos)[0]')
        ctx.emit(indent, f"pos += {2 if form == 'h' else 4}")
    return name


def _emit_null(field: Any, ctx: Any, name: str, indent: str, version: int) -> None:
    if field.nullable_for_version_q(version):
        ctx.emit(indent, f"{name} = None")
    else:
        ctx.emit(indent, f'raise ValueError("{field.name} is null")')


def _emit_array(self: Any, ctx: Any, name: str, indent: str, version: int, **form: Any) -> None:
    ctx.globs["_entries"] = _entries
    count, item = _emit_length(ctx, indent, "i", compact=form["compact"]), ctx.next_var("item")
    ctx.emit(indent, f"if {count} < 0:")
    _emit_null(self, ctx, name, f"{indent}    ", version)
    ctx.emit(indent, "else:")
    ctx.emit(indent, f"    {name} = []")
    ctx.emit(indent, f"    for {ctx.next_var('i')} in _entries({count}, data, pos):")
    self.array_of.emit_decode_from(ctx, item, f"{indent}        ", version=version, **form)
    ctx.emit(indent, f"        {name}.append({item})")


def _emit_simple(self: Any, ctx: Any, name: str, indent: str, version: int, **form: Any) -> None:
    if not isinstance(self._type, String) and self._type is not Bytes:
        self._type.emit_decode_from(ctx, name, indent, compact=form["compact"])
        return
    ctx.globs["_part"] = _part
    is_text = isinstance(self._type, String)
    size = _emit_length(ctx, indent, "h" if is_text else "i", compact=form["compact"])
    ctx.emit(indent, f"if {size} < 0:")
    _emit_null(self, ctx, name, f"{indent}    ", version)
    ctx.emit(indent, "else:")
    part = f"_part(data, pos, {size})"
    ctx.emit(indent, f"    {name} = " + (f'str({part}, "utf-8")' if is_text else f"bytes({part})"))
    ctx.emit(indent, f"    pos += {size}")


def _emit_tags(self: Any, ctx: Any, name: str, indent: str, version: int) -> None:
    rest, tagged_fields = ctx.next_var("rest"), ctx.next_var("tagged_fields")
    ctx.globs[tagged_fields], ctx.globs["_Rest"] = self.tagged_fields(version), _Rest
    ctx.emit(indent, f"{rest} = _Rest(data, pos)")
    ctx.emit(indent, f"for _name, _value in {tagged_fields}.decode({rest}, version={version}).items():")
    ctx.emit(indent, f"    setattr({name}, _name, _value)")
    ctx.emit(indent, f"pos += {rest}.tell()")


def _decode_tags(self: Any, data: Any, version: int | None = None) -> dict[str, Any]:
    """The tagged fields of an entry that its definition has."""
    values = {}
    for _ in _indices(UnsignedVarInt32.decode(data)):
        tag, size = UnsignedVarInt32.decode(data), UnsignedVarInt32.decode(data)
        field = self._tags.get(tag)
        if field is None:
            data.read(size)
        else:
            values[field.name] = field.decode(data, version=version, compact=True, tagged=None)
    return values


def install() -> None:
    """Have the library write such decoders from now on."""
    UnsignedVarInt32.emit_decode_from = classmethod(_emit_varint)
    ArrayField.emit_decode_from = StructArrayField.emit_decode_from = _emit_array
    SimpleField.emit_decode_from = _emit_simple
    StructField._emit_tagged_decode = _emit_tags  # noqa: SLF001 - there is no other place
    TaggedFields.decode = _decode_tags
