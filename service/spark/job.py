"""What a job is, what it is given, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import click
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from service.spark.io.sinks import Sink
    from service.spark.io.sources import Source
    from service.spark.report import Report


@dataclass(frozen=True)
class Pipeline:
    """What every job is given.

    spark : the session
    sink : where the results go
    progress : ``with pipeline.progress("scanning"):`` shows the progress of Spark's tasks, on a terminal
    """

    spark: SparkSession
    sink: Sink
    progress: Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class Outcome:
    """What a job gives.

    summary : ``summary.json``; an endpoint of the service takes it as it is, or a member of the endpoint's name holds such bodies
    tables : by file name (``partitions.parquet``): small ones as Arrow tables, large ones as Spark's frames, or where the job has
        already put them
    report : ``report.html``
    headline : the figures for the terminal: what, and how much
    """

    summary: dict[str, Any]
    tables: Mapping[str, pa.Table | DataFrame | str]
    report: Report
    headline: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One job.

    name : ``partition-allocator pipeline NAME``
    summary : what it does, in a sentence
    parameters : its own arguments and options; SOURCE is the type of those that name something to read
    sources : the sources among the parameters' values, which are looked at before Spark starts
    check : raises an error of the core or of the pipeline for what is wrong before Spark starts; ``check(**parameters)``
    run : ``run(pipeline, **parameters)`` gives the outcome; None from a job that runs until it is stopped
    """

    name: str
    summary: str
    parameters: tuple[click.Parameter, ...]
    run: Callable[..., Outcome | None]
    check: Callable[..., None] = lambda **_: None

    @staticmethod
    def sources(values: Mapping[str, Any]) -> list[Source]:
        """The sources among a command's values."""
        from service.spark.io.sources import Source  # noqa: PLC0415 - types alone are imported above

        return [value for value in values.values() if isinstance(value, Source)]
