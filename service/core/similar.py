"""A sentence for a name that nobody knows: which similar name may have been meant."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

LONGEST: Final = 100
"""Longest name for which similar ones are searched; the search takes time in proportion to both lengths."""


def did_you_mean(name: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.6) -> str:
    """``" Did you mean 'range'?"``, or "" if nothing is similar. most : names to suggest; cutoff : least similarity"""
    names = list(known)
    if len(name) > LONGEST:
        return ""
    close = get_close_matches(name, names, n=most, cutoff=cutoff)
    lower = name.lower()
    if len(lower) > 2:
        close += [other for other in names if other not in close and (lower in other.lower() or other.lower() in lower)]
    return meant(close[:most])


def meant(names: Sequence[str]) -> str:
    """``" Did you mean 'range' or 'sticky'?"``; "" without names."""
    if not names:
        return ""
    *others, last = [repr(other) for other in names]
    return f" Did you mean {', '.join(others)} or {last}?" if others else f" Did you mean {last}?"
