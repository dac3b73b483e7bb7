"""Releases of clients as people write them: 2.12.1, v1.61.1, and 1.9 for any release that begins so."""

import re
from typing import Final

_RELEASE: Final = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,3})")


def numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release; raises ValueError for a text that is none."""
    match = _RELEASE.fullmatch(release)
    if match is None:
        raise ValueError(f"{release!r} is not a release")
    return tuple(map(int, match[1].split(".")))


def reaches(release: str, first: str) -> bool:
    """Is the release this one or a later one? A shorter release is as late as it may be: 1.9 reaches 1.9.2."""
    version = numbers(release)
    return numbers(first)[: len(version)] <= version


def exceeds(release: str, last: str) -> bool:
    """Is every release that begins so later than this one?"""
    return numbers(release) > numbers(last)
