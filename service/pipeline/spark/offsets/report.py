"""What ``offsets`` concludes from its summary, and its report."""

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


def conclusion(summary: dict[str, Any]) -> str:
    """The first sentences: who falls behind, the lag, and what is not known of both."""
    committed, known, compared, behind, lag = (
        summary["partitions"][name] for name in ("committed", "with_lag", "with_trend", "falling_behind", "lag")
    )
    if not known:
        return f"Offsets are committed for {counted(committed, 'partition')}. No log end of them is known, and so no lag."
    sentences = [f"The lag is {counted(lag, 'record')} over {counted(known, 'partition')}"]
    if committed > known:
        sentences[0] += f"; that of {committed - known:,} more is not known, for want of a log end"
    if behind:
        sentences.insert(0, f"The lag of {behind:,} of {counted(compared, 'partition')} grows: consumers fall behind")
    elif compared:
        sentences.insert(0, f"None of {counted(compared, 'partition')} falls behind")
    else:
        sentences.append("Whether it grows is not known: that takes log ends of several times")
    return " ".join(f"{sentence}." for sentence in sentences)


def report(source: str, summary: dict[str, Any], history: Sequence[tuple[str, int, int | None]]) -> Report:
    """The report. history : group, time in ms, and lag; empty if there is one snapshot only"""
    partitions = summary["partitions"]
    unreadable = summary["records"].get("unreadable", 0)
    rejected = sum(summary["rejected_log_ends"].values())
    expired, compared = f"{number(partitions['expired'])} more have expired", number(partitions["with_trend"])
    behind = partitions["falling_behind"] if partitions["with_trend"] else None
    figures = [
        Figure("records", number(summary["records"].get("records", 0))),
        Figure("groups", number(summary["groups"])),
        Figure("committed partitions", number(partitions["committed"]), expired),
        Figure("lag", number(partitions["lag"]), f"over {counted(partitions['with_lag'], 'partition')}"),
        Figure(
            "falling behind", number(behind), f"partitions with a growing lag, of {compared} compared", "bad" if behind else ""
        ),
        Figure("unreadable records", number(unreadable), f"in {REJECTED_ROWS}", "bad" if unreadable else ""),
    ]
    if rejected:
        figures.append(Figure("rejected log ends", number(rejected), f"in {REJECTED_ROWS}", "bad"))
    sections = [Section("At a glance", (FigureRow(tuple(figures)),), f"As of {summary['as_of']}.")]
    if history:
        text = "The groups with the largest lag, at each snapshot of the log ends."
        sections.append(Section("Lag over time", (chart(lambda axes: _draw(axes, history)),), text))
    if rows := summary["largest_lags"]:
        columns = ("group", "protocol", "partitions", "expired", "lag", "largest", "trend", "time to catch up")
        numbers = ("partitions", "expired", "lag", "largest_lag")
        groups = [
            (row["group"], row["protocol"] or "none", *(number(row[name]) for name in numbers), *_trend(row)) for row in rows
        ]
        text = "Largest lag first. A group has caught up when its slowest partition has."
        sections.append(Section("Groups", (Table(columns, groups),), text))
    if rows := summary["slowest_partitions"]:
        heads = ("group", "topic", "partition", "member", "committed", "log end", "lag", "trend", "time to catch up")
        slowest = [
            (
                *(row["group"], row["topic"], str(row["partition"]), row["member_id"] or "—"),
                *(number(row[name]) for name in ("committed_offset", "log_end_offset", "lag")),
                *_trend(row),
            )
            for row in rows
        ]
        sections.append(Section("Partitions", (Table(heads, slowest),), "Largest lag first."))
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
    axes.set(ylabel="records behind", ylim=(0, None))
    if lines:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))


def _trend(row: dict[str, Any]) -> tuple[str, str]:
    """How fast the lag grows, and the time to catch up."""
    slope = row["lag_per_second"]
    trend = "—" if slope is None else f"{'+' if slope > 0 else ''}{number(slope)}/s"
    return trend, duration(row["seconds_to_catch_up"])
