"""Times in the columns of sources, as Spark's expressions."""

from typing import Final

from pyspark.sql import Column, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

_DATE: Final = r"^\s*[+-]?\d{4,6}-\d"
"""How a time in text begins. Spark would take one without a date as of today."""


def milliseconds(name: str, kind: types.DataType) -> Column:
    """The column ``name``, of type ``kind``, in ms since 1970; null where it is no time.

    A timestamp, a whole number of ms, or either as text. A time without a zone is in the zone of the session, which is UTC.
    """
    column = F.col(name)
    if isinstance(kind, types.TimestampType | types.TimestampNTZType | types.DateType):
        return F.unix_millis(column.cast("timestamp"))
    if isinstance(kind, types.StringType):
        time = F.when(column.rlike(_DATE), column.try_cast("timestamp"))
        return F.coalesce(column.try_cast("long"), F.unix_millis(time))
    return column.try_cast("long")
