"""A reassignment of all topics of a table: summary, tables and report."""

from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.analyses.outcome import Outcome
from service.analyses.reassign.report import load_summary, report_of
from service.core.errors import InvalidQuestion
from service.core.model import Ragged
from service.core.reassignments import BATCH_ORDERS
from service.core.reassignments.batches.model import Batches, BatchLimits, BatchTiming, Pace
from service.core.reassignments.effects import effects, timing_sentence, warnings
from service.core.reassignments.model import (
    Brokers,
    Goal,
    Placements,
    Plan,
)
from service.decisions.budget import Budget
from service.decisions.groups.rows import NAME
from service.decisions.reassignments.answer import answer
from service.decisions.reassignments.question import ReassignmentQuestion
from service.decisions.reassignments.rows import (
    PLACED_TOPIC,
    PLACEMENT,
    TARGET_BROKER,
    plain_placed_topics,
    plain_target_brokers,
)
from service.decisions.reassignments.tables import moves_table
from service.files.errors import WrongTable
from service.report.numbers import number

REASSIGNMENT: Final = "reassignment.parquet"
MOVES: Final = "moves.parquet"
STEPS: Final = "batches.parquet"
FRONTIER: Final = "frontier.parquet"

PLACED: Final = {"topic_name": pa.string(), "partition_id": pa.int32(), "replicas": pa.list_(pa.int32())}
OPTIONAL: Final = {"partition_bytes": pa.int64(), "partition_bytes_per_second": pa.float64()}
"""The columns of placements that are required, and those that are not."""

BROKERS: Final = (
    {"broker_id": pa.int32()},
    {field.name: field.type for field in TARGET_BROKER if field.name != "broker_id"},
)
"""The same of brokers."""


def reassign(
    placements: tuple[str, pa.Table],
    brokers: tuple[str, pa.Table],
    *,
    excluded_topics: tuple[str, ...],
    replication_factor: int | None,
    objective: str | None,
    racks: str,
    leaders: str,
    balance: str,
    tolerance: float | None = None,
    max_moves: int | None = None,
    max_bytes: int | None = None,
    frontier: bool = False,
    order: str = BATCH_ORDERS[0],
    moves_per_broker: int | None,
    moves_per_batch: int | None,
    bytes_in_flight: int | None,
    throttle_bytes_per_second: int | None,
    throttle_utilization: float,
    batch_seconds: float,
    **_: Any,
) -> Outcome:
    """Plan the reassignment. placements, brokers : a name for errors, and a table. Raises WrongTable, and AllocatorError."""
    topics = _topics(*placements)
    broker_rows = _brokers(*brokers)
    between = {"tolerance": tolerance, "max_moves": max_moves, "max_bytes": max_bytes}
    goal = Goal.of(objective, racks=racks, leaders=leaders, balance=balance, **between)
    pace = Pace(throttle_utilization, batch_seconds)
    limits = BatchLimits(moves_per_broker, moves_per_batch, bytes_in_flight, order)
    excluded, throttle = tuple(excluded_topics), throttle_bytes_per_second
    question = ReassignmentQuestion(
        broker_rows, topics, None, goal, limits, pace, replication_factor, excluded, throttle, frontier=frontier
    )
    try:
        told = answer(question, Budget())
    except InvalidQuestion as error:
        detail = "Column partition_bytes is required for --balance bytes, throttles and capacities."
        text = detail if "partition_bytes are required" in error.detail else str(error)
        raise WrongTable(f"{(brokers if error.field[:1] == ('brokers',) else placements)[0]}: {text}") from None
    cluster, placed, result, batches, timing = told.brokers, told.placements, told.plan, told.batches, told.timing
    moves = moves_table(cluster, placed, told.moves)
    summary = _summary(cluster, placed, goal, result, batches, timing)
    summary["effects"] += timing_sentence(timing, pace)
    summary["pace"] = {"throttle_bytes_per_second": throttle_bytes_per_second, **asdict(pace)}
    steps = _batches(batches, timing.seconds, sized=placed.sizes is not None)
    tables = {REASSIGNMENT: _reassignment(cluster, placed, batches), MOVES: moves, STEPS: steps}
    points = None if told.frontier is None else told.frontier.table()
    if points is not None:
        tables[FRONTIER] = points
    return Outcome(
        summary=summary,
        tables=tables,
        report=report_of(summary, steps, placements[0], points),
        headline={
            "partitions": number(len(placed)),
            "replicas to copy": f"{number(summary['moves']['replicas'])} (lower bound {number(result.lower_bound)})",
            "leaders to change": number(summary["moves"]["leaders"]),
            "batches": number(len(batches)),
        },
    )


# ---- the tables that come in -------------------------------------------------------------------------------------------


def _topics(name: str, table: pa.Table) -> pa.StructArray:
    """The placements as rows of type PLACED_TOPIC, a row for each topic. Partitions are in order of their ids."""
    table = table.sort_by([("topic_name", "ascending"), ("partition_id", "ascending")]).combine_chunks()
    wrong = next((column for column in table.column_names if table.column(column).null_count), None)
    if wrong:
        raise WrongTable(f"{name}: Each row must have a {wrong}; {table.column(wrong).null_count} have none.")
    column = {name: _chunk(table.column(name)) for name in table.column_names}
    names = pc.dictionary_encode(column["topic_name"].cast(NAME))
    index = np.array(names.indices, np.int32)
    bounds = pa.array(np.searchsorted(index, np.arange(len(names.dictionary) + 1)), pa.int32())
    inner = pa.StructArray.from_arrays(
        [column["partition_id"], column["replicas"], pa.nulls(len(table), pa.list_(pa.int32()))], fields=list(PLACEMENT)
    )
    lists = {name: pa.ListArray.from_arrays(bounds, column[name]) for name in OPTIONAL if name in column}
    lists |= {"topic_name": names.dictionary, "placements": pa.ListArray.from_arrays(bounds, inner)}
    arrays = [lists.get(field.name, pa.nulls(len(names.dictionary), field.type)).cast(field.type) for field in PLACED_TOPIC]
    rows = pa.StructArray.from_arrays(arrays, fields=list(PLACED_TOPIC))
    if not plain_placed_topics(rows):
        raise WrongTable(f"{name}: Ids, sizes and rates must not be negative, and each row must have a replica.")
    return rows


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def _brokers(name: str, table: pa.Table) -> pa.StructArray:
    """The cluster as rows of type TARGET_BROKER."""
    column = {name: _chunk(table.column(name)) for name in table.column_names}
    arrays = [column.get(field.name, pa.nulls(len(table), field.type)).cast(field.type) for field in TARGET_BROKER]
    rows = pa.StructArray.from_arrays(arrays, fields=list(TARGET_BROKER))
    if not plain_target_brokers(rows):
        raise WrongTable(f"{name}: Each row must have a broker_id, and weights and limits that are not negative.")
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


def _summary(
    brokers: Brokers, placements: Placements, goal: Goal, result: Plan, batches: Batches, timing: BatchTiming
) -> dict[str, Any]:
    now = placements.replicas
    loads = placements.loads(brokers, result.replicas)
    leads = now.values[now.offsets[:-1]] != result.replicas.values[result.replicas.offsets[:-1]]
    return {
        "job": "reassign",
        "objective": goal.objective,
        "balance": goal.balance,
        "topics": len(placements.topic_names),
        "partitions": len(placements),
        "moves": {
            "replicas": int(batches.moves.sum()),
            "bytes": None if placements.sizes is None else int(batches.amounts.sum()),
            "leaders": int(leads.sum()),
            "lower_bound": result.lower_bound,
            "gap": result.gap,
        },
        "goals": result.goals,
        "effects": list(effects(brokers, goal, result, batches, loads)),
        "warnings": list(warnings(brokers, placements, result, batches, timing)),
        "batches": len(batches),
        "duration_seconds": timing.total,
        "before": load_summary(brokers, loads[0]),
        "after": load_summary(brokers, loads[1]),
    }
