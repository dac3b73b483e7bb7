"""Runs a job, from its parameters to its results."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

import click
import orjson
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from service.report.folders import REPORT, SUMMARY
from service.report.lock import exclusive
from service.spark.cluster.failures import failure
from service.spark.cluster.progress import progress
from service.spark.cluster.session import spark_session
from service.spark.io.sinks import Sink
from service.spark.job import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from service.spark.job import Job


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
    session = spark_session(name, master=master, packages=packages, settings=settings, verbose=verbose)
    with exclusive(into), _importing(job), session as spark, _pipeline(spark, into) as pipeline:
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
            places["report"] = sink.text(REPORT, outcome.report.html(date(), shown(job, parameters)))
        except (PySparkException, Py4JError) as error:
            raise failure(error) from error
    text = orjson.dumps(outcome.summary, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2).decode() + "\n"
    return Results(text, outcome.headline, places, outcome.within_limits)


@contextmanager
def _importing(job: Job) -> Iterator[None]:
    """Import the job's modules and its kernels in a thread, while Spark starts: that takes a core a second, and Spark waits."""
    thread = Thread(target=job.load)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _pipeline(spark: SparkSession, into: str) -> Pipeline:
    return Pipeline(spark, Sink(spark, into), partial(progress, spark))


def date() -> str:
    """The date and time of a report; that of SOURCE_DATE_EPOCH, if it is set, so that equal input can give equal files."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return now.strftime("%Y-%m-%d %H:%M UTC")


def shown(job: Job, parameters: Mapping[str, Any]) -> dict[str, str]:
    """The options of a job that differ from the default, as a report shows them; not those of readers, which may be secrets."""
    texts = {}
    for parameter in job.parameters:
        value = parameters.get(parameter.name or "")
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        if isinstance(parameter, click.Option) and parameter.name != "read_options" and value not in (None, (), False, ""):
            default = parameter.default if isinstance(parameter.default, tuple) else (parameter.default,)
            if text != ",".join(map(str, default)):
                texts[parameter.opts[0]] = text
    return texts


def _write(sink: Sink, file: str, table: pa.Table | DataFrame) -> str:
    return sink.table(file, table) if isinstance(table, pa.Table) else sink.frame(file, table)
