"""What several jobs ask of the command line."""

from __future__ import annotations

from typing import Any

import click

from service.spark.errors import WrongSource
from service.spark.io.sources import Source


class SourceType(click.ParamType[Any]):
    """A source, in the words of ``service.spark.io.sources``."""

    name = "source"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Source:
        """The source that the text names."""
        if isinstance(value, Source):
            return value
        options = ctx.params.get("read_options") if ctx is not None else None
        try:
            return Source.parse(value, dict(options or ()))
        except WrongSource as error:
            self.fail(str(error), param, ctx)


class NamedValue(click.ParamType[Any]):
    """``NAME=VALUE``, as a pair."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The pair."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, text


class Integers(click.ParamType[Any]):
    """Integers from 1, as ``12,24,48`` or ``10-200:10`` (from, to, step)."""

    name = "integers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """In the order in which they were given, none twice."""
        if isinstance(value, tuple):
            return value
        numbers: dict[int, None] = {}
        for part in value.split(","):
            run, _, step = part.partition(":")
            first, _, last = run.partition("-")
            try:
                numbers |= dict.fromkeys(range(int(first), int(last or first) + 1, int(step or 1)))
            except ValueError:
                self.fail(f"{part!r} is no integer, nor a range like 10-200:10", param, ctx)
        if not numbers or min(numbers) < 1:
            self.fail("a count is at least 1", param, ctx)
        return tuple(numbers)


SOURCE = SourceType()
READ_OPTIONS = click.Option(
    ["--read-option", "read_options"],
    type=NamedValue(),
    multiple=True,
    is_eager=True,
    help="An option of Spark's reader, as often as needed: sep=; or kafka.security.protocol=SSL.",
)
