"""A job and its environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from service.spark.io.sources import Source

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from service.analyses.outcome import Outcome
    from service.spark.io.sinks import Sink


@dataclass(frozen=True)
class Pipeline:
    """The environment of a job.

    spark : the session that runs its tasks
    sink : where it writes its results
    progress : ``with pipeline.progress("scanning"):`` shows the progress of the tasks, on a terminal
    """

    spark: SparkSession
    sink: Sink
    progress: Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class Job:
    """One job.

    name : ``partition-allocator pipeline NAME``
    summary : what it does, in a sentence
    parameters : its own arguments and options; SOURCE is the type of those that name a source
    sources : the sources among the parameters' values, which are checked before Spark starts
    columns : ``columns(**parameters)`` gives the columns that ``source`` must have, as far as the parameters say
    check : ``check(**parameters)`` raises an error of the core or of the pipeline before Spark starts

    ``job.py`` in the job's folder has ``run``. It is imported when the job runs, so that options and files are refused before
    Spark and the kernels are imported.
    """

    name: str
    summary: str
    parameters: tuple[click.Parameter, ...]
    check: Callable[..., None] = lambda **_: None
    columns: Callable[..., Sequence[str]] = lambda **_: ()

    def run(self, pipeline: Pipeline, **parameters: Any) -> Outcome | None:
        """The outcome; None from a job that runs until it is stopped."""
        return cast("Outcome | None", self.load().run(pipeline, **parameters))

    def load(self) -> Any:
        """The module ``job.py``."""
        return import_module(f"service.spark.{self.name}.job")

    @staticmethod
    def sources(values: Mapping[str, Any]) -> list[Source]:
        """The sources among a command's values."""
        return [value for value in values.values() if isinstance(value, Source)]
