"""From records to the load of partitions, consumers and brokers in each window, with Spark's own functions.

A *window* is a time span of ``seconds``, named by its first second since 1970. A window without records has no row, and counts as
0. The shuffled data grows with partitions and windows, not with records.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.decisions.rows import MOST
from service.pipeline.analyses.fleet.assignments import COLUMNS as GROUP_COLUMNS
from service.pipeline.analyses.fleet.assignments import RESULT, Choice, assign_groups
from service.pipeline.files.rejected import no_number, no_value
from service.pipeline.spark.io.columns import column, integer, line, milliseconds, reason_to_reject
from service.pipeline.spark.io.sources import CORRUPT
from service.pipeline.spark.jobs import BROKER, CONSUMER, PARTITION
from service.pipeline.spark.tasks import group_requests

KINDS: Final = (PARTITION, CONSUMER, BROKER)

MEASURES: Final = ("records", "bytes", "bytes_out")
"""Of a broker ``records`` are those of the partitions that it leads, ``bytes`` what it receives as leader and as follower, and
``bytes_out`` what it sends to followers and to each subscribed group."""

SUBJECT: Final = ("kind", "group_id", "topic", "subject")
"""What has a load. Only a partition has a topic here, and only a consumer a group."""


def events(
    frame: DataFrame, sizes: Sequence[str], *, untyped: bool,
    topic: str | None, topic_column: str, partition_column: str, time_column: str, **_: Any,
) -> DataFrame:  # fmt: skip
    """topic, partition, at (seconds), bytes, and for a rejected row ``reason``, and the row as JSON as ``record``.

    sizes : the columns of a record's size
    untyped : whether the columns are of CSV, where a text of digits is an integer
    topic : of all records; None: they have a column of it
    """
    of = column(topic_column).cast("string") if topic is None else F.lit(topic)
    number = integer(frame, partition_column).try_cast("int")
    at = milliseconds(time_column, frame.schema[time_column].dataType) / 1000
    total = F.lit(0).cast("long")
    reason = reason_to_reject(frame, of, number).when(at.isNull(), "no time")
    for name in sizes:
        size, kind = integer(frame, name), frame.schema[name].dataType
        if isinstance(kind, types.StringType | types.BinaryType):
            length = F.octet_length(column(name)).cast("long")
            size = F.coalesce(size, length) if untyped and isinstance(kind, types.StringType) else length
        else:
            reason = reason.when(column(name).isNull(), no_value(name))
            reason = reason.when(size.isNull() | ~size.between(0, MOST), no_number(name))
        total = total + F.greatest(size, F.lit(0))
    return frame.select(
        of.alias("topic"),
        number.alias("partition"),
        at.alias("at"),
        total.alias("bytes"),
        reason.alias("reason"),
        F.when(reason.isNotNull(), line(frame)).alias("record"),
    )


def by_partition(records: DataFrame, seconds: int) -> DataFrame:
    """topic, partition, window, records and bytes, of the rows of ``events``."""
    window = (F.floor(F.col("at") / seconds) * seconds).cast("long").alias("window")
    return records.groupBy("topic", "partition", window).agg(F.count("*").alias("records"), F.sum("bytes").alias("bytes"))


def assignments(groups: DataFrame, choice: Choice | None) -> DataFrame:
    """The rows of ``assign_groups``. choice : the assignor; None: each group's own"""
    columns = [name for name in GROUP_COLUMNS if name in groups.columns]
    slots = groups.sparkSession.conf.get("spark.sql.shuffle.partitions") or "1"
    function = partial(assign_groups, choices=() if choice is None else (choice,))
    results = groups.select(columns).repartition(int(slots)).mapInArrow(function, from_arrow_schema(RESULT))
    chosen = F.col("own")
    if choice is not None:
        chosen = (F.col("group_protocol") == choice.group_protocol) & (F.col("assignor") == choice.assignor)
    return results.where(F.coalesce(chosen, F.lit(True)))  # a rejected row has no assignor


def assigned(results: DataFrame) -> DataFrame:
    """group_id, member_id, topic, partition of every assigned group.

    A member without any partition has a row where topic and partition are null.
    """
    member = results.where("error is null").select("group_id", F.explode("assignments").alias("of"))
    topic = member.select("group_id", "of.member_id", F.explode_outer("of.partitions").alias("each"))
    rows = topic.select("group_id", "member_id", F.col("each.topic_name").alias("topic"), F.explode_outer("each.partition_ids"))
    return rows.withColumnRenamed("col", "partition")


def requests(
    groups: DataFrame, assigned: DataFrame, partitions: DataFrame, choice: Choice | None, total_seconds: float
) -> DataFrame:
    """``group_requests`` rows of every assigned group with an id; the weight of a partition is its records per second."""
    columns = [name for name in GROUP_COLUMNS if name in groups.columns and name != CORRUPT]
    able = groups.select(columns).join(assigned.select("group_id").distinct(), "group_id", "left_semi")
    rate = (F.sum("records") / F.lit(float(total_seconds))).alias("weight")
    # Renamed, as Spark cannot tell apart columns of both sides that come from one frame.
    subscriptions = able.select(F.col("group_id").alias("subscriber"), F.explode("topics.topic_name").alias("topic")).distinct()
    rates = subscriptions.join(partitions.groupBy("topic", "partition").agg(rate), "topic")
    return (
        able.groupBy("group_id")
        .cogroup(rates.groupBy("subscriber"))
        .applyInArrow(
            lambda group, rates: group_requests.weighted_by_load(group, rates, choice), from_arrow_schema(group_requests.SCHEMA)
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
    """SUBJECT, window, records, bytes and bytes_out: the load of partitions, consumers and brokers.

    partitions, assigned, placed : rows of ``by_partition``, ``assigned`` and ``placements``
    """
    nothing, no_bytes, at = F.lit(None).cast("string"), F.lit(None).cast("long"), ["topic", "partition"]

    def rows(
        sums: DataFrame, kind: str, subject: Column, *, group: Column = nothing, topic: Column = nothing, out: Column = no_bytes
    ) -> DataFrame:
        named = (F.lit(kind).alias("kind"), group.alias("group_id"), topic.alias("topic"), subject.alias("subject"))
        return sums.select(*named, "window", "records", "bytes", out.alias("bytes_out"))

    loads = rows(partitions, PARTITION, F.concat_ws("-", *at), topic=F.col("topic"))
    if assigned is not None:
        read = assigned.join(partitions, at).groupBy("group_id", "member_id", "window")
        sums = read.agg(F.sum("records").alias("records"), F.sum("bytes").alias("bytes"))
        loads = loads.unionByName(rows(sums, CONSUMER, F.col("member_id"), group=F.col("group_id")))
    if placed is not None:
        replicas = placed.join(partitions, at)
        subscribers = F.lit(0)
        if assigned is not None:
            counted = assigned.where("partition is not null").groupBy(*at).agg(F.countDistinct("group_id").alias("subscribers"))
            replicas = replicas.join(counted, at, "left")
            subscribers = F.coalesce(F.col("subscribers"), F.lit(0))
        leads = F.col("leads").cast("long")
        sums = replicas.groupBy("broker_id", "window").agg(
            F.sum(leads * F.col("records")).alias("records"),
            F.sum("bytes").alias("bytes"),
            F.sum(leads * F.col("bytes") * (F.col("followers") + subscribers)).alias("bytes_out"),
        )
        loads = loads.unionByName(rows(sums, BROKER, F.col("broker_id").cast("string"), out=F.col("bytes_out")))
    return loads


def by_hour(windows: DataFrame, time_zone: str) -> DataFrame:
    """SUBJECT, hour of the day, and of each measure the sum, the largest and its window: from the rows of ``loads``."""
    hour = hour_of(F.col("window"), time_zone).alias("hour")
    return windows.groupBy(*SUBJECT, hour).agg(
        *(F.sum(measure).alias(measure) for measure in MEASURES),
        *(F.max(measure).alias(f"peak_{measure}") for measure in MEASURES),
        *(F.max_by("window", measure).alias(f"peak_{measure}_window") for measure in MEASURES),
    )


def rates(hours: DataFrame, count: int, seconds: float) -> DataFrame:
    """For each subject mean and peak per second of each measure, and the window of the peak, from the rows of ``by_hour``.

    count : of all windows
    """
    columns = []
    for measure in MEASURES:
        columns.append((F.sum(measure) / F.lit(count * seconds)).alias(f"{measure}_per_second"))
        columns.append((F.max(f"peak_{measure}") / seconds).alias(f"peak_{measure}_per_second"))
        columns.append(F.max_by(f"peak_{measure}_window", f"peak_{measure}").alias(f"peak_{measure}_window"))
    return hours.groupBy(*SUBJECT).agg(*columns)


def with_idle(subjects: DataFrame, assigned: DataFrame) -> DataFrame:
    """The rows of ``rates``, and members without any load, with zeros."""
    nothing, member = F.lit(None).cast("string").alias("topic"), F.col("member_id").alias("subject")
    members = assigned.select(F.lit(CONSUMER).alias("kind"), "group_id", nothing, member).distinct()
    idle = members.join(subjects, [members[name].eqNullSafe(subjects[name]) for name in SUBJECT], "left_anti")
    zeros = [F.lit(0.0).alias(f"{peak}{measure}_per_second") for measure in MEASURES[:2] for peak in ("", "peak_")]
    return subjects.unionByName(idle.select("*", *zeros), allowMissingColumns=True)


def hourly(hours: DataFrame, *, start: int, windows: int, window_seconds: float, time_zone: str) -> DataFrame:
    """Rates as of ``rates`` for each hour of the day, of the windows that begin in it, with or without records."""
    step = int(window_seconds)
    every = hours.sparkSession.range(start, start + windows * step, step).withColumnRenamed("id", "window")
    counts = every.groupBy(hour_of(F.col("window"), time_zone).alias("hour")).agg(F.count("*").alias("windows"))
    columns = []
    for measure in MEASURES:
        columns.append((F.col(measure) / (F.col("windows") * window_seconds)).alias(f"{measure}_per_second"))
        columns.append((F.col(f"peak_{measure}") / window_seconds).alias(f"peak_{measure}_per_second"))
        columns.append(F.col(f"peak_{measure}_window"))
    return hours.join(F.broadcast(counts), "hour").select(*SUBJECT, "hour", *columns)


def hour_of(window: Column, time_zone: str) -> Column:
    """The hour of the day in which a window begins."""
    # hour() is in the session's time zone, so the difference to UTC is added here.
    local = F.unix_timestamp(F.from_utc_timestamp(F.timestamp_seconds(window), time_zone)) - F.unix_timestamp(
        F.from_utc_timestamp(F.timestamp_seconds(window), "UTC")
    )
    return F.floor(F.pmod(window + local, F.lit(86400)) / 3600).cast("int")


def breaches(windows: DataFrame, limits: Mapping[tuple[str, str], float], seconds: float) -> DataFrame:
    """For each subject, measure and run of windows above its limit: from, until (seconds), windows, peak and peak_window.

    limits : by kind and measure, per second
    """
    exceeded = []
    for (kind, measure), limit in limits.items():
        value = F.col(measure) / seconds
        of = F.struct(F.lit(measure).alias("measure"), value.alias("value"), F.lit(float(limit)).alias("limit"))
        exceeded.append(F.when((F.col("kind") == kind) & (value > limit), of))
    each = windows.select(*SUBJECT, "window", F.explode(F.array_compact(F.array(*exceeded))).alias("of"))
    order = Window.partitionBy(*SUBJECT, "measure").orderBy("window")
    # Consecutive windows have the same difference to their row number.
    runs = each.select(*SUBJECT, "window", "of.*").withColumn("run", F.col("window") / seconds - F.row_number().over(order))
    stretches = runs.groupBy(*SUBJECT, "measure", "limit", "run").agg(
        F.min("window").alias("from"),
        (F.max("window") + seconds).cast("long").alias("until"),
        F.count("*").alias("windows"),
        F.max("value").alias("peak"),
        F.max_by("window", "value").alias("peak_window"),
    )
    return stretches.drop("run")
