"""What the summary of ``load`` tells of its tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.spark.load import windows as w

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NAMED: Final = 20
"""Subjects of each kind, breaches and groups that are named."""


def kinds(subjects: DataFrame) -> dict[str, dict[str, Any] | None]:
    """For each kind how many there are, busiest ÷ mean, and the busiest."""

    def of(prefix: str) -> Column:
        return F.when(F.col("kind") == w.BROKER, F.col(f"{prefix}bytes_per_second")).otherwise(
            F.col(f"{prefix}records_per_second")
        )

    kind = Window.partitionBy("kind")
    rows = (
        subjects.select(
            "*",
            F.row_number().over(kind.orderBy(F.desc_nulls_last(of("peak_")), "group_id", "subject")).alias("rank"),
            F.count("*").over(kind).alias("count"),
            (F.max(of("")).over(kind) / F.mean(of("")).over(kind)).alias("skew"),
        )
        .where(F.col("rank") <= NAMED)
        .orderBy("kind", "rank")
        .collect()
    )
    found: dict[str, dict[str, Any] | None] = {f"{kind}s": None for kind in w.KINDS}
    for row in rows:
        fields = row.asDict()
        count, skew = fields.pop("count"), fields.pop("skew")
        of_kind = found[f"{fields.pop('kind')}s"] or {"count": count, "skew": 1.0 if skew is None else skew, "busiest": []}
        found[f"{row['kind']}s"] = of_kind
        del fields["rank"]
        of_kind["busiest"].append(fields)
    return found


def groups(subjects: DataFrame, questions: DataFrame, failed: DataFrame) -> dict[str, Any]:
    """The groups whose consumers are loaded most unevenly, their requests, and the groups that could not be assigned."""
    found = _group_loads(subjects)
    names = [row["group_id"] for row in found]
    asked = questions.where(F.col("group").isin([name for name in names if name is not None])).collect()
    return {
        "groups": found,
        "group_assignments": [json.loads(row["question"]) for row in sorted(asked, key=lambda row: names.index(row["group"]))],
        "groups_failed": [row.asDict() for row in failed.drop("record").limit(NAMED).collect()],
    }


def _group_loads(subjects: DataFrame) -> list[dict[str, Any]]:
    """The groups whose consumers are loaded most unevenly: busiest ÷ mean, by what they read."""
    load = F.coalesce(F.col("records_per_second"), F.lit(0.0))
    skew = F.when(F.mean(load) > 0, F.max(load) / F.mean(load)).otherwise(1.0)
    groups = subjects.where(F.col("kind") == w.CONSUMER).groupBy("group_id")
    found = groups.agg(
        F.count("*").alias("members"),
        F.count_if(load == 0).alias("idle"),
        F.sum(load).alias("records_per_second"),
        skew.alias("skew"),
        F.max_by("subject", load).alias("busiest"),
    )
    return [row.asDict() for row in found.orderBy(F.desc("skew"), "group_id").limit(NAMED).collect()]


def breaches(found: DataFrame | None) -> dict[str, Any]:
    """How many subjects were above a limit, in how many stretches of time, and the worst of these; None: no limit was given."""
    if found is None:
        return {"subjects": 0, "stretches": 0, "worst": []}
    worst = found.orderBy(F.desc(F.col("peak") / F.col("limit")), *w.SUBJECT, "measure", "from").limit(NAMED)
    return {
        "subjects": found.select(*w.SUBJECT).distinct().count(),
        "stretches": found.count(),
        "worst": [row.asDict() for row in worst.collect()],
    }


def missing(partitions: DataFrame, joined: DataFrame) -> int:
    """Records of partitions that are not in the other table."""
    there = joined.select("topic", "partition").distinct()
    found = partitions.join(there, ["topic", "partition"], "left_anti").agg(F.sum("records")).first()
    return int((found and found[0]) or 0)
