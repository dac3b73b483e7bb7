"""How large an Arrow stream would be out of its compression, from its messages' metadata: a kilobyte may say it holds a terabyte.

A stream is messages, each a FlatBuffer and a body (Arrow's IPC format, format/Message.fbs). Where a record batch is compressed,
each of its buffers begins with its own length uncompressed, which Arrow believes and allocates. A delta of a dictionary takes a
copy of all of it, since the batches before keep what it was. Tables within a FlatBuffer may be shared: a schema may name one
field a million times, with its text, and Arrow makes an object of each.
"""

from collections.abc import Callable, Iterator
from struct import error as StructError  # noqa: N812 - it is a class
from struct import unpack_from
from typing import Final

SCHEMA, DICTIONARY_BATCH, RECORD_BATCH = 1, 2, 3
"""MessageHeader: the kinds of message; those of batches have buffers."""

HEADER_TYPE, HEADER, BODY_LENGTH, CUSTOM_METADATA = 1, 2, 3, 4
FIELDS, SCHEMA_METADATA = 1, 2
CHILDREN, FIELD_METADATA = 5, 6
BUFFERS, COMPRESSION = 2, 3
ID, DATA, IS_DELTA = 0, 1, 2
"""Fields by their number: of Message, of Schema, of Field, of RecordBatch, of DictionaryBatch."""

PART_BYTES, PART_TEXTS, MOST_PARTS = 300, 3, 10_000
"""Memory for each field and each pair of custom metadata: the object, and texts, each at most as long as the message's metadata;
and how many a message may have. Measured for a field: 264."""

BUFFER_BYTES: Final = 16

OLD_COMPRESSION: Final = b"ARROW:experimental_compression"
"""The custom metadata of a compressed batch of Arrow 0.17, which Arrow still reads."""

CONTINUATION: Final = b"\xff\xff\xff\xff"
"""A message begins with this mark and the length of its metadata; before Arrow 0.15, with the length alone."""

LENGTH_BYTES: Final = 4


def unpacked_bytes(body: bytes, count: Callable[[], object] = int) -> int:
    """Bytes of the stream's parts and buffers, uncompressed as they say. Raises ValueError for what is no stream.

    count : called for each message
    """
    size, end, view, dictionaries = 0, 0, memoryview(body), dict[int, int]()
    while len(view) - end >= 2 * LENGTH_BYTES:
        start = end + (2 * LENGTH_BYTES if body.startswith(CONTINUATION, end) else LENGTH_BYTES)
        length = unpack_from("<i", body, start - LENGTH_BYTES)[0]
        if length <= 0:
            break
        end = start + length + _body_bytes(view[start : start + length])
        if end > len(view):
            raise ValueError(f"a message ends at byte {end} of {len(view)}")
        count()
        size += _of_message(view[start : start + length], view[start + length : end], dictionaries)
    return size


def checked_messages(pieces: Iterator[bytes], limit: int, reserve: Callable[[int], object] = int) -> Iterator[bytes | bytearray]:
    """A stream of any length, message by message, each checked before it is passed on; then its end and what follows.

    limit : bytes that one message may be, packed or unpacked. Raises OverflowError beyond it, ValueError for what is no stream.
    reserve : called with the bytes of a message, packed and unpacked, before they are there
    """
    sent, dictionaries = _Sent(pieces, reserve), dict[int, int]()

    def extend(message: bytearray, size: int) -> None:
        if not sent.extend(message, min(size, limit)):
            raise ValueError(f"a message of {size} bytes is cut short after {len(message)}")
        if size > limit:
            raise OverflowError(size)

    while sent.extend(message := bytearray(), LENGTH_BYTES):
        start = 2 * LENGTH_BYTES if message == CONTINUATION else LENGTH_BYTES
        if not sent.extend(message, start) or (length := unpack_from("<i", message, start - LENGTH_BYTES)[0]) <= 0:
            break  # the end of the stream, or none at all: Arrow says which
        extend(message, start + length)
        extend(message, start + length + _body_bytes(memoryview(message)[start:]))
        view = memoryview(message)
        size = _of_message(view[start : start + length], view[start + length :], dictionaries)
        if size > limit:
            raise OverflowError(size)
        reserve(len(message) + size + sum(dictionaries.values()))
        yield message
    yield message
    yield from sent.rest()


class _Sent:
    """What has been sent, taken a message at a time: nothing is allocated for bytes that have not come."""

    def __init__(self, pieces: Iterator[bytes], reserve: Callable[[int], object]) -> None:
        self._pieces, self._reserve, self._left = pieces, reserve, memoryview(b"")

    def extend(self, message: bytearray, size: int) -> bool:
        """Extend a message to this size, or as far as there are bytes: are there enough?"""
        while len(message) < size:
            if not self._left:
                piece = next(self._pieces, None)
                if piece is None:
                    return False
                self._left = memoryview(piece)
            part = self._left[: size - len(message)]
            self._reserve(len(message) + len(part))
            message += part
            self._left = self._left[len(part) :]
        return True

    def rest(self) -> Iterator[bytes]:
        """What no message has."""
        yield bytes(self._left)
        yield from self._pieces


def _body_bytes(metadata: memoryview) -> int:
    """How long the body of a message is."""
    try:
        place = _field(metadata, unpack_from("<I", metadata)[0], BODY_LENGTH)
        size = int(unpack_from("<q", metadata, place)[0]) if place else 0
    except (StructError, IndexError):
        raise ValueError("its messages cannot be read") from None
    if size < 0:
        raise ValueError("the length of a message is negative")
    return size


def _of_message(metadata: memoryview, body: memoryview, dictionaries: dict[int, int]) -> int:
    """Bytes of a message's parts and buffers, uncompressed. dictionaries : the bytes of each by its id, kept up to date"""
    try:
        root = unpack_from("<I", metadata)[0]
        place = _field(metadata, root, HEADER_TYPE)
        kind = metadata[place] if place else 0
        vectors = [(root, CUSTOM_METADATA)]
        if kind == SCHEMA:
            header = _table(metadata, root, HEADER)
            vectors += [(header, FIELDS), (header, SCHEMA_METADATA)]
        size = _parts(metadata, vectors) * (PART_BYTES + PART_TEXTS * len(metadata))
        return size + (_of_batch(metadata, root, kind, body, dictionaries) if kind in (DICTIONARY_BATCH, RECORD_BATCH) else 0)
    except (StructError, IndexError):
        raise ValueError("its messages cannot be read") from None


def _parts(metadata: memoryview, vectors: list[tuple[int, int]]) -> int:
    """How many tables there are in these vectors, each a table and its field, and in those of their fields."""
    parts = 0
    while vectors:
        table, number = vectors.pop()
        if not _field(metadata, table, number):
            continue
        vector = _table(metadata, table, number)
        count = unpack_from("<I", metadata, vector)[0]
        parts += count
        if parts > MOST_PARTS:
            raise ValueError(f"a message has more than {MOST_PARTS} fields")
        if number in (FIELDS, CHILDREN):
            places = range(vector + LENGTH_BYTES, vector + LENGTH_BYTES * (count + 1), LENGTH_BYTES)
            fields = [place + unpack_from("<I", metadata, place)[0] for place in places]
            vectors += [(field, inner) for field in fields for inner in (CHILDREN, FIELD_METADATA)]
    return parts


def _of_batch(metadata: memoryview, root: int, kind: int, body: memoryview, dictionaries: dict[int, int]) -> int:
    header = _table(metadata, root, HEADER)
    batch = _table(metadata, header, DATA) if kind == DICTIONARY_BATCH else header
    if OLD_COMPRESSION in bytes(metadata):
        raise ValueError("its buffers are compressed as by Arrow 0.17, which said so in other metadata")
    is_compressed = bool(_field(metadata, batch, COMPRESSION))
    size = 0
    for offset, length in _buffers(metadata, batch):
        if offset < 0 or length < 0:
            raise ValueError("the offset or length of a buffer is negative")
        size += max(unpack_from("<q", body, offset)[0], length) if is_compressed and length else length
    if kind == DICTIONARY_BATCH:
        place = _field(metadata, header, ID)
        number = unpack_from("<q", metadata, place)[0] if place else 0
        place = _field(metadata, header, IS_DELTA)
        size += dictionaries.get(number, 0) if place and metadata[place] else 0
        dictionaries[number] = size
    return size


def _buffers(metadata: memoryview, batch: int) -> Iterator[tuple[int, int]]:
    """Offset and length of each buffer of a batch."""
    vector = _table(metadata, batch, BUFFERS)
    for number in range(unpack_from("<I", metadata, vector)[0]):
        offset, length = unpack_from("<qq", metadata, vector + 4 + number * BUFFER_BYTES)
        yield offset, length


def _field(metadata: memoryview, table: int, number: int) -> int:
    """Where a field of a FlatBuffer's table is; 0 if it is not there."""
    entries: int = table - unpack_from("<i", metadata, table)[0]
    if 4 + 2 * number >= unpack_from("<H", metadata, entries)[0]:
        return 0
    offset: int = unpack_from("<H", metadata, entries + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _table(metadata: memoryview, table: int, number: int) -> int:
    """Where the table or vector is that a field points to."""
    place = _field(metadata, table, number)
    if not place:
        raise ValueError("its messages lack a part")
    target: int = place + unpack_from("<I", metadata, place)[0]
    return target
