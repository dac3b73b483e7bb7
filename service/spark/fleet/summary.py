"""The summary of ``fleet``, from the rows of ``assignments`` and ``placements``."""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.measures import spread
from service.spark.fleet.tasks.assignments import WRONG_ROW

NAMED: Final = 20
"""Most groups and topics that the summary names: the most uneven, the failed."""

QUANTILES: Final = [i / 50 for i in range(51)]
SUMS: Final = ("retained", "moved", "added", "revoked", "fewest_possible_moves")
FAULTS: Final = ("doubled", "unknown_brokers", "wrong_factor", "crowded_racks", "unled")


def of_groups(results: DataFrame) -> tuple[dict[str, Any], dict[str, Sequence[float]]]:
    """The summary of ``assignments.RESULT`` rows, and the groups' skew at each of QUANTILES, by assignor."""
    done = _done(results)
    own = done.where("own")
    totals = [F.count("*").alias("groups"), F.sum("members").alias("members"), F.sum("partitions").alias("partitions")]
    total = own.agg(*totals).first()
    rows = _by_assignor(done)
    summary: dict[str, Any] = {
        **{name: int((total and total[name]) or 0) for name in ("groups", "members", "partitions")},
        "wrong_rows": _wrong_rows(results),
        "assignors": [_assignor(row) for row in rows],
        "most_skewed": _named(
            own.where("error is null").orderBy(F.desc("skew"), "group_id"),
            "group_id", "assignor", "partitions", "members", "skew",
        ),
        "failures": _named(
            done.where("error is not null").orderBy("group_id", "assignor"),
            "group_id", "group_protocol", "assignor", "error", "detail",
        ),
    }  # fmt: skip
    return summary, {f"{row['group_protocol']}:{row['assignor']}": row["quantiles"] for row in rows if row["quantiles"]}


def of_topics(results: DataFrame) -> dict[str, Any]:
    """The summary of ``placements.RESULT`` rows."""
    done = _done(results)
    total = done.agg(
        F.count("*").alias("topics"),
        F.sum("partitions").alias("partitions"),
        F.count("error").alias("failed"),
        F.count("obeys").alias("audited"),
        F.count_if("obeys").alias("obey"),
        F.count_if(F.col("leader_changes") > 0).alias("uneven_leaders"),
        *(F.sum(F.when(F.col("obeys").isNotNull(), F.size(name))).alias(name) for name in FAULTS),
        F.sum("copies").alias("copies"),
        F.sum("leader_changes").alias("leader_changes"),
    ).first()
    counts = {name: int(value or 0) for name, value in (total.asDict() if total else {}).items()}
    return {
        **{name: counts[name] for name in ("topics", "partitions", "failed")},
        "wrong_rows": _wrong_rows(results),
        "audit": {name: counts[name] for name in ("audited", "obey", *FAULTS, "uneven_leaders", "copies", "leader_changes")},
        "broker_load": _loads(done, "broker_load"),
        "current_broker_load": _loads(done, "current_broker_load"),
        "disobeying": _named(
            done.where("not obeys").orderBy(F.desc("copies"), F.desc("leader_changes"), "topic_name"),
            "topic_name", "partitions", "replication_factor", *FAULTS, "copies", "leader_changes", "most_leaders",
        ),
        "failures": _named(done.where("error is not null").orderBy("topic_name"), "topic_name", "placer", "error", "detail"),
    }  # fmt: skip


def _by_assignor(done: DataFrame) -> list[dict[str, Any]]:
    rows = done.groupBy("group_protocol", "assignor").agg(
        F.count("*").alias("groups"),
        F.count("error").alias("failed"),
        F.count_if(F.size("warnings") > 0).alias("warned"),
        F.count_if("follow_up_rebalance").alias("follow_up_rebalances"),
        F.mean("skew").alias("mean"),
        F.percentile("skew", F.lit(QUANTILES)).alias("quantiles"),
        *(F.sum(name).alias(name) for name in SUMS),
    )
    return [row.asDict() for row in rows.orderBy("group_protocol", "assignor").collect()]


def _assignor(row: dict[str, Any]) -> dict[str, Any]:
    """The summary's entry for one assignor."""
    quantiles, mean = row["quantiles"], row["mean"]
    at = {name: quantiles[i] if quantiles else None for name, i in (("min", 0), ("median", 25), ("p90", 45), ("max", 50))}
    counts = {name: value for name, value in row.items() if name not in ("quantiles", "mean")}
    return {**counts, "skew": {"mean": mean, **at}}


def _loads(done: DataFrame, column: str) -> dict[str, Any]:
    """Replicas and leaders of each broker over all topics, and their skew."""
    rows = (
        done.select(F.explode(column).alias("load"))
        .groupBy("load.broker_id")
        .agg(F.sum("load.replicas").alias("replicas"), F.sum("load.leaders").alias("leaders"))
        .orderBy("broker_id")
        .toArrow()
    )
    load: dict[str, Any] = {"broker_ids": rows.column("broker_id").to_pylist()}
    for name in ("replicas", "leaders"):
        counts = rows.column(name).to_numpy()
        load[name] = {"counts": counts.tolist(), "skew": spread(counts).skew}
    return load


def _done(results: DataFrame) -> DataFrame:
    return results.where(F.col("error").isNull() | (F.col("error") != WRONG_ROW))


def _wrong_rows(results: DataFrame) -> int:
    return results.where(F.col("error") == WRONG_ROW).count()


def _named(frame: DataFrame, *columns: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.select(*columns).limit(NAMED).collect()]
