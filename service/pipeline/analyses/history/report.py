"""What ``history`` concludes, and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service.core.printable import counted
from service.report.figures import duration, number
from service.report.folders import REJECTED_ROWS
from service.report.pages import Figure, FigureRow, Report, Section, Table, chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


def conclusion(summary: dict[str, Any]) -> str:
    """How many rebalances, which group stood still longest, and what no record tells."""
    groups, active, found, missing = (summary[name] for name in ("groups", "groups_with_rebalances", "rebalances", "missing"))
    if not found:
        return f"No record tells of a rebalance of {counted(groups, 'group')}."
    sentences = [f"{counted(found, 'rebalance')} of {active:,} of {counted(groups, 'group')}"]
    worst = summary["worst_groups"][0]
    if worst["standstill_least_ms"]:
        sentences.append(f"{worst['group']} stood still longest that is proven: partitions had no reader for {standstill(worst)}")
    if missing:
        sentences.append(f"{counted(missing, 'more rebalance')} left no record: the log was compacted, or begins later")
    if summary["standstill_unknown"]:
        sentences.append(
            f"For how long partitions had no reader is not told of {counted(summary['standstill_unknown'], 'rebalance')}"
        )
    return " ".join(f"{sentence}." for sentence in sentences)


def standstill(row: dict[str, Any]) -> str:
    """``2 s to 3 s``, of the rebalances of which both bounds are known."""
    least, most = row["standstill_least_ms"], row["standstill_most_ms"]
    if least is None or most is None:
        return "not told"
    both = [duration(ms / 1000) for ms in (least, most)]
    return both[0] if both[0] == both[1] else " to ".join(both)


def report(source: str, summary: dict[str, Any], days: Sequence[tuple[Any, int]]) -> Report:
    """The report. days : dates in UTC, and the rebalances that began on each"""
    unreadable = summary["records"]["unreadable"]
    figures = FigureRow(
        (
            Figure("records", number(summary["records"]["records"])),
            Figure("groups", number(summary["groups"]), f"{number(summary['groups_with_rebalances'])} had rebalances"),
            Figure("rebalances", number(summary["rebalances"]), f"{number(summary['missing'])} more left no record"),
            Figure("without a reader", standstill(summary), f"not told of {number(summary['standstill_unknown'])}"),
            Figure("unreadable records", number(unreadable), f"in {REJECTED_ROWS}", "bad" if unreadable else ""),
        )
    )
    sections = [Section("At a glance", (figures,))]
    if len(days) > 1:
        sections.append(Section("Rebalances by day", (chart(lambda axes: _draw(axes, days)),), "Days are in UTC."))
    causes = [(name.replace("_", " "), number(count)) for name, count in summary["causes"].items()]
    groups = [
        (
            *(row["group"], number(row["rebalances"]), standstill(row), number(row["standstill_unknown"])),
            row["conclusion"],
        )
        for row in summary["worst_groups"]
    ]
    members = [
        (row["group"], row["member"], row["cause"].replace("_", " "), number(row["rebalances"]), standstill(row))
        for row in summary["busiest_members"]
    ]
    sections += [
        Section("Causes", (Table(("cause", "rebalances"), causes),), "The first cause of each rebalance."),
        Section(
            "Groups",
            (Table(("group", "rebalances", "without a reader", "not told of", "what happened"), groups),),
            "Longest without a reader first, by the least that is proven.",
        ),
        Section(
            "Members", (Table(("group", "member", "cause", "rebalances", "without a reader"), members),), "Most rebalances first."
        ),
    ]
    return Report("History", source, tuple(sections), summary["conclusion"])


def _draw(axes: Axes, days: Sequence[tuple[Any, int]]) -> None:
    axes.plot([day for day, _ in days], [count for _, count in days], marker="o")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("rebalances")
