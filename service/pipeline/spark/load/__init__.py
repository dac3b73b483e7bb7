"""``load``: the load of partitions, consumers and brokers: means, peaks, hours of the day, and breaches of limits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.errors import InvalidQuestion
from service.pipeline.analyses.fleet import assignments
from service.pipeline.analyses.results import Outcome
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import reading, sources
from service.pipeline.spark.io.columns import column, questions_of
from service.pipeline.spark.jobs import BROKER, CONSUMER, LIMITS, LOAD, sizes_of
from service.pipeline.spark.load import report as load_report
from service.pipeline.spark.load import windows
from service.report.figures import number
from service.report.folders import REJECTED_ROWS

if TYPE_CHECKING:
    from service.pipeline.analyses.fleet.assignments import Choice
    from service.pipeline.spark.io.sinks import Pipeline
    from service.pipeline.spark.io.sources import Source

WINDOWS, SUBJECTS, HOURS = "windows.parquet", "subjects.parquet", "hours.parquet"
BREACHES, REQUESTS = "breaches.parquet", "group_assignments.parquet"
NAMED: Final = 20
"""Most subjects of each kind, breaches and groups that the summary names."""

MOST_WINDOWS: Final = 10**8
"""Three years of seconds; each is counted in its hour of the day."""


def run(pipeline: Pipeline, *, source: Source, **options: Any) -> Outcome:
    """Measure the partitions, join their owners and brokers, and compare with the limits."""
    tables: dict[str, Any] = {}
    with pipeline.progress(f"measuring {source}"):
        measure = _totals if options["duration_seconds"] is not None else _measured
        partitions, records, span, rejected = measure(pipeline, source, tables, **options)
    groups, results = (None, None) if options["groups"] is None else _groups(pipeline, options["groups"], options["assignor"])
    assigned = None if results is None else pipeline.persist(windows.assigned(results))
    placed = None if options["placements"] is None else _placements(pipeline, options["placements"])
    with pipeline.progress("adding up consumers and brokers"):
        tables[WINDOWS], loads = pipeline.written(WINDOWS, windows.loads(partitions, assigned, placed))
    limits = {key: options[name] for name, key in LIMITS.items() if options[name] is not None}
    with pipeline.progress("finding peaks"):
        of_hours = pipeline.persist(windows.by_hour(loads, span["time_zone"]))
        subjects = windows.rates(of_hours, span["windows"], span["window_seconds"])
        frames = {SUBJECTS: subjects if assigned is None else windows.with_idle(subjects, assigned)}
        if span["start"] is not None:
            frames[HOURS] = windows.hourly(of_hours, **span)
        if limits:
            frames[BREACHES] = windows.breaches(loads, limits, span["window_seconds"])
        if groups is not None and assigned is not None:
            seconds = span["windows"] * span["window_seconds"]
            frames[REQUESTS] = windows.requests(groups, assigned, partitions, options["assignor"], seconds)
        for name, frame in frames.items():
            tables[name], frames[name] = pipeline.written(name, frame)
        summary: dict[str, Any] = {
            "job": "load",
            "records": records,
            "rejected": rejected,
            "span": span,
            "limits": [{"kind": kind, "measure": measure, "limit": limit} for (kind, measure), limit in limits.items()],
            **_kinds(frames[SUBJECTS]),
            "breaches": _breaches(frames.get(BREACHES)),
            **_of_groups(frames[SUBJECTS], frames.get(REQUESTS), results),
            "records_nobody_reads": None if assigned is None else _missing(partitions, assigned),
            "records_without_placement": None if placed is None else _missing(partitions, placed),
        }
        curves = load_report.curves(frames[HOURS], loads, summary) if HOURS in frames else {}
    worst = summary["breaches"]["subjects"]
    headline = {
        "records": number(records),
        "windows": f"{number(span['windows'])} of {number(span['window_seconds'])} s",
        "subjects above a limit": number(worst) if limits else "no limit set",
        "rejected records": number(sum(rejected.values())),
    }
    summary = {"job": "load", "conclusion": load_report.conclusion(summary), **summary}
    report = load_report.report(summary, curves, str(source))
    if options["group"] is not None:
        summary = _only(options["group"], frames[REQUESTS], options["groups"])
    return Outcome(summary, tables, report, headline, within_limits=not worst)


def _only(group: str, requests: DataFrame, source: Source) -> dict[str, Any]:
    """The group's request to ``/v1/group-assignments``."""
    row = requests.where(F.col("group") == group).first()
    if row is None:
        raise WrongSource(f"{source} has no group {group!r} that can be assigned.")
    request: dict[str, Any] = json.loads(row["question"])
    return request


# ---- reading ------------------------------------------------------------------------------------------------------
#
# ``_measured`` and ``_totals`` give the rows of ``windows.by_partition``, the number of records, the span of the summary (as many
# windows of as many seconds, the first at ``start``, None for totals without times), and the rejected rows by reason.


def _measured(
    pipeline: Pipeline, source: Source, tables: dict[str, Any], **options: Any
) -> tuple[DataFrame, int, dict[str, Any], dict[str, int]]:
    """The loads of partitions by window, from records with times; rejected rows become a table."""
    names = LOAD.columns(source=source, **options)
    frame = reading.read(pipeline.spark, source, names)
    sources.require_names(frame.columns, names, source)
    seconds = options["window_seconds"]
    observed = Observation()
    kept = [*dict.fromkeys(names), *([sources.CORRUPT] if sources.CORRUPT in frame.columns else [])]
    sizes = sizes_of(source, options["size_columns"])
    events = windows.events(frame.select(*map(column, kept)), sizes, untyped=source.format == "csv", **options)
    counted = events.observe(observed, F.count("reason").alias("rejected"))
    partitions = pipeline.persist(windows.by_partition(counted.where("reason is null"), seconds))
    first, last, records = partitions.agg(F.min("window"), F.max("window"), F.sum("records")).collect()[0]
    if first is None:
        raise WrongSource(f"{source} has no record with a partition and a time.")
    count = (last - first) // seconds + 1
    if count > MOST_WINDOWS:
        raise WrongSource(
            f"{source}: The times are from {_date(first)} to {_date(last)}: {count:,} windows, where at most "
            f"{MOST_WINDOWS:,} are counted. Leave out the records with wrong times, or set a larger --window-seconds."
        )
    rejected: dict[str, int] = {}
    if observed.get["rejected"]:
        rejected_rows = events.where("reason is not null").select("reason", "record")
        tables[REJECTED_ROWS], read = pipeline.written(REJECTED_ROWS, rejected_rows)
        rejected = {row["reason"]: int(row["count"]) for row in read.groupBy("reason").count().collect()}
    else:
        pipeline.sink.remove(REJECTED_ROWS)
    span = {"start": first, "windows": count, "window_seconds": float(seconds), "time_zone": options["time_zone"]}
    return partitions, records, span, rejected


def _date(seconds: int) -> str:
    """The day of a time, of which Python knows 10,000 years."""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{seconds:,} s after 1970-01-01"


def _totals(
    pipeline: Pipeline, source: Source, _: dict[str, Any], **options: Any
) -> tuple[DataFrame, int, dict[str, Any], dict[str, int]]:
    """The loads of partitions from a table of ``skew``: a single window."""
    frame = reading.read(pipeline.spark, source)
    sources.require_names(frame.columns, ("partition_id", "records"), source)
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
    seconds = float(options["duration_seconds"])
    span = {"start": None, "windows": 1, "window_seconds": seconds, "time_zone": options["time_zone"]}
    return partitions, int(records or 0), span, {}


def _groups(pipeline: Pipeline, source: Source, choice: Choice | None) -> tuple[DataFrame, DataFrame]:
    """The rows of ``--groups``, and those of ``windows.assignments``."""
    frame = reading.read(pipeline.spark, source)
    try:
        assignments.check_columns(reading.arrow_schema(frame))
    except InvalidQuestion as error:
        raise WrongSource(f"{source}: {error}") from None
    return frame, pipeline.persist(windows.assignments(frame, choice))


def _placements(pipeline: Pipeline, source: Source) -> DataFrame:
    frame = reading.read(pipeline.spark, source)
    sources.require_names(frame.columns, ("topic_name", "placements"), source)
    return pipeline.persist(windows.placements(frame))


# ---- the summary --------------------------------------------------------------------------------------------------


def _kinds(subjects: DataFrame) -> dict[str, dict[str, Any] | None]:
    """For each kind the number of subjects, busiest ÷ mean, and the busiest."""

    def of(prefix: str) -> Column:
        return F.when(F.col("kind") == BROKER, F.col(f"{prefix}bytes_per_second")).otherwise(F.col(f"{prefix}records_per_second"))

    kind = Window.partitionBy("kind")
    ranked = subjects.select(
        "*",
        F.row_number().over(kind.orderBy(F.desc_nulls_last(of("peak_")), "group_id", "subject")).alias("rank"),
        F.count("*").over(kind).alias("count"),
        F.try_divide(F.max(of("")).over(kind), F.mean(of("")).over(kind)).alias("skew"),
    )
    by_kind: dict[str, dict[str, Any] | None] = {f"{kind}s": None for kind in windows.KINDS}
    for row in ranked.where(F.col("rank") <= NAMED).orderBy("kind", "rank").collect():
        fields = row.asDict()
        name, _, count, skew = f"{fields.pop('kind')}s", *(fields.pop(each) for each in ("rank", "count", "skew"))
        of_kind = by_kind[name] or {"count": count, "skew": 1.0 if skew is None else skew, "busiest": []}
        of_kind["busiest"].append(fields)
        by_kind[name] = of_kind
    return by_kind


def _of_groups(subjects: DataFrame, requests: DataFrame | None, results: DataFrame | None) -> dict[str, Any]:
    """The groups with the most uneven consumers (busiest ÷ mean, by records), their requests, and those that no assignor took."""
    if requests is None or results is None:
        return {"groups": None, "group_assignments": [], "groups_failed": []}
    load = F.coalesce(F.col("records_per_second"), F.lit(0.0))
    loads = (
        subjects.where(F.col("kind") == CONSUMER)
        .groupBy("group_id")
        .agg(
            F.count("*").alias("members"),
            F.count_if(load == 0).alias("idle"),
            F.sum(load).alias("records_per_second"),
            F.when(F.mean(load) > 0, F.max(load) / F.mean(load)).otherwise(1.0).alias("skew"),
            F.max_by("subject", load).alias("busiest"),
        )
    )
    groups = [row.asDict() for row in loads.orderBy(F.desc("skew"), "group_id").limit(NAMED).collect()]
    failed = results.where("error is not null").select("group_id", "assignor", "error", "detail")
    return {
        "groups": groups,
        "group_assignments": questions_of(requests, [row["group_id"] for row in groups]),
        "groups_failed": [row.asDict() for row in failed.limit(NAMED).collect()],
    }


def _breaches(stretches: DataFrame | None) -> dict[str, Any]:
    """The number of subjects above a limit and of stretches of time, and the worst of these. stretches : None without a limit"""
    if stretches is None:
        return {"subjects": 0, "stretches": 0, "worst": []}
    worst = stretches.orderBy(F.desc(F.col("peak") / F.col("limit")), *windows.SUBJECT, "measure", "from").limit(NAMED)
    of_subjects = stretches.groupBy(*windows.SUBJECT).count()
    subjects, count = of_subjects.agg(F.count("*"), F.coalesce(F.sum("count"), F.lit(0))).collect()[0]
    return {"subjects": subjects, "stretches": count, "worst": [row.asDict() for row in worst.collect()]}


def _missing(partitions: DataFrame, joined: DataFrame) -> int:
    """Records of partitions that the other table lacks."""
    present = joined.select("topic", "partition").distinct()
    (total,) = partitions.join(present, ["topic", "partition"], "left_anti").agg(F.sum("records")).collect()[0]
    return int(total or 0)
