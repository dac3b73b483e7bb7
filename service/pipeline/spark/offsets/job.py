"""``offsets``: from records of ``__consumer_offsets`` to committed offsets, lag, and time to catch up."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.pipeline.analyses.outcome import Outcome
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import coordinator_records, reading
from service.pipeline.spark.io.columns import corrupt, integer, line, milliseconds
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.job import Pipeline
from service.pipeline.spark.offsets import lags as offset_lags
from service.pipeline.spark.offsets import report as offsets_report
from service.pipeline.spark.offsets.conclusions import conclusion
from service.pipeline.spark.offsets.lags import PARTITION
from service.report.figures import number
from service.report.folders import REJECTED_ROWS

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
    raw = coordinator_records.read(pipeline.spark, records)
    ends = None if log_end is None else _log_ends(pipeline, log_end, as_of)
    times = [as_of]
    if ends is not None and "at" in ends.rows.columns:
        times = _snapshots(ends.rows, log_end)
    observation = Observation("records")
    state = pipeline.persist(offset_lags.latest_records(raw, times, observation))
    with pipeline.progress("reading records"):
        state.count()
    counts = dict(observation.get)
    newest = counts.pop("newest")
    last = newest if times[-1] is None else times[-1]
    state = state.withColumn("at", F.coalesce("at", F.lit(last).cast("long")))
    # Not earlier: the commits of other groups may have a topic's name.
    chosen = F.lit(True) if group is None else F.col("group") == group
    groups = pipeline.persist(offset_lags.groups_of(state)).where(chosen)
    rows = None if ends is None else ends.rows
    lags = pipeline.persist(offset_lags.lags_of(state.where(chosen), groups, rows, retention_minutes * 60_000))
    with pipeline.progress("joining groups, offsets and log ends"):
        return _outcome(pipeline, records, OffsetFrames(state, groups, lags, ends, counts, last, len(times) > 1, weight, group))


# ---- reading ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogEnds:
    """The table of log ends.

    rows : topic, partition, log_end_offset, and ``at`` if the table has a time
    rejected : ``reason`` and ``record`` of the rows that lack any of them
    counts : the rejected rows by reason
    """

    rows: DataFrame
    rejected: DataFrame
    counts: dict[str, int]


def _log_ends(pipeline: Pipeline, source: Source, as_of: int | None) -> LogEnds:
    frame = reading.read(pipeline.spark, source)
    reading.require(frame, ("topic", "partition", "log_end_offset"), source)
    columns = {
        "topic": F.col("topic").cast("string"),
        "partition": integer(frame, "partition").try_cast("int"),
        "log_end_offset": integer(frame, "log_end_offset"),
    }
    if "time" in frame.columns:
        columns["at"] = milliseconds("time", frame.schema["time"].dataType)
    reason = (
        F.when(corrupt(frame).isNotNull(), "not readable as a record")
        .when(columns["topic"].isNull(), "no topic")
        .when(~F.is_valid_utf8(columns["topic"]), "topic is not UTF-8")
        .when(columns["partition"].isNull() | (columns["partition"] < 0), "no partition")
        .when(columns["log_end_offset"].isNull(), "no log end offset")
    )
    if "at" in columns:
        reason = reason.when(columns["at"].isNull(), "no time")
    named = (value.alias(name) for name, value in columns.items())
    every = frame.select(*named, reason.alias("reason"), F.when(reason.isNotNull(), line(frame)).alias("record"))
    rejected = every.where("reason is not null").select("reason", "record")
    counts = {row["reason"]: int(row["count"]) for row in every.groupBy("reason").count().collect()}
    readable = counts.pop(None, 0)
    counts = dict(sorted(counts.items()))
    rows = every.where("reason is null").select(*columns)
    if not readable:
        reasons = "; ".join(f"{count} with {reason}" for reason, count in counts.items())
        raise WrongSource(f"{source} has no readable row{f' ({reasons})' if counts else ''}.")
    return LogEnds(rows if as_of is None or "at" not in columns else rows.where(F.col("at") <= as_of), rejected, counts)


def _snapshots(ends: DataFrame, source: Source | None) -> list[int | None]:
    times = [row["at"] for row in ends.select("at").distinct().orderBy("at").limit(MOST_SNAPSHOTS + 1).collect()]
    if not 1 <= len(times) <= MOST_SNAPSHOTS:
        raise WrongSource(f"{source}: The column 'time' must have 1 to {MOST_SNAPSHOTS:,} distinct times, up to --as-of.")
    return times


# ---- results ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OffsetFrames:
    """What the tables and the summary are made of.

    state, groups, lags : as ``lags`` gives them
    ends : the log ends; None if unknown
    counts : records by kind, ``unreadable`` included
    last : the time to describe, in ms; None if no record has one
    several : whether there are several snapshots, and so a history
    weight : the weight of a partition in a request
    group : the only group to describe; None for all
    """

    state: DataFrame
    groups: DataFrame
    lags: DataFrame
    ends: LogEnds | None
    counts: dict[str, int]
    last: int | None
    several: bool
    weight: str
    group: str | None

    @property
    def rejected_log_ends(self) -> dict[str, int]:
        """The rejected rows of the log ends, by reason."""
        return {} if self.ends is None else self.ends.counts

    @property
    def members(self) -> DataFrame:
        """The groups as they are at the last time."""
        return self.groups.where(F.col("at").eqNullSafe(F.lit(self.last)))


def _outcome(pipeline: Pipeline, source: Source, frames: OffsetFrames) -> Outcome:
    tables: dict[str, Any] = {}
    tables[OFFSETS], now = pipeline.written(OFFSETS, offset_lags.with_trends(frames.lags, frames.last).orderBy(*PARTITION))
    tables |= _tables(pipeline, frames, now)
    read = {}
    for name in (GROUPS, REQUESTS, *((HISTORY,) if frames.several else ())):
        tables[name], read[name] = pipeline.written(name, tables[name])
    summary = _summary(frames, now, read)
    names = [row["group"] for row in summary["largest_lags"][: offsets_report.DRAWN]]
    shown = read[HISTORY].where(F.col("group").isin(names)).collect() if frames.several else []
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
    if frames.counts["unreadable"] or frames.rejected_log_ends:
        unreadable = frames.state.where("reason is not null").select("reason", "record", "log_partition", "log_offset")
        rejected = unreadable if frames.ends is None else unreadable.unionByName(frames.ends.rejected, allowMissingColumns=True)
        tables[REJECTED_ROWS] = rejected
    else:
        pipeline.sink.remove(REJECTED_ROWS)
    return tables


def _summary(frames: OffsetFrames, now: DataFrame, tables: dict[str, Any]) -> dict[str, Any]:
    total = now.agg(
        F.count_if(F.expr("committed_offset is not null and not expired")).alias("committed"),
        F.count_if("expired").alias("expired"),
        F.count("lag").alias("with_lag"),
        F.count("trend").alias("with_trend"),
        F.sum("lag").alias("lag"),
        F.count_if(F.expr("lag > 0 and trend = 'growing'")).alias("falling_behind"),
    ).first()
    largest = tables[GROUPS].orderBy(F.desc_nulls_last("lag"), "group").limit(NAMED).collect()
    slowest = now.where("lag > 0").orderBy(F.desc("lag"), *PARTITION).limit(NAMED)
    names = [row["group"] for row in largest]
    requests = tables[REQUESTS].where(F.col("group").isin(names)).collect()
    summary: dict[str, Any] = {
        "job": "offsets",
        "as_of": None if frames.last is None else datetime.fromtimestamp(frames.last / 1000, UTC).isoformat(),
        "records": {name: value for name, value in frames.counts.items() if value},
        "rejected_log_ends": frames.rejected_log_ends,
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
    return {"job": "offsets", "conclusion": conclusion(summary), **summary}


def _only(group: str, summary: dict[str, Any]) -> dict[str, Any]:
    """The group's request to ``/v1/group-assignments``."""
    if summary["group_assignments"]:
        request: dict[str, Any] = summary["group_assignments"][0]
        return request
    if summary["groups"]:
        raise WrongSource(f"The group {group!r} has no members to assign partitions to as of {summary['as_of']}.")
    raise WrongSource(f"Unknown group {group!r} as of {summary['as_of']}.")
