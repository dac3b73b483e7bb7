"""A request's body as bytes: whole or in pieces, within the limits of JSON and Arrow, and out of its gzip."""

import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from struct import error as StructError  # noqa: N812 - it is a class
from struct import unpack_from
from typing import Final

from flask import Request, Response
from werkzeug.exceptions import BadRequest, ClientDisconnected, RequestEntityTooLarge, UnsupportedMediaType

from service.http.application import PROGRESS
from service.http.deciding import request_budget, reserve
from service.http.forms import Refused
from service.http.json.limits import JsonRejected, character_bytes, scanned
from service.http.problems import of_messages

# How large an Arrow stream would be out of its compression, from its messages' metadata: a kilobyte may say it holds a terabyte.
#
# A stream is messages, each a FlatBuffer and a body (Arrow's IPC format, format/Message.fbs). Where a record batch is compressed,
# each of its buffers begins with its own length uncompressed, which Arrow believes and allocates. A delta of a dictionary takes a
# copy of all of it, since the batches before keep what it was. Tables within a FlatBuffer may be shared: a schema may name one
# field a million times, with its text, and Arrow makes an object of each.

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


PIECE: Final = 2**20
"""Bytes that are taken at once from a body of unknown length, and decoded at once of a text."""

PACKED_PIECE: Final = 2**14
"""The same if it is packed by gzip: at the end of each member, 20 bytes if it is empty, the rest of the piece is copied."""

COLUMN_BYTES: Final = 1.5
"""Bytes that a character of a body takes beside its values, in columns of strings. Measured with those values: 2.4 for base64,
1.6 for other long strings."""


MESSAGE_BYTES: Final = 2_500
"""Memory for each message of an Arrow stream, which may be a batch of no rows. Measured for two columns: 2,200."""


def read_body(request: Request) -> bytes:
    """The body. Raises HTTP errors: 400 (cut short, not gzip), 413 (too large), 415 (encoding), 503."""
    coding, length, _ = _announced(request)
    if coding == "identity" and length is not None:
        # In one piece: Werkzeug's own stream gathers it in pieces of 64 KiB, which takes longer than many an answer.
        body: bytes = request.environ["wsgi.input"].read(length)
        if len(body) < length:
            raise ClientDisconnected
        request.environ[PROGRESS].sent_bytes += length
        return body
    gathered = bytearray()
    for piece in body_pieces(request):
        reserve(2 * len(piece))  # and a copy
        gathered += piece
    return bytes(gathered)


def body_pieces(request: Request) -> Iterator[bytes]:
    """The body a little at a time, for a reader that never has all of it in memory. Raises the same errors, as it gets there."""
    coding, length, limit = _announced(request)
    pieces, size = _pieces(request, length, PIECE if coding == "identity" else PACKED_PIECE), 0
    for piece in pieces if coding == "identity" else _inflated(pieces):
        size += len(piece)
        if size > limit:
            raise RequestEntityTooLarge(f"The body is larger than {limit} bytes.")
        yield piece


def _announced(request: Request) -> tuple[str, int | None, int]:
    """What the headers say of the body: its coding and its length; and how long it may be."""
    coding = request.environ.get("HTTP_CONTENT_ENCODING", "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        refusal = Response(status=415, headers={"Accept-Encoding": "gzip"})
        raise UnsupportedMediaType("Unsupported Content-Encoding: only gzip is supported.", response=refusal)
    length, limit = request.content_length, request.max_content_length or 0
    if length is not None and length > limit:
        raise RequestEntityTooLarge(f"The body has {length} bytes; at most {limit} are allowed.")
    return coding, length, limit


def check_utf8(text: bytes) -> None:
    """Refuse a JSON text that is not UTF-8 (RFC 8259, section 8.1). A parser that guesses UTF-16 from its first bytes would read
    brackets and members that no scan of the bytes has counted.
    """
    if (nul := text.find(0)) >= 0:
        raise BadRequest(f"The body is not UTF-8 at byte {nul}: JSON has no NUL, but UTF-16 and UTF-32 have.")
    view, decoder = memoryview(text), getincrementaldecoder("utf-8")()
    for start in range(0, len(text), PIECE):
        kept = len(decoder.getstate()[0])  # of a character that the piece before has begun
        try:
            decoder.decode(view[start : start + PIECE], final=start + PIECE >= len(text))
        except UnicodeDecodeError as error:
            raise BadRequest(f"The body is not UTF-8 at byte {start - kept + error.start}: {error.reason}.") from None


def check_json(text: bytes) -> int:
    """Refuse a JSON text that is not UTF-8, repeats a member or is too deep, and reserve the memory of its values.

    Returns how many elements of the outer list end with a comma and a line feed.
    """
    check_utf8(text)
    try:
        size, lines = scanned(text)
    except JsonRejected as rejected:
        messages: object = [str(rejected)]
        for part in reversed(rejected.field):
            messages = {part: messages}
        raise Refused(of_messages(messages)) from None
    reserve(size + int(len(text) * max(COLUMN_BYTES, character_bytes(text))))
    return lines


def check_arrow(body: bytes, limit: int) -> None:
    """Refuse what is not an Arrow stream, and one whose columns would take more than the largest body; reserve their memory."""
    budget = request_budget()

    def count() -> None:
        budget.check_time()
        budget.reserve(MESSAGE_BYTES)

    try:
        size = unpacked_bytes(body, count)
    except ValueError as error:
        raise BadRequest(f"The body is not an Arrow stream: {error}") from None
    if size > limit:
        raise RequestEntityTooLarge(f"The stream's columns would take {size} bytes; at most {limit} are allowed.")
    reserve(size)


def _pieces(request: Request, length: int | None, most: int) -> Iterator[bytes]:
    """The body as it was sent, ``most`` bytes at a time; without a length, up to the end that the server knows of."""
    stream = request.environ["wsgi.input"]
    if length is None and not request.environ.get("wsgi.input_terminated"):
        return
    left = length
    while left is None or left > 0:
        piece = stream.read(most if left is None else min(most, left))
        if not piece:
            if left is not None:
                raise ClientDisconnected
            return
        if left is not None:
            left -= len(piece)
        request.environ[PROGRESS].sent_bytes += len(piece)
        yield piece


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """What was packed by gzip, a little at a time: a bomb goes off only as far as somebody asks for more."""
    inflater = zlib.decompressobj(wbits=31)
    started = False
    for piece in pieces:
        rest = piece
        while rest:
            if inflater.eof:  # another member follows
                inflater = zlib.decompressobj(wbits=31)
            started = True
            try:
                yield inflater.decompress(rest, PIECE)
            except zlib.error as error:
                raise BadRequest(f"The body is not gzip: {error}") from None
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        while not inflater.eof and (more := inflater.decompress(b"", PIECE)):
            yield more
    if started and not inflater.eof:
        raise BadRequest("The gzip body is truncated.")
