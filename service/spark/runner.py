"""Runs a job, from its parameters to its results."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from threading import Thread
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from service.report.folders import REPORT, SUMMARY, json_of
from service.report.lock import exclusive
from service.report.pages import date
from service.spark.cluster.failures import failure
from service.spark.cluster.progress import progress
from service.spark.cluster.session import spark_session
from service.spark.io.sinks import Sink
from service.spark.job import Job, Pipeline
from service.spark.parameters import shown


@dataclass(frozen=True)
class Results:
    """What a job wrote and computed.

    headline : its key figures, by name
    places : the location of each result, by name
    within_limits : as of Outcome
    """

    summary_text: str
    headline: Mapping[str, str]
    places: Mapping[str, str]
    within_limits: bool


def run(
    job: Job,
    parameters: Mapping[str, Any],
    *,
    into: str,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    packages: Sequence[str] = (),
    verbose: bool = False,
) -> Results | None:
    """Run ``job``, which has been checked (``Job.check_early``); None from a job that runs until it is stopped.

    Raises errors of the core and of the pipeline.
    """
    name = f"partition-allocator {job.name}"
    light = job.is_light(parameters)
    Thread(target=_import, args=(job,), daemon=True).start()  # while the JVM starts
    session = spark_session(name, master=master, packages=packages, settings=settings, light=light, verbose=verbose)
    with exclusive(into), session as spark, Pipeline(spark, Sink(spark, into), partial(progress, spark)) as pipeline:
        sink = pipeline.sink
        sink.check()
        try:
            outcome = job.run(pipeline, **parameters)
            if outcome is None:
                return None
            places = {}
            for file, table in outcome.tables.items():
                place = table if isinstance(table, str) else _write(sink, file, table)
                places[file.partition(".")[0]] = place.removeprefix("file://")
            for file, body in outcome.requests.items():
                places[file.partition(".")[0]] = sink.json(file, body)
            places["summary"] = sink.json(SUMMARY, outcome.summary)
            places["report"] = sink.text(REPORT, outcome.report.html(date(), shown(job.parameters, parameters)))
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise failure(error) from error
    return Results(json_of(outcome.summary).decode(), outcome.headline, places, outcome.within_limits)


def _import(job: Job) -> None:
    """Import what the job and, to pass the JVM a value, PySpark import later. What fails here fails again there."""
    with suppress(Exception):
        job.imports()
        import_module("pyspark.testing.utils")


def _write(sink: Sink, file: str, table: pa.Table | DataFrame) -> str:
    return sink.table(file, table) if isinstance(table, pa.Table) else sink.frame(file, table)
