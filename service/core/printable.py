"""Text from data that is safe to show in a page or on a terminal, and short enough."""

import re
from collections.abc import Callable, Sequence
from typing import Final

_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line and paragraph separators, marks that change the direction of text, and surrogates."""


def printable(text: str) -> str:
    r"""The text with each unprintable character as its escape: ``\x00``, ``\u202e``."""
    return _UNPRINTABLE.sub(lambda character: _escape(ord(character[0])), text)


def first_few(values: Sequence[object], most: int, written: Callable[[object], str] = str) -> str:
    """``a, b and 3 more``: the first ones, and how many there are besides."""
    more = f" and {len(values) - most:,} more" if len(values) > most else ""
    return f"{', '.join(map(written, values[:most]))}{more}"


def all_of(names: Sequence[object], most: int) -> str:
    """``a``, ``a and b``, ``a, b and c`` or, of more than ``most``, ``a, b, c and 5 more``."""
    if len(names) > most or len(names) < 2:
        return first_few(names, most)
    return f"{', '.join(map(str, names[:-1]))} and {names[-1]}"


def counted(count: int, thing: str, things: str = "") -> str:
    """A count with its noun: ``1 group``, ``60 groups``. things : the plural, if it is not formed by an s"""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def share(value: float) -> str:
    """A formatted share: ``12.3%``, ``1.23%``."""
    return f"{value:.2%}" if value < 0.0995 else f"{value:.1%}"


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
