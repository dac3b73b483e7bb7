"""A reassignment of all topics of a table: summary, tables and report."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.core.model import Ragged
from service.core.printable import printable
from service.decisions.reassignments.answer import ReassignmentAnswer, answer, moves_table
from service.decisions.reassignments.question import ReassignmentQuestion
from service.decisions.reassignments.rows import (
    MOST_BYTES,
    PLACED_TOPIC,
    RATES,
    TARGET_BROKER,
    placement_rows,
    plain_placed_topics,
    plain_target_brokers,
)
from service.decisions.reassignments.selection import parse_balance, read_balance
from service.decisions.rows import LONGEST_NAME, LONGEST_TOPIC_NAME, NAME, struct_rows
from service.pipeline.analyses.outcome import Outcome
from service.pipeline.analyses.reassign.report import load_summary, report_of
from service.pipeline.files.errors import WrongTable
from service.planner.reassignments import RESOURCES
from service.planner.reassignments.batches.schedule import Batches
from service.planner.reassignments.model import Brokers, Placements
from service.report.figures import number

REASSIGNMENT: Final = "reassignment.parquet"
MOVES: Final = "moves.parquet"
STEPS: Final = "batches.parquet"
FRONTIER: Final = "frontier.parquet"

PLACED: Final = {"topic_name": pa.string(), "partition_id": pa.int32(), "replicas": pa.list_(pa.int32())}
OPTIONAL: Final = {"partition_bytes": pa.int64(), **dict.fromkeys(RATES, pa.float64())}
"""The columns of placements that are required, and those that are not."""

BROKERS: Final = (
    {"broker_id": pa.int32()},
    {field.name: field.type for field in TARGET_BROKER if field.name != "broker_id"},
)
"""The same of brokers."""


def reassign(
    placements: tuple[str, pa.Table], brokers: tuple[str, pa.Table], *, balance: str | None = None, **options: Any
) -> Outcome:
    """Plan the reassignment. placements, brokers : a name for errors, and a table; options : as of ``ReassignmentQuestion.of``

    Raises WrongTable, and AllocatorError.
    """
    counted, resources = read_balance(parse_balance(balance or RESOURCES[0]))
    options |= {"balance": counted, "resources": resources}
    question = ReassignmentQuestion.of(_brokers(*brokers), _topics(*placements), **options)
    try:
        planned = answer(question, Budget())
    except InvalidQuestion as error:
        detail = "Column partition_bytes is required for --balance bytes, throttles and capacities."
        text = detail if "partition_bytes are required" in error.detail else str(error)
        raise WrongTable(f"{(brokers if error.field[:1] == ('brokers',) else placements)[0]}: {text}") from None
    return outcome_of(planned, balance or RESOURCES[0], placements[0])


def outcome_of(planned: ReassignmentAnswer, balance: str, source: str) -> Outcome:
    """The outcome of a plan. balance : as in the summary; source : the name of what was read, for the report"""
    summary = _summary(planned, balance)
    steps = _batches(planned.batches, planned.timing.seconds, sized=planned.placements.sizes is not None)
    moves = moves_table(planned.brokers, planned.placements, planned.moves)
    tables = {REASSIGNMENT: _reassignment(planned.brokers, planned.placements, planned.batches), MOVES: moves, STEPS: steps}
    points = None if planned.frontier is None else planned.frontier.table()
    if points is not None:
        tables[FRONTIER] = points
    return Outcome(
        summary=summary,
        tables=tables,
        report=report_of(summary, steps, source, points),
        headline={
            "partitions": number(len(planned.placements)),
            "replicas to copy": f"{number(summary['moves']['replicas'])} (lower bound {number(planned.plan.lower_bound)})",
            "preferred leaders to change": number(summary["moves"]["leaders"]),
            "batches": number(len(planned.batches)),
        },
        within_limits=planned.conclusion[1],
    )


# ---- the tables that come in -------------------------------------------------------------------------------------------


def _topics(name: str, table: pa.Table) -> pa.StructArray:
    """The placements as rows of type PLACED_TOPIC, a row for each topic. Partitions are in order of their ids."""
    _check_present(name, table, table.column_names)
    for column in table.column_names[1:]:
        if not pa.types.is_list(table.column(column).type):
            row = pc.index(pc.less(table.column(column), 0), True).as_py()
            if row >= 0:
                raise WrongTable(f"{name}: {column} of row {row + 1:,} is {table.column(column)[row]}; it must not be negative.")
    table = table.sort_by([("topic_name", "ascending"), ("partition_id", "ascending")]).combine_chunks()
    column = {name: _chunk(table.column(name)) for name in table.column_names}
    names = pc.dictionary_encode(column["topic_name"].cast(NAME))
    index = np.array(names.indices, np.int32)
    bounds = pa.array(np.searchsorted(index, np.arange(len(names.dictionary) + 1)), pa.int32())
    inner = placement_rows(column["partition_id"], column["replicas"])
    lists = {name: pa.ListArray.from_arrays(bounds, column[name]) for name in OPTIONAL if name in column}
    lists |= {"topic_name": names.dictionary, "placements": pa.ListArray.from_arrays(bounds, inner)}
    rows = struct_rows(PLACED_TOPIC, lists, len(names.dictionary))
    if not plain_placed_topics(rows):
        topic = rows[_first_odd(rows, plain_placed_topics)]["topic_name"].as_py()
        raise WrongTable(
            f"{name}: Topic {printable(topic)!r} must have a name of at most {LONGEST_TOPIC_NAME} characters, a replica of each "
            f"partition, and sizes and rates of at most {number(MOST_BYTES)}."
        )
    return rows


def _check_present(name: str, table: pa.Table, required: Iterable[str]) -> None:
    """Raise WrongTable for a table without rows, and for a row that lacks a value of a required column."""
    if not len(table):
        raise WrongTable.without_records(name)
    for column in required:
        if table.column(column).null_count:
            raise WrongTable(
                f"{name}: {column} of row {pc.index(pc.is_null(table.column(column)), True).as_py() + 1:,} is missing."
            )


def _first_odd(rows: pa.StructArray, is_plain: Callable[[pa.StructArray], bool]) -> int:
    """The first row that is not well-formed; there is one."""
    return bisect_left(range(len(rows)), True, key=lambda row: not is_plain(rows.take(pa.array(range(row + 1)))))


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def _brokers(name: str, table: pa.Table) -> pa.StructArray:
    """The cluster as rows of type TARGET_BROKER."""
    _check_present(name, table, BROKERS[0])
    column = {name: _chunk(table.column(name)) for name in table.column_names}
    rows = struct_rows(TARGET_BROKER, column, len(table))
    if not plain_target_brokers(rows):
        row = _first_odd(rows, plain_target_brokers)
        raise WrongTable(
            f"{name}: Row {row + 1:,} must have a positive weight, limits from 0 to {number(MOST_BYTES)}, and a rack_id of at "
            f"most {LONGEST_NAME} bytes."
        )
    return rows


# ---- the tables that go out --------------------------------------------------------------------------------------------


def _reassignment(brokers: Brokers, placements: Placements, batches: Batches) -> pa.Table:
    """A row for each partition that changes in a batch (from 1): its replicas after it and before it."""
    steps = batches.steps

    def lists(rows: Ragged) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(rows.offsets), pa.array(brokers.cluster.broker_ids[rows.values]))

    return pa.table(
        {
            "batch": pa.array(steps.batches + 1),
            "topic": pa.array(placements.topic_names, NAME).take(pa.array(placements.topics[steps.partitions])),
            "partition": pa.array(placements.partition_ids[steps.partitions]),
            "replicas": lists(steps.after),
            "current_replicas": lists(steps.before),
        }
    )


def _batches(batches: Batches, seconds: Any, *, sized: bool) -> pa.Table:
    count = len(batches)
    return pa.table(
        {
            "batch": pa.array(np.arange(1, count + 1, dtype=np.int32)),
            "moves": pa.array(batches.moves),
            "bytes": pa.array(batches.amounts) if sized else pa.nulls(count, pa.int64()),
            "duration_seconds": pa.nulls(count, pa.float64()) if seconds is None else pa.array(seconds, mask=np.isinf(seconds)),
        }
    )


def _summary(planned: ReassignmentAnswer, balance: str) -> dict[str, Any]:
    brokers, placements, question = planned.brokers, planned.placements, planned.question
    result, batches, timing = planned.plan, planned.batches, planned.timing
    now = placements.replicas
    leads = now.firsts() != result.replicas.firsts()
    before, after = (load_summary(brokers, load) for load in planned.loads)
    for state, traffic in zip((before, after), planned.traffic, strict=True):
        if traffic is not None:
            state["zone_traffic"] = traffic.figures(question.price_per_gb)
    return {
        "job": "reassign",
        "objective": question.goal.objective,
        "balance": balance,
        "topics": len(placements.topic_names),
        "partitions": len(placements),
        "moves": {
            "replicas": int(batches.moves.sum()),
            "bytes": None if placements.sizes is None else int(batches.amounts.sum()),
            "leaders": int(leads.sum()),
            "elections": len(planned.leadership.elected),
            "lower_bound": result.lower_bound,
            "gap": result.gap,
        },
        "goals": result.goals,
        "conclusion": planned.conclusion[0],
        "complete": planned.conclusion[1],
        "effects": planned.effects,
        "warnings": planned.warnings,
        "inferred_replaces": None if planned.replacements is None else planned.replacements.rows(brokers),
        "batches": len(batches),
        "duration_seconds": timing.total,
        "write_rates_known": placements.rates is not None,
        "throttle_bytes_per_second": timing.throttle,
        "throttle_needed_bytes_per_second": timing.throttle_needed,
        "before": before,
        "after": after,
        "pace": {"throttle_bytes_per_second": question.throttle_bytes_per_second, **asdict(question.pace)},
    }
