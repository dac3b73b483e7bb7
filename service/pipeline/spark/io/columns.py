"""Columns of sources, as Spark's expressions."""

import json
from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.pipeline.files.rejected import UNREADABLE
from service.pipeline.spark.io.sources import CORRUPT

_DATE: Final = r"^\s*[+-]?\d{4,6}-\d"
"""How a time in text begins. Spark would take one without a date as of today."""


def column(name: str) -> Column:
    """The column of this name, which may have dots and backquotes: Spark would look for a member behind a dot."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def corrupt(frame: DataFrame) -> Column:
    """The line that Spark could not read as a record; null for all other rows."""
    return column(CORRUPT) if CORRUPT in frame.columns else F.lit(None).cast("string")


def line(frame: DataFrame) -> Column:
    """A row as text: what Spark could not read, or else JSON."""
    row = F.to_json(F.struct(*(column(name) for name in frame.columns if name != CORRUPT)))
    return F.make_valid_utf8(F.coalesce(corrupt(frame), row))


def reason_to_reject(frame: DataFrame, topic: Column, partition: Column) -> Column:
    """Why a row is rejected that should have a topic and a partition; null if it has both. Further reasons may be added."""
    return (
        F.when(corrupt(frame).isNotNull(), UNREADABLE)
        .when(topic.isNull(), "no topic")
        .when(~F.is_valid_utf8(topic), "topic is not UTF-8")
        .when(partition.isNull() | (partition < 0), "no partition")
    )


def integer(frame: DataFrame, name: str) -> Column:
    """The column ``name`` as long, null where a value is no integer, as ``service.pipeline.files.types.integers`` reads it."""
    kind, values = frame.schema[name].dataType, column(name)
    if isinstance(kind, types.StringType):
        return F.regexp_extract(F.trim(values), r"^\+?(-?[0-9]{1,18})(?:\.0*)?$", 1).try_cast("long")
    if isinstance(kind, types.FloatType | types.DoubleType | types.DecimalType):
        return F.when(values == F.floor(values), values).try_cast("long")
    return values.try_cast("long")


def milliseconds(name: str, kind: types.DataType) -> Column:
    """The column ``name``, of type ``kind``, in ms since 1970; null where it is no time.

    A timestamp, a whole number of ms, or either as text. A time without a zone is in the zone of the session, which is UTC.
    """
    values = column(name)
    if isinstance(kind, types.TimestampType | types.TimestampNTZType | types.DateType):
        return F.unix_millis(values.cast("timestamp"))
    if isinstance(kind, types.StringType):
        time = F.when(values.rlike(_DATE), values.try_cast("timestamp"))
        return F.coalesce(values.try_cast("long"), F.unix_millis(time))
    return values.try_cast("long")


def questions_of(requests: DataFrame, groups: Sequence[str | None]) -> list[dict[str, Any]]:
    """The requests of these groups, in this order. requests : rows of ``tasks.group_requests.SCHEMA``"""
    rows = requests.where(F.col("group").isin([group for group in groups if group is not None])).collect()
    return [json.loads(row["question"]) for row in sorted(rows, key=lambda row: groups.index(row["group"]))]
