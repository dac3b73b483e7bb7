"""Reads a table that the driver needs whole, such as brokers or placements, with a fixed type for each column."""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from service.pipeline.files.types import typed
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sources import Source


def read_table(
    spark: SparkSession, source: Source, required: Mapping[str, pa.DataType], optional: Mapping[str, pa.DataType]
) -> pa.Table:
    """These columns, those of ``optional`` only where it has them, as ``service.pipeline.files.types.typed`` reads them.

    Raises WrongSource for a column that is missing, and WrongTable for a value that is not of its type.
    """
    table = ScanSource.of(spark, source, required, optional=optional).table()
    return typed(table, {**required, **optional}, str(source))
