"""A request's body as bytes: whole, within the limits, and out of its gzip."""

import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from flask import Request, Response
from werkzeug.exceptions import BadRequest, ClientDisconnected, RequestEntityTooLarge, UnsupportedMediaType

from service.http.arrow.limits import unpacked_bytes
from service.http.context import request_budget, reserve
from service.http.error_handlers import invalid
from service.http.json.limits import JsonRejected, character_bytes, scanned
from service.http.middleware import PROGRESS

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
        raise invalid("json", messages) from None
    reserve(size + int(len(text) * max(COLUMN_BYTES, character_bytes(text))))
    return lines


def check_arrow(body: bytes, limit: int) -> None:
    """Refuse what is not an Arrow stream, and one whose columns would take more than the largest body; reserve their memory."""
    budget = request_budget()
    check_time = budget.check_time

    def count() -> None:
        check_time()
        budget.reserve(MESSAGE_BYTES)

    try:
        size = unpacked_bytes(body, count)
    except (pa.ArrowException, OSError, ValueError) as error:
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
