"""``offsets``: raw records of ``__consumer_offsets`` → what groups have committed, their lag, and whether they catch up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click
from pyspark.sql import Observation, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.spark.errors import WrongSource
from service.spark.io import sources
from service.spark.io.rejected_rows import TABLE as QUARANTINE
from service.spark.job import Job, Outcome
from service.spark.offsets import lags as offset_lags
from service.spark.offsets import report as offsets_report
from service.spark.offsets.lags import PARTITION
from service.spark.parameters import READ_OPTIONS, SOURCE
from service.spark.report import number

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from service.spark.io.sources import Source
    from service.spark.job import Pipeline

OFFSETS, GROUPS, MEMBERS = "offsets.parquet", "groups.parquet", "members.parquet"
HISTORY, QUESTIONS = "history.parquet", "group_assignments.parquet"
RETENTION_MINUTES: Final = 7 * 24 * 60
"""offsets.retention.minutes."""

NAMED: Final = 20
"""Groups and partitions that the summary names."""

MOST_SNAPSHOTS: Final = 1000


class Time(click.ParamType[Any]):
    """A time, as ms since 1970 or in ISO 8601; UTC unless it says otherwise."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """In ms."""
        if isinstance(value, int):
            return value
        try:
            if value.isdigit():
                return int(value)
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time: 2026-11-21T08:00:00Z, or ms since 1970", param, ctx)
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def run(
    pipeline: Pipeline,
    *,
    records: Source,
    log_end: Source | None,
    as_of: int | None,
    retention_minutes: int,
    weight: str,
    group: str | None,
    **_: Any,
) -> Outcome:
    """Read every record once; the latest of each key is all that is kept."""
    raw = _records(pipeline, records)
    ends = None if log_end is None else _log_ends(pipeline, log_end, as_of)
    times = [as_of]
    if ends is not None and "at" in ends.columns:
        times = _snapshots(ends, log_end)
    seen = Observation("records")
    state = offset_lags.latest_records(raw, times, seen).persist()
    try:
        with pipeline.progress("reading records"):
            state.count()
        counts = dict(seen.get)
        newest = counts.pop("newest")
        last = newest if times[-1] is None else times[-1]
        state = state.withColumn("at", F.coalesce("at", F.lit(last).cast("long")))
        groups = offset_lags.groups_of(state).persist()
        one = F.lit(True) if group is None else F.col("group") == group  # not before topics are named: other groups may tell
        groups = groups.where(one)
        lags = offset_lags.lags_of(state.where(one), groups, ends, retention_minutes * 60_000).persist()
        with pipeline.progress("joining groups, offsets and log ends"):
            return _outcome(pipeline, records, Told(state, groups, lags, counts, last, len(times) > 1, weight, group))
    finally:
        state.unpersist()


# ---- what is read ------------------------------------------------------------------------------------------------------


def _records(pipeline: Pipeline, source: Source) -> DataFrame:
    """Keys and values as bytes, and their places in the log. Text is base64, as CSV and JSON have it."""
    frame = sources.read(pipeline.spark, source)
    sources.require(frame, ("key", "value", "partition", "offset", "timestamp"), source)
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    return frame.select(
        *(_bytes(name, kinds[name]).alias(name) for name in ("key", "value")),
        F.col("partition").cast("int").alias("log_partition"),
        F.col("offset").cast("long").alias("log_offset"),
        F.coalesce(_ms("timestamp", kinds["timestamp"]), F.lit(-1)).alias("timestamp"),
        (F.col(sources.CORRUPT) if sources.CORRUPT in kinds else F.lit(None).cast("string")).alias("line"),
    )


def _bytes(name: str, kind: types.DataType) -> Column:
    if not isinstance(kind, types.StringType):
        return F.col(name).cast("binary")
    # Of text that is no base64 nothing is left, which cannot be read; null would be a tombstone.
    nothing = F.when(F.col(name).isNotNull(), F.lit(b""))
    return F.coalesce(F.try_to_binary(name, F.lit("base64")), nothing)


def _ms(name: str, kind: types.DataType) -> Column:
    """A time in ms since 1970, from a timestamp, a number of ms, or either as text."""
    if isinstance(kind, types.TimestampType):
        return F.unix_millis(name)
    if isinstance(kind, types.StringType):
        return F.coalesce(F.col(name).try_cast("long"), F.unix_millis(F.col(name).try_cast("timestamp")))
    return F.col(name).cast("long")


def _log_ends(pipeline: Pipeline, source: Source, as_of: int | None) -> DataFrame:
    """topic, partition, log_end_offset, and ``at`` if the table has a time."""
    frame = sources.read(pipeline.spark, source)
    sources.require(frame, ("topic", "partition", "log_end_offset"), source)
    columns = [
        F.col("topic"),
        F.col("partition").try_cast("int").alias("partition"),
        F.col("log_end_offset").try_cast("long").alias("log_end_offset"),
    ]
    if "time" not in frame.columns:
        return frame.select(*columns)
    ends = frame.select(*columns, _ms("time", frame.schema["time"].dataType).alias("at"))
    return ends if as_of is None else ends.where(F.col("at") <= as_of)


def _snapshots(ends: DataFrame, source: Source | None) -> list[int | None]:
    rows = ends.select("at").distinct().orderBy("at").limit(MOST_SNAPSHOTS + 1).collect()
    times = [row["at"] for row in rows if row["at"] is not None]
    if not times or len(rows) > MOST_SNAPSHOTS or len(times) < len(rows):
        raise WrongSource(f"{source}: the column 'time' is to hold 1 to {MOST_SNAPSHOTS:,} times, each row one")
    return list(times)


# ---- what is told ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What the job has found.

    state, groups, lags : as ``offset_lags`` gives them
    counts : records by kind; ``unreadable`` those that could not be read
    last : the time to tell of, in ms; None if no record has one
    several : whether there are snapshots, and so a history
    weight : what the partitions of a request weigh
    group : the only group that is told of; None for all
    """

    state: DataFrame
    groups: DataFrame
    lags: DataFrame
    counts: dict[str, int]
    last: int | None
    several: bool
    weight: str
    group: str | None

    @property
    def members(self) -> DataFrame:
        """The groups as they are at the last time."""
        return self.groups.where(F.col("at").eqNullSafe(F.lit(self.last)))


def _outcome(pipeline: Pipeline, source: Source, told: Told) -> Outcome:
    # What follows is told from what was written: Spark plans it in a fraction of the time.
    place = pipeline.sink.frame(OFFSETS, offset_lags.with_trends(told.lags, told.last).orderBy(*PARTITION))
    now = pipeline.spark.read.parquet(place)
    tables = {OFFSETS: place, **_tables(pipeline, told, now)}
    summary = _summary(told, now, tables)
    names = [row["group"] for row in summary["largest_lags"][: offsets_report.DRAWN]]
    shown = tables[HISTORY].where(F.col("group").isin(names)).collect() if told.several else []
    partitions = summary["partitions"]
    headline = {
        "records": f"{number(told.counts['records'])}, of which {number(told.counts['unreadable'])} could not be read",
        "groups": number(summary["groups"]),
        "committed partitions": number(partitions["committed"]),
        "expired": number(partitions["expired"]),
        "lag": number(partitions["lag"]),
    }
    report = offsets_report.report(str(source), summary, [(row["group"], row["at"], row["lag"]) for row in shown])
    return Outcome(summary if told.group is None else _only(told.group, summary), tables, report, headline)


def _tables(pipeline: Pipeline, told: Told, now: DataFrame) -> dict[str, Any]:
    """Every table but the offsets themselves. now : those, at the last time"""
    heads = told.members.where("member_id is null").select("group", "protocol", "assignor", "empty")
    by_member = offset_lags.summed(now.where("member_id is not null"), "group", "member_id", "client_id")
    tables: dict[str, Any] = {
        GROUPS: offset_lags.summed(now, "group").join(heads, "group", "full").orderBy("group"),
        MEMBERS: by_member.orderBy("group", "member_id"),
        QUESTIONS: offset_lags.questions(now, told.members, told.weight),
    }
    if told.several:
        tables[HISTORY] = told.lags.groupBy("group", "at").agg(F.sum("lag").alias("lag")).orderBy("group", "at")
    if told.counts["unreadable"]:
        tables[QUARANTINE] = told.state.where("reason is not null").select("reason", "record", "log_partition", "log_offset")
    else:
        pipeline.sink.remove(QUARANTINE)
    return tables


def _summary(told: Told, now: DataFrame, tables: dict[str, Any]) -> dict[str, Any]:
    total = now.agg(
        F.count_if(F.expr("committed_offset is not null and not expired")).alias("committed"),
        F.count_if("expired").alias("expired"),
        F.count("lag").alias("with_lag"),
        F.sum("lag").alias("lag"),
        F.count_if(F.expr("lag > 0 and lag_per_second >= 0")).alias("falling_behind"),
    ).first()
    largest = tables[GROUPS].orderBy(F.desc_nulls_last("lag"), "group").limit(NAMED).collect()
    slowest = now.where("lag > 0").orderBy(F.desc("lag"), *PARTITION).limit(NAMED)
    names = [row["group"] for row in largest]
    questions = tables[QUESTIONS].where(F.col("group").isin(names)).collect()
    return {
        "job": "offsets",
        "as_of": None if told.last is None else datetime.fromtimestamp(told.last / 1000, UTC).isoformat(),
        "records": {name: value for name, value in told.counts.items() if value},
        "groups": tables[GROUPS].count(),
        "partitions": {name: int(value or 0) for name, value in (total.asDict() if total else {}).items()},
        "largest_lags": [row.asDict() for row in largest],
        "slowest_partitions": [
            row.asDict()
            for row in slowest.select(
                *PARTITION, "member_id", "committed_offset", "log_end_offset", "lag", "lag_per_second", "seconds_to_catch_up"
            ).collect()
        ],
        "group_assignments": [
            json.loads(row["question"]) for row in sorted(questions, key=lambda row: names.index(row["group"]))
        ],
    }  # fmt: skip


def _only(group: str, summary: dict[str, Any]) -> dict[str, Any]:
    """The group's request to ``/v1/group-assignments``."""
    if summary["group_assignments"]:
        question: dict[str, Any] = summary["group_assignments"][0]
        return question
    if summary["groups"]:
        raise WrongSource(f"the group {group!r} has no members whose partitions could be assigned as of {summary['as_of']}")
    raise WrongSource(f"there is no group {group!r} as of {summary['as_of']}")


JOB: Final = Job(
    name="offsets",
    summary="Records of __consumer_offsets to committed offsets; with log-end offsets to lag, its trend, and time to catch up.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["records"], type=SOURCE),
        click.Option(
            ["--log-end"], type=SOURCE,
            help="A table of topic, partition, log_end_offset and perhaps time: one snapshot or several, which give the trend.",
        ),
        click.Option(["--as-of"], type=Time(), help="The time to tell of, as 2026-11-21T08:00:00Z; default: the last record's."),
        click.Option(
            ["--retention-minutes"], type=click.IntRange(1), default=RETENTION_MINUTES, show_default=True,
            help="The brokers' offsets.retention.minutes.",
        ),
        click.Option(
            ["--weight"], type=click.Choice(("lag", "produced")), default="lag", show_default=True,
            help="What a partition weighs in a balanced assignment: its lag, or the records a second that are produced to it.",
        ),
        click.Option(["--group"], help="Tell of this group only; the summary is then its request to /v1/group-assignments."),
    ),
    run=run,
)  # fmt: skip
