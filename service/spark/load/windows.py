"""From records to the load of partitions, consumers and brokers, window by window: Spark's own functions throughout.

A *window* is a stretch of ``seconds``, known by its first second since 1970; a window without records is no row, and counts as 0.
What is shuffled depends on partitions and windows, not on records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.spark import group_requests
from service.spark.fleet.assignments import COLUMNS as GROUP_COLUMNS
from service.spark.fleet.assignments import RESULT, Choice, assign_groups
from service.spark.io.sources import CORRUPT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

PARTITION, CONSUMER, BROKER = "partition", "consumer", "broker"
KINDS: Final = (PARTITION, CONSUMER, BROKER)

MEASURES: Final = ("records", "bytes", "bytes_out")
"""Of a broker ``records`` are those of the partitions that it leads, ``bytes`` what it receives, as leader and as follower, and
``bytes_out`` what it sends, to followers and to each group that reads."""

SUBJECT: Final = ("kind", "group_id", "subject")


@dataclass(frozen=True)
class Columns:
    """Where a record's topic, partition, time and size are.

    topic : of all records, where no column says it
    """

    topic_column: str | None
    topic: str | None
    partition: str
    time: str
    sizes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Every column that is needed."""
        return [*([self.topic_column] if self.topic_column else []), self.partition, self.time, *self.sizes]


def events(frame: DataFrame, columns: Columns) -> DataFrame:
    """topic, partition, at (seconds), bytes, and ``reason``: why a row is no record; then ``record`` is the row as JSON."""
    corrupt = F.col(CORRUPT) if CORRUPT in frame.columns else F.lit(None).cast("string")
    topic = F.col(columns.topic_column).cast("string") if columns.topic_column else F.lit(columns.topic)
    number = F.col(columns.partition).try_cast("int")
    at = _seconds(frame, columns.time)
    total = F.lit(0).cast("long")
    for name in columns.sizes:
        total = total + F.coalesce(_size(frame, name), F.lit(0))
    reason = (
        F.when(corrupt.isNotNull(), "not readable as a record")
        .when(topic.isNull(), "no topic")
        .when(number.isNull() | (number < 0), "no partition")
        .when(at.isNull(), "no time")
    )
    record = F.coalesce(corrupt, F.to_json(F.struct(*(F.col(name) for name in frame.columns if name != CORRUPT))))
    return frame.select(
        topic.alias("topic"),
        number.alias("partition"),
        at.alias("at"),
        total.alias("bytes"),
        reason.alias("reason"),
        F.when(reason.isNotNull(), record).alias("record"),
    )


def _seconds(frame: DataFrame, name: str) -> Column:
    """A column of timestamps, of ms since 1970, or of text that is either, as seconds since 1970."""
    kind, column = frame.schema[name].dataType, F.col(name)
    if isinstance(kind, types.StringType):
        return F.coalesce(column.try_cast("long") / 1000, column.try_cast("timestamp").cast("double"))
    if isinstance(kind, types.TimestampNTZType):
        return column.cast("timestamp").cast("double")
    return column.cast("double") if isinstance(kind, types.TimestampType) else column.try_cast("long") / 1000


def _size(frame: DataFrame, name: str) -> Column:
    """The length of a text or of bytes; an integer as it is."""
    kind, column = frame.schema[name].dataType, F.col(name)
    if isinstance(kind, types.BinaryType):
        return F.octet_length(column)
    if isinstance(kind, types.StringType):
        return F.coalesce(column.try_cast("long"), F.octet_length(column))
    return column.cast("long")


def by_partition(records: DataFrame, seconds: int) -> DataFrame:
    """topic, partition, window, records and bytes, of what ``events`` gave."""
    window = (F.floor(F.col("at") / seconds) * seconds).cast("long").alias("window")
    return records.groupBy("topic", "partition", window).agg(F.count("*").alias("records"), F.sum("bytes").alias("bytes"))


def assignments(groups: DataFrame, choice: Choice | None) -> tuple[DataFrame, DataFrame]:
    """group_id, member_id, topic, partition of every group assigned (partition null for a member with none), and what failed.

    choice : the assignor; None: each group's own
    """
    known = [name for name in GROUP_COLUMNS if name in groups.columns]
    slots = groups.sparkSession.conf.get("spark.sql.shuffle.partitions") or "1"
    function = partial(assign_groups, choices=() if choice is None else (choice,))
    results = groups.select(known).repartition(int(slots)).mapInArrow(function, from_arrow_schema(RESULT))
    wanted = F.col("own")
    if choice is not None:
        wanted = (F.col("group_protocol") == choice.group_protocol) & (F.col("assignor") == choice.assignor)
    results = results.where(F.coalesce(wanted, F.lit(True))).persist()  # a row that is no group has no assignor
    member = results.where("error is null").select("group_id", F.explode("assignments").alias("of"))
    topic = member.select("group_id", "of.member_id", F.explode_outer("of.partitions").alias("each"))
    rows = topic.select("group_id", "member_id", F.col("each.topic_name").alias("topic"), F.explode_outer("each.partition_ids"))
    failed = results.where("error is not null").select("group_id", "assignor", "error", "detail", "record")
    return rows.withColumnRenamed("col", "partition"), failed


def questions(
    groups: DataFrame, assigned: DataFrame, partitions: DataFrame, choice: Choice | None, total_seconds: float
) -> DataFrame:
    """``group_questions`` rows of every group that was assigned and has an id, its partitions weighing their records a second."""
    known = [name for name in GROUP_COLUMNS if name in groups.columns and name != CORRUPT]
    able = groups.select(known).join(assigned.select("group_id").distinct(), "group_id", "left_semi")
    rate = (F.sum("records") / F.lit(float(total_seconds))).alias("weight")
    # Named anew, for Spark cannot tell the columns of two sides apart that come from one.
    wanted = able.select(F.col("group_id").alias("reader"), F.explode("topics.topic_name").alias("topic")).distinct()
    rates = wanted.join(partitions.groupBy("topic", "partition").agg(rate), "topic")
    return (
        able.groupBy("group_id")
        .cogroup(rates.groupBy("reader"))
        .applyInArrow(
            lambda group, measured: group_requests.ask_for_load(group, measured, choice),
            from_arrow_schema(group_requests.SCHEMA),
        )
    )


def placements(topics: DataFrame) -> DataFrame:
    """topic, partition, broker_id, leads and followers: a row for each replica."""
    rows = topics.select(F.col("topic_name").alias("topic"), F.explode("placements").alias("of"))
    replicas = rows.select("topic", "of.partition_id", "of.replicas", F.posexplode("of.replicas").alias("at", "broker_id"))
    return replicas.select(
        "topic",
        F.col("partition_id").cast("int").alias("partition"),
        F.col("broker_id").cast("int"),
        (F.col("at") == 0).alias("leads"),
        (F.size("replicas") - 1).alias("followers"),
    )


def loads(partitions: DataFrame, assigned: DataFrame | None, placed: DataFrame | None) -> DataFrame:
    """kind, group_id, subject, window, records, bytes and bytes_out: what partitions, consumers and brokers had in each window.

    partitions, assigned, placed : as the functions above give them
    """
    nothing = F.lit(None).cast("string")
    at = ("topic", "partition")
    found = partitions.select(
        F.lit(PARTITION).alias("kind"), nothing.alias("group_id"), F.concat_ws("-", *at).alias("subject"),
        "window", "records", "bytes", F.lit(None).cast("long").alias("bytes_out"),
    )  # fmt: skip
    if assigned is not None:
        read = assigned.join(partitions, list(at)).groupBy("group_id", "member_id", "window")
        sums = read.agg(F.sum("records").alias("records"), F.sum("bytes").alias("bytes"))
        found = found.unionByName(
            sums.select(
                F.lit(CONSUMER).alias("kind"), "group_id", F.col("member_id").alias("subject"), "window", "records", "bytes",
                F.lit(None).cast("long").alias("bytes_out"),
            )
        )  # fmt: skip
    if placed is not None:
        held = placed.join(partitions, list(at))
        readers = F.lit(0)
        if assigned is not None:
            counted = assigned.where("partition is not null").groupBy(*at).agg(F.countDistinct("group_id").alias("readers"))
            held = held.join(counted, list(at), "left")
            readers = F.coalesce(F.col("readers"), F.lit(0))
        leads = F.col("leads").cast("long")
        sums = held.groupBy("broker_id", "window").agg(
            F.sum(leads * F.col("records")).alias("records"),
            F.sum("bytes").alias("bytes"),
            F.sum(leads * F.col("bytes") * (F.col("followers") + readers)).alias("bytes_out"),
        )
        found = found.unionByName(
            sums.select(
                F.lit(BROKER).alias("kind"), nothing.alias("group_id"), F.col("broker_id").cast("string").alias("subject"),
                "window", "records", "bytes", "bytes_out",
            )
        )  # fmt: skip
    return found


def rates(windows: DataFrame, count: int, seconds: float) -> DataFrame:
    """For each subject its mean over ``count`` windows and its peak, per second, of each measure, and when the peak was."""
    return windows.groupBy(*SUBJECT).agg(*_means_and_peaks(F.lit(count), seconds))


def hourly(windows: DataFrame, hours: DataFrame, seconds: float, time_zone: str) -> DataFrame:
    """The same for each hour of the day. hours : hour and how many ``windows`` of all time are in it"""
    hour = hour_of(F.col("window"), time_zone).alias("hour")
    there = windows.select("*", hour).join(F.broadcast(hours), "hour")
    return there.groupBy(*SUBJECT, "hour").agg(*_means_and_peaks(F.first("windows"), seconds))


def hour_of(window: Column, time_zone: str) -> Column:
    """The hour of the day in which a window begins."""
    # Spark has the session's time zone for hour(); the difference to UTC is ours to add.
    local = F.unix_timestamp(F.from_utc_timestamp(F.timestamp_seconds(window), time_zone)) - F.unix_timestamp(
        F.from_utc_timestamp(F.timestamp_seconds(window), "UTC")
    )
    return F.floor(F.pmod(window + local, F.lit(86400)) / 3600).cast("int")


def _means_and_peaks(count: Column, seconds: float) -> list[Column]:
    found = []
    for measure in MEASURES:
        found.append((F.sum(measure) / (count * seconds)).alias(f"{measure}_per_second"))
        found.append((F.max(measure) / seconds).alias(f"peak_{measure}_per_second"))
        found.append(F.max_by("window", measure).alias(f"peak_{measure}_window"))
    return found


def breaches(windows: DataFrame, limits: Mapping[tuple[str, str], float], seconds: float) -> DataFrame:
    """For each subject, measure and run of windows above its limit: from, until (seconds), windows, peak and peak_window.

    limits : by kind and measure, per second
    """
    exceeded: Sequence[Column] = [
        F.when(
            (F.col("kind") == kind) & (F.col(measure) / seconds > limit),
            F.struct(
                F.lit(measure).alias("measure"), (F.col(measure) / seconds).alias("value"), F.lit(float(limit)).alias("limit")
            ),
        )
        for (kind, measure), limit in limits.items()
    ]  # fmt: skip
    each = windows.select(*SUBJECT, "window", F.explode(F.array_compact(F.array(*exceeded))).alias("of")).select(
        *SUBJECT, "window", "of.*"
    )
    order = Window.partitionBy(*SUBJECT, "measure").orderBy("window")
    # Windows in a row have the same difference to their number.
    runs = each.withColumn("run", F.col("window") / seconds - F.row_number().over(order))
    return (
        runs.groupBy(*SUBJECT, "measure", "limit", "run")
        .agg(
            F.min("window").alias("from"),
            (F.max("window") + seconds).cast("long").alias("until"),
            F.count("*").alias("windows"),
            F.max("value").alias("peak"),
            F.max_by("window", "value").alias("peak_window"),
        )
        .drop("run")
    )
