"""Requests to ``/v1/group-assignments`` for the groups that another assignor would assign more evenly."""

import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.spark.io.sources import CORRUPT
from service.spark.tasks.group_requests import present


def questions(groups: DataFrame, results: DataFrame, body_column: str | None, most: int) -> list[dict[str, Any]]:
    """At most ``most`` groups with an id, as bodies with the most even of the assignors tried, largest gain first.

    Of equally even assignors the one that moves fewest partitions.

    groups, body_column : the input of ``assignments.assign_groups``
    results : its rows
    """
    better = _better(results, most)
    names = list(better)
    if not names:
        return []
    if body_column is not None:
        text = F.col(body_column).cast("string")
        rows = groups.where(F.get_json_object(text, "$.group_id").isin(names)).select(text.alias("body")).collect()
        bodies = [json.loads(row["body"]) for row in rows]
    else:
        bodies = present(groups.where(F.col("group_id").isin(names)).drop(CORRUPT).toArrow().to_pylist())
    by_name = {body["group_id"]: body for body in bodies}
    return [{**by_name[name], **better[name]} for name in names]


def _better(results: DataFrame, most: int) -> dict[str, dict[str, str]]:
    """group_protocol and assignor for each group that has a more even one than its own."""
    tried = results.where("error is null and group_id is not null")
    own = tried.where("own").groupBy("group_id").agg(F.min("skew").alias("own"))
    order = F.struct("skew", "moved", "group_protocol", "assignor")
    best = tried.where("not own").groupBy("group_id").agg(F.min(order).alias("best"))
    gain = F.col("own") - F.col("best.skew")
    rows = own.join(best, "group_id").where(gain > 0).orderBy(F.desc(gain), "group_id").limit(most)
    return {
        row["group_id"]: {"group_protocol": row["best"]["group_protocol"], "assignor": row["best"]["assignor"]}
        for row in rows.collect()
    }
