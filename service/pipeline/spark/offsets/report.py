"""The report of ``offsets``."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from service.core.printable import counted
from service.report.figures import duration, number
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, Figure, FigureRow, Report, Section, Table, chart, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

DRAWN: Final = len(COLORS)
"""Most groups in the plot of lag over time."""


def report(source: str, summary: dict[str, Any], history: Sequence[tuple[str, int, int | None]]) -> Report:
    """The report.

    history : group, time in ms, and lag; empty if there is one snapshot only
    """
    partitions = summary["partitions"]
    unreadable = summary["records"].get("unreadable", 0)
    rejected = sum(summary["rejected_log_ends"].values())
    figures = FigureRow(
        (
            Figure("records", number(summary["records"].get("records", 0))),
            Figure("groups", number(summary["groups"])),
            Figure("committed partitions", number(partitions["committed"]), f"{number(partitions['expired'])} more have expired"),
            Figure("lag", number(partitions["lag"]), f"over {counted(partitions['with_lag'], 'partition')}"),
            Figure(
                "falling behind",
                number(partitions["falling_behind"] if partitions["with_trend"] else None),
                f"partitions with a growing lag, of {number(partitions['with_trend'])} compared",
                "bad" if partitions["falling_behind"] else "",
            ),
            Figure("unreadable records", number(unreadable), f"in {REJECTED_ROWS}", "bad" if unreadable else ""),
            *([Figure("rejected log ends", number(rejected), f"in {REJECTED_ROWS}", "bad")] if rejected else []),
        )
    )
    sections = [Section("At a glance", (figures,), f"As of {summary['as_of']}.")]
    if history:
        text = "The groups with the largest lag, at each snapshot of the log ends."
        sections.append(Section("Lag over time", (chart(lambda axes: _draw(axes, history)),), text))
    if summary["largest_lags"]:
        sections.append(_groups(summary["largest_lags"]))
    if summary["slowest_partitions"]:
        sections.append(_partitions(summary["slowest_partitions"]))
    kinds = [(name, number(count)) for name, count in summary["records"].items() if name.isupper()]
    sections.append(Section("Records", (Table(("type", "records"), kinds, folded="Show the records by type"),)))
    return Report("Offsets", source, tuple(sections), summary["conclusion"])


def _draw(axes: Axes, history: Sequence[tuple[str, int, int | None]]) -> None:
    lines: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for group, at, lag in history:
        if lag is not None:
            lines[group].append((datetime.fromtimestamp(at / 1000, UTC), lag))
    for color, (group, points) in zip(COLORS, sorted(lines.items()), strict=False):
        axes.plot([time for time, _ in points], [lag for _, lag in points], marker="o", color=color, label=label(group))
    axes.set_ylabel("records behind")
    axes.set_ylim(bottom=0)
    if lines:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))


def _groups(rows: list[dict[str, Any]]) -> Section:
    table = Table(
        ("group", "protocol", "partitions", "expired", "lag", "largest", "trend", "time to catch up"),
        [
            (
                row["group"],
                row["protocol"] or "none",
                number(row["partitions"]),
                number(row["expired"]),
                number(row["lag"]),
                number(row["largest_lag"]),
                _trend(row["lag_per_second"]),
                duration(row["seconds_to_catch_up"]),
            )
            for row in rows
        ],
    )
    return Section("Groups", (table,), "Largest lag first. A group has caught up when its slowest partition has.")


def _partitions(rows: list[dict[str, Any]]) -> Section:
    table = Table(
        ("group", "topic", "partition", "member", "committed", "log end", "lag", "trend", "time to catch up"),
        [
            (
                row["group"],
                row["topic"],
                str(row["partition"]),
                row["member_id"] or "—",
                number(row["committed_offset"]),
                number(row["log_end_offset"]),
                number(row["lag"]),
                _trend(row["lag_per_second"], row.get("trend")),
                duration(row["seconds_to_catch_up"]),
            )
            for row in rows
        ],
    )
    return Section("Partitions", (table,), "Largest lag first.")


def _trend(slope: float | None, trend: str | None = None) -> str:
    if slope is None:
        return "—"
    return "steady" if trend == "steady" else f"{'+' if slope > 0 else ''}{number(slope)}/s"
