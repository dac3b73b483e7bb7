"""The report of ``mismatch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.attribution.fingerprints import MOSTLY
from service.spark.io.sinks import REJECTED_ROWS
from service.spark.report import COLORS, Figure, Figures, Report, Section, Table, chart, number, partition_axis, share

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
    shares = _share_of_each(summary)
    chance = (
        f"{'Shares of the records with a key. ' if shares else ''}A partitioner that wrote none of the records explains about "
        f"one in {summary['partitions_count']} by chance, so what each would explain alone is more than its share."
    )
    sections = [
        Section("At a glance", (at_a_glance,)),
        Section(
            "Who wrote the records" if shares else "Records that each partitioner explains",
            (
                *((chart(lambda axes: _shares(axes, shares), height=0.9 + 0.3 * len(shares)),) if shares else ()),
                Table(
                    ("partitioners that no key tells apart", "records explained", "share"),
                    writers,
                    folded="Show what each partitioner would explain alone" if shares else "",
                ),
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
    sentence = verdict(summary)
    return Report("Mismatch", source, tuple(sections), f"Written by: {sentence}." if shares else f"{sentence.capitalize()}.")


def _share_of_each(summary: dict[str, Any]) -> dict[str, float]:
    """The shares of the verdict, of the same records and so adding up to 1; empty if no partitioner explains them."""
    shares = {named(each["partitioners"]): each["share"] for each in summary["mixture"]}
    if shares and summary["chance_share"] > 0.0005:
        shares["explained by no partitioner"] = summary["chance_share"]
    return shares


def _shares(axes: Axes, shares: dict[str, float]) -> None:
    bars = axes.barh(list(shares), [100 * each for each in shares.values()], color=COLORS[0], height=0.62)
    axes.bar_label(bars, fmt="%.3g%%", padding=3)
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xlabel("share of the records with a key, %")
    axes.grid(axis="y", visible=False)


def _partitions(axes: Axes, result: MismatchResult) -> None:
    axes.bar(np.arange(len(result.misplaced)), result.misplaced, color=COLORS[1], width=0.8)
    axes.set_ylabel("misplaced records")
    partition_axis(axes, len(result.misplaced))
