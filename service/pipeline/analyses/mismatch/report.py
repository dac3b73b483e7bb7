"""The report of ``mismatch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.printable import share
from service.pipeline.analyses.mismatch.conclusions import interval, named, writer_of
from service.report.figures import number
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, INK, Figure, FigureRow, Report, Section, Table, chart, partition_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from service.core.model import Int64s
    from service.pipeline.analyses.mismatch.scan import MismatchResult

BARS = 512
"""Most bars of a chart, as more take Matplotlib minutes; with more partitions, each bar is the largest of several."""


def misplaced(summary: dict[str, Any]) -> str:
    """The share of the misplaced records, and whether a former partition count explains all of them."""
    is_expected = summary["verdict"] == "identified" and summary["expected"] in summary["mixture"][0]["partitioners"]
    grown = is_expected and any(part["partitions_count"] != summary["partitions_count"] for part in summary["mixture"])
    return share(summary["misplaced_share"]) + (", all as before the topic grew" if grown else "")


def report(summary: dict[str, Any], result: MismatchResult, source: str) -> Report:
    """The report."""
    count = summary["misplaced"]
    how = "estimated" if summary["partitions_count_found"] else "given"
    at_a_glance = FigureRow(
        (
            Figure("records", number(summary["records"]), f"{number(summary['keyless'])} without a key"),
            Figure("partitions", number(summary["partitions_count"]), how),
            Figure(
                f"misplaced, if {summary['expected']} is expected", number(count), misplaced(summary),
                "bad" if count else "good",
            ),
            Figure("rejected records", number(sum(summary["rejected"].values())), f"in {REJECTED_ROWS}"),
        )
    )  # fmt: skip
    shares = _share_of_each(summary)
    sections = [
        Section("At a glance", (at_a_glance,)),
        _writers(summary, shares),
        Section("Misplaced records by partition", (chart(lambda axes: _partitions(axes, result.misplaced)),)),
        *([_examples(summary)] if summary["examples"] else []),
    ]
    return Report("Mismatch", source, tuple(sections), " ".join((summary["conclusion"], *summary["warnings"])))


def _writers(summary: dict[str, Any], shares: dict[str, dict[str, float]]) -> Section:
    """Who wrote the records, and what each partitioner would explain alone. shares : as ``_share_of_each`` gives them"""
    writers = [
        (named(each["partitioners"]), number(each["explained"]), share(each["explained"] / each["of"]) if each["of"] else "—")
        for each in summary["writers"]
    ]
    of_shares = (
        "Shares of the records with a key, with 95% intervals. Keys count as independent of each other; the records of a key "
        "need not be, because a service may be the only writer of its keys. "
    )
    chance = (
        f"{of_shares if shares else ''}A partitioner that wrote none of the records explains about "
        f"one in {summary['partitions_count']} by chance, so what each would explain alone is more than its share."
    )
    alone = Table(
        ("equivalent partitioners", "records explained", "share"),
        writers,
        folded="Show what each partitioner would explain alone" if shares else "",
    )
    if not shares:
        return Section("Records that each partitioner explains", (alone,), chance)
    drawing = chart(lambda axes: _shares(axes, shares), height=0.9 + 0.3 * len(shares))
    return Section("Who wrote the records", (drawing, _table(shares), alone), chance)


def _examples(summary: dict[str, Any]) -> Section:
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
    return Section("Examples of misplaced records", (Table(columns, rows),))


def _share_of_each(summary: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The shares of the verdict, of the same records and so adding up to 1; empty if no partitioner explains them."""
    shares = {writer_of(summary, each): each for each in summary["mixture"]}
    if shares and summary["chance_share"] > 0.0005:
        shares["explained by no partitioner"] = {name: summary[f"chance_{name}"] for name in ("share", "share_low", "share_high")}
    return shares


def _table(shares: dict[str, dict[str, float]]) -> Table:
    rows = [(name, share(each["share"]), interval(each)) for name, each in shares.items()]
    return Table(("equivalent partitioners", "share of the records", "95% interval"), rows)


def _shares(axes: Axes, shares: dict[str, dict[str, float]]) -> None:
    share_of, low, high = (
        np.array([100 * each[name] for each in shares.values()]) for name in ("share", "share_low", "share_high")
    )
    axes.barh(list(shares), share_of, color=COLORS[0], height=0.62)
    for row, (width, end) in enumerate(zip(share_of, high, strict=True)):
        axes.text(end + 1, row, f"{width:.3g}%", va="center")
    axes.errorbar(share_of, np.arange(len(shares)), xerr=[share_of - low, high - share_of], fmt="none", ecolor=INK, elinewidth=1)
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xlabel("share of the records with a key, %")
    axes.grid(axis="y", visible=False)


def _partitions(axes: Axes, misplaced: Int64s) -> None:
    n = len(misplaced)
    if n <= BARS:
        axes.bar(np.arange(n), misplaced, color=COLORS[1], width=0.8)
    else:
        edges = np.linspace(0, n, BARS + 1).astype(int)
        axes.stairs(np.maximum.reduceat(misplaced, edges[:-1]), edges - 0.5, color=COLORS[1], fill=True)
    axes.set_ylabel("misplaced records")
    partition_axis(axes, n)
