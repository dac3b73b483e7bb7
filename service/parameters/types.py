"""Types of parameters on the command line."""

import re
from collections.abc import Callable
from typing import Any, Final

import click

MOST_COUNTS: Final = 10_000
"""Most numbers of one range."""


class Parsed(click.ParamType[Any]):
    """What a function reads of a text.

    name : of the type, as --help shows it
    read : raises ValueError for any other text
    what : the text, in words, for the message
    """

    def __init__(self, name: str, read: Callable[[str], Any], what: str) -> None:
        self.name, self.read, self.what = name, read, what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; one that was read already, such as a default, is left as it is."""
        try:
            return self.read(value) if isinstance(value, str) else value
        except ValueError:
            self.fail(f"{value!r} is not {self.what}.", param, ctx)


_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h)")
_MILLISECONDS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def milliseconds(text: str) -> int:
    """A duration such as ``500ms``, ``5s``, ``2m``, in milliseconds. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {DURATION.what}")
    return round(float(match[1]) * _MILLISECONDS[match[2]])


DURATION: Final = Parsed("duration", milliseconds, "a duration such as 500ms, 5s or 2m")


def duration(least: float, most: float) -> Parsed:
    """A duration within bounds, in seconds."""

    def read(text: str) -> float:
        value = milliseconds(text) / 1000
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return Parsed("duration", read, f"a duration from {least:g}s to {most:g}s, such as 5s or 2m")


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(text)
    return name, value


NAMED_VALUE: Final = Parsed("name=value", _named, "NAME=VALUE")
"""A pair of texts."""


class Counts(click.ParamType[Any]):
    """Integers from 1, as ``12,24,48`` or ``12-48:12`` (from, to, step), none twice."""

    name = "counts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """In the given order."""
        if isinstance(value, tuple):
            return value
        numbers: dict[int, None] = {}
        for part in value.split(","):
            run, _, step = part.partition(":")
            first, dash, last = run.partition("-")
            try:
                counts = range(int(first), int(last if dash else first) + 1, int(step or 1))
                if len(counts) > MOST_COUNTS or not counts:
                    self.fail(f"{part!r} has {len(counts)} counts, not 1 to {MOST_COUNTS}.", param, ctx)
            except (ValueError, OverflowError):
                self.fail(f"{part!r} is neither an integer nor a range such as 12-48:12.", param, ctx)
            for count in counts:
                if count in numbers:
                    self.fail(f"{count} is given twice.", param, ctx)
                numbers[count] = None
        if min(numbers) < 1:
            self.fail(f"{min(numbers)} is less than 1.", param, ctx)
        return tuple(numbers)


COUNTS: Final = Counts()
