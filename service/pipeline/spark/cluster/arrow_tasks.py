"""Tasks that Spark's executors run: Arrow batches in, Arrow batches out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.pandas.types import from_arrow_schema

from service.pipeline.spark.cluster.session import cores
from service.pipeline.spark.tasks.splits import Named

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from service.pipeline.analyses.results import ArrowFunction


TASK_BYTES: Final = 2**29
"""Bytes of plain files for a task, which costs a tenth of a second however little it reads. So a job has as many tasks as its
data, whatever executors there are when it starts, and a lost one repeats little. Of small files there is a task for each core."""


@dataclass(frozen=True)
class Tasks:
    """Tasks, each of which calls ``function`` with its batches of ``frame``.

    count : the number of tasks, at most
    """

    function: ArrowFunction
    count: int
    frame: DataFrame

    def rows(self, schema: pa.Schema) -> DataFrame:
        """The rows of ``schema`` that the tasks give."""
        return self.frame.mapInArrow(self.function, from_arrow_schema(schema))

    def run(self, schema: pa.Schema) -> pa.Table:
        """The same, here."""
        return self.rows(schema).toArrow()


def tasks_for(spark: SparkSession, size: int) -> int:
    """The number of tasks that read so many bytes."""
    return max(cores(spark), -(-size // TASK_BYTES))


def tasks_of(frame: DataFrame, function: ArrowFunction, count: int) -> Tasks:
    """Tasks that get the batches of a frame, whose columns may have any names: mapInArrow takes a dot for a path."""
    names = frame.columns
    return Tasks(Named(function, names), count, frame.toDF(*(f"column_{i}" for i in range(len(names)))))


def numbered(spark: SparkSession, function: ArrowFunction, count: int) -> Tasks:
    """Tasks that get batches with their numbers, 0 to ``count`` - 1, in the only column."""
    return Tasks(function, count, spark.range(0, count, 1, count))
