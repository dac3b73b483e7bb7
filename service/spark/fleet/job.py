"""``fleet``: assigns every group by several assignors; places every topic, and audits its current placement."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.analyses.fleet import assignments, placements
from service.analyses.fleet import report as fleet_report
from service.analyses.fleet import summary as fleet_summary
from service.analyses.fleet.assignments import WRONG_ROW, Choice
from service.analyses.results import ArrowFunction
from service.core.errors import InvalidQuestion
from service.report.folders import REJECTED_ROWS
from service.report.numbers import number
from service.report.pages import Report, Section
from service.spark.errors import WrongSource
from service.spark.fleet import requests
from service.spark.io.scan import ScanSource
from service.spark.io.sources import Source
from service.spark.io.tables import read_table
from service.spark.job import Outcome, Pipeline

ASSIGNMENTS: Final = "assignments.parquet"
PLACEMENTS: Final = "placements.parquet"
ROWS_AT_A_TIME: Final = 16
"""Groups, or topics, in a batch: one alone may have a million partitions."""

MOST_BROKERS: Final = 100_000


@dataclass(frozen=True)
class TableOutcome:
    """What one of the two tables contributes to the outcome.

    place : where its results are
    """

    summary: dict[str, Any]
    sections: list[Section]
    headline: dict[str, str]
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
    """Assign, place, audit; each table is read once."""
    outcomes: dict[str, TableOutcome] = {}
    tables: dict[str, Any] = {}
    if groups is not None:
        outcomes["groups"] = _groups(pipeline, groups, assignors, body_column)
        tables[ASSIGNMENTS] = outcomes["groups"].place
    if topics is not None:
        outcomes["topics"] = _topics(pipeline, topics, brokers, placer)
        tables[PLACEMENTS] = outcomes["topics"].place
    with_rejected = [tables[name] for name, of in zip(tables, outcomes.values(), strict=True) if of.summary["wrong_rows"]]
    if with_rejected:
        tables[REJECTED_ROWS] = _rejected(pipeline, with_rejected)
    else:
        pipeline.sink.remove(REJECTED_ROWS)
    sections = [section for outcome in outcomes.values() for section in outcome.sections]
    subtitle = ", ".join(str(source) for source in (groups, topics) if source is not None)
    return Outcome(
        summary={"job": "fleet", **{name: outcome.summary for name, outcome in outcomes.items()}},
        tables=tables,
        report=Report(
            "Fleet", subtitle, tuple(sections), fleet_report.verdict({name: of.summary for name, of in outcomes.items()})
        ),
        headline={name: text for outcome in outcomes.values() for name, text in outcome.headline.items()},
    )


# ---- the two tables ----------------------------------------------------------------------------------------------------


def _groups(pipeline: Pipeline, source: Source, assignors: tuple[Choice, ...], body_column: str | None) -> TableOutcome:
    body_column = body_column or ("value" if source.format == "kafka" else None)
    if body_column is None:
        scan = ScanSource.of(pipeline.spark, source, (), optional=assignments.COLUMNS)
        _check(source, partial(assignments.check_columns, scan.schema))
    else:
        scan = ScanSource.of(pipeline.spark, source, (body_column,))
    assign = partial(assignments.assign_groups, choices=assignors or None, body_column=body_column)
    place = _write(pipeline, "assigning groups", scan, assign, assignments.RESULT, ASSIGNMENTS)
    results = pipeline.sink.columns(ASSIGNMENTS, fleet_summary.GROUP_COLUMNS)
    summary, curves = fleet_summary.of_groups(results)
    headline = {
        "groups": f"{number(summary['groups'])} with {number(summary['partitions'])} partitions",
        "assignments that fail, as in Kafka": number(sum(row["failed"] for row in summary["assignors"])),
        "rejected rows": number(summary["wrong_rows"]),
    }
    sections = fleet_report.group_sections(summary, fleet_summary.QUANTILES, curves)
    summary["group_assignments"] = requests.questions(scan, results, body_column, fleet_summary.NAMED)
    return TableOutcome(summary, sections, headline, place)


def _topics(pipeline: Pipeline, source: Source, brokers: Source | None, placer: str | None) -> TableOutcome:
    scan = ScanSource.of(pipeline.spark, source, (), optional=placements.COLUMNS)
    cluster = None if brokers is None else _brokers(pipeline, brokers)
    _check(source, partial(placements.check_columns, scan.schema, brokers_apart=cluster is not None))
    put = partial(placements.place_topics, placer=placer, brokers=cluster)
    place = _write(pipeline, "placing topics", scan, put, placements.RESULT, PLACEMENTS)
    summary = fleet_summary.of_topics(pipeline.sink.columns(PLACEMENTS, fleet_summary.TOPIC_COLUMNS))
    audit = summary["audit"]
    headline = {
        "topics": f"{number(summary['topics'])} with {number(summary['partitions'])} partitions",
        "topics that follow Kafka's placement rules": f"{number(audit['obey'])} of {number(audit['audited'])} audited",
        "replicas to copy": number(audit["copies"]),
        "leaders to change": number(audit["leader_changes"]),
    }
    sections = fleet_report.topic_sections(summary)
    return TableOutcome(summary, sections, headline, place)


def _brokers(pipeline: Pipeline, source: Source) -> list[dict[str, Any]]:
    """The cluster, from a table of broker_id, rack_id and fenced, all text in CSV."""
    optional = {"rack_id": pa.string(), "fenced": pa.bool_()}
    table = read_table(pipeline.spark, source, {"broker_id": pa.int32()}, optional)
    ids = table["broker_id"]
    if not 0 < len(table) <= MOST_BROKERS or ids.null_count:
        raise WrongSource(f"{source}: There must be 1 to {MOST_BROKERS:,} brokers, each with a broker_id.")
    if len(ids.unique()) < len(ids):
        raise WrongSource(f"{source}: Duplicate broker_id.")
    return [{"rack_id": None, "fenced": None, **row} for row in table.to_pylist()]


# ---- both --------------------------------------------------------------------------------------------------------------


def _check(source: Source, columns: Callable[[], None]) -> None:
    try:
        columns()
    except InvalidQuestion as error:
        raise WrongSource(f"{source}: {error}") from None


def _write(
    pipeline: Pipeline,
    what: str,
    scan: ScanSource,
    function: ArrowFunction,
    result: pa.Schema,
    name: str,
) -> str:
    """Write the rows that ``function`` gives as the table ``name``. Returns where it is."""
    with pipeline.progress(what), _small_batches(pipeline) if scan.files is None else nullcontext():
        return pipeline.sink.mapped(name, scan.few_rows(function, ROWS_AT_A_TIME), result)


@contextmanager
def _small_batches(pipeline: Pipeline) -> Iterator[None]:
    """Let Spark give ROWS_AT_A_TIME to a task."""
    spark, at_a_time = pipeline.spark, "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(at_a_time)
    spark.conf.set(at_a_time, str(ROWS_AT_A_TIME))
    try:
        yield
    finally:
        spark.conf.set(at_a_time, str(before))


def _rejected(pipeline: Pipeline, places: list[str]) -> DataFrame:
    """The rows of tables of results that could not be read, with the reason."""
    rows = pipeline.spark.read.parquet(*places).where(F.col("error") == WRONG_ROW)
    return rows.select(F.col("detail").alias("reason"), "record")
