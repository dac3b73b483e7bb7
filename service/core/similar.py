"""A sentence for an unknown name: which similar name may have been meant."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

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
