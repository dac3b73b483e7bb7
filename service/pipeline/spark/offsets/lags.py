"""From raw records of ``__consumer_offsets`` to committed offsets and lag, with Spark's functions and those of ``tasks``.

``at`` is the time that a row describes, in ms since 1970: a single one, or one for each snapshot of the log ends.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.pipeline.spark.offsets.tasks import group_states
from service.pipeline.spark.tasks import coordinator_records as records
from service.pipeline.spark.tasks import group_requests
from service.wire.schemas import GROUP_RECORDS

KEY: Final = ("at", "type", "group", "member", "topic", "partition")
PARTITION: Final = ("group", "topic", "partition")

STANDING: Final = ("keeps_offsets", "empty_since", "subscribed")
"""The columns of a group that decide whether its offsets expire."""


def latest_records(raw: DataFrame, times: list[int | None], observation: Observation) -> DataFrame:
    """The last record of each key at each time, tombstones removed, and every unreadable record.

    The record with the largest offset wins; all records of a key are in one partition of ``__consumer_offsets``.

    raw : the input of ``records.read_records``
    times : [None] is the time of the last record
    observation : counts the records of each kind
    """
    read = raw.mapInArrow(records.read_records, from_arrow_schema(records.SCHEMA))
    read = read.observe(
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
    needed = F.col("type").isin(records.COMMIT_TYPE, *group_states.TYPES)
    rest = [name for name in records.SCHEMA.names if name not in KEY]
    return (
        read.where(needed | F.col("reason").isNotNull())
        .withColumn("at", F.explode(at))
        # Every unreadable record is a key of its own.
        .withColumn("alone", F.when(F.col("reason").isNotNull(), F.monotonically_increasing_id()))
        .groupBy(*KEY, "alone")
        .agg(F.max_by(F.struct(*rest), F.coalesce("log_offset", F.lit(-1))).alias("last"))
        .select(*KEY, "last.*")
        .where("not tombstone")
    )


def groups_of(state: DataFrame) -> DataFrame:
    """``group_states`` rows; a topic that only has an id gets its name from a commit, if there is one."""
    group_records = state.where(F.col("type").isin(*group_states.TYPES)).select("at", "group", "type", "member", "value")
    states = group_records.groupBy("at", "group").applyInArrow(group_states.read_group, from_arrow_schema(group_states.SCHEMA))
    names = (
        state.where("topic_id is not null")
        .groupBy("topic_id")
        .agg(F.max_by("topic", "commit_timestamp").alias("name"))
    )  # fmt: skip
    named = states.join(names, "topic_id", "left")
    return named.withColumn("topic", F.coalesce("topic", "name")).select(*group_states.SCHEMA.names)


def lags_of(state: DataFrame, groups: DataFrame, ends: DataFrame | None, retention_ms: int) -> DataFrame:
    """A row for each time, group, topic and partition that is committed or assigned.

    ends : topic, partition and log_end_offset, and ``at`` if there are several snapshots; None if unknown
    """
    commits = _commits(state, groups.where("member_id is null"), retention_ms)
    owners = (
        groups.where("partition is not null and topic is not null")
        .groupBy("at", *PARTITION)
        .agg(*(F.min(name).alias(name) for name in ("member_id", "client_id", "client_host")))
    )
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


def _commits(state: DataFrame, heads: DataFrame, retention_ms: int) -> DataFrame:
    """The committed offsets, and whether each has expired."""
    commits = state.where(F.col("type") == records.COMMIT_TYPE).select(
        "at", *PARTITION, "committed_offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp",
        "log_partition", "log_offset",
    )  # fmt: skip
    standing = commits.join(heads.select("at", "group", *STANDING), ["at", "group"], "left")
    return standing.withColumn("expired", _expired(retention_ms)).drop(*STANDING)


def _expired(retention_ms: int) -> Column:
    """Whether the broker would remove this offset if its cleaner ran now (KIP-211). See ``group_states.SCHEMA``.

    Source: OffsetMetadataManager.cleanupExpiredOffsets, OffsetExpirationConditionImpl.
    """
    kept = F.coalesce("keeps_offsets", F.lit(False)) | F.coalesce(F.array_contains("subscribed", F.col("topic")), F.lit(False))
    explicit, since = F.col("expire_timestamp"), F.coalesce("empty_since", "commit_timestamp")
    due = F.when(explicit != -1, explicit <= F.col("at")).otherwise(F.col("at") - since >= retention_ms)
    return ~kept & due


STEADY: Final = 0.01
"""A lag that changes by less than this share of the produced records, or of itself over all snapshots, is steady: offsets are
committed at intervals, so a lag always wavers."""


def with_trends(lags: DataFrame, last: int | None) -> DataFrame:
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
    produced = F.coalesce("produced_per_second", F.lit(0.0))
    wavers = (F.abs(slope) < STEADY * produced) | (
        F.abs(slope) * F.col("span") < F.greatest(F.lit(1.0), STEADY * F.col("mean_lag"))
    )
    trend = F.when(slope.isNull(), None).when(wavers, "steady").when(slope > 0, "growing").otherwise("shrinking")
    catch_up = F.when(lag == 0, F.lit(0.0)).when(slope < 0, -lag / slope)
    return now.withColumn("seconds_to_catch_up", catch_up).withColumn("trend", trend).drop("at", "mean_lag", "span")


def summed(now: DataFrame, *names: str) -> DataFrame:
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


def requests(now: DataFrame, groups: DataFrame, weight: str) -> DataFrame:
    """``group_requests`` rows of every group with members, its partitions weighted by ``weight``: "lag" or "produced"."""
    column = "lag" if weight == "lag" else "produced_per_second"
    lags = now.select("group", "topic", "partition", "partitions_count", F.col(column).cast("double").alias("weight"))
    return (
        lags.groupBy("group")
        .cogroup(groups.groupBy("group"))
        .applyInArrow(group_requests.weighted_by_lag, from_arrow_schema(group_requests.SCHEMA))
    )
