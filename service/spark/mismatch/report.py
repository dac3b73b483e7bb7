"""The report of ``mismatch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.attribution.fingerprints import MOSTLY
from service.spark.io.sinks import REJECTED_ROWS
from service.spark.report import COLORS, Figure, Figures, Report, Section, Table, chart, number, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from service.spark.mismatch.tasks.scan import MismatchResult

SHOWN = 3
"""Partitioners that are named for each writer; the others are counted."""


def verdict(summary: dict[str, Any]) -> str:
    """The verdict in words: ``99.9% java …, 0.1% librdkafka:consistent …``."""
    if summary["verdict"] == "none":
        return "no record has a key"
    if summary["verdict"] == "unexplained":
        return "no partitioner explains the records at this partition count"
    parts = [f"{share(part['share'])} {named(part['partitioners'])}" for part in summary["mixture"]]
    if summary["chance_share"] > 0.0005:
        unexplained = f"{share(summary['chance_share'])} explained by no partitioner"
        parts.insert(0 if summary["chance_share"] > MOSTLY else len(parts), unexplained)
    return ", ".join(parts)


def named(partitioners: list[str]) -> str:
    """The first of a writer's partitioners, which no key can tell apart."""
    more = len(partitioners) - SHOWN
    return " / ".join(partitioners[:SHOWN]) + (f" / {more} more" if more > 0 else "")


def report(summary: dict[str, Any], result: MismatchResult, source: str) -> Report:
    """The report."""
    misplaced = summary["misplaced"]
    how = "estimated" if summary["partitions_count_found"] else "given"
    at_a_glance = Figures(
        (
            Figure("records", number(summary["records"]), f"{number(summary['keyless'])} without a key"),
            Figure("partitions", number(summary["partitions_count"]), how),
            Figure(
                f"misplaced, if {summary['expected']} is expected", number(misplaced), share(summary["misplaced_share"]),
                "bad" if misplaced else "good",
            ),
            Figure("rejected records", number(sum(summary["rejected"].values())), f"in {REJECTED_ROWS}"),
        )
    )  # fmt: skip
    writers = [
        (named(each["partitioners"]), number(each["explained"]), share(each["explained"] / each["of"]) if each["of"] else "—")
        for each in summary["writers"]
    ]
    chance = f"A partitioner that wrote none of the records explains about one in {summary['partitions_count']} by chance."
    sections = [
        Section("At a glance", (at_a_glance,), f"Verdict: {verdict(summary)}."),
        Section(
            "Records that each partitioner explains",
            (
                chart(lambda axes: _writers(axes, summary), height=0.9 + 0.3 * len(summary["writers"])),
                Table(("partitioners that no key tells apart", "records explained", "share"), writers, folded="Show as a table"),
            ),
            chance,
        ),
        Section("Misplaced records by partition", (chart(lambda axes: _partitions(axes, result)),)),
    ]
    if summary["examples"]:
        rows = [
            (
                each["key"],
                number(each["partition_id"]),
                number(each["expected_partition_id"]),
                ", ".join(each["explained_by"][:4]) or "—",
            )
            for each in summary["examples"]
        ]
        columns = ("key", "partition", f"partition by {summary['expected']}", "explained by")
        sections.append(Section("Examples of misplaced records", (Table(columns, rows),)))
    return Report("Mismatch", source, tuple(sections))


def _writers(axes: Axes, summary: dict[str, Any]) -> None:
    names = [named(each["partitioners"][:2]) for each in summary["writers"]]
    shares = [100 * each["explained"] / each["of"] if each["of"] else 0 for each in summary["writers"]]
    bars = axes.barh(names, shares, color=COLORS[0], height=0.62)
    axes.bar_label(bars, fmt="%.3g%%", padding=3)
    axes.axvline(100 / summary["partitions_count"], color=COLORS[1], linewidth=1, linestyle="--", label="by chance")
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xlabel("records explained, %")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower right")


def _partitions(axes: Axes, result: MismatchResult) -> None:
    axes.bar(np.arange(len(result.misplaced)), result.misplaced, color=COLORS[1], width=0.8)
    axes.set_xlabel("partition")
    axes.set_ylabel("misplaced records")
    axes.grid(axis="x", visible=False)
