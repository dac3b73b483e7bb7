"""``fleet``: every group under several assignors, every topic under a placer and audited."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from service.core.errors import InvalidQuestion
from service.core.measures import spread
from service.core.placers import PLACERS
from service.spark import fleet_groups, fleet_placements, fleet_report, sources
from service.spark.errors import WrongSource
from service.spark.fleet_groups import WRONG_ROW, Choice
from service.spark.jobs.model import Job, Outcome
from service.spark.jobs.parameters import READ_OPTIONS, SOURCE
from service.spark.quarantine import TABLE as QUARANTINE
from service.spark.report import Report, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from service.spark.jobs.model import Pipeline
    from service.spark.sources import Source

ASSIGNMENTS: Final = "assignments.parquet"
PLACEMENTS: Final = "placements.parquet"
ROWS_AT_A_TIME: Final = 16
"""Groups, or topics, that an executor holds at a time: one may have a million partitions."""

NAMED: Final = 20
"""Groups and topics that the summary names: the most uneven, the failing."""

QUANTILES: Final = [i / 50 for i in range(51)]
MOST_BROKERS: Final = 100_000


class ChoiceType(click.ParamType[Any]):
    """An assignor, as ``classic:range``."""

    name = "protocol:assignor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Choice:
        """The choice; fails with the list of what is offered."""
        try:
            return value if isinstance(value, Choice) else Choice.parse(value)
        except InvalidQuestion as error:
            self.fail(str(error), param, ctx)


def check(*, groups: Source | None, topics: Source | None, placer: str | None, **_: Any) -> None:
    """Raise unless there is something to do, and the placer is one."""
    if groups is None and topics is None:
        raise WrongSource("there is nothing to do: name a table of groups, or one of topics with --topics")
    if placer is not None:
        PLACERS[placer]  # raises UnknownStrategy


@dataclass(frozen=True)
class Part:
    """What became of one of the two tables: its part of the summary, of the report and of the headline."""

    summary: dict[str, Any]
    report: fleet_report.Part
    headline: dict[str, str]
    wrong: DataFrame | None
    place: str


def run(
    pipeline: Pipeline,
    *,
    groups: Source | None,
    assignors: tuple[Choice, ...],
    body_column: str | None,
    topics: Source | None,
    brokers: Source | None,
    placer: str | None,
    **_: Any,
) -> Outcome:
    """Assign, place, audit; each table is read once, and its results are written as they come."""
    parts: dict[str, Part] = {}
    tables: dict[str, Any] = {}
    if groups is not None:
        parts["groups"] = _groups(pipeline, groups, assignors, body_column)
        tables[ASSIGNMENTS] = parts["groups"].place
    if topics is not None:
        parts["topics"] = _topics(pipeline, topics, brokers, placer)
        tables[PLACEMENTS] = parts["topics"].place
    wrong = [part.wrong for part in parts.values() if part.wrong is not None]
    if wrong:
        tables[QUARANTINE] = wrong[0] if len(wrong) == 1 else wrong[0].unionByName(wrong[1])
    else:
        pipeline.sink.remove(QUARANTINE)
    sections = [section for part in parts.values() for section in fleet_report.sections(part.report)]
    subtitle = ", ".join(str(source) for source in (groups, topics) if source is not None)
    return Outcome(
        summary={"job": "fleet", **{name: part.summary for name, part in parts.items()}},
        tables=tables,
        report=Report("Fleet", subtitle, tuple(sections)),
        headline={name: text for part in parts.values() for name, text in part.headline.items()},
    )


# ---- groups ------------------------------------------------------------------------------------------------------------


def _groups(pipeline: Pipeline, source: Source, assignors: tuple[Choice, ...], body_column: str | None) -> Part:
    frame = sources.read(pipeline.spark, source)
    body_column = body_column or ("value" if source.format == "kafka" else None)
    if body_column is None:
        _check(source, partial(fleet_groups.check_columns, to_arrow_schema(frame.schema)))
        columns = [name for name in fleet_groups.COLUMNS if name in frame.columns]
    else:
        sources.require(frame, [body_column], source)
        columns = [body_column]
    place, results = _mapped(
        pipeline,
        "assigning groups",
        frame.select(columns),
        partial(fleet_groups.assign_groups, choices=assignors or None, body_column=body_column),
        fleet_groups.RESULT,
        ASSIGNMENTS,
    )
    done = results.where(F.col("error").isNull() | (F.col("error") != WRONG_ROW))
    own = done.where("own")
    total = own.agg(
        F.count("*").alias("groups"), F.sum("members").alias("members"), F.sum("partitions").alias("partitions")
    ).first()
    sums = ("retained", "moved", "added", "revoked", "fewest_possible_moves")
    by_assignor = (
        done.groupBy("group_protocol", "assignor")
        .agg(
            F.count("*").alias("groups"),
            F.count("error").alias("failed"),
            F.count_if(F.size("warnings") > 0).alias("warned"),
            F.count_if("follow_up_rebalance").alias("follow_up_rebalances"),
            F.mean("skew").alias("mean"),
            F.percentile("skew", F.lit(QUANTILES)).alias("quantiles"),
            *(F.sum(name).alias(name) for name in sums),
        )
        .orderBy("group_protocol", "assignor")
        .collect()
    )
    rows = [row.asDict() for row in by_assignor]
    summary: dict[str, Any] = {
        **{name: int((total and total[name]) or 0) for name in ("groups", "members", "partitions")},
        "wrong_rows": results.where(F.col("error") == WRONG_ROW).count(),
        "assignors": [_assignor(row) for row in rows],
        "most_skewed": _named(
            own.where("error is null").orderBy(F.desc("skew"), "group_id"),
            "group_id",
            "assignor",
            "partitions",
            "members",
            "skew",
        ),
        "failures": _named(
            done.where("error is not null").orderBy("group_id", "assignor"),
            "group_id",
            "group_protocol",
            "assignor",
            "error",
            "detail",
        ),
    }
    curves = {f"{row['group_protocol']}:{row['assignor']}": row["quantiles"] for row in rows if row["quantiles"]}
    failed = sum(row["failed"] for row in rows)
    headline = {
        "groups": f"{number(summary['groups'])} with {number(summary['partitions'])} partitions",
        "assignments that Kafka would fail": number(failed),
        "rows that are no group": number(summary["wrong_rows"]),
    }
    return Part(summary, fleet_report.Groups(summary, QUANTILES, curves), headline, _wrong(results, summary["wrong_rows"]), place)


def _assignor(row: dict[str, Any]) -> dict[str, Any]:
    """The summary's entry for one assignor."""
    quantiles, mean = row["quantiles"], row["mean"]
    at = {name: quantiles[i] if quantiles else None for name, i in (("min", 0), ("median", 25), ("p90", 45), ("max", 50))}
    counts = {name: value for name, value in row.items() if name not in ("quantiles", "mean")}
    return {**counts, "skew": {"mean": mean, **at}}


# ---- topics ------------------------------------------------------------------------------------------------------------


def _topics(pipeline: Pipeline, source: Source, brokers: Source | None, placer: str | None) -> Part:
    frame = sources.read(pipeline.spark, source)
    cluster = None if brokers is None else _brokers(pipeline, brokers)
    _check(source, partial(fleet_placements.check_columns, to_arrow_schema(frame.schema), brokers_apart=cluster is not None))
    columns = [name for name in fleet_placements.COLUMNS if name in frame.columns]
    place, results = _mapped(
        pipeline,
        "placing topics",
        frame.select(columns),
        partial(fleet_placements.place_topics, placer=placer, brokers=cluster),
        fleet_placements.RESULT,
        PLACEMENTS,
    )
    done = results.where(F.col("error").isNull() | (F.col("error") != WRONG_ROW))
    faults = ("doubled", "unknown_brokers", "wrong_factor", "crowded_racks", "unled")
    total = done.agg(
        F.count("*").alias("topics"),
        F.sum("partitions").alias("partitions"),
        F.count("error").alias("failed"),
        F.count("obeys").alias("audited"),
        F.count_if("obeys").alias("obey"),
        F.count_if(F.col("leader_changes") > 0).alias("uneven_leaders"),
        *(F.sum(F.when(F.col("obeys").isNotNull(), F.size(name))).alias(name) for name in faults),
        F.sum("copies").alias("copies"),
        F.sum("leader_changes").alias("leader_changes"),
    ).first()
    found = {name: int(value or 0) for name, value in (total.asDict() if total else {}).items()}
    summary: dict[str, Any] = {
        **{name: found[name] for name in ("topics", "partitions", "failed")},
        "wrong_rows": results.where(F.col("error") == WRONG_ROW).count(),
        "audit": {name: found[name] for name in ("audited", "obey", *faults, "uneven_leaders", "copies", "leader_changes")},
        "broker_load": _loads(done, "broker_load"),
        "current_broker_load": _loads(done, "current_broker_load"),
        "disobeying": _named(
            done.where("not obeys").orderBy(F.desc("copies"), F.desc("leader_changes"), "topic_name"),
            "topic_name", "partitions", "replication_factor", *faults, "copies", "leader_changes", "most_leaders",
        ),
        "failures": _named(done.where("error is not null").orderBy("topic_name"), "topic_name", "placer", "error", "detail"),
    }  # fmt: skip
    headline = {
        "topics": f"{number(summary['topics'])} with {number(summary['partitions'])} partitions",
        "topics that obey Kafka's placement rules": f"{number(found['obey'])} of {number(found['audited'])} audited",
        "replicas to copy": number(found["copies"]),
        "leaders to change": number(found["leader_changes"]),
    }
    return Part(summary, fleet_report.Topics(summary), headline, _wrong(results, summary["wrong_rows"]), place)


def _brokers(pipeline: Pipeline, source: Source) -> list[dict[str, Any]]:
    """The cluster, from a table of broker_id, rack_id and fenced; of CSV all are text."""
    frame = sources.read(pipeline.spark, source)
    sources.require(frame, ["broker_id"], source)
    kinds = {"broker_id": "int", "rack_id": "string", "fenced": "boolean"}
    columns = [F.col(name).try_cast(kind).alias(name) for name, kind in kinds.items() if name in frame.columns]
    rows = [row.asDict() for row in frame.select(*columns).limit(MOST_BROKERS + 1).collect()]
    if not rows or len(rows) > MOST_BROKERS or any(row["broker_id"] is None for row in rows):
        raise WrongSource(f"{source}: not a list of 1 to {MOST_BROKERS:,} brokers, each with a whole broker_id")
    if len({row["broker_id"] for row in rows}) < len(rows):
        raise WrongSource(f"{source} has a broker_id twice")
    return [{"rack_id": None, "fenced": None, **row} for row in rows]


def _loads(done: DataFrame, column: str) -> dict[str, Any]:
    """Replicas and leaders of each broker, over all topics, and how even they are."""
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


# ---- both --------------------------------------------------------------------------------------------------------------


def _check(source: Source, columns: Callable[[], None]) -> None:
    try:
        columns()
    except InvalidQuestion as error:
        raise WrongSource(f"{source}: {error}") from None


def _mapped(
    pipeline: Pipeline,
    what: str,
    frame: DataFrame,
    function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    result: pa.Schema,
    name: str,
) -> tuple[str, DataFrame]:
    """Write what ``function`` makes of the rows as the table ``name``. Returns where it is, and the table."""
    spark = pipeline.spark
    at_a_time = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(at_a_time)
    spark.conf.set(at_a_time, str(ROWS_AT_A_TIME))
    try:
        # A file of a thousand groups is one split; several a core even out that some are large.
        slots = 4 * int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
        results = frame.repartition(slots).mapInArrow(function, from_arrow_schema(result))
        with pipeline.progress(what):
            place = pipeline.sink.frame(name, results)
    finally:
        spark.conf.set(at_a_time, str(before))
    return place, spark.read.parquet(place)


def _named(frame: DataFrame, *columns: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.select(*columns).limit(NAMED).collect()]


def _wrong(results: DataFrame, count: int) -> DataFrame | None:
    """The rows for the quarantine."""
    if not count:
        return None
    return results.where(F.col("error") == WRONG_ROW).select(F.col("detail").alias("reason"), "record")


JOB: Final = Job(
    name="fleet",
    summary="Every group of a table under several assignors; every topic of another placed, and its placement of today audited.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["groups"], type=SOURCE, required=False),
        click.Option(
            ["--assignor", "assignors"], type=ChoiceType(), multiple=True,
            help="An assignor to try on every group beside its own: range, consumer:uniform …; default: all of its protocol.",
        ),
        click.Option(["--body-column"], help="A column with each group as JSON, instead of nested columns; of a topic: value."),
        click.Option(["--topics"], type=SOURCE, help="A table of topics to place, and to audit where it has placements."),
        click.Option(["--brokers"], type=SOURCE, help="Their cluster: broker_id, rack_id, fenced; unless each row has brokers."),
        click.Option(["--placer"], help="For the topics that name none; default: striped."),
    ),
    run=run,
    check=check,
)  # fmt: skip
