"""``load``: the load of partitions, consumers and brokers: means, peaks, hours of the day, and breaches of limits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.errors import InvalidQuestion
from service.pipeline.analyses.fleet import assignments
from service.pipeline.analyses.outcome import Outcome
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import reading, sources
from service.pipeline.spark.io.columns import column
from service.pipeline.spark.load import report as load_report
from service.pipeline.spark.load import summary as load_summary
from service.pipeline.spark.load import windows
from service.pipeline.spark.load.conclusions import conclusion
from service.pipeline.spark.load.options import CONSUMER, LIMITS, record_columns_of
from service.report.figures import number
from service.report.folders import REJECTED_ROWS

if TYPE_CHECKING:
    from service.pipeline.analyses.fleet.assignments import Choice
    from service.pipeline.spark.io.sources import Source
    from service.pipeline.spark.job import Pipeline

WINDOWS, SUBJECTS, HOURS = "windows.parquet", "subjects.parquet", "hours.parquet"
BREACHES, REQUESTS = "breaches.parquet", "group_assignments.parquet"
NO_GROUPS: Final[dict[str, Any]] = {"groups": None, "group_assignments": [], "groups_failed": []}


MOST_WINDOWS: Final = 10**8
"""Three years of seconds; each is counted in its hour of the day."""


@dataclass(frozen=True)
class Span:
    """The measured time: ``count`` windows of ``seconds``, the first at ``start``; start is None for totals without times.

    records : all that were measured
    """

    start: int | None
    count: int
    seconds: float
    records: int


def run(pipeline: Pipeline, *, source: Source, **options: Any) -> Outcome:
    """Measure the partitions, join their owners and brokers, and compare with the limits."""
    tables: dict[str, Any] = {}
    with pipeline.progress(f"measuring {source}"):
        measure = _totals if options["duration_seconds"] is not None else _measured
        partitions, span, rejected = measure(pipeline, source, tables, **options)
    group_assignments = None if options["groups"] is None else _groups(pipeline, options["groups"], options["assignor"])
    placed = None if options["placements"] is None else _placements(pipeline, options["placements"])
    assigned = None if group_assignments is None else group_assignments.assigned
    with pipeline.progress("adding up consumers and brokers"):
        tables[WINDOWS], loads = pipeline.written(WINDOWS, windows.loads(partitions, assigned, placed))
    limits = {key: options[name] for name, key in LIMITS.items() if options[name] is not None}
    with pipeline.progress("finding peaks"):
        frames = {}
        for name, frame in _tables(pipeline, loads, span, limits, group_assignments, partitions, **options).items():
            tables[name], frames[name] = pipeline.written(name, frame)
        summary: dict[str, Any] = {
            "job": "load",
            "records": span.records,
            "rejected": rejected,
            "span": {
                "start": span.start,
                "windows": span.count,
                "window_seconds": span.seconds,
                "time_zone": options["time_zone"],
            },
            "limits": [{"kind": kind, "measure": measure, "limit": limit} for (kind, measure), limit in limits.items()],
            **load_summary.kinds(frames[SUBJECTS]),
            "breaches": load_summary.breaches(frames.get(BREACHES)),
            **(
                NO_GROUPS
                if group_assignments is None
                else load_summary.groups(frames[SUBJECTS], frames[REQUESTS], group_assignments.failed)
            ),
            "records_nobody_reads": None if assigned is None else load_summary.missing(partitions, assigned),
            "records_without_placement": None if placed is None else load_summary.missing(partitions, placed),
        }
        curves = load_report.curves(frames[HOURS], loads, summary) if HOURS in frames else {}
    worst = summary["breaches"]["subjects"]
    headline = {
        "records": number(summary["records"]),
        "windows": f"{number(span.count)} of {number(span.seconds)} s",
        "subjects above a limit": number(worst) if limits else "no limit set",
        "rejected records": number(sum(rejected.values())),
    }
    summary = {"job": "load", "conclusion": conclusion(summary), **summary}
    report = load_report.report(summary, curves, str(source))
    group = options["group"]
    return Outcome(
        summary if group is None else _only(group, frames[REQUESTS], options["groups"]),
        tables,
        report,
        headline,
        within_limits=not worst,
    )


def _tables(
    pipeline: Pipeline,
    loads: DataFrame,
    span: Span,
    limits: dict[tuple[str, str], float],
    group_assignments: GroupAssignments | None,
    partitions: DataFrame,
    **options: Any,
) -> dict[str, DataFrame]:
    """The tables that follow from the loads of each window."""
    of_hours = pipeline.persist(windows.by_hour(loads, options["time_zone"]))
    subjects = windows.rates(of_hours, span.count, span.seconds)
    if group_assignments is not None:
        subjects = _with_idle(subjects, group_assignments.assigned)
    tables = {SUBJECTS: subjects}
    if span.start is not None:
        tables[HOURS] = windows.hourly(of_hours, _hours(pipeline, span, options["time_zone"]), span.seconds)
    if limits:
        tables[BREACHES] = windows.breaches(loads, limits, span.seconds)
    if group_assignments is not None:
        seconds = span.count * span.seconds
        groups, assigned = group_assignments.table, group_assignments.assigned
        tables[REQUESTS] = windows.requests(groups, assigned, partitions, options["assignor"], seconds)
    return tables


def _only(group: str, requests: DataFrame, source: Source) -> dict[str, Any]:
    """The group's request to ``/v1/group-assignments``."""
    row = requests.where(F.col("group") == group).first()
    if row is None:
        raise WrongSource(f"{source} has no group {group!r} that can be assigned.")
    request: dict[str, Any] = json.loads(row["question"])
    return request


# ---- reading ------------------------------------------------------------------------------------------------------


def _measured(
    pipeline: Pipeline, source: Source, tables: dict[str, Any], **options: Any
) -> tuple[DataFrame, Span, dict[str, int]]:
    """The loads of partitions by window, from records with times; rejected rows become a table."""
    record_columns = record_columns_of(source, options)
    frame = reading.read(pipeline.spark, source, record_columns.names)
    reading.require(frame, record_columns.names, source)
    seconds = options["window_seconds"]
    observed = Observation()
    kept = [*dict.fromkeys(record_columns.names), *([sources.CORRUPT] if sources.CORRUPT in frame.columns else [])]
    events = windows.events(frame.select(*map(column, kept)), record_columns)
    counted = events.observe(observed, F.count("reason").alias("rejected"))
    partitions = pipeline.persist(windows.by_partition(counted.where("reason is null"), seconds))
    first, last, records = partitions.agg(F.min("window"), F.max("window"), F.sum("records")).collect()[0]
    if first is None:
        raise WrongSource(f"{source} has no record with a partition and a time.")
    span = Span(first, (last - first) // seconds + 1, float(seconds), records)
    if span.count > MOST_WINDOWS:
        raise WrongSource(
            f"{source}: The times are from {_date(first)} to {_date(last)}: {span.count:,} windows, where at most "
            f"{MOST_WINDOWS:,} are counted. Leave out the records with wrong times, or set a larger --window-seconds."
        )
    rejected: dict[str, int] = {}
    if observed.get["rejected"]:
        rejected_rows = events.where("reason is not null").select("reason", "record")
        tables[REJECTED_ROWS], read = pipeline.written(REJECTED_ROWS, rejected_rows)
        rejected = {row["reason"]: int(row["count"]) for row in read.groupBy("reason").count().collect()}
    else:
        pipeline.sink.remove(REJECTED_ROWS)
    return partitions, span, rejected


def _date(seconds: int) -> str:
    """The day of a time, of which Python knows 10,000 years."""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{seconds:,} s after 1970-01-01"


def _totals(pipeline: Pipeline, source: Source, _: dict[str, Any], **options: Any) -> tuple[DataFrame, Span, dict[str, int]]:
    """The loads of partitions from a table of ``skew``: a single window."""
    frame = reading.read(pipeline.spark, source)
    reading.require(frame, ("partition_id", "records"), source)
    plans = [name for name in ("partitioner", "partitions_count") if name in frame.columns]
    for name in plans:
        if options[name] is not None:
            frame = frame.where(F.col(name) == options[name])
    names = [" × ".join(map(str, row)) for row in frame.select(plans).distinct().limit(3).collect()] if plans else ["one"]
    if len(names) != 1:
        which = f"several plans ({', '.join(names)} …)" if names else "no such plan"
        raise WrongSource(f"{source} has {which}: name one with --partitioner and --partitions.")
    size = F.coalesce(F.col("bytes").cast("long"), F.lit(0)) if "bytes" in frame.columns else F.lit(0).cast("long")
    rows = frame.select(
        F.lit(options["topic"]).alias("topic"),
        F.col("partition_id").cast("int").alias("partition"),
        F.lit(0).cast("long").alias("window"),
        F.col("records").cast("long").alias("records"),
        size.alias("bytes"),
    )
    partitions = pipeline.persist(rows)
    (records,) = partitions.agg(F.sum("records")).collect()[0]
    return partitions, Span(None, 1, float(options["duration_seconds"]), int(records or 0)), {}


@dataclass(frozen=True)
class GroupAssignments:
    """The rows of ``--groups``, and the groups of ``windows.assigned`` and ``windows.failed``."""

    table: DataFrame
    assigned: DataFrame
    failed: DataFrame


def _groups(pipeline: Pipeline, source: Source, choice: Choice | None) -> GroupAssignments:
    frame = reading.read(pipeline.spark, source)
    try:
        assignments.check_columns(reading.arrow_schema(frame))
    except InvalidQuestion as error:
        raise WrongSource(f"{source}: {error}") from None
    results = pipeline.persist(windows.assignments(frame, choice))
    return GroupAssignments(frame, pipeline.persist(windows.assigned(results)), windows.failed(results))


def _placements(pipeline: Pipeline, source: Source) -> DataFrame:
    frame = reading.read(pipeline.spark, source)
    reading.require(frame, ("topic_name", "placements"), source)
    return pipeline.persist(windows.placements(frame))


def _hours(pipeline: Pipeline, span: Span, time_zone: str) -> DataFrame:
    """hour, windows: the number of windows, with or without records, that begin in each hour of the day."""
    assert span.start is not None  # noqa: S101
    step = int(span.seconds)
    every = pipeline.spark.range(span.start, span.start + span.count * step, step).withColumnRenamed("id", "window")
    return every.groupBy(windows.hour_of(F.col("window"), time_zone).alias("hour")).agg(F.count("*").alias("windows"))


def _with_idle(subjects: DataFrame, assigned: DataFrame) -> DataFrame:
    """The subjects, and members without any load, with zeros."""
    nothing, member = F.lit(None).cast("string").alias("topic"), F.col("member_id").alias("subject")
    members = assigned.select(F.lit(CONSUMER).alias("kind"), "group_id", nothing, member).distinct()
    same = [members[name].eqNullSafe(subjects[name]) for name in windows.SUBJECT]
    idle = members.join(subjects, same, "left_anti")
    zeros = [F.lit(0.0).alias(f"{peak}{measure}_per_second") for measure in windows.MEASURES[:2] for peak in ("", "peak_")]
    return subjects.unionByName(idle.select("*", *zeros), allowMissingColumns=True)
