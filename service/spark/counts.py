"""Partition counts on the command line. Imports nothing of Spark: the commands that need no Spark have the same options."""

from typing import Any, Final

import click

MOST_COUNTS: Final = 10_000
"""Most numbers of one range."""


class Counts(click.ParamType[Any]):
    """Integers from 1, as ``12,24,48`` or ``12-48:12`` (from, to, step)."""

    name = "counts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """In the given order, without duplicates."""
        if isinstance(value, tuple):
            return value
        numbers: dict[int, None] = {}
        for part in value.split(","):
            run, _, step = part.partition(":")
            first, dash, last = run.partition("-")
            try:
                counts = range(int(first), int(last if dash else first) + 1, int(step or 1))
                if len(counts) > MOST_COUNTS or not counts:
                    self.fail(f"{part!r} has {len(counts)} counts, not 1 to {MOST_COUNTS}", param, ctx)
            except (ValueError, OverflowError):
                self.fail(f"{part!r} is neither an integer nor a range such as 12-48:12", param, ctx)
            numbers |= dict.fromkeys(counts)
        if min(numbers) < 1:
            self.fail("must be at least 1", param, ctx)
        return tuple(numbers)


COUNTS: Final = Counts()
