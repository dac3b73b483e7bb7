"""``fleet``: every group under several assignors, every topic under a placer and audited."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.core.errors import InvalidQuestion
from service.core.placers import PLACERS
from service.spark.cluster.session import cores
from service.spark.errors import WrongSource
from service.spark.fleet import assignments, placements, requests
from service.spark.fleet import report as fleet_report
from service.spark.fleet import summary as fleet_summary
from service.spark.fleet.assignments import WRONG_ROW, Choice
from service.spark.io import sources
from service.spark.io.rejected_rows import TABLE as QUARANTINE
from service.spark.job import Job, Outcome
from service.spark.parameters import READ_OPTIONS, SOURCE
from service.spark.report import Report, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from service.spark.io.sources import Source
    from service.spark.job import Pipeline

ASSIGNMENTS: Final = "assignments.parquet"
PLACEMENTS: Final = "placements.parquet"
ROWS_AT_A_TIME: Final = 16
"""Groups, or topics, that an executor holds at a time: one may have a million partitions."""

TASKS_PER_CORE: Final = 4
"""A file of a thousand groups is one split; several tasks a core even out that some groups are large."""

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


# ---- the two tables ----------------------------------------------------------------------------------------------------


def _groups(pipeline: Pipeline, source: Source, assignors: tuple[Choice, ...], body_column: str | None) -> Part:
    frame = sources.read(pipeline.spark, source)
    body_column = body_column or ("value" if source.format == "kafka" else None)
    if body_column is None:
        _check(source, partial(assignments.check_columns, sources.arrow_schema(frame)))
        columns = [name for name in assignments.COLUMNS if name in frame.columns]
    else:
        sources.require(frame, [body_column], source)
        columns = [body_column]
    assign = partial(assignments.assign_groups, choices=assignors or None, body_column=body_column)
    place, results = _mapped(pipeline, "assigning groups", frame.select(columns), assign, assignments.RESULT, ASSIGNMENTS)
    found, curves = fleet_summary.of_groups(results)
    headline = {
        "groups": f"{number(found['groups'])} with {number(found['partitions'])} partitions",
        "assignments that Kafka would fail": number(sum(row["failed"] for row in found["assignors"])),
        "rows that are no group": number(found["wrong_rows"]),
    }
    report = fleet_report.Groups(found, fleet_summary.QUANTILES, curves)
    questions = requests.questions(frame.select(columns), results, body_column, fleet_summary.NAMED)
    summary = {**found, "group_assignments": questions}
    return Part(summary, report, headline, _wrong(results, found["wrong_rows"]), place)


def _topics(pipeline: Pipeline, source: Source, brokers: Source | None, placer: str | None) -> Part:
    frame = sources.read(pipeline.spark, source)
    cluster = None if brokers is None else _brokers(pipeline, brokers)
    _check(source, partial(placements.check_columns, sources.arrow_schema(frame), brokers_apart=cluster is not None))
    frame = frame.select([name for name in placements.COLUMNS if name in frame.columns])
    put = partial(placements.place_topics, placer=placer, brokers=cluster)
    place, results = _mapped(pipeline, "placing topics", frame, put, placements.RESULT, PLACEMENTS)
    found = fleet_summary.of_topics(results)
    audit = found["audit"]
    headline = {
        "topics": f"{number(found['topics'])} with {number(found['partitions'])} partitions",
        "topics that obey Kafka's placement rules": f"{number(audit['obey'])} of {number(audit['audited'])} audited",
        "replicas to copy": number(audit["copies"]),
        "leaders to change": number(audit["leader_changes"]),
    }
    return Part(found, fleet_report.Topics(found), headline, _wrong(results, found["wrong_rows"]), place)


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
        results = frame.repartition(TASKS_PER_CORE * cores(spark)).mapInArrow(function, from_arrow_schema(result))
        with pipeline.progress(what):
            place = pipeline.sink.frame(name, results)
    finally:
        spark.conf.set(at_a_time, str(before))
    return place, spark.read.parquet(place)


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
