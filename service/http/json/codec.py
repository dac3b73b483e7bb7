"""JSON in and out through orjson, with Java's tolerance where Kafka's keys need it."""

import gc
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn

import orjson

MANY_OBJECTS: Final = 2**18
"""Bytes of JSON from which on the cyclic collector is paused.

What ``loads`` passes on to the old objects the collector looks at only when many have come of themselves. Done for every small
body, it never would.
"""

SHORT_BYTES: Final = 2**18
"""Bytes up to which pieces of a text are joined."""

LEAST_MEMORY: Final = 4_096
"""Bytes of memory that a text of orjson keeps, however short it is; many keep the text of each of a million names."""

PLACE_TEXT: Final = b"\0"
"""Where a LongText belongs; JSON has no such byte."""

PLACE: Final = orjson.Fragment(PLACE_TEXT)


def loads(text: bytes | str) -> Any:
    """The value of a JSON text; raises ValueError (json.JSONDecodeError) for what is none.

    orjson refuses half a surrogate pair, which Java's strings may hold; such a text is read by the standard library, as a str:
    of bytes it would guess the encoding, and read UTF-16.
    """
    if len(text) < MANY_OBJECTS or not gc.isenabled():
        return _loads(text)
    # A million small objects make the cyclic collector, which has nothing to find in them, the larger part of the work.
    gc.disable()
    try:
        return _loads(text)
    finally:
        # All that was made counts as young, and enabling would begin by going through it; so it is passed on to the old.
        gc.freeze()
        gc.unfreeze()
        gc.enable()


def _loads(text: bytes | str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "surrogate" not in str(error):
            raise
        decoded = text if isinstance(text, str) else error.doc or text.decode()
        return json.loads(decoded, parse_constant=_refuse_constant)


Members = Mapping[str, "Members | None"]
"""Some members of a document, by their names: whole (None), or some of theirs, those of each object where they are lists."""


def without(members: Members, document: dict[str, Any]) -> dict[str, Any]:
    """A document without these members; what keeps all of its own is the same object."""
    if not members:
        return document
    kept = document.copy()
    for name, below in members.items():
        if below is None:
            kept.pop(name, None)
        elif isinstance(value := kept.get(name), dict):
            kept[name] = without(below, value)
        elif isinstance(value, list):
            kept[name] = [without(below, each) if isinstance(each, dict) else each for each in value]
    return kept


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


class LongText:
    """JSON text in pieces, which are made when the document around it is written. It can be written once. No dataclass: orjson
    would write its fields.

    size : bytes that it has; the most it can have if it is not ``exact``
    """

    __slots__ = ("exact", "pieces", "size")

    def __init__(self, pieces: Iterable[bytes], size: int, *, exact: bool) -> None:
        self.pieces = pieces
        self.size = size
        self.exact = exact


def dumps(value: Any) -> bytes:
    """The JSON text of a value; NumPy arrays and LongTexts are written as they are."""
    text = b"".join(dump_text(value)[0].pieces)
    return text if len(text) >= LEAST_MEMORY else bytes(memoryview(text))


def dump_text(value: Any) -> tuple[LongText, int]:
    """The text of ``dumps``, whose LongTexts are made as its pieces are asked for; and how many of its bytes they are.

    There is at least one piece, and those of a LongText are no copies, apart from short ones.
    """
    texts: list[LongText] = []

    def leave_out(part: Any) -> orjson.Fragment:
        if not isinstance(part, LongText):
            raise TypeError
        texts.append(part)
        return PLACE

    try:
        parts = orjson.dumps(value, default=leave_out, option=orjson.OPT_SERIALIZE_NUMPY).split(PLACE_TEXT)
    except orjson.JSONEncodeError as error:
        if "surrogate" not in str(error):
            raise
        parts = [json.dumps(value).encode()]  # a problem that quotes the caller's half of a surrogate pair
    size = sum(map(len, parts))
    if not texts:
        return LongText(parts, size, exact=True), 0
    long_bytes = sum(text.size for text in texts)
    pieces = joined(_filled(parts, texts))
    return LongText(pieces, size + long_bytes, exact=all(text.exact for text in texts)), long_bytes


def _filled(parts: list[bytes], texts: list[LongText]) -> Iterator[bytes]:
    yield parts[0]
    for text, part in zip(texts, parts[1:], strict=True):
        yield from text.pieces
        yield part


def joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, with short ones joined: each costs the server time."""
    short: list[bytes] = []
    size = 0
    for piece in pieces:
        if len(piece) >= SHORT_BYTES or size >= SHORT_BYTES:
            yield b"".join(short)
            short, size = [], 0
        if len(piece) >= SHORT_BYTES:
            yield piece
        else:
            short.append(piece)
            size += len(piece)
    yield b"".join(short)
