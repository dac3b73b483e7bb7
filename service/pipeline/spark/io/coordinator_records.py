"""Records of ``__consumer_offsets``: a topic, or files of them."""

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.pipeline.spark.io import reading
from service.pipeline.spark.io.columns import corrupt, integer, line, milliseconds
from service.pipeline.spark.io.sources import Source

COLUMNS: Final = ("key", "value", "partition", "offset", "timestamp")
"""Of the records."""


def read(spark: SparkSession, source: Source) -> DataFrame:
    """The input of ``tasks.coordinator_records``: keys and values as bytes (text is base64, as in CSV), and their positions."""
    frame = reading.read(spark, source, COLUMNS)
    reading.require(frame, COLUMNS, source)
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    partition, offset = integer(frame, "partition").try_cast("int"), F.col("offset").try_cast("long")
    time = milliseconds("timestamp", kinds["timestamp"])
    fault = F.when(corrupt(frame).isNotNull(), "the line could not be read")
    for name, value in (("partition", partition), ("offset", offset), ("timestamp", time)):
        fault = fault.when(F.col(name).isNotNull() & value.isNull(), f"the {name} is unreadable")
    return frame.select(
        *(F.when(fault.isNull(), _bytes(name, kinds[name])).alias(name) for name in ("key", "value")),
        partition.alias("log_partition"),
        offset.alias("log_offset"),
        F.coalesce(time, F.lit(-1)).alias("timestamp"),
        fault.alias("fault"),
        F.when(fault.isNotNull(), line(frame)).alias("line"),
    )


def _bytes(name: str, kind: types.DataType) -> Column:
    if not isinstance(kind, types.StringType):
        return F.col(name).cast("binary")
    # Text that is not base64 becomes empty bytes, which are unreadable; null would be a tombstone.
    nothing = F.when(F.col(name).isNotNull(), F.lit(b""))
    return F.coalesce(F.try_to_binary(name, F.lit("base64")), nothing)
