"""``fleet``: assigns every group by several assignors; places every topic, and audits its current placement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.errors import InvalidQuestion
from service.decisions.member_counts.answer import Need
from service.pipeline.analyses.fleet import assignments, outcome, placements
from service.pipeline.analyses.fleet import summary as fleet_summary
from service.pipeline.analyses.fleet.assignments import WRONG_ROW, Choice, Sizing
from service.pipeline.analyses.results import ArrowFunction, Outcome
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.columns import column
from service.pipeline.spark.io.scan import ScanSource, read_table
from service.pipeline.spark.io.sinks import Pipeline
from service.pipeline.spark.io.sources import CORRUPT, Source
from service.pipeline.spark.tasks.group_requests import present

ROWS_AT_A_TIME: Final = 16
"""Groups, or topics, in a batch: one alone may have a million partitions."""


def run(
    pipeline: Pipeline,
    *,
    groups: Source | None,
    assignors: tuple[Choice, ...],
    body_column: str | None,
    fewest_members: bool,
    consumption_rate: float | None,
    max_lag: int | None,
    topics: Source | None,
    brokers: Source | None,
    placer: str | None,
    **_: Any,
) -> Outcome:
    """Assign, place, audit; each table is read once."""
    parts: dict[str, outcome.TableOutcome] = {}
    tables: dict[str, Any] = {}
    if groups is not None:
        need = Need(consumption_rate, max_lag / 1000) if consumption_rate and max_lag else None
        sizing = partial(assignments.members_needed, need) if need is not None or fewest_members else None
        parts["groups"], tables[outcome.ASSIGNMENTS] = _groups(pipeline, groups, assignors, body_column, sizing)
    if topics is not None:
        parts["topics"], tables[outcome.PLACEMENTS] = _topics(pipeline, topics, brokers, placer)
    places = [tables[name] for name, part in zip(tables, parts.values(), strict=True) if part.summary["wrong_rows"]]
    wrong = pipeline.spark.read.parquet(*places).where(F.col("error") == WRONG_ROW) if places else None
    tables |= pipeline.rejected(None if wrong is None else wrong.select(F.col("detail").alias("reason"), "record"))
    return outcome.fleet(parts, tables, ", ".join(str(source) for source in (groups, topics) if source is not None))


def _groups(
    pipeline: Pipeline, source: Source, assignors: tuple[Choice, ...], body_column: str | None, sizing: Sizing | None
) -> tuple[outcome.TableOutcome, str]:
    body_column = body_column or ("value" if source.format == "kafka" else None)
    if body_column is None:
        scan = ScanSource.of(pipeline, source, (), optional=assignments.COLUMNS)
        _check(source, partial(assignments.check_columns, scan.schema))
    else:
        scan = ScanSource.of(pipeline, source, (body_column,))
    assign = partial(assignments.assign_groups, choices=assignors or None, body_column=body_column, sizing=sizing)
    place = _write("assigning groups", scan, assign, assignments.RESULT, outcome.ASSIGNMENTS)
    results = pipeline.sink.columns(outcome.ASSIGNMENTS, fleet_summary.GROUP_COLUMNS)
    part = outcome.of_groups(results)
    part.summary["group_assignments"] = questions(scan, results, body_column, fleet_summary.NAMED)
    return part, place


def _topics(pipeline: Pipeline, source: Source, brokers: Source | None, placer: str | None) -> tuple[outcome.TableOutcome, str]:
    scan = ScanSource.of(pipeline, source, (), optional=placements.COLUMNS)
    cluster = None if brokers is None else outcome.cluster_of(read_table(pipeline, brokers, *outcome.BROKERS), str(brokers))
    _check(source, partial(placements.check_columns, scan.schema, brokers_apart=cluster is not None))
    put = partial(placements.place_topics, placer=placer, brokers=cluster)
    place = _write("placing topics", scan, put, placements.RESULT, outcome.PLACEMENTS)
    return outcome.of_topics(pipeline.sink.columns(outcome.PLACEMENTS, fleet_summary.TOPIC_COLUMNS)), place


def _check(source: Source, columns: Callable[[], None]) -> None:
    try:
        columns()
    except InvalidQuestion as error:
        raise WrongSource(f"{source}: {error}") from None


def _write(what: str, scan: ScanSource, function: ArrowFunction, result: pa.Schema, name: str) -> str:
    """Write the rows that ``function`` gives as the table ``name``. Returns where it is."""
    of_session, at_a_time = scan.spark.conf, "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = of_session.get(at_a_time)
    if scan.files is None:  # then Spark makes the batches
        of_session.set(at_a_time, str(ROWS_AT_A_TIME))
    try:
        with scan.pipeline.progress(what):
            return scan.pipeline.sink.mapped(name, scan.few_rows(function, ROWS_AT_A_TIME), result)
    finally:
        of_session.set(at_a_time, str(before))


def questions(groups: ScanSource, results: pa.Table, body_column: str | None, most: int) -> list[dict[str, Any]]:
    """At most ``most`` groups with an id, as bodies with the most even of the assignors tried, largest gain first.

    Of equally even assignors the one that moves fewest partitions.

    groups, body_column : the input of ``assignments.assign_groups``, and where it is
    results : its rows, ``summary.GROUP_COLUMNS``
    """
    better = _better(results, most)
    if not better:
        return []
    if body_column is not None:
        bodies = _bodies(groups, body_column, [*better])
    else:
        rows = (row for batch in groups.having("group_id", [*better]) for row in batch.to_pylist())
        bodies = (present({name: value for name, value in row.items() if name != CORRUPT}) for row in rows)
    by_name = {body["group_id"]: body for body in bodies}
    return [{**by_name[name], **chosen} for name, chosen in better.items()]


def _bodies(groups: ScanSource, body_column: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """The groups of these names in a column of JSON."""
    if groups.files is None:
        text = column(body_column).cast("string")
        rows = groups.frame.where(F.get_json_object(text, "$.group_id").isin(names)).select(text.alias(body_column)).toArrow()
        yield from map(orjson.loads, rows[body_column].to_pylist())
        return
    for batch in groups.batches():
        for text in batch.column(body_column).to_pylist():
            try:
                body = orjson.loads(text or b"null")
            except orjson.JSONDecodeError:
                continue  # it is among the rejected rows
            if isinstance(body, dict) and body.get("group_id") in names:
                yield body


def _better(results: pa.Table, most: int) -> dict[str, dict[str, str]]:
    """group_protocol and assignor for each group that has a more even one than its own."""
    tried = results.filter(pc.field("error").is_null() & pc.field("group_id").is_valid())
    own = tried.filter(pc.field("own")).group_by("group_id").aggregate([("skew", "min")])
    order = ("skew", "moved", "group_protocol", "assignor")
    others = tried.filter(~pc.field("own")).sort_by([(name, "ascending") for name in order])
    best = others.group_by("group_id", use_threads=False).aggregate([(name, "first") for name in order])
    both = own.join(best, "group_id", join_type="inner")
    both = both.append_column("gain", pc.subtract(both["skew_min"], both["skew_first"])).filter(pc.field("gain") > 0)
    rows = both.sort_by([("gain", "descending"), ("group_id", "ascending")]).slice(0, most).to_pylist()
    return {row["group_id"]: {"group_protocol": row["group_protocol_first"], "assignor": row["assignor_first"]} for row in rows}
