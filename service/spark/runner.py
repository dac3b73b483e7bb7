"""Runs a job, from its parameters to its results."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import orjson
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from service.report.folders import REPORT, SUMMARY, local_folder
from service.report.lock import exclusive
from service.spark.cluster.executors import Executors, Processes
from service.spark.cluster.progress import progress
from service.spark.cluster.session import spark_session
from service.spark.io import reading
from service.spark.io.sinks import Sink
from service.spark.job import Pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

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
    """Run ``job``, which ``early_checks`` has checked; None from a job that runs until it is stopped.

    Raises errors of the core and of the pipeline.
    """
    name = f"partition-allocator {job.name}"
    start = partial(spark_session, name, master=master, packages=packages, settings=settings, verbose=verbose)
    may = job.reads_files and not (settings or packages)
    processes = processes_of(master, [into, *(source.location for source in job.sources(parameters))]) if may else None
    with exclusive(into), Executors(start, processes) as executors:
        sink = Sink(executors, into)
        sink.check()
        try:
            outcome = job.run(Pipeline(executors, sink, partial(progress, executors)), **parameters)
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
            raise reading.failure(error) from error
    text = orjson.dumps(outcome.summary, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2).decode() + "\n"
    return Results(text, outcome.headline, places, outcome.within_limits)


def processes_of(master: str | None, locations: Sequence[str]) -> Processes | None:
    """The processes that run tasks in place of ``master``; None if it must be Spark.

    That is so on a cluster, under ``spark-submit``, in a process that has a session, and where data are on another machine:
    connections to object stores do not survive a fork.
    """
    elsewhere = any(name in os.environ for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"))
    local = re.fullmatch(r"local(?:\[([1-9]\d*|\*)\])?", master or "local[*]")
    if elsewhere or local is None or any(local_folder(location) is None for location in locations):
        return None
    if SparkSession.getActiveSession() is not None:
        return None
    return Processes(len(os.sched_getaffinity(0)) if local[1] == "*" else int(local[1] or 1))


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
