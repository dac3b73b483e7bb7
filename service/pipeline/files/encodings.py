"""Encodings and compressions of text files, by their first bytes: only UTF-8 is read."""

import codecs
from typing import Final

_MARKS: Final = {
    codecs.BOM_UTF32_LE: "UTF-32",  # begins with that of UTF-16
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}

_COMPRESSIONS: Final = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "ZIP"}


def compression(head: bytes) -> str | None:
    """The name of the compression of a file that begins so; None for any other."""
    return next((name for mark, name in _COMPRESSIONS.items() if head.startswith(mark)), None)


def wrong_encoding(head: bytes) -> str | None:
    """Why a text file that begins so is not read, as a sentence; None unless it is UTF-16 or UTF-32."""
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    # Without a mark: of the first letters of a header or of JSON, which are ASCII, half of the bytes or more are NUL.
    name = marked or {2: "UTF-16", 3: "UTF-32"}.get(head[:4].count(0))
    return None if name is None else f"Its encoding is {name}, and only UTF-8 is read."
