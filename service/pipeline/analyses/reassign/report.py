"""The report of ``reassign``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.measures import COUNTS, Load
from service.report.figures import duration, number, size
from service.report.pages import COLORS, LABELLED, Figure, FigureRow, Report, Section, Table, chart

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from service.planner.reassignments.model import Brokers

LISTED: Final = 50
"""Batches that the page lists."""

UPRIGHT: Final = 24
"""Broker ids up to which they stand upright beside each other."""


def load_summary(brokers: Brokers, load: Load) -> dict[str, Any]:
    """Replicas and preferred leaders of each broker, and how even they are."""
    of_each = {name: {"counts": load.totals[name], **asdict(load.spread(name))} for name in COUNTS}
    return {"broker_ids": brokers.cluster.broker_ids, **of_each}


def report_of(summary: dict[str, Any], batches: pa.Table, source: str, frontier: pa.Table | None = None) -> Report:
    """What the plan does, the brokers before and after, and the batches. batches, frontier : the tables of these names"""
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
    rows = [
        (
            name.replace("leaders", "preferred leaders"),
            f"{before[name]['skew']:.3f}",
            f"{after[name]['skew']:.3f}",
            number(after[name]["min"]),
            number(after[name]["max"]),
        )
        for name in ("replicas", "leaders")
    ]
    evenness = Table(("of brokers", "skew now", "skew after", "least", "most"), rows)
    sections = [Section("At a glance", (FigureRow(tuple(figures)), evenness), " ".join(summary["effects"]))]
    if summary["warnings"]:
        sections.append(Section("Before you execute it", (), " ".join(summary["warnings"])))
    sections.append(
        Section("Replicas of each broker", (chart(lambda axes: _brokers(axes, before, after)), _loads(before, after)))
    )
    if frontier is not None:
        sections.append(_copies_against_evenness(frontier))
    if summary["batches"]:
        sections.append(Section("Batches", (_batches(batches),), "Execute a batch when the one before it is complete."))
    return Report("Reassign", source, tuple(sections), summary["conclusion"])


def _copies_against_evenness(frontier: pa.Table) -> Section:
    copies, spreads, proven = (frontier.column(name).to_pylist() for name in ("copies", "spread", "proven"))

    def draw(axes: Axes) -> None:
        axes.plot(copies, spreads, color=COLORS[0], marker="o" if len(copies) <= LISTED else "")
        axes.set_xlabel("replicas copied")
        axes.set_ylabel("most - least")
        axes.set_ylim(bottom=0)

    rows = [
        (number(row["copies"]), number(row["spread"]), number(row["stddev"]), "yes" if row["proven"] else "no")
        for row in frontier.to_pylist()
    ]
    points = Table(("replicas copied", "most - least", "stddev", "proven"), rows, folded="Show the points as a table")
    text = "The difference between the fullest and the emptiest broker: the smallest with each number of copies."
    text += " No plan with as few copies is more even." if all(proven) else " Not every point is proven the evenest."
    return Section("Copies against evenness", (chart(draw), points), text)


def _loads(before: dict[str, Any], after: dict[str, Any]) -> Table:
    counts = [load[name]["counts"] for name in ("replicas", "leaders") for load in (before, after)]
    rows = [(str(broker_id), *map(number, each)) for broker_id, *each in zip(before["broker_ids"], *counts, strict=True)]
    return Table(
        ("broker", "replicas now", "after", "preferred leaders now", "after"), rows, folded="Show the brokers as a table"
    )


def _batches(batches: pa.Table) -> Table:
    """The first of the batches; the table of all is a file."""
    rows = [
        (number(row["batch"]), number(row["moves"]), *(
            "—" if row[name] is None else text(row[name]) for name, text in (("bytes", size), ("duration_seconds", duration))
        ))
        for row in batches.slice(0, LISTED).to_pylist()
    ]  # fmt: skip
    caption = f"The first {LISTED} of {number(len(batches))}; all are in batches.parquet." if len(batches) > LISTED else ""
    return Table(("batch", "replicas copied", "bytes", "duration"), rows, caption)


def _brokers(axes: Axes, before: dict[str, Any], after: dict[str, Any]) -> None:
    ids = before["broker_ids"]
    at = np.arange(len(ids))
    axes.bar(at - 0.2, before["replicas"]["counts"], width=0.4, color=COLORS[1], label="now")
    axes.bar(at + 0.2, after["replicas"]["counts"], width=0.4, color=COLORS[0], label="after")
    shown = at[:: -(-len(ids) // LABELLED) or 1]
    axes.set_xticks(shown, [str(ids[i]) for i in shown], rotation=0 if len(shown) <= UPRIGHT else 90)
    axes.set_xlabel("broker" if len(shown) == len(ids) else f"broker, every {shown[1]}th named")
    axes.set_ylabel("replicas")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0)
