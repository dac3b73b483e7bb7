"""``offsets``: from records of ``__consumer_offsets`` to committed offsets, lag, and time to catch up."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Observation, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.spark.errors import WrongSource
from service.spark.io import reading, sources
from service.spark.io.sinks import REJECTED_ROWS
from service.spark.io.sources import Source
from service.spark.job import Outcome, Pipeline
from service.spark.offsets import lags as offset_lags
from service.spark.offsets import report as offsets_report
from service.spark.offsets.lags import PARTITION
from service.spark.report import number

OFFSETS, GROUPS, MEMBERS = "offsets.parquet", "groups.parquet", "members.parquet"
HISTORY, REQUESTS = "history.parquet", "group_assignments.parquet"
NAMED: Final = 20
"""Most groups and partitions that the summary names."""

MOST_SNAPSHOTS: Final = 1000


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
    """Read every record once, and keep the latest of each key."""
    raw = _records(pipeline, records)
    ends = None if log_end is None else _log_ends(pipeline, log_end, as_of)
    times = [as_of]
    if ends is not None and "at" in ends.columns:
        times = _snapshots(ends, log_end)
    observation = Observation("records")
    state = offset_lags.latest_records(raw, times, observation).persist()
    try:
        with pipeline.progress("reading records"):
            state.count()
        counts = dict(observation.get)
        newest = counts.pop("newest")
        last = newest if times[-1] is None else times[-1]
        state = state.withColumn("at", F.coalesce("at", F.lit(last).cast("long")))
        groups = offset_lags.groups_of(state).persist()
        # Not earlier: the commits of other groups may have a topic's name.
        chosen = F.lit(True) if group is None else F.col("group") == group
        groups = groups.where(chosen)
        lags = offset_lags.lags_of(state.where(chosen), groups, ends, retention_minutes * 60_000).persist()
        with pipeline.progress("joining groups, offsets and log ends"):
            return _outcome(pipeline, records, OffsetFrames(state, groups, lags, counts, last, len(times) > 1, weight, group))
    finally:
        state.unpersist()


# ---- reading ------------------------------------------------------------------------------------------------------


def _records(pipeline: Pipeline, source: Source) -> DataFrame:
    """Keys and values as bytes, and their positions in the log. Text is base64, as in CSV and JSON."""
    frame = reading.read(pipeline.spark, source)
    reading.require(frame, ("key", "value", "partition", "offset", "timestamp"), source)
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
    # Text that is not base64 becomes empty bytes, which are unreadable; null would be a tombstone.
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
    frame = reading.read(pipeline.spark, source)
    reading.require(frame, ("topic", "partition", "log_end_offset"), source)
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
        raise WrongSource(f"{source}: the column 'time' must have a time in each row, 1 to {MOST_SNAPSHOTS:,} distinct ones")
    return list(times)


# ---- results ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OffsetFrames:
    """What the tables and the summary are made of.

    state, groups, lags : as ``lags`` gives them
    counts : records by kind, ``unreadable`` included
    last : the time to describe, in ms; None if no record has one
    several : whether there are several snapshots, and so a history
    weight : the weight of a partition in a request
    group : the only group to describe; None for all
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


def _outcome(pipeline: Pipeline, source: Source, frames: OffsetFrames) -> Outcome:
    # All else is computed from the written table, which Spark plans in a fraction of the time.
    place = pipeline.sink.frame(OFFSETS, offset_lags.with_trends(frames.lags, frames.last).orderBy(*PARTITION))
    now = pipeline.spark.read.parquet(place)
    tables = {OFFSETS: place, **_tables(pipeline, frames, now)}
    summary = _summary(frames, now, tables)
    names = [row["group"] for row in summary["largest_lags"][: offsets_report.DRAWN]]
    shown = tables[HISTORY].where(F.col("group").isin(names)).collect() if frames.several else []
    partitions = summary["partitions"]
    headline = {
        "records": f"{number(frames.counts['records'])}, of which {number(frames.counts['unreadable'])} unreadable",
        "groups": number(summary["groups"]),
        "committed partitions": number(partitions["committed"]),
        "expired": number(partitions["expired"]),
        "lag": number(partitions["lag"]),
    }
    report = offsets_report.report(str(source), summary, [(row["group"], row["at"], row["lag"]) for row in shown])
    return Outcome(summary if frames.group is None else _only(frames.group, summary), tables, report, headline)


def _tables(pipeline: Pipeline, frames: OffsetFrames, now: DataFrame) -> dict[str, Any]:
    """Every table but that of the offsets. now : the offsets at the last time"""
    heads = frames.members.where("member_id is null").select("group", "protocol", "assignor", "empty")
    by_member = offset_lags.summed(now.where("member_id is not null"), "group", "member_id", "client_id")
    tables: dict[str, Any] = {
        GROUPS: offset_lags.summed(now, "group").join(heads, "group", "full").orderBy("group"),
        MEMBERS: by_member.orderBy("group", "member_id"),
        REQUESTS: offset_lags.requests(now, frames.members, frames.weight),
    }
    if frames.several:
        tables[HISTORY] = frames.lags.groupBy("group", "at").agg(F.sum("lag").alias("lag")).orderBy("group", "at")
    if frames.counts["unreadable"]:
        tables[REJECTED_ROWS] = frames.state.where("reason is not null").select("reason", "record", "log_partition", "log_offset")
    else:
        pipeline.sink.remove(REJECTED_ROWS)
    return tables


def _summary(frames: OffsetFrames, now: DataFrame, tables: dict[str, Any]) -> dict[str, Any]:
    total = now.agg(
        F.count_if(F.expr("committed_offset is not null and not expired")).alias("committed"),
        F.count_if("expired").alias("expired"),
        F.count("lag").alias("with_lag"),
        F.sum("lag").alias("lag"),
        F.count_if(F.expr("lag > 0 and trend = 'growing'")).alias("falling_behind"),
    ).first()
    largest = tables[GROUPS].orderBy(F.desc_nulls_last("lag"), "group").limit(NAMED).collect()
    slowest = now.where("lag > 0").orderBy(F.desc("lag"), *PARTITION).limit(NAMED)
    names = [row["group"] for row in largest]
    requests = tables[REQUESTS].where(F.col("group").isin(names)).collect()
    return {
        "job": "offsets",
        "as_of": None if frames.last is None else datetime.fromtimestamp(frames.last / 1000, UTC).isoformat(),
        "records": {name: value for name, value in frames.counts.items() if value},
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
            json.loads(row["question"]) for row in sorted(requests, key=lambda row: names.index(row["group"]))
        ],
    }  # fmt: skip


def _only(group: str, summary: dict[str, Any]) -> dict[str, Any]:
    """The group's request to ``/v1/group-assignments``."""
    if summary["group_assignments"]:
        request: dict[str, Any] = summary["group_assignments"][0]
        return request
    if summary["groups"]:
        raise WrongSource(f"the group {group!r} has no members to assign partitions to as of {summary['as_of']}")
    raise WrongSource(f"unknown group {group!r} as of {summary['as_of']}")
