"""A job, its environment, and its outcome."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import click
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from service.spark.io.sinks import Sink
from service.spark.io.sources import Source
from service.spark.report import Report


@dataclass(frozen=True)
class Pipeline:
    """The environment of a job.

    spark : the session
    sink : where it writes its results
    progress : ``with pipeline.progress("scanning"):`` shows the progress of Spark's tasks, on a terminal
    """

    spark: SparkSession
    sink: Sink
    progress: Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job.

    summary : ``summary.json``: the body of an endpoint of the service, or such bodies in a member named like the endpoint
    tables : by file name (``partitions.parquet``): an Arrow table, a Spark frame, or the location where the job has written it
    report : ``report.html``
    headline : the key figures for the terminal, by name
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
    parameters : its own arguments and options; SOURCE is the type of those that name a source
    sources : the sources among the parameters' values, which are checked before Spark starts
    check : ``check(**parameters)`` raises an error of the core or of the pipeline before Spark starts
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
        return [value for value in values.values() if isinstance(value, Source)]
