"""Types of options that name topics and brokers, of the job and of the command ``reassign``."""

from typing import Any

import click


def _int32(text: str, smallest: int = -(2**31)) -> int:
    number = int(text)
    if not smallest <= number < 2**31:
        raise ValueError(text)
    return number


class BrokerSet(click.ParamType[tuple[str, tuple[int, ...]]]):
    """Topics, by name or pattern, and the ids of the brokers that they may be on."""

    name = "PATTERN=ID,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, tuple[int, ...]]:
        """The pattern and the ids of ``PATTERN=1,2``."""
        if isinstance(value, tuple):
            return value
        pattern, _, ids = value.partition("=")
        try:
            return pattern, tuple(map(_int32, ids.split(",")))
        except ValueError:
            self.fail(f"{value!r} is not {self.name}.", param, ctx)


class TopicLeaders(click.ParamType[tuple[str, int, tuple[int, ...] | None]]):
    """Topics, by name or pattern, how many of their partitions a broker is to lead, and the ids of these brokers."""

    name = "PATTERN[=COUNT[:ID,…]]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int, tuple[int, ...] | None]:
        """The parts of ``PATTERN=1:1,2``; by default one partition, and all brokers that may lead."""
        if isinstance(value, tuple):
            return value
        pattern, equals, rest = value.partition("=")
        count, colon, ids = rest.partition(":")
        try:
            number = _int32(count, smallest=1) if equals else 1
            return pattern, number, tuple(map(_int32, ids.split(","))) if colon else None
        except ValueError:
            self.fail(f"{value!r} is not {self.name}.", param, ctx)
