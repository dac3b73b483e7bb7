"""Text from data that is safe to show in a page or on a terminal, and short enough; and names similar to an unknown one."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final

# A sentence for an unknown name: which similar name may have been meant.

LONGEST: Final = 100
"""Longest name for which similar ones are searched; the search takes time in proportion to both lengths."""


def did_you_mean(name: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.6) -> str:
    """``" Did you mean 'range'?"``, or "" if nothing is similar. most : names to suggest; cutoff : least similarity

    First the names of the same words, but for a plural, such as ``topics`` for ``topic``; then those that have every word of this
    one, such as ``partitions_count`` for ``partitions``, the shortest first.
    """
    names = list(known)
    if len(name) > LONGEST:
        return ""
    of_name, lower = words(name), name.lower()
    close = [other for other in names if of_name and _singular(of_name) == _singular(words(other))]
    close += sorted((other for other in names if other not in close and of_name and of_name <= words(other)), key=len)
    close += [other for other in get_close_matches(name, names, n=most, cutoff=cutoff) if other not in close]
    if len(lower) > 2:
        close += [other for other in names if other not in close and (lower in other.lower() or other.lower() in lower)]
    return meant(close[:most])


def words(text: str) -> frozenset[str]:
    """The words of a name or a description in small letters; a hyphen before a digit is left out: ``crc32`` for CRC-32."""
    return frozenset(re.findall("[a-z0-9]+", re.sub(r"(?<=[a-z])-(?=\d)", "", text.lower())))


def _singular(of_name: frozenset[str]) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in of_name)


def meant(names: Sequence[str]) -> str:
    """``" Did you mean 'range' or 'sticky'?"``; "" without names."""
    if not names:
        return ""
    *others, last = [repr(other) for other in names]
    return f" Did you mean {', '.join(others)} or {last}?" if others else f" Did you mean {last}?"


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
