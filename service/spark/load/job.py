"""``load``: the load of partitions, consumers and brokers, its peaks, its hours, and who breaks a limit, when."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.errors import InvalidQuestion
from service.spark.errors import WrongSource
from service.spark.fleet import assignments
from service.spark.fleet.job import ChoiceType
from service.spark.io import sources
from service.spark.io.rejected_rows import TABLE as QUARANTINE
from service.spark.job import Job, Outcome
from service.spark.load import report as load_report
from service.spark.load import summary as load_summary
from service.spark.load import windows as w
from service.spark.parameters import READ_OPTIONS, SOURCE
from service.spark.report import number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from service.spark.fleet.assignments import Choice
    from service.spark.io.sources import Source
    from service.spark.job import Pipeline

WINDOWS, SUBJECTS, HOURS = "windows.parquet", "subjects.parquet", "hours.parquet"
BREACHES, QUESTIONS = "breaches.parquet", "group_assignments.parquet"
NO_GROUPS: Final[dict[str, Any]] = {"groups": None, "group_assignments": [], "groups_failed": []}

LIMITS: Final = {
    "max_partition_records_per_second": (w.PARTITION, "records"),
    "max_partition_bytes_per_second": (w.PARTITION, "bytes"),
    "max_consumer_records_per_second": (w.CONSUMER, "records"),
    "max_consumer_bytes_per_second": (w.CONSUMER, "bytes"),
    "max_broker_bytes_in_per_second": (w.BROKER, "bytes"),
    "max_broker_bytes_out_per_second": (w.BROKER, "bytes_out"),
}


@dataclass(frozen=True)
class Span:
    """The time that was measured: ``count`` windows of ``seconds``, the first at ``start``; start is None for mere totals."""

    start: int | None
    count: int
    seconds: float


def check(*, duration_seconds: float | None, time_zone: str, topic: str | None, **options: Any) -> None:
    """Raise an error for options that do not go together."""
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise InvalidQuestion(f"there is no time zone {time_zone!r}; Europe/Berlin is one") from None
    if duration_seconds is not None and topic is None:
        raise InvalidQuestion("--duration-seconds is for the partitions of one topic, as skew counts them: name it with --topic")
    if options["group"] is not None and options["groups"] is None:
        raise InvalidQuestion("--group takes --groups")
    for name, (kind, _) in LIMITS.items():
        needed = {w.CONSUMER: "groups", w.BROKER: "placements"}.get(kind)
        if needed and options[name] is not None and options[needed] is None:
            raise InvalidQuestion(f"--{name.replace('_', '-')} takes --{needed}")


def run(pipeline: Pipeline, *, source: Source, **options: Any) -> Outcome:
    """Measure the partitions, join what reads and what holds them, and compare with the limits."""
    tables: dict[str, Any] = {}
    with pipeline.progress(f"measuring {source}"):
        measure = _totals if options["duration_seconds"] is not None else _measured
        partitions, span, rejected = measure(pipeline, source, tables, **options)
    readers = None if options["groups"] is None else _groups(pipeline, options["groups"], options["assignor"])
    placed = None if options["placements"] is None else _placements(pipeline, options["placements"])
    assigned = None if readers is None else readers.assigned
    with pipeline.progress("adding up consumers and brokers"):
        place = pipeline.sink.frame(WINDOWS, w.loads(partitions, assigned, placed))
    windows = pipeline.spark.read.parquet(place)
    limits = {key: options[name] for name, key in LIMITS.items() if options[name] is not None}
    tables |= {WINDOWS: place, **_tables(pipeline, windows, span, limits, readers, partitions, **options)}
    with pipeline.progress("finding peaks"):
        summary: dict[str, Any] = {
            "job": "load",
            "records": int(partitions.agg(F.sum("records")).first()[0] or 0),  # type: ignore[index]
            "rejected": rejected,
            "span": {
                "start": span.start,
                "windows": span.count,
                "window_seconds": span.seconds,
                "time_zone": options["time_zone"],
            },
            "limits": [{"kind": kind, "measure": measure, "limit": limit} for (kind, measure), limit in limits.items()],
            **load_summary.kinds(tables[SUBJECTS]),
            "breaches": load_summary.breaches(tables.get(BREACHES)),
            **(NO_GROUPS if readers is None else load_summary.groups(tables[SUBJECTS], tables[QUESTIONS], readers.failed)),
            "records_nobody_reads": None if assigned is None else load_summary.missing(partitions, assigned),
            "records_without_placement": None if placed is None else load_summary.missing(partitions, placed),
        }
        curves = load_report.curves(tables[HOURS], windows, summary) if HOURS in tables else {}
    worst = summary["breaches"]["subjects"]
    headline = {
        "records": number(summary["records"]),
        "windows": f"{number(span.count)} of {number(span.seconds)} s",
        "subjects above a limit": number(worst) if limits else "no limit given",
        "set aside": number(sum(rejected.values())),
    }
    report = load_report.report(summary, curves, str(source))
    group = options["group"]
    return Outcome(summary if group is None else _only(group, tables[QUESTIONS], options["groups"]), tables, report, headline)


def _tables(
    pipeline: Pipeline,
    windows: DataFrame,
    span: Span,
    limits: dict[tuple[str, str], float],
    readers: Readers | None,
    partitions: DataFrame,
    **options: Any,
) -> dict[str, DataFrame]:
    """What the windows come to."""
    subjects = w.rates(windows, span.count, span.seconds)
    if readers is not None:
        subjects = _with_idle(subjects, readers.assigned)
    tables = {SUBJECTS: subjects.persist()}
    if span.start is not None:
        hours = _hours(pipeline, span, options["time_zone"])
        tables[HOURS] = w.hourly(windows, hours, span.seconds, options["time_zone"]).persist()
    if limits:
        tables[BREACHES] = w.breaches(windows, limits, span.seconds).persist()
    if readers is not None:
        seconds = span.count * span.seconds
        tables[QUESTIONS] = w.questions(readers.groups, readers.assigned, partitions, options["assignor"], seconds).persist()
    return tables


def _only(group: str, questions: DataFrame, source: Source) -> dict[str, Any]:
    """The group's request to ``/v1/group-assignments``."""
    row = questions.where(F.col("group") == group).first()
    if row is None:
        raise WrongSource(f"{source} has no group {group!r} that could be assigned")
    question: dict[str, Any] = json.loads(row["question"])
    return question


# ---- what is read ------------------------------------------------------------------------------------------------------


def _measured(
    pipeline: Pipeline, source: Source, tables: dict[str, Any], **options: Any
) -> tuple[DataFrame, Span, dict[str, int]]:
    """The partitions' windows from records with their times; what is no record goes into the quarantine."""
    frame = sources.read(pipeline.spark, source)
    sizes = tuple(options["size_columns"] or (("key", "value") if source.format == "kafka" else ()))
    topic_column = None if options["topic"] is not None else options["topic_column"]
    columns = w.Columns(topic_column, options["topic"], options["partition_column"], options["time_column"], sizes)
    sources.require(frame, columns.names, source)
    seconds = options["window_seconds"]
    observed = Observation()
    kept = [*dict.fromkeys(columns.names), *([sources.CORRUPT] if sources.CORRUPT in frame.columns else [])]
    events = w.events(frame.select(kept), columns)
    counted = events.observe(observed, F.count("reason").alias("rejected"), F.count("*").alias("all"))
    partitions = w.by_partition(counted.where("reason is null"), seconds).persist()
    bounds = partitions.agg(F.min("window"), F.max("window")).first()
    if bounds is None or bounds[0] is None:
        raise WrongSource(f"{source} holds no record with a partition and a time")
    rejected: dict[str, int] = {}
    if observed.get["rejected"]:
        aside = events.where("reason is not null").select("reason", "record")
        place = pipeline.sink.frame(QUARANTINE, aside)
        tables[QUARANTINE] = place
        rows = pipeline.spark.read.parquet(place).groupBy("reason").count().collect()
        rejected = {row["reason"]: int(row["count"]) for row in rows}
    else:
        pipeline.sink.remove(QUARANTINE)
    return partitions, Span(int(bounds[0]), (int(bounds[1]) - int(bounds[0])) // seconds + 1, float(seconds)), rejected


def _totals(pipeline: Pipeline, source: Source, _: dict[str, Any], **options: Any) -> tuple[DataFrame, Span, dict[str, int]]:
    """The partitions of ``skew``'s table: one window as long as the records took."""
    frame = sources.read(pipeline.spark, source)
    sources.require(frame, ("partition_id", "records"), source)
    plans = [name for name in ("partitioner", "partitions_count") if name in frame.columns]
    for name in plans:
        if options[name] is not None:
            frame = frame.where(F.col(name) == options[name])
    found = [" × ".join(map(str, row)) for row in frame.select(plans).distinct().limit(3).collect()] if plans else ["one"]
    if len(found) != 1:
        which = f"several plans ({', '.join(found)} …)" if found else "no such plan"
        raise WrongSource(f"{source} has {which}: name one with --partitioner and --partitions-count")
    size = F.coalesce(F.col("bytes").cast("long"), F.lit(0)) if "bytes" in frame.columns else F.lit(0).cast("long")
    rows = frame.select(
        F.lit(options["topic"]).alias("topic"),
        F.col("partition_id").cast("int").alias("partition"),
        F.lit(0).cast("long").alias("window"),
        F.col("records").cast("long").alias("records"),
        size.alias("bytes"),
    )
    return rows.persist(), Span(None, 1, float(options["duration_seconds"])), {}


@dataclass(frozen=True)
class Readers:
    """Who reads: the rows of ``--groups``, and what ``load_windows.assignments`` makes of them."""

    groups: DataFrame
    assigned: DataFrame
    failed: DataFrame


def _groups(pipeline: Pipeline, source: Source, choice: Choice | None) -> Readers:
    frame = sources.read(pipeline.spark, source)
    try:
        assignments.check_columns(sources.arrow_schema(frame))
    except InvalidQuestion as error:
        raise WrongSource(f"{source}: {error}") from None
    assigned, failed = w.assignments(frame, choice)
    return Readers(frame, assigned.persist(), failed)


def _placements(pipeline: Pipeline, source: Source) -> DataFrame:
    frame = sources.read(pipeline.spark, source)
    sources.require(frame, ("topic_name", "placements"), source)
    return w.placements(frame).persist()


def _hours(pipeline: Pipeline, span: Span, time_zone: str) -> DataFrame:
    """hour, windows: how many windows of the whole time begin in each hour of the day, those without records too."""
    assert span.start is not None  # noqa: S101
    step = int(span.seconds)
    every = pipeline.spark.range(span.start, span.start + span.count * step, step).withColumnRenamed("id", "window")
    return every.groupBy(w.hour_of(F.col("window"), time_zone).alias("hour")).agg(F.count("*").alias("windows"))


def _with_idle(subjects: DataFrame, assigned: DataFrame) -> DataFrame:
    """Members that had nothing in any window, with zeros."""
    members = assigned.select(F.lit(w.CONSUMER).alias("kind"), "group_id", F.col("member_id").alias("subject")).distinct()
    same = [members[name].eqNullSafe(subjects[name]) for name in w.SUBJECT]
    idle = members.join(subjects, same, "left_anti")
    zeros = [F.lit(0.0).alias(f"{peak}{measure}_per_second") for measure in w.MEASURES[:2] for peak in ("", "peak_")]
    return subjects.unionByName(idle.select("*", *zeros), allowMissingColumns=True)


JOB: Final = Job(
    name="load",
    summary="The load of partitions, consumers and brokers: peaks, hours of the day, and who breaks a limit, when.\n\n"
    "SOURCE holds records with their times: a path, table:NAME, FORMAT:PATH or kafka://host:port/topic. With "
    "--duration-seconds it is the partitions.parquet of skew.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["source"], type=SOURCE),
        click.Option(["--topic-column"], default="topic", show_default=True),
        click.Option(["--topic"], help="The topic of all records, where no column says it."),
        click.Option(["--partition-column"], default="partition", show_default=True),
        click.Option(["--time-column"], default="timestamp", show_default=True, help="Timestamps, or ms since 1970."),
        click.Option(
            ["--size-column", "size_columns"], multiple=True, help="What makes a record's bytes: texts, bytes or integers."
        ),
        click.Option(
            ["--window-seconds"], type=click.IntRange(1, 3600), default=60, show_default=True, help="What a peak lasts."
        ),
        click.Option(["--time-zone"], default="UTC", show_default=True, help="Of the hours of the day."),
        click.Option(["--duration-seconds"], type=click.FloatRange(0, min_open=True), help="The time that skew's records took."),
        click.Option(["--partitioner"], help="With --duration-seconds: which of skew's plans."),
        click.Option(["--partitions-count"], type=click.IntRange(1), help="With --duration-seconds: which of skew's plans."),
        click.Option(["--groups"], type=SOURCE, help="A table of groups, as fleet takes it: who reads what."),
        click.Option(
            ["--assignor"], type=ChoiceType(), help="For every group: range, consumer:uniform …; default: each group's own."
        ),
        click.Option(["--group"], help="The summary is then this group's request to /v1/group-assignments."),
        click.Option(
            ["--placements"], type=SOURCE, help="topic_name and placements [{partition_id, replicas}]; also fleet's table."
        ),
        *(click.Option([f"--{name.replace('_', '-')}"], type=click.FloatRange(0)) for name in LIMITS),
    ),
    run=run,
    check=check,
)
