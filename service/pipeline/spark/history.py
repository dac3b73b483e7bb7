"""``history``: from records of ``__consumer_offsets`` to every rebalance of every group, with its cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.core.printable import counted
from service.pipeline.analyses import history as histories
from service.pipeline.analyses.results import Outcome
from service.pipeline.spark.io.reading import read_coordinator_records
from service.pipeline.spark.tasks import coordinator_records as records_of
from service.report.figures import duration, number
from service.report.folders import REJECTED_ROWS
from service.report.pages import Figure, FigureRow, Report, Section, Table, chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from service.pipeline.spark.io.sinks import Pipeline
    from service.pipeline.spark.io.sources import Source

REBALANCES, GROUPS, MEMBERS, CAUSES = "rebalances.parquet", "groups.parquet", "members.parquet", "causes.parquet"
NAMED: Final = 20
"""Most groups and members that the summary names."""

STANDSTILL: Final = ("standstill_least_ms", "standstill_most_ms")


def run(pipeline: Pipeline, *, records: Source, **_: Any) -> Outcome:
    """Read every record once; a task has all those of a group."""
    observation = Observation("records")
    raw = read_coordinator_records(pipeline.spark, records)
    read = raw.mapInArrow(records_of.read_records, from_arrow_schema(records_of.SCHEMA)).observe(
        observation, F.count("*").alias("records"), F.count("reason").alias("unreadable")
    )
    kept = pipeline.persist(read.where((F.col("type") != records_of.COMMIT_TYPE) | F.col("reason").isNotNull()))
    of_groups = kept.where("reason is null").select("group", *histories.NEEDED).groupBy("group")
    rows = of_groups.applyInArrow(histories.history_of, from_arrow_schema(histories.SCHEMA))
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
    unreadable = kept.where("reason is not null").select("reason", "record", "log_partition", "log_offset")
    tables |= pipeline.rejected(unreadable if counts["unreadable"] else None)
    summary = _summary(ranked, by_member, found, counts)
    at = F.coalesce("began_at", "joined_at", "ended_at")
    days = found.where(at.isNotNull()).groupBy(F.to_date(F.timestamp_millis(at)).alias("day"))
    headline = {
        "records": f"{number(counts['records'])}, of which {number(counts['unreadable'])} unreadable",
        **{name: number(summary[name]) for name in ("groups", "rebalances")},
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
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("rebalances", "missing")),
        *(F.sum(name).alias(name) for name in STANDSTILL),
        F.coalesce(F.sum("standstill_unknown"), F.lit(0)).alias("standstill_unknown"),
    ).collect()[0]
    causes = rebalances.groupBy("cause").count().orderBy(F.desc("count"), "cause").collect()
    busiest = members.orderBy(F.desc("rebalances"), "group", "member", "cause").limit(NAMED)
    summary: dict[str, Any] = {
        "records": counts,
        **total.asDict(),
        "causes": {row["cause"]: row["count"] for row in causes},
        "worst_groups": [row.asDict() for row in groups.limit(NAMED).collect()],
        "busiest_members": [row.asDict() for row in busiest.collect()],
    }
    return {"job": "history", "conclusion": conclusion(summary), **summary}


def conclusion(summary: dict[str, Any]) -> str:
    """How many rebalances, which group stood still longest, and what no record tells."""
    groups, active, found, missing = (summary[name] for name in ("groups", "groups_with_rebalances", "rebalances", "missing"))
    if not found:
        return f"No record tells of a rebalance of {counted(groups, 'group')}."
    sentences = [f"{counted(found, 'rebalance')} of {active:,} of {counted(groups, 'group')}"]
    worst = summary["worst_groups"][0]
    if worst["standstill_least_ms"]:
        sentences.append(f"{worst['group']} stood still longest that is proven: partitions had no reader for {standstill(worst)}")
    if missing:
        sentences.append(f"{counted(missing, 'more rebalance')} left no record: the log was compacted, or begins later")
    if summary["standstill_unknown"]:
        sentences.append(
            f"For how long partitions had no reader is not told of {counted(summary['standstill_unknown'], 'rebalance')}"
        )
    return " ".join(f"{sentence}." for sentence in sentences)


def standstill(row: dict[str, Any]) -> str:
    """``2 s to 3 s``, of the rebalances of which both bounds are known."""
    least, most = row["standstill_least_ms"], row["standstill_most_ms"]
    if least is None or most is None:
        return "not told"
    both = [duration(ms / 1000) for ms in (least, most)]
    return both[0] if both[0] == both[1] else " to ".join(both)


def report(source: str, summary: dict[str, Any], days: Sequence[tuple[Any, int]]) -> Report:
    """The report. days : dates in UTC, and the rebalances that began on each"""
    unreadable = summary["records"]["unreadable"]
    figures = (
        Figure("records", number(summary["records"]["records"])),
        Figure("groups", number(summary["groups"]), f"{number(summary['groups_with_rebalances'])} had rebalances"),
        Figure("rebalances", number(summary["rebalances"]), f"{number(summary['missing'])} more left no record"),
        Figure("without a reader", standstill(summary), f"not told of {number(summary['standstill_unknown'])}"),
        Figure("unreadable records", number(unreadable), f"in {REJECTED_ROWS}", "bad" if unreadable else ""),
    )
    causes = [(name.replace("_", " "), number(count)) for name, count in summary["causes"].items()]
    groups = [
        (row["group"], number(row["rebalances"]), standstill(row), number(row["standstill_unknown"]), row["conclusion"])
        for row in summary["worst_groups"]
    ]
    members = [
        (row["group"], row["member"], row["cause"].replace("_", " "), number(row["rebalances"]), standstill(row))
        for row in summary["busiest_members"]
    ]
    of_groups = Table(("group", "rebalances", "without a reader", "not told of", "what happened"), groups)
    of_members = Table(("group", "member", "cause", "rebalances", "without a reader"), members)

    def draw(axes: Axes) -> None:
        axes.plot([day for day, _ in days], [count for _, count in days], marker="o")
        axes.set(ylim=(0, None), ylabel="rebalances")

    sections = (
        Section("At a glance", (FigureRow(figures),)),
        *((Section("Rebalances by day", (chart(draw),), "Days are in UTC."),) if len(days) > 1 else ()),
        Section("Causes", (Table(("cause", "rebalances"), causes),), "The first cause of each rebalance."),
        Section("Groups", (of_groups,), "Longest without a reader first, by the least that is proven."),
        Section("Members", (of_members,), "Most rebalances first."),
    )
    return Report("History", source, sections, summary["conclusion"])
