"""What the look at a JSON text finds, in plain Python."""

from __future__ import annotations

import json
import re

MAX_DEPTH, COMPARED_MEMBERS, MOST_MEMBERS = 32, 64, 1_000
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},]|[-0-9][-+.0-9eE]*', re.DOTALL)
ASCII_ESCAPE = re.compile(rb"\\u00([0-7][0-9a-fA-F])")


def look(text: bytes) -> tuple[str, int, bytes | None]:  # noqa: C901 - a rule for each token
    """("fine", "twice", "too many" or "too deep"; the bytes that the values take; the key that is repeated) of proper JSON."""
    size = 0
    open_objects: list[list[bytes] | None] = []  # the keys of an object; None for a list
    last_names: dict[tuple[int, int], str] = {}  # by depth and place in the object
    wants_key = False
    for token in TOKEN.findall(text):
        if token in (b"{", b"["):
            if len(open_objects) == MAX_DEPTH:
                return "too deep", size, None
            wants_key = token == b"{"
            open_objects.append([] if wants_key else None)
            size += 192 if wants_key else 80
        elif token in (b"}", b"]"):
            open_objects.pop()
            wants_key = False
        elif token == b",":
            size += 24
            wants_key = bool(open_objects) and open_objects[-1] is not None
        elif token[:1] == b'"' and wants_key:
            wants_key = False
            name = same_characters(token)
            keys = open_objects[-1]
            if len(keys) == MOST_MEMBERS:
                return "too many", size, None
            if name in keys[:COMPARED_MEMBERS]:
                return "twice", size, token[1:-1]
            size += 64 if len(keys) < 8 else 144
            if len(keys) < COMPARED_MEMBERS:
                place = len(open_objects), len(keys)
                size -= 40 if last_names.get(place) == name else 0
                last_names[place] = name
            keys.append(name)
        elif token[:1] == b'"':
            width = 4 if b"\\u" in token.replace(b"\\\\", b"") or max(token) >= 0xF0 else 2 if max(token) >= 0xC4 else 1
            size += 64 + width * (len(token) - 2)
        else:
            size += max(32, 4 * len(token) - 40)
    return "fine", size, None


def line_ends(text: bytes) -> int:
    """How many commas between the elements of the outermost bracket end their line, in proper JSON."""
    depth = found = 0
    for token in re.findall(rb'"(?:[^"\\]|\\.)*"|,\n?|[\[\]{}]', text, re.DOTALL):
        depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
        found += depth == 1 and token == b",\n"
    return found


def same_characters(key: bytes) -> str:
    """A key with its ASCII escapes undone; the others stay as they stand."""
    text = ASCII_ESCAPE.sub(
        lambda found: json.dumps(chr(int(found[1], 16))).strip('"').encode() if found[1].lower() != b"22" else rb"\"", key
    )
    kept = re.sub(r"\\u(?!00[0-7])", r"\\\\u", text.decode())
    return str(json.loads(kept))
