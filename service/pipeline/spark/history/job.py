"""``history``: from records of ``__consumer_offsets`` to every rebalance of every group, with its cause."""

from typing import Any, Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.pipeline.analyses.history import histories
from service.pipeline.analyses.history.report import conclusion, report
from service.pipeline.analyses.outcome import Outcome
from service.pipeline.spark.io import coordinator_records
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.job import Pipeline
from service.pipeline.spark.tasks import coordinator_records as records_of
from service.report.figures import number
from service.report.folders import REJECTED_ROWS

REBALANCES, GROUPS, MEMBERS, CAUSES = "rebalances.parquet", "groups.parquet", "members.parquet", "causes.parquet"
NAMED: Final = 20
"""Most groups and members that the summary names."""

STANDSTILL: Final = ("standstill_least_ms", "standstill_most_ms")


def run(pipeline: Pipeline, *, records: Source, **_: Any) -> Outcome:
    """Read every record once; a task has all those of a group."""
    observation = Observation("records")
    read = coordinator_records.read(pipeline.spark, records)
    raw = read.mapInArrow(records_of.read_records, from_arrow_schema(records_of.SCHEMA)).observe(
        observation, F.count("*").alias("records"), F.count("reason").alias("unreadable")
    )
    kept = pipeline.persist(raw.where((F.col("type") != records_of.COMMIT_TYPE) | F.col("reason").isNotNull()))
    of_groups = kept.where("reason is null").select("group", *histories.NEEDED)
    rows = of_groups.groupBy("group").applyInArrow(histories.history_of, from_arrow_schema(histories.SCHEMA))
    with pipeline.progress("reading records"):
        kept.count()
    with pipeline.progress("following groups"):
        return _outcome(pipeline, str(records), pipeline.persist(rows), kept, dict(observation.get))


def _outcome(pipeline: Pipeline, source: str, rows: DataFrame, kept: DataFrame, counts: dict[str, int]) -> Outcome:
    rebalances = rows.where("number is not null").drop("missing", "faults").orderBy("group", "life", "number")
    tables: dict[str, Any] = {}
    tables[REBALANCES], found = pipeline.written(REBALANCES, rebalances)
    heads = rows.where("number is null").select(
        "group", F.col("sentence").alias("conclusion"), "began_at", "ended_at", "missing", "faults"
    )
    groups = heads.join(_summed(found, "group"), "group", "left").fillna(0, ["rebalances", "standstill_unknown"])
    ranked = groups.orderBy(F.desc_nulls_last(STANDSTILL[0]), F.desc_nulls_last(STANDSTILL[1]), F.desc("rebalances"), "group")
    by_member = _summed(found.withColumn("member", F.explode("members")), "group", "member", "cause")
    for name, frame in ((GROUPS, ranked), (MEMBERS, by_member), (CAUSES, _summed(found, "group", "cause"))):
        tables[name], _ = pipeline.written(name, frame)
    if counts["unreadable"]:
        tables[REJECTED_ROWS] = kept.where("reason is not null").select("reason", "record", "log_partition", "log_offset")
    else:
        pipeline.sink.remove(REJECTED_ROWS)
    summary = _summary(ranked, by_member, found, counts)
    at = F.coalesce("began_at", "joined_at", "ended_at")
    days = found.where(at.isNotNull()).groupBy(F.to_date(F.timestamp_millis(at)).alias("day"))
    headline = {
        "records": f"{number(counts['records'])}, of which {number(counts['unreadable'])} unreadable",
        "groups": number(summary["groups"]),
        "rebalances": number(summary["rebalances"]),
    }
    drawn = [(row["day"], row["count"]) for row in days.count().orderBy("day").collect()]
    return Outcome(summary, tables, report(source, summary, drawn), headline)


def _summed(rebalances: DataFrame, *by: str) -> DataFrame:
    """Rebalances, and how long partitions had no reader, as far as both bounds are known."""
    known = F.col(STANDSTILL[0]).isNotNull() & F.col(STANDSTILL[1]).isNotNull()
    return rebalances.groupBy(*by).agg(
        F.count("*").alias("rebalances"),
        *(F.sum(F.when(known, F.col(name))).alias(name) for name in STANDSTILL),
        F.count_if(~known).alias("standstill_unknown"),
    )


def _summary(groups: DataFrame, members: DataFrame, rebalances: DataFrame, counts: dict[str, int]) -> dict[str, Any]:
    total = groups.agg(
        F.count("*").alias("groups"),
        F.count_if(F.col("rebalances") > 0).alias("groups_with_rebalances"),
        F.coalesce(F.sum("rebalances"), F.lit(0)).alias("rebalances"),
        F.coalesce(F.sum("missing"), F.lit(0)).alias("missing"),
        *(F.sum(name).alias(name) for name in STANDSTILL),
        F.coalesce(F.sum("standstill_unknown"), F.lit(0)).alias("standstill_unknown"),
    ).first()
    causes = rebalances.groupBy("cause").count().orderBy(F.desc("count"), "cause").collect()
    busiest = members.orderBy(F.desc("rebalances"), "group", "member", "cause").limit(NAMED)
    summary: dict[str, Any] = {
        "records": counts,
        **(total.asDict() if total else {}),
        "causes": {row["cause"]: row["count"] for row in causes},
        "worst_groups": [row.asDict() for row in groups.limit(NAMED).collect()],
        "busiest_members": [row.asDict() for row in busiest.collect()],
    }
    return {"job": "history", "conclusion": conclusion(summary), **summary}
