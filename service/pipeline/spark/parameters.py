"""Types and options that several jobs share on the command line."""

from __future__ import annotations

from dataclasses import replace
from io import BufferedReader
from typing import TYPE_CHECKING, Any

import click

from service.core.errors import InvalidQuestion
from service.core.keys.formats import FORMATS
from service.parameters import DURATION, NAMED_VALUE
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.pipeline.analyses.fleet.assignments import Choice


class SourceType(click.ParamType[Any]):
    """A source, as ``service.pipeline.spark.io.sources`` describes it."""

    name = "source"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Source:
        """Parse the source."""
        if isinstance(value, Source):
            return value
        meta = {} if ctx is None else ctx.meta
        try:
            source = Source.parse(value, meta.get(_OF_READERS, {}))
            return replace(source, **meta.get(_QUERY, {})) if param is not None and param.name == "source" else source
        except WrongSource as error:
            self.fail(str(error), param, ctx)


class ChoiceType(click.ParamType[Any]):
    """An assignor, as ``classic:range``."""

    name = "protocol:assignor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Choice:
        """Parse the choice; fails with the list of assignors."""
        from service.pipeline.analyses.fleet.assignments import Choice  # noqa: PLC0415 - files are refused without kernels

        try:
            return value if isinstance(value, Choice) else Choice.parse(value)
        except InvalidQuestion as error:
            self.fail(str(error), param, ctx)


_OF_READERS = "service.pipeline.spark.read_options"
_QUERY = "service.pipeline.spark.query"
"""Where a command's context has the options of readers, and what is asked of the records."""

SOURCE = SourceType()
ASSIGNOR = ChoiceType()
KEY_FORMAT = click.Option(
    ["--key-format"], type=click.Choice(FORMATS), help="How a key is serialized. Default: by the column's type."
)
TOPIC = click.Option(["--topic"], help="Topic of the records, for the results. Default: that of kafka://host:port/topic.")
PARTITION_COLUMN = click.Option(
    ["--partition-column"], default="partition", show_default=True, help="Column with the partition of each record."
)
SIZE_COLUMNS = click.Option(
    ["--bytes-column", "size_columns"],
    multiple=True,
    help="Column that counts towards a record's bytes: a string, bytes, or an integer size (in CSV, digits). Repeatable.",
)
READ_OPTIONS = click.Option(
    ["--read-option", "read_options"],
    type=NAMED_VALUE,
    multiple=True,
    is_eager=True,
    expose_value=False,  # the sources have them, and may keep a secret
    callback=lambda ctx, _, pairs: ctx.meta.update({_OF_READERS: dict(pairs)}),
    help="Option of Spark's reader, such as sep=; or kafka.security.protocol=SSL. Repeatable.",
)


QUERY = (
    click.Option(
        ["--where"],
        is_eager=True,
        expose_value=False,
        callback=lambda ctx, _, text: ctx.meta.setdefault(_QUERY, {}).update(where=text),
        help="Condition of Spark SQL that records must meet, such as \"dt >= '2026-11-01'\".",
    ),
    click.Option(
        ["--select"],
        multiple=True,
        is_eager=True,
        expose_value=False,
        callback=lambda ctx, _, texts: ctx.meta.setdefault(_QUERY, {}).update(select=texts),
        help='Expression of Spark SQL that is a column, such as "cast(user_id as string) key". Repeatable. Default: all columns.',
    ),
)


def shown(parameters: Iterable[click.Parameter], values: Mapping[str, Any]) -> dict[str, str]:
    """The options of a command that differ from the default, for a report, without those that say where and how to show it."""
    texts = {}
    for parameter in parameters:
        value = values.get(parameter.name or "")
        values_of = value if isinstance(value, tuple) else (value,)
        text = ",".join(each.name if isinstance(each, BufferedReader) else str(each) for each in values_of)
        text = f"{value}ms" if parameter.type is DURATION else text
        hidden = not isinstance(parameter, click.Option) or parameter.name in ("into", "output")
        if not hidden and value not in (None, (), False, ""):
            default = parameter.default if isinstance(parameter.default, tuple) else (parameter.default,)
            if text != ",".join(map(str, default)):
                texts[parameter.opts[0]] = text
    return texts
