"""A reassignment of all topics of a table: summary, tables and report."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.core.measures import COUNTS
from service.core.printable import printable
from service.decisions.reassignments import rows as plan_rows
from service.decisions.reassignments.answer import ReassignmentAnswer, answer, moves_table
from service.decisions.reassignments.question import ReassignmentQuestion
from service.decisions.reassignments.selection import parse_balance, read_balance
from service.decisions.rows import LONGEST_NAME, LONGEST_TOPIC_NAME, NAME, struct_rows
from service.pipeline.analyses.nested_columns import first_misfit
from service.pipeline.analyses.results import Outcome
from service.pipeline.files.rejected import WrongTable
from service.planner.reassignments import RESOURCES
from service.report.figures import duration, number, size
from service.report.pages import COLORS, LABELLED, Figure, FigureRow, Report, Section, Table, chart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from service.planner.reassignments.batches.schedule import Batches
    from service.planner.reassignments.model import Brokers, Placements

REASSIGNMENT: Final = "reassignment.parquet"
MOVES: Final = "moves.parquet"
STEPS: Final = "batches.parquet"
FRONTIER: Final = "frontier.parquet"

PLACED: Final = {"topic_name": pa.string(), "partition_id": pa.int32(), "replicas": pa.list_(pa.int32())}
OPTIONAL: Final = {"partition_bytes": pa.int64(), **dict.fromkeys(plan_rows.RATES, pa.float64())}
"""The columns of placements that are required, and those that are not."""

BROKERS: Final = (
    {"broker_id": pa.int32()},
    {field.name: field.type for field in plan_rows.TARGET_BROKER if field.name != "broker_id"},
)
"""The same of brokers."""

LISTED: Final = 50
"""Batches that the page lists."""

UPRIGHT: Final = 24
"""Broker ids up to which they stand upright beside each other."""


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
    tables = {
        REASSIGNMENT: _reassignment(planned.brokers, planned.placements, planned.batches),
        MOVES: moves_table(planned.brokers, planned.placements, planned.moves),
        STEPS: _batches(planned.batches, planned.timing.seconds, sized=planned.placements.sizes is not None),
        **({} if planned.frontier is None else {FRONTIER: planned.frontier}),
    }
    return Outcome(
        summary=summary,
        tables=tables,
        report=_report(summary, tables, source),
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
    inner = plan_rows.placement_rows(column["partition_id"], column["replicas"])
    lists = {name: pa.ListArray.from_arrays(bounds, column[name]) for name in OPTIONAL if name in column}
    lists |= {"topic_name": names.dictionary, "placements": pa.ListArray.from_arrays(bounds, inner)}
    rows = struct_rows(plan_rows.PLACED_TOPIC, lists, len(names.dictionary))
    if not plan_rows.plain_placed_topics(rows):
        topic = rows[first_misfit(rows, plan_rows.plain_placed_topics)]["topic_name"].as_py()
        raise WrongTable(
            f"{name}: Topic {printable(topic)!r} must have a name of at most {LONGEST_TOPIC_NAME} characters, a replica of each "
            f"partition, and sizes and rates of at most {number(plan_rows.MOST_BYTES)}."
        )
    return rows


def _check_present(name: str, table: pa.Table, required: Iterable[str]) -> None:
    """Raise WrongTable for a table without rows, and for a row that lacks a value of a required column."""
    if not len(table):
        raise WrongTable.without_records(name)
    for column in required:
        row = pc.index(pc.is_null(table.column(column)), True).as_py()
        if row >= 0:
            raise WrongTable(f"{name}: {column} of row {row + 1:,} is missing.")


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def _brokers(name: str, table: pa.Table) -> pa.StructArray:
    """The cluster as rows of type TARGET_BROKER."""
    _check_present(name, table, BROKERS[0])
    column = {name: _chunk(table.column(name)) for name in table.column_names}
    rows = struct_rows(plan_rows.TARGET_BROKER, column, len(table))
    if not plan_rows.plain_target_brokers(rows):
        row = first_misfit(rows, plan_rows.plain_target_brokers)
        raise WrongTable(
            f"{name}: Row {row + 1:,} must have a positive weight, limits from 0 to {number(plan_rows.MOST_BYTES)}, and a "
            f"rack_id of at most {LONGEST_NAME} bytes."
        )
    return rows


# ---- the tables that go out --------------------------------------------------------------------------------------------


def _reassignment(brokers: Brokers, placements: Placements, batches: Batches) -> pa.Table:
    """A row for each partition that changes in a batch (from 1): its replicas after it and before it."""
    steps = batches.steps
    ids = brokers.cluster.broker_ids
    after, before = (
        pa.ListArray.from_arrays(pa.array(rows.offsets), pa.array(ids[rows.values])) for rows in (steps.after, steps.before)
    )
    columns = {
        "batch": pa.array(steps.batches + 1),
        "topic": pa.array(placements.topic_names, NAME).take(pa.array(placements.topics[steps.partitions])),
        "partition": pa.array(placements.partition_ids[steps.partitions]),
        "replicas": after,
        "current_replicas": before,
    }
    return pa.table(columns)


def _batches(batches: Batches, seconds: Any, *, sized: bool) -> pa.Table:
    count = len(batches)
    columns = {
        "batch": pa.array(np.arange(1, count + 1, dtype=np.int32)),
        "moves": pa.array(batches.moves),
        "bytes": pa.array(batches.amounts) if sized else pa.nulls(count, pa.int64()),
        "duration_seconds": pa.nulls(count, pa.float64()) if seconds is None else pa.array(seconds, mask=np.isinf(seconds)),
    }
    return pa.table(columns)


def _summary(planned: ReassignmentAnswer, balance: str) -> dict[str, Any]:
    brokers, placements, question = planned.brokers, planned.placements, planned.question
    result, batches, timing = planned.plan, planned.batches, planned.timing
    now = placements.replicas
    leads = now.firsts() != result.replicas.firsts()
    states = []
    for load, traffic in zip(planned.loads, planned.traffic, strict=True):
        of_each = {name: {"counts": load.totals[name], **asdict(load.spread(name))} for name in COUNTS}
        of_zones = {} if traffic is None else {"zone_traffic": traffic.figures(question.price_per_gb)}
        states.append({"broker_ids": brokers.cluster.broker_ids, **of_each, **of_zones})
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
        "before": states[0],
        "after": states[1],
        "pace": {"throttle_bytes_per_second": question.throttle_bytes_per_second, **asdict(question.pace)},
    }


# ---- the report --------------------------------------------------------------------------------------------------------


def _report(summary: dict[str, Any], tables: dict[str, pa.Table], source: str) -> Report:
    """What the plan does, the brokers before and after, and the batches."""
    moves, before, after = summary["moves"], summary["before"], summary["after"]
    bound = (size if summary["balance"] == "bytes" else number)(moves["lower_bound"])
    figures = [
        Figure("replicas to copy", number(moves["replicas"])),
        Figure("lower bound", bound),
        Figure("preferred leaders to change", number(moves["leaders"])),
        Figure("batches", number(summary["batches"])),
    ]
    if moves["bytes"] is not None:
        figures.insert(1, Figure("bytes to copy", size(moves["bytes"])))
    if summary["duration_seconds"] is not None:
        least = "of all batches" if summary["write_rates_known"] else "of all batches at least: write rates are not known"
        figures.append(Figure("duration", duration(summary["duration_seconds"]), least))
    rows = []
    for name, title in (("replicas", "replicas"), ("leaders", "preferred leaders")):
        skews = (f"{state[name]['skew']:.3f}" for state in (before, after))
        rows.append((title, *skews, *(number(after[name][end]) for end in ("min", "max"))))
    evenness = Table(("of brokers", "skew now", "skew after", "least", "most"), rows)
    sections = [Section("At a glance", (FigureRow(tuple(figures)), evenness), " ".join(summary["effects"]))]
    if summary["warnings"]:
        sections.append(Section("Before you execute it", (), " ".join(summary["warnings"])))
    counts = [state[name]["counts"] for name in ("replicas", "leaders") for state in (before, after)]
    rows = [(str(broker_id), *map(number, each)) for broker_id, *each in zip(before["broker_ids"], *counts, strict=True)]
    columns = ("broker", "replicas now", "after", "preferred leaders now", "after")
    brokers = Table(columns, rows, folded="Show the brokers as a table")
    sections.append(Section("Replicas of each broker", (chart(lambda axes: _draw_brokers(axes, before, after)), brokers)))
    if FRONTIER in tables:
        sections.append(_copies_against_evenness(tables[FRONTIER]))
    if summary["batches"]:
        batches = tables[STEPS]
        units = (("batch", number), ("moves", number), ("bytes", size), ("duration_seconds", duration))
        rows = [
            tuple("—" if row[name] is None else text(row[name]) for name, text in units)
            for row in batches.slice(0, LISTED).to_pylist()
        ]
        caption = f"The first {LISTED} of {number(len(batches))}; all are in batches.parquet." if len(batches) > LISTED else ""
        table = Table(("batch", "replicas copied", "bytes", "duration"), rows, caption)
        sections.append(Section("Batches", (table,), "Execute a batch when the one before it is complete."))
    return Report("Reassign", source, tuple(sections), summary["conclusion"])


def _copies_against_evenness(frontier: pa.Table) -> Section:
    copies, spreads, proven = (frontier.column(name).to_pylist() for name in ("copies", "spread", "proven"))

    def draw(axes: Axes) -> None:
        axes.plot(copies, spreads, color=COLORS[0], marker="o" if len(copies) <= LISTED else "")
        axes.set(xlabel="replicas copied", ylabel="most - least", ylim=(0, None))

    rows = [
        (number(row["copies"]), number(row["spread"]), number(row["stddev"]), "yes" if row["proven"] else "no")
        for row in frontier.to_pylist()
    ]
    points = Table(("replicas copied", "most - least", "stddev", "proven"), rows, folded="Show the points as a table")
    text = "The difference between the fullest and the emptiest broker: the smallest with each number of copies."
    text += " No plan with as few copies is more even." if all(proven) else " Not every point is proven the evenest."
    return Section("Copies against evenness", (chart(draw), points), text)


def _draw_brokers(axes: Axes, before: dict[str, Any], after: dict[str, Any]) -> None:
    ids = before["broker_ids"]
    at = np.arange(len(ids))
    axes.bar(at - 0.2, before["replicas"]["counts"], width=0.4, color=COLORS[1], label="now")
    axes.bar(at + 0.2, after["replicas"]["counts"], width=0.4, color=COLORS[0], label="after")
    shown = at[:: -(-len(ids) // LABELLED) or 1]
    axes.set_xticks(shown, [str(ids[i]) for i in shown], rotation=0 if len(shown) <= UPRIGHT else 90)
    axes.set(xlabel="broker" if len(shown) == len(ids) else f"broker, every {shown[1]}th named", ylabel="replicas")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0)
