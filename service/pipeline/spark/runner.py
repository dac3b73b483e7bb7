"""Runs a job, from its parameters to its results."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from threading import Thread
from typing import Any
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from service import __version__
from service.pipeline.analyses.results import Outcome
from service.pipeline.spark.cluster.jvm import failure
from service.pipeline.spark.cluster.progress import progress
from service.pipeline.spark.cluster.session import INTERPRETED, SMALL, spark_session
from service.pipeline.spark.io.sinks import Pipeline, Sink, export
from service.pipeline.spark.io.sources import FEW_BYTES, SMALL_BYTES, Source
from service.pipeline.spark.jobs import Job, shown
from service.pipeline.spark.tasks.parquet_files import STAMP_COLUMNS, Stamp
from service.report.folders import REPORT, SUMMARY, exclusive, json_of
from service.report.pages import date


def run(
    job: Job,
    parameters: Mapping[str, Any],
    *,
    into: str,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    packages: Sequence[str] = (),
    verbose: bool = False,
    estimate: bool = False,
    run_id: str | None = None,
    append: bool = False,
    tables: str | None = None,
) -> tuple[str, Outcome, dict[str, str]] | None:
    """Run ``job``, which has been checked (``Job.check_early``); None from a job that runs until it is stopped.

    estimate : say first what each scan will take
    run_id : of the rows of its tables; None: another one each time
    append : keep the rows of other runs
    tables : where to write the tables once more, as of ``exports.export``
    Returns the summary as JSON, the outcome, and the location of each result by its name. Raises errors of the core and of the
    pipeline.
    """
    name = f"partition-allocator {job.name}"
    size = job.bytes_here(parameters, master, settings)
    light = size <= SMALL_BYTES or job.is_light(parameters)
    settings = {**(SMALL if size <= SMALL_BYTES else {}), **(INTERPRETED if size <= FEW_BYTES else {}), **(settings or {})}
    Thread(target=_import, args=(job,), daemon=True).start()  # while the JVM starts
    session = spark_session(name, master=master, packages=packages, settings=settings, light=light, verbose=verbose)
    source = next(value for value in parameters.values() if isinstance(value, Source))
    topic = parameters.get("topic") or (source.location if source.format == "kafka" else None)
    stamp = None
    if not parameters.get("follow"):
        stamp = Stamp(run_id or str(uuid4()), datetime.now(UTC), str(source), topic, __version__, append)
    with (
        exclusive(into),
        session as spark,
        Pipeline(spark, Sink(spark, into, stamp), partial(progress, spark), estimate) as pipeline,
    ):
        sink = pipeline.sink
        sink.check()
        try:
            outcome = job.run(pipeline, **parameters)
            if outcome is None:
                return None
            places: dict[str, str] = {}
            for file, table in outcome.tables.items():
                write = sink.table if isinstance(table, pa.Table) else sink.frame
                place = table if isinstance(table, str) else write(file, table)
                places[file.partition(".")[0]] = place.removeprefix("file://")
            if tables is not None and stamp is not None:
                with pipeline.progress("writing tables"):
                    export(spark, places, tables, job.name, stamp)
            for file, body in outcome.requests.items():
                places[file.partition(".")[0]] = sink.write(file, json_of(body))
            summary = outcome.summary
            if stamp is not None and "job" in summary:  # otherwise it is the body of a request
                summary = summary | {name: getattr(stamp, name) for name in STAMP_COLUMNS.names}
            places["summary"] = sink.write(SUMMARY, json_of(summary))
            places["report"] = sink.write(REPORT, outcome.report.html(date(), shown(job.parameters, parameters)).encode())
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise failure(error) from error
    return json_of(summary).decode(), outcome, places


def _import(job: Job) -> None:
    """Import what the job and, to pass the JVM a value, PySpark import later. What fails here fails again there."""
    with suppress(Exception):
        job.imports()
        import_module("pyspark.testing.utils")
