"""The summary of ``load``, from its tables."""

import json
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.pipeline.spark.load import windows
from service.pipeline.spark.load.options import BROKER, CONSUMER

NAMED: Final = 20
"""Most subjects of each kind, breaches and groups that the summary names."""


def kinds(subjects: DataFrame) -> dict[str, dict[str, Any] | None]:
    """For each kind the number of subjects, busiest ÷ mean, and the busiest."""

    def of(prefix: str) -> Column:
        return F.when(F.col("kind") == BROKER, F.col(f"{prefix}bytes_per_second")).otherwise(F.col(f"{prefix}records_per_second"))

    kind = Window.partitionBy("kind")
    rows = (
        subjects.select(
            "*",
            F.row_number().over(kind.orderBy(F.desc_nulls_last(of("peak_")), "group_id", "subject")).alias("rank"),
            F.count("*").over(kind).alias("count"),
            F.try_divide(F.max(of("")).over(kind), F.mean(of("")).over(kind)).alias("skew"),
        )
        .where(F.col("rank") <= NAMED)
        .orderBy("kind", "rank")
        .collect()
    )
    by_kind: dict[str, dict[str, Any] | None] = {f"{kind}s": None for kind in windows.KINDS}
    for row in rows:
        fields = row.asDict()
        count, skew = fields.pop("count"), fields.pop("skew")
        of_kind = by_kind[f"{fields.pop('kind')}s"] or {"count": count, "skew": 1.0 if skew is None else skew, "busiest": []}
        by_kind[f"{row['kind']}s"] = of_kind
        del fields["rank"]
        of_kind["busiest"].append(fields)
    return by_kind


def groups(subjects: DataFrame, requests: DataFrame, failed: DataFrame) -> dict[str, Any]:
    """The groups with the most uneven consumers, their requests, and the groups that could not be assigned."""
    loads = _group_loads(subjects)
    names = [row["group_id"] for row in loads]
    rows = requests.where(F.col("group").isin([name for name in names if name is not None])).collect()
    return {
        "groups": loads,
        "group_assignments": [json.loads(row["question"]) for row in sorted(rows, key=lambda row: names.index(row["group"]))],
        "groups_failed": [row.asDict() for row in failed.drop("record").limit(NAMED).collect()],
    }


def _group_loads(subjects: DataFrame) -> list[dict[str, Any]]:
    """The groups with the most uneven consumers: busiest ÷ mean, by records."""
    load = F.coalesce(F.col("records_per_second"), F.lit(0.0))
    skew = F.when(F.mean(load) > 0, F.max(load) / F.mean(load)).otherwise(1.0)
    groups = subjects.where(F.col("kind") == CONSUMER).groupBy("group_id")
    loads = groups.agg(
        F.count("*").alias("members"),
        F.count_if(load == 0).alias("idle"),
        F.sum(load).alias("records_per_second"),
        skew.alias("skew"),
        F.max_by("subject", load).alias("busiest"),
    )
    return [row.asDict() for row in loads.orderBy(F.desc("skew"), "group_id").limit(NAMED).collect()]


def breaches(stretches: DataFrame | None) -> dict[str, Any]:
    """The number of subjects above a limit and of stretches of time, and the worst of these; None if no limit is set."""
    if stretches is None:
        return {"subjects": 0, "stretches": 0, "worst": []}
    worst = stretches.orderBy(F.desc(F.col("peak") / F.col("limit")), *windows.SUBJECT, "measure", "from").limit(NAMED)
    of_subjects = stretches.groupBy(*windows.SUBJECT).count()
    subjects, count = of_subjects.agg(F.count("*"), F.coalesce(F.sum("count"), F.lit(0))).collect()[0]
    return {
        "subjects": subjects,
        "stretches": count,
        "worst": [row.asDict() for row in worst.collect()],
    }


def missing(partitions: DataFrame, joined: DataFrame) -> int:
    """Records of partitions that the other table lacks."""
    present = joined.select("topic", "partition").distinct()
    total = partitions.join(present, ["topic", "partition"], "left_anti").agg(F.sum("records")).first()
    return int((total and total[0]) or 0)
