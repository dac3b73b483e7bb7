"""A JSON text without one list of strings, in plain Python."""

from __future__ import annotations

import json
import re

BLANK = rb"[ \t\r\n]*"
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}\[\]]', re.DOTALL)
COLON = re.compile(BLANK + rb":" + BLANK)
ELEMENT = BLANK + rb'(?:"[^"\\\x00-\x1f]*"|null)' + BLANK
LIST = re.compile(rb"\[" + ELEMENT + rb"(?:," + ELEMENT + rb")*\]")


def taken_out(text: bytes, name: str) -> tuple[bytes, list[str | None]] | None:
    """The text with ``[]`` in place of the list of plain strings that is its member ``name``, and the list; None without one."""
    depth = 0
    for token in TOKEN.finditer(text):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token[0] == f'"{name}"'.encode() and (colon := COLON.match(text, token.end())):
            found = LIST.match(text, colon.end())
            try:
                return found and (text[: found.start()] + b"[]" + text[found.end() :], json.loads(found[0].decode()))
            except UnicodeDecodeError:
                return None
    return None
