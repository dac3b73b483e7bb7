"""From raw records of ``__consumer_offsets`` to committed offsets and lag: Spark's own functions, and those of the neighbours.

``at`` is the time that a row tells of, in ms since 1970: one, or one for each snapshot of the logs' ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.core.wire.schemas import GROUP_RECORDS
from service.spark import group_requests
from service.spark.offsets import group_states
from service.spark.offsets import records as offset_records

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation

KEY: Final = ("at", "type", "group", "member", "topic", "partition")
PARTITION: Final = ("group", "topic", "partition")

STANDING: Final = ("keeps_offsets", "empty_since", "subscribed")
"""What of a group decides whether its offsets expire."""


def latest_records(raw: DataFrame, times: list[int | None], seen: Observation) -> DataFrame:
    """The last record of each key at each time, and every record that could not be read. Tombstones have done their work.

    Of one key the later offset in the log wins; a key is always in one partition of ``__consumer_offsets``.

    raw : as ``offset_records`` takes it
    times : None, alone, is the time of the last record
    seen : observes how many records there were of each kind
    """
    read = raw.mapInArrow(offset_records.read_records, from_arrow_schema(offset_records.SCHEMA))
    read = read.observe(
        seen,
        F.count("*").alias("records"),
        F.count("reason").alias("unreadable"),
        F.count_if("tombstone").alias("tombstones"),
        F.max("timestamp").alias("newest"),
        *(F.count_if(F.col("type") == number).alias(kind.name) for number, kind in GROUP_RECORDS.items() if number),
    )
    at: Column = F.array(F.lit(times[-1]).cast("long"))
    if times[-1] is not None:
        known = F.array(*(F.lit(time).cast("long") for time in times))
        at = F.when(F.col("reason").isNotNull(), at).otherwise(F.filter(known, lambda time: time >= F.col("timestamp")))
    wanted = F.col("type").isin(offset_records.COMMIT_TYPE, *group_states.TYPES)
    rest = [name for name in offset_records.SCHEMA.names if name not in KEY]
    return (
        read.where(wanted | F.col("reason").isNotNull())
        .withColumn("at", F.explode(at))
        # What cannot be read is its own key.
        .withColumn("alone", F.when(F.col("reason").isNotNull(), F.monotonically_increasing_id()))
        .groupBy(*KEY, "alone")
        .agg(F.max_by(F.struct(*rest), F.coalesce("log_offset", F.lit(-1))).alias("last"))
        .select(*KEY, "last.*")
        .where("not tombstone")
    )


def groups_of(state: DataFrame) -> DataFrame:
    """``group_states`` rows, with the name of each topic that only has an id, if some commit tells it."""
    records = state.where(F.col("type").isin(*group_states.TYPES)).select("at", "group", "type", "member", "value")
    found = records.groupBy("at", "group").applyInArrow(group_states.read_group, from_arrow_schema(group_states.SCHEMA))
    names = (
        state.where("topic_id is not null")
        .groupBy("topic_id")
        .agg(F.max_by("topic", "commit_timestamp").alias("name"))
    )  # fmt: skip
    named = found.join(names, "topic_id", "left")
    return named.withColumn("topic", F.coalesce("topic", "name")).select(*group_states.SCHEMA.names)


def lags_of(state: DataFrame, groups: DataFrame, ends: DataFrame | None, retention_ms: int) -> DataFrame:
    """A row for each time, group, topic and partition that is committed or assigned.

    ends : topic, partition and log_end_offset, and ``at`` if there are several snapshots; None if nobody knows
    """
    commits = _commits(state, groups.where("member_id is null"), retention_ms)
    holders = (
        groups.where("partition is not null and topic is not null")
        .groupBy("at", *PARTITION)
        .agg(*(F.min(name).alias(name) for name in ("member_id", "client_id", "client_host")))
    )
    lags = commits.join(holders, ["at", *PARTITION], "full").withColumn("expired", F.coalesce("expired", F.lit(False)))
    if ends is None:
        lags = lags.withColumn("log_end_offset", F.lit(None).cast("long")).withColumn("partitions_count", F.lit(None).cast("int"))
    else:
        keys = ["at", "topic", "partition"] if "at" in ends.columns else ["topic", "partition"]
        ends = ends.dropDuplicates(keys)
        counts = ends.groupBy("topic").agg((F.max("partition") + 1).alias("partitions_count"))
        lags = lags.join(ends, keys, "left").join(counts, "topic", "left")
    behind = F.col("log_end_offset") - F.col("committed_offset")
    # A snapshot of the log's end that is older than the commit is no lag.
    lag = F.when(behind.isNotNull() & ~F.col("expired"), F.greatest(behind, F.lit(0).cast("long")))
    return lags.withColumn("lag", lag)


def _commits(state: DataFrame, heads: DataFrame, retention_ms: int) -> DataFrame:
    """What is committed, and whether it has expired."""
    commits = state.where(F.col("type") == offset_records.COMMIT_TYPE).select(
        "at", *PARTITION, "committed_offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp",
        "log_partition", "log_offset",
    )  # fmt: skip
    standing = commits.join(heads.select("at", "group", *STANDING), ["at", "group"], "left")
    return standing.withColumn("expired", _expired(retention_ms)).drop(*STANDING)


def _expired(retention_ms: int) -> Column:
    """Would the broker have removed this offset, had its cleaner just run (KIP-211)? See ``group_states.SCHEMA``.

    Source: OffsetMetadataManager.cleanupExpiredOffsets, OffsetExpirationConditionImpl (Apache Kafka 4.3.1).
    """
    kept = F.coalesce("keeps_offsets", F.lit(False)) | F.coalesce(F.array_contains("subscribed", F.col("topic")), F.lit(False))
    explicit, since = F.col("expire_timestamp"), F.coalesce("empty_since", "commit_timestamp")
    due = F.when(explicit != -1, explicit <= F.col("at")).otherwise(F.col("at") - since >= retention_ms)
    return ~kept & due


def with_trends(lags: DataFrame, last: int | None) -> DataFrame:
    """The rows of the last time, with how fast lag, commits and log grow, a second, and the seconds until the lag is gone.

    Slopes are those of straight lines through all snapshots. The lag is gone at this pace; null if never, or if nobody knows.
    """
    seconds = F.col("at") / 1000
    slopes = {"lag_per_second": "lag", "consumed_per_second": "committed_offset", "produced_per_second": "log_end_offset"}
    trends = lags.groupBy(*PARTITION).agg(*(F.regr_slope(column, seconds).alias(name) for name, column in slopes.items()))
    lag, slope = F.col("lag"), F.col("lag_per_second")
    now = lags.where(F.col("at").eqNullSafe(F.lit(last))).join(trends, list(PARTITION), "left")
    return now.withColumn("seconds_to_catch_up", F.when(lag == 0, F.lit(0.0)).when(slope < 0, -lag / slope)).drop("at")


def summed(now: DataFrame, *names: str) -> DataFrame:
    """Lag by group or by member. It is caught up when the slowest partition is: never, if one of them never is."""
    stuck = F.max(F.col("lag").isNotNull() & F.col("seconds_to_catch_up").isNull())
    return now.groupBy(*names).agg(
        F.count("*").alias("partitions"),
        F.count_if("expired").alias("expired"),
        F.sum("lag").alias("lag"),
        F.max("lag").alias("largest_lag"),
        F.sum("lag_per_second").alias("lag_per_second"),
        F.when(~stuck, F.max("seconds_to_catch_up")).alias("seconds_to_catch_up"),
    )


def questions(now: DataFrame, groups: DataFrame, weight: str) -> DataFrame:
    """A request to ``/v1/group-assignments`` for each group that has members, its partitions weighing what they lag."""
    column = "lag" if weight == "lag" else "produced_per_second"
    lags = now.select("group", "topic", "partition", "partitions_count", F.col(column).cast("double").alias("weight"))
    return (
        lags.groupBy("group")
        .cogroup(groups.groupBy("group"))
        .applyInArrow(group_requests.ask_for_lag, from_arrow_schema(group_requests.SCHEMA))
    )
