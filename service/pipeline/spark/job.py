"""A job and its environment."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, cast

from service.pipeline.spark.io import early_checks
from service.pipeline.spark.io.sources import Source, check_brokers, check_plain, in_folders
from service.report.folders import check_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

    import click
    from pyspark.sql import DataFrame, SparkSession

    from service.pipeline.analyses.outcome import Outcome
    from service.pipeline.spark.io.sinks import Sink


@dataclass(frozen=True)
class Pipeline:
    """The environment of a job.

    spark : the session that runs its tasks
    sink : where it writes its results
    progress : ``with pipeline.progress("scanning"):`` shows the progress of the tasks
    estimates : whether a scan first says what it will take

    As a context manager it is the time of a job, until its results are written.
    """

    spark: SparkSession
    sink: Sink
    progress: Callable[..., AbstractContextManager[None]]
    estimates: bool = False
    _persisted: list[DataFrame] = field(default_factory=list)

    def persist(self, frame: DataFrame) -> DataFrame:
        """``frame``, whose rows Spark computes once and keeps until the end of the job."""
        self._persisted.append(frame.persist())
        return frame

    def written(self, name: str, frame: DataFrame) -> tuple[str, DataFrame]:
        """Write ``frame`` as the table ``name``. Returns its place, and the frame that reads it.

        Other results follow from that: Spark plans it in a fraction of the time, and executors keep no rows in memory.
        """
        place = self.sink.frame(name, frame)
        return place, self.spark.read.schema(frame.schema).parquet(place)

    def __enter__(self) -> Self:
        """The same."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free what ``persist`` keeps: the session may outlive the job."""
        while self._persisted:
            self._persisted.pop().unpersist()


@dataclass(frozen=True)
class Job:
    """One job.

    name : ``partition-allocator pipeline NAME``
    summary : what it does, in a sentence
    parameters : its own arguments and options; SOURCE is the type of those that name a source
    columns : ``columns(**parameters)`` gives the columns that ``source`` must have, as far as the parameters say
    scans : all that it has tasks do is to scan its source
    check : ``check(**parameters)`` raises an error of the core or of the pipeline before Spark starts

    ``job.py`` in the job's folder has ``run``. It is imported when the job runs, so that options and files are refused before
    Spark and the kernels are imported.
    """

    name: str
    summary: str
    parameters: tuple[click.Parameter, ...]
    check: Callable[..., None] = lambda **_: None
    columns: Callable[..., Sequence[str]] = lambda **_: ()
    scans: bool = False

    def check_early(
        self, parameters: Mapping[str, Any], into: str, master: str | None, settings: Mapping[str, str] | None
    ) -> None:
        """Raise an error for what is wrong with the sources, the options and the folder of the results, ``into``."""
        sources = [value for value in parameters.values() if isinstance(value, Source)]
        check_folder(into, in_folders(sources))
        for source in sources:
            check_plain(source)
            if early_checks.is_here(master, settings):
                early_checks.check(source, self.columns(**parameters) if source is parameters.get("source") else ())
        self.check(**parameters)
        for source in sources:
            check_brokers(source)

    @staticmethod
    def bytes_here(parameters: Mapping[str, Any], master: str | None, settings: Mapping[str, str] | None) -> float:
        """Bytes of the largest source; infinity unless the job and all its sources are on this machine."""
        if not early_checks.is_here(master, settings):
            return math.inf
        return max((early_checks.bytes_here(value) for value in parameters.values() if isinstance(value, Source)), default=0)

    def is_light(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the JVM only starts tasks, which read plain Parquet by themselves, and passes on their results."""
        return self.scans and early_checks.is_plain_parquet(parameters["source"])

    def imports(self) -> ModuleType:
        """What runs the job. Also imports what draws its report."""
        import_module("matplotlib.figure")
        return import_module(f"service.pipeline.spark.{self.name}.job")

    def run(self, pipeline: Pipeline, **parameters: Any) -> Outcome | None:
        """The outcome; None from a job that runs until it is stopped."""
        return cast("Outcome | None", self.imports().run(pipeline, **parameters))
