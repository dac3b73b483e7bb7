"""``offsets``: from records of ``__consumer_offsets`` to committed offsets, lag, and time to catch up.

``at`` is the time that a row describes, in ms since 1970: a single one, or one for each snapshot of the log ends.
"""

from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.pipeline.analyses.results import Outcome
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.columns import integer, line, milliseconds, questions_of, reason_to_reject
from service.pipeline.spark.io.reading import read, read_coordinator_records
from service.pipeline.spark.io.sinks import Pipeline
from service.pipeline.spark.io.sources import Source, require_names
from service.pipeline.spark.offsets import report as offsets_report
from service.pipeline.spark.tasks import coordinator_records as records_of
from service.pipeline.spark.tasks import group_requests
from service.report.figures import number
from service.wire.schemas import GROUP_RECORDS

OFFSETS, GROUPS, MEMBERS = "offsets.parquet", "groups.parquet", "members.parquet"
HISTORY, REQUESTS = "history.parquet", "group_assignments.parquet"
NAMED: Final = 20
"""Most groups and partitions that the summary names."""

MOST_SNAPSHOTS: Final = 1000

KEY: Final = ("at", "type", "group", "member", "topic", "partition")
PARTITION: Final = ("group", "topic", "partition")

STANDING: Final = ("keeps_offsets", "empty_since", "subscribed")
"""The columns of a group that decide whether its offsets expire."""

STEADY: Final = 0.01
"""A lag that changes by less than this share of the produced records, or of itself over all snapshots, is steady: offsets are
committed at intervals, so a lag always wavers."""


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
    raw = read_coordinator_records(pipeline.spark, records)
    ends, rejected_ends, reasons = (None, None, {}) if log_end is None else _log_ends(pipeline, log_end, as_of)
    times = [as_of]
    if ends is not None and "at" in ends.columns:
        times = [row["at"] for row in ends.select("at").distinct().orderBy("at").limit(MOST_SNAPSHOTS + 1).collect()]
        if not 1 <= len(times) <= MOST_SNAPSHOTS:
            raise WrongSource(f"{log_end}: The column 'time' must have 1 to {MOST_SNAPSHOTS:,} distinct times, up to --as-of.")
    observation = Observation("records")
    state = pipeline.persist(_latest_records(raw, times, observation))
    with pipeline.progress("reading records"):
        state.count()
    counts = dict(observation.get)
    newest = counts.pop("newest")
    last = newest if times[-1] is None else times[-1]
    state = state.withColumn("at", F.coalesce("at", F.lit(last).cast("long")))
    # Not earlier: the commits of other groups may have a topic's name.
    chosen = F.lit(True) if group is None else F.col("group") == group
    groups = pipeline.persist(_groups(state)).where(chosen)
    lags = pipeline.persist(_lags(state.where(chosen), groups, ends, retention_minutes * 60_000))
    with pipeline.progress("joining groups, offsets and log ends"):
        tables: dict[str, Any] = {}
        tables[OFFSETS], now = pipeline.written(OFFSETS, _with_trends(lags, last).orderBy(*PARTITION))
        tables |= _tables(now, groups.where(F.col("at").eqNullSafe(F.lit(last))), weight)
        if len(times) > 1:
            tables[HISTORY] = lags.groupBy("group", "at").agg(F.sum("lag").alias("lag")).orderBy("group", "at")
        unreadable = state.where("reason is not null").select("reason", "record", "log_partition", "log_offset")
        if rejected_ends is not None:
            unreadable = unreadable.unionByName(rejected_ends, allowMissingColumns=True)
        tables |= pipeline.rejected(unreadable if counts["unreadable"] or reasons else None)
        read_back = {}
        for name in (name for name in (GROUPS, REQUESTS, HISTORY) if name in tables):
            tables[name], read_back[name] = pipeline.written(name, tables[name])
        summary = {
            "job": "offsets",
            "as_of": None if last is None else datetime.fromtimestamp(last / 1000, UTC).isoformat(),
            "records": {name: value for name, value in counts.items() if value},
            "rejected_log_ends": reasons,
            **_summary(now, read_back),
        }
        summary = {"job": "offsets", "conclusion": offsets_report.conclusion(summary), **summary}
        drawn = []
        if HISTORY in read_back:
            names = [row["group"] for row in summary["largest_lags"][: offsets_report.DRAWN]]
            drawn = read_back[HISTORY].where(F.col("group").isin(names)).select("group", "at", "lag").collect()
        headline = {
            "records": f"{number(counts['records'])}, of which {number(counts['unreadable'])} unreadable",
            "groups": number(summary["groups"]),
            "committed partitions": number(summary["partitions"]["committed"]),
            **{name: number(summary["partitions"][name]) for name in ("expired", "lag")},
        }
        report = offsets_report.report(str(records), summary, drawn)
        return Outcome(summary if group is None else _only(group, summary), tables, report, headline)


def _log_ends(pipeline: Pipeline, source: Source, as_of: int | None) -> tuple[DataFrame, DataFrame, dict[str, int]]:
    """The table of log ends.

    Returns topic, partition, log_end_offset, and ``at`` if the table has a time; ``reason`` and ``record`` of the rows that lack
    any of them; and the number of these by reason.
    """
    frame = read(pipeline.spark, source)
    require_names(frame.columns, ("topic", "partition", "log_end_offset"), source)
    columns = {
        "topic": F.col("topic").cast("string"),
        "partition": integer(frame, "partition").try_cast("int"),
        "log_end_offset": integer(frame, "log_end_offset"),
    }
    reason = reason_to_reject(frame, columns["topic"], columns["partition"])
    reason = reason.when(columns["log_end_offset"].isNull(), "no log end offset")
    if "time" in frame.columns:
        columns["at"] = milliseconds("time", frame.schema["time"].dataType)
        reason = reason.when(columns["at"].isNull(), "no time")
    named = (value.alias(name) for name, value in columns.items())
    every = frame.select(*named, reason.alias("reason"), F.when(reason.isNotNull(), line(frame)).alias("record"))
    counts = {row["reason"]: int(row["count"]) for row in every.groupBy("reason").count().collect()}
    readable = counts.pop(None, 0)
    counts = dict(sorted(counts.items()))
    if not readable:
        reasons = "; ".join(f"{count} with {reason}" for reason, count in counts.items())
        raise WrongSource(f"{source} has no readable row{f' ({reasons})' if counts else ''}.")
    rows = every.where("reason is null").select(*columns)
    if as_of is not None and "at" in columns:
        rows = rows.where(F.col("at") <= as_of)
    return rows, every.where("reason is not null").select("reason", "record"), counts


def _latest_records(raw: DataFrame, times: list[int | None], observation: Observation) -> DataFrame:
    """The last record of each key at each time, tombstones removed, and every unreadable record.

    The record with the largest offset wins; all records of a key are in one partition of ``__consumer_offsets``.

    raw : the input of ``coordinator_records.read_records``
    times : [None] is the time of the last record
    observation : counts the records of each kind
    """
    read_records = raw.mapInArrow(records_of.read_records, from_arrow_schema(records_of.SCHEMA)).observe(
        observation,
        F.count("*").alias("records"),
        F.count("reason").alias("unreadable"),
        F.count_if("tombstone").alias("tombstones"),
        F.max("timestamp").alias("newest"),
        *(F.count_if(F.col("type") == number).alias(kind.name) for number, kind in GROUP_RECORDS.items() if number),
    )
    at: Column = F.array(F.lit(times[-1]).cast("long"))
    if times[-1] is not None:
        snapshots = F.array(*(F.lit(time).cast("long") for time in times))
        at = F.when(F.col("reason").isNotNull(), at).otherwise(F.filter(snapshots, lambda time: time >= F.col("timestamp")))
    needed = F.col("type").isin(records_of.COMMIT_TYPE, *group_requests.TYPES)
    rest = [name for name in records_of.SCHEMA.names if name not in KEY]
    return (
        read_records.where(needed | F.col("reason").isNotNull())
        .withColumn("at", F.explode(at))
        # Every unreadable record is a key of its own.
        .withColumn("alone", F.when(F.col("reason").isNotNull(), F.monotonically_increasing_id()))
        .groupBy(*KEY, "alone")
        .agg(F.max_by(F.struct(*rest), F.coalesce("log_offset", F.lit(-1))).alias("last"))
        .select(*KEY, "last.*")
        .where("not tombstone")
    )


def _groups(state: DataFrame) -> DataFrame:
    """``group_requests.STATES`` rows; a topic that only has an id gets its name from a commit, if there is one."""
    of_groups = state.where(F.col("type").isin(*group_requests.TYPES)).select("at", "group", "type", "member", "value")
    states = of_groups.groupBy("at", "group").applyInArrow(group_requests.read_group, from_arrow_schema(group_requests.STATES))
    commits = state.where("topic_id is not null").groupBy("topic_id")
    named = states.join(commits.agg(F.max_by("topic", "commit_timestamp").alias("name")), "topic_id", "left")
    return named.withColumn("topic", F.coalesce("topic", "name")).select(*group_requests.STATES.names)


def _lags(state: DataFrame, groups: DataFrame, ends: DataFrame | None, retention_ms: int) -> DataFrame:
    """A row for each time, group, topic and partition that is committed or assigned, and whether its offset has expired.

    ends : topic, partition and log_end_offset, and ``at`` if there are several snapshots; None if unknown
    """
    commits = state.where(F.col("type") == records_of.COMMIT_TYPE).select(
        "at", *PARTITION, "committed_offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp",
        "log_partition", "log_offset",
    )  # fmt: skip
    heads = groups.where("member_id is null").select("at", "group", *STANDING)
    commits = commits.join(heads, ["at", "group"], "left").withColumn("expired", _expired(retention_ms)).drop(*STANDING)
    owned = groups.where("partition is not null and topic is not null").groupBy("at", *PARTITION)
    owners = owned.agg(*(F.min(name).alias(name) for name in ("member_id", "client_id", "client_host")))
    lags = commits.join(owners, ["at", *PARTITION], "full").withColumn("expired", F.coalesce("expired", F.lit(False)))
    if ends is None:
        lags = lags.withColumn("log_end_offset", F.lit(None).cast("long")).withColumn("partitions_count", F.lit(None).cast("int"))
    else:
        keys = ["at", "topic", "partition"] if "at" in ends.columns else ["topic", "partition"]
        ends = ends.dropDuplicates(keys)
        counts = ends.groupBy("topic").agg((F.max("partition") + 1).alias("partitions_count"))
        lags = lags.join(ends, keys, "left").join(counts, "topic", "left")
    behind = F.col("log_end_offset") - F.col("committed_offset")
    # A snapshot of the log end may be older than the commit: the lag is then 0.
    lag = F.when(behind.isNotNull() & ~F.col("expired"), F.greatest(behind, F.lit(0).cast("long")))
    return lags.withColumn("lag", lag)


def _expired(retention_ms: int) -> Column:
    """Whether the broker would remove this offset if its cleaner ran now (KIP-211). See ``group_requests.STATES``.

    Source: OffsetMetadataManager.cleanupExpiredOffsets, OffsetExpirationConditionImpl.
    """
    kept = F.coalesce("keeps_offsets", F.lit(False)) | F.coalesce(F.array_contains("subscribed", F.col("topic")), F.lit(False))
    explicit, since = F.col("expire_timestamp"), F.coalesce("empty_since", "commit_timestamp")
    due = F.when(explicit != -1, explicit <= F.col("at")).otherwise(F.col("at") - since >= retention_ms)
    return ~kept & due


def _with_trends(lags: DataFrame, last: int | None) -> DataFrame:
    """The rows of the last time, with the growth per second of lag, committed offset and log, and the seconds until the lag is 0.

    Each slope is that of a straight line through all snapshots. The seconds are null if the lag does not shrink, or is unknown.
    ``trend`` is "growing", "shrinking" or, with STEADY, "steady"; null with one snapshot, or without a lag.
    """
    seconds = F.col("at") / 1000
    slopes = {"lag_per_second": "lag", "consumed_per_second": "committed_offset", "produced_per_second": "log_end_offset"}
    trends = lags.groupBy(*PARTITION).agg(
        *(F.regr_slope(column, seconds).alias(name) for name, column in slopes.items()),
        F.mean("lag").alias("mean_lag"),
        (F.max(seconds) - F.min(seconds)).alias("span"),
    )
    lag, slope = F.col("lag"), F.col("lag_per_second")
    now = lags.where(F.col("at").eqNullSafe(F.lit(last))).join(trends, list(PARTITION), "left")
    few = F.abs(slope) < STEADY * F.coalesce("produced_per_second", F.lit(0.0))
    wavers = few | (F.abs(slope) * F.col("span") < F.greatest(F.lit(1.0), STEADY * F.col("mean_lag")))
    trend = F.when(slope.isNull(), None).when(wavers, "steady").when(slope > 0, "growing").otherwise("shrinking")
    catch_up = F.when(lag == 0, F.lit(0.0)).when(slope < 0, -lag / slope)
    return now.withColumn("seconds_to_catch_up", catch_up).withColumn("trend", trend).drop("at", "mean_lag", "span")


def _tables(now: DataFrame, groups: DataFrame, weight: str) -> dict[str, Any]:
    """The tables of the last time but that of the offsets.

    now : the offsets; groups : the rows of ``_groups``; weight : of a partition in a request, "lag" or "produced"
    """
    heads = groups.where("member_id is null").select("group", "protocol", "assignor", "empty")
    by_member = _summed(now.where("member_id is not null"), "group", "member_id", "client_id")
    weights = F.col("lag" if weight == "lag" else "produced_per_second").cast("double").alias("weight")
    weighted = now.select("group", "topic", "partition", "partitions_count", weights).groupBy("group")
    requests = weighted.cogroup(groups.groupBy("group")).applyInArrow(
        group_requests.weighted_by_lag, from_arrow_schema(group_requests.SCHEMA)
    )
    return {
        GROUPS: _summed(now, "group").join(heads, "group", "full").orderBy("group"),
        MEMBERS: by_member.orderBy("group", "member_id"),
        REQUESTS: requests,
    }


def _summed(now: DataFrame, *names: str) -> DataFrame:
    """Lag by group or by member. It has caught up when its slowest partition has; null if one never does."""
    stuck = F.max(F.col("lag").isNotNull() & F.col("seconds_to_catch_up").isNull())
    return now.groupBy(*names).agg(
        F.count("*").alias("partitions"),
        F.count_if("expired").alias("expired"),
        F.sum("lag").alias("lag"),
        F.max("lag").alias("largest_lag"),
        F.sum("lag_per_second").alias("lag_per_second"),
        F.when(~stuck, F.max("seconds_to_catch_up")).alias("seconds_to_catch_up"),
    )


def _summary(now: DataFrame, tables: dict[str, DataFrame]) -> dict[str, Any]:
    """The groups and partitions of the summary. tables : those that were written"""
    total = now.agg(
        F.count_if(F.expr("committed_offset is not null and not expired")).alias("committed"),
        F.count_if("expired").alias("expired"),
        F.count("lag").alias("with_lag"),
        F.count("trend").alias("with_trend"),
        F.sum("lag").alias("lag"),
        F.count_if(F.expr("lag > 0 and trend = 'growing'")).alias("falling_behind"),
    ).collect()[0]
    largest = tables[GROUPS].orderBy(F.desc_nulls_last("lag"), "group").limit(NAMED).collect()
    slowest = now.where("lag > 0").orderBy(F.desc("lag"), *PARTITION).limit(NAMED)
    shown = ("member_id", "committed_offset", "log_end_offset", "lag", "lag_per_second", "seconds_to_catch_up")
    return {
        "groups": tables[GROUPS].count(),
        "partitions": {name: int(value or 0) for name, value in total.asDict().items()},
        "largest_lags": [row.asDict() for row in largest],
        "slowest_partitions": [row.asDict() for row in slowest.select(*PARTITION, *shown).collect()],
        "group_assignments": questions_of(tables[REQUESTS], [row["group"] for row in largest]),
    }


def _only(group: str, summary: dict[str, Any]) -> dict[str, Any]:
    """The group's request to ``/v1/group-assignments``."""
    if summary["group_assignments"]:
        request: dict[str, Any] = summary["group_assignments"][0]
        return request
    if summary["groups"]:
        raise WrongSource(f"The group {group!r} has no members to assign partitions to as of {summary['as_of']}.")
    raise WrongSource(f"Unknown group {group!r} as of {summary['as_of']}.")
