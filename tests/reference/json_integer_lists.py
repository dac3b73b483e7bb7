"""A JSON text without its lists of integers, in plain Python."""

from __future__ import annotations

import re

STRING = rb'"(?:[^"\\]|\\.)*"?'
LIST = re.compile(STRING + rb"|\[(?=[ \t\r\n]*[-0-9])([^\]]*)\]?", re.DOTALL)
SOUND = re.compile(rb"\[[ \t\r\n]*(?:0|[1-9][0-9]*)[ \t\r\n]*(?:,[ \t\r\n]*(?:0|[1-9][0-9]*)[ \t\r\n]*)*\]")


def taken_out(text: bytes) -> tuple[bytes, list[list[int]]] | None:
    """The text with ``[0]`` in place of each list of integers, and the lists; None if one begins with a number and is none."""
    lists: list[list[int]] = []
    sound = True

    def take(found: re.Match[bytes]) -> bytes:
        nonlocal sound
        if found[0].startswith(b'"'):
            return found[0]
        if SOUND.fullmatch(found[0]) is None:
            sound = False
            return b""
        lists.append([int(value) for value in found[1].split(b",")])
        sound = sound and max(lists[-1]) < 2**31
        return b"[0]"

    rest = LIST.sub(take, text)
    return (rest, lists) if sound else None
