"""``offsets``: raw records of ``__consumer_offsets`` → what groups have committed, their lag, and whether they catch up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click
from pyspark.sql import Observation, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.core.wire.schemas import GROUP_RECORDS
from service.spark import group_questions, group_states, offset_records, offsets_report, sources
from service.spark.errors import WrongSource
from service.spark.jobs.model import Job, Outcome
from service.spark.jobs.parameters import READ_OPTIONS, SOURCE
from service.spark.quarantine import TABLE as QUARANTINE
from service.spark.report import number

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from service.spark.jobs.model import Pipeline
    from service.spark.sources import Source

OFFSETS, GROUPS, MEMBERS = "offsets.parquet", "groups.parquet", "members.parquet"
HISTORY, QUESTIONS = "history.parquet", "group_assignments.parquet"
RETENTION_MINUTES: Final = 7 * 24 * 60
"""offsets.retention.minutes."""

NAMED: Final = 20
"""Groups and partitions that the summary names."""

MOST_SNAPSHOTS: Final = 1000

KEY: Final = ("at", "type", "group", "member", "topic", "partition")
PARTITION: Final = ("group", "topic", "partition")


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
    **_: Any,
) -> Outcome:
    """Read every record once; the latest of each key is all that is kept."""
    raw = _records(pipeline, records)
    ends = None if log_end is None else _log_ends(pipeline, log_end, as_of)
    times = [as_of]
    if ends is not None and "at" in ends.columns:
        times = _snapshots(ends, log_end)
    seen = Observation("records")
    state = _latest(raw, times, seen).persist()
    try:
        with pipeline.progress("reading records"):
            unreadable = state.where("reason is not null").count()
        counts = dict(seen.get)
        last = times[-1] if times[-1] is not None else counts.pop("newest")
        counts.pop("newest", None)
        state = state.withColumn("at", F.coalesce("at", F.lit(last).cast("long")))
        groups = _groups(state).persist()
        lags = _lags(state, groups, ends, retention_minutes * 60_000).persist()
        with pipeline.progress("joining groups, offsets and log ends"):
            return _outcome(pipeline, records, state, groups, lags, counts, last, unreadable, weight, several=len(times) > 1)
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


# ---- what it says ------------------------------------------------------------------------------------------------------


def _latest(raw: DataFrame, times: list[int | None], seen: Observation) -> DataFrame:
    """The last record of each key at each time, and every record that could not be read. Tombstones have done their work.

    Of one key the later offset in the log wins; a key is always in one partition of ``__consumer_offsets``.
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


def _groups(state: DataFrame) -> DataFrame:
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


def _lags(state: DataFrame, groups: DataFrame, ends: DataFrame | None, retention_ms: int) -> DataFrame:
    """A row for each time, group, topic and partition that is committed or assigned."""
    heads = groups.where("member_id is null")
    standing = heads.select("at", "group", "protocol", "protocol_type", "empty", "state_timestamp", "subscribed")
    commits = (
        state.where(F.col("type") == offset_records.COMMIT_TYPE)
        .select(
            "at", *PARTITION, "committed_offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp",
            "log_partition", "log_offset",
        )
        .join(standing, ["at", "group"], "left")
        .withColumn("expired", _expired(retention_ms))
        .drop("protocol", "protocol_type", "empty", "state_timestamp", "subscribed")
    )  # fmt: skip
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


def _expired(retention_ms: int) -> Column:
    """Would the broker have removed this offset, had its cleaner just run (KIP-211)?

    Source: ClassicGroup and ConsumerGroup.offsetExpirationCondition and isSubscribedToTopic,
    OffsetMetadataManager.cleanupExpiredOffsets (Apache Kafka 4.3.1).
    """
    since_commit, since_state = F.col("commit_timestamp"), F.col("state_timestamp")
    classic = F.col("protocol") == "classic"
    base = (
        F.when(F.col("protocol").isNull() | (classic & (F.col("protocol_type") == "")), since_commit)  # nobody's group
        .when(classic & F.col("empty"), F.when(since_state >= 0, since_state).otherwise(since_commit))
        .when(classic & F.col("subscribed").isNull(), None)
        .when(F.col("protocol") == "share", None)
        .otherwise(since_commit)
    )
    read = F.coalesce(F.array_contains("subscribed", F.col("topic")), F.lit(False))
    explicit = F.col("expire_timestamp")
    due = F.when(explicit >= 0, explicit <= F.col("at")).otherwise(F.col("at") - base >= retention_ms)
    return F.coalesce(base.isNotNull() & ~read & due, F.lit(False))


def _trends(lags: DataFrame) -> DataFrame:
    """For each partition how fast lag, commits and log grow, a second: the slopes of straight lines through all snapshots."""
    seconds = F.col("at") / 1000
    slopes = {"lag_per_second": "lag", "consumed_per_second": "committed_offset", "produced_per_second": "log_end_offset"}
    return lags.groupBy(*PARTITION).agg(*(F.regr_slope(column, seconds).alias(name) for name, column in slopes.items()))


def _catch_up(lag: Column, slope: Column) -> Column:
    """Seconds until the lag is gone at this pace; null if never, or if nobody knows."""
    return F.when(lag == 0, F.lit(0.0)).when(slope < 0, -lag / slope)


# ---- what is told ------------------------------------------------------------------------------------------------------


def _outcome(
    pipeline: Pipeline,
    source: Source,
    state: DataFrame,
    groups: DataFrame,
    lags: DataFrame,
    counts: dict[str, int],
    last: int | None,
    unreadable: int,
    weight: str,
    *,
    several: bool,
) -> Outcome:
    now = lags.where(F.col("at").eqNullSafe(F.lit(last))).join(_trends(lags), list(PARTITION), "left")
    now = now.withColumn("seconds_to_catch_up", _catch_up(F.col("lag"), F.col("lag_per_second"))).drop("at")
    # What follows is told from what was written: Spark plans it in a fraction of the time.
    place = pipeline.sink.frame(OFFSETS, now.orderBy(*PARTITION))
    now = pipeline.spark.read.parquet(place)
    by_group, by_member = _summed(now, "group"), _summed(now.where("member_id is not null"), "group", "member_id", "client_id")
    heads = groups.where(F.col("member_id").isNull() & F.col("at").eqNullSafe(F.lit(last)))
    by_group = by_group.join(heads.select("group", "protocol", "assignor", "empty"), "group", "full")
    tables: dict[str, Any] = {
        OFFSETS: place,
        GROUPS: by_group.orderBy("group"),
        MEMBERS: by_member.orderBy("group", "member_id"),
        QUESTIONS: _questions(now, groups.where(F.col("at").eqNullSafe(F.lit(last))), weight),
    }
    history = lags.groupBy("group", "at").agg(F.sum("lag").alias("lag")).orderBy("group", "at")
    if several:
        tables[HISTORY] = history
    if unreadable:
        tables[QUARANTINE] = state.where("reason is not null").select("reason", "record", "log_partition", "log_offset")
    else:
        pipeline.sink.remove(QUARANTINE)
    total = now.agg(
        F.count_if(F.expr("committed_offset is not null and not expired")).alias("committed"),
        F.count_if("expired").alias("expired"),
        F.count("lag").alias("with_lag"),
        F.sum("lag").alias("lag"),
        F.count_if(F.expr("lag > 0 and lag_per_second >= 0")).alias("falling_behind"),
    ).first()
    largest = by_group.orderBy(F.desc_nulls_last("lag"), "group").limit(NAMED).collect()
    names = [row["group"] for row in largest]
    questions = tables[QUESTIONS].where(F.col("group").isin(names)).collect()
    at = None if last is None else datetime.fromtimestamp(last / 1000, UTC).isoformat()
    summary: dict[str, Any] = {
        "job": "offsets",
        "as_of": at,
        "records": {name: value for name, value in counts.items() if value},
        "groups": by_group.count(),
        "partitions": {name: int(value or 0) for name, value in (total.asDict() if total else {}).items()},
        "largest_lags": [row.asDict() for row in largest],
        "slowest_partitions": [
            row.asDict()
            for row in now.where("lag > 0").orderBy(F.desc("lag"), *PARTITION).limit(NAMED).select(
                *PARTITION, "member_id", "committed_offset", "log_end_offset", "lag", "lag_per_second", "seconds_to_catch_up"
            ).collect()
        ],
        "group_assignments": [json.loads(row["question"]) for row in questions],
    }  # fmt: skip
    shown = history.where(F.col("group").isin(names[: offsets_report.DRAWN])).collect() if HISTORY in tables else []
    headline = {
        "records": f"{number(counts['records'])}, of which {number(unreadable)} could not be read",
        "groups": number(summary["groups"]),
        "committed partitions": number(summary["partitions"]["committed"]),
        "expired": number(summary["partitions"]["expired"]),
        "lag": number(summary["partitions"]["lag"]),
    }
    report = offsets_report.report(str(source), summary, [(row["group"], row["at"], row["lag"]) for row in shown])
    return Outcome(summary, tables, report, headline)


def _summed(now: DataFrame, *names: str) -> DataFrame:
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


def _questions(now: DataFrame, groups: DataFrame, weight: str) -> DataFrame:
    """A request to ``/v1/group-assignments`` for each group that has members, its partitions weighing what they lag."""
    column = "lag" if weight == "lag" else "produced_per_second"
    lags = now.select("group", "topic", "partition", "partitions_count", F.col(column).cast("double").alias("weight"))
    return (
        lags.groupBy("group")
        .cogroup(groups.groupBy("group"))
        .applyInArrow(group_questions.ask_for_load, from_arrow_schema(group_questions.SCHEMA))
    )


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
    ),
    run=run,
)  # fmt: skip
