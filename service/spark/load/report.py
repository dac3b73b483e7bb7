"""The report of ``load``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.spark.report import COLORS, Figure, Figures, Report, Section, Table, chart, number, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from pyspark.sql import Column, DataFrame

DRAWN: Final = 6
"""Lines of one plot."""

POINTS: Final = 400
"""Points of a line over time; of each stretch the highest window is drawn."""

_TITLES: Final = {"partition": "Partitions", "consumer": "Consumers", "broker": "Brokers"}


def measure(kind: str) -> str:
    """What a kind is drawn and ranked by."""
    return "bytes" if kind == "broker" else "records"


def curves(hours: DataFrame, windows: DataFrame, summary: dict[str, Any]) -> dict[str, Any]:
    """For each kind the busiest subjects' mean and peak by hour of the day, and the busiest one's peaks over time."""
    span = summary["span"]
    stretch = max(1, -(-span["windows"] // POINTS)) * int(span["window_seconds"])
    names = {
        kind: [(row["group_id"], row["subject"]) for row in summary[f"{kind}s"]["busiest"][:DRAWN]]
        for kind in _TITLES
        if summary[f"{kind}s"] is not None
    }
    found = {kind: {"hours": {name: ([0.0] * 24, [0.0] * 24) for name in busiest}} for kind, busiest in names.items()}
    for row in hours.where(_any_of([(kind, *name) for kind, busiest in names.items() for name in busiest])).collect():
        means, peaks = found[row["kind"]]["hours"][row["group_id"], row["subject"]]
        what = measure(row["kind"])
        means[row["hour"]], peaks[row["hour"]] = (float(row[f"{of}{what}_per_second"] or 0) for of in ("", "peak_"))
    at = (F.floor((F.col("window") - span["start"]) / stretch) * stretch + span["start"]).alias("at")
    first = windows.where(_any_of([(kind, *busiest[0]) for kind, busiest in names.items()]))
    rows = first.groupBy("kind", at).agg(F.max("records").alias("records"), F.max("bytes").alias("bytes")).collect()
    highest = {(row["kind"], int(row["at"])): float(row[measure(row["kind"])] or 0) / span["window_seconds"] for row in rows}
    every = range(span["start"], span["start"] + int(span["windows"] * span["window_seconds"]), stretch)
    return {kind: {**of, "times": [(time, highest.get((kind, time), 0.0)) for time in every]} for kind, of in found.items()}


def _any_of(subjects: list[tuple[str, str | None, str]]) -> Column:
    """Is a row about one of these kinds, groups and subjects?"""
    found = F.lit(False)
    for kind, group, subject in subjects:
        found |= (F.col("kind") == kind) & (F.col("subject") == subject) & F.col("group_id").eqNullSafe(F.lit(group))
    return found


def report(summary: dict[str, Any], drawn: Mapping[str, Any], source: str) -> Report:
    """The whole report."""
    span, broken = summary["span"], summary["breaches"]
    figures = [
        Figure("records", number(summary["records"])),
        Figure(
            "measured", _duration(span["windows"] * span["window_seconds"]), f"in windows of {number(span['window_seconds'])} s"
        ),
    ]
    if summary["limits"]:
        remark = f"in {number(broken['stretches'])} stretches of time"
        figures.append(Figure("above a limit", number(broken["subjects"]), remark, "bad" if broken["subjects"] else "good"))
    for name, text in (("records_nobody_reads", "records that no group reads"), ("records_without_placement", "not placed")):
        if summary[name]:
            figures.append(Figure(text, number(summary[name]), "", "bad"))
    if summary["rejected"]:
        figures.append(Figure("set aside", number(sum(summary["rejected"].values())), "in quarantine.parquet"))
    sections = [Section("At a glance", (Figures(tuple(figures)),))]
    if broken["worst"]:
        columns = ("who", "measure", "limit", "peak", "from", "until", "windows above")
        rows = [
            (
                _name(row),
                row["measure"].replace("_", " ") + "/s",
                _rate(row["limit"], row["measure"]),
                _rate(row["peak"], row["measure"]),
                _time(row["from"], span),
                _time(row["until"], span),
                number(row["windows"]),
            )
            for row in broken["worst"]
        ]
        sections.append(
            Section("Who breaks a limit, and when", (Table(columns, rows),), f"The worst first; times are {span['time_zone']}.")
        )
    for kind, title in _TITLES.items():
        if summary[f"{kind}s"] is not None:
            sections.append(_kind(kind, title, summary, drawn.get(kind)))
    if summary["groups"]:
        groups = [
            (str(row["group_id"]), number(row["members"]), number(row["idle"]), _rate(row["records_per_second"], "records"),
             f"{row['skew']:.2f}", str(row["busiest"]))
            for row in summary["groups"]
        ]  # fmt: skip
        headings = ("group", "members", "idle", "records/s", "skew of load", "busiest member")
        sections.append(Section("Groups by how unevenly their consumers are loaded", (Table(headings, groups),)))
    if summary["groups_failed"]:
        failed = [
            (str(row["group_id"]), str(row["assignor"] or "—"), str(row["detail"])[:160]) for row in summary["groups_failed"]
        ]
        sections.append(Section("Groups that could not be assigned", (Table(("group", "assignor", "why"), failed),)))
    return Report("Load", source, tuple(sections))


def _kind(kind: str, title: str, summary: dict[str, Any], drawn: dict[str, Any] | None) -> Section:
    of_kind, span = summary[f"{kind}s"], summary["span"]
    measures = ("records", "bytes", "bytes_out") if kind == "broker" else ("records", "bytes")
    columns = ["who", *(f"{each.replace('_', ' ')}/s, {what}" for each in measures for what in ("mean", "peak"))]
    rows = []
    for row in of_kind["busiest"]:
        cells = [_name({**row, "kind": kind})]
        for each in measures:
            cells += [_rate(row[f"{each}_per_second"], each), _rate(row[f"peak_{each}_per_second"], each)]
        rows.append((*cells, _time(row[f"peak_{measure(kind)}_window"], span)))
    blocks: list[Any] = []
    if drawn:
        unit = f"{measure(kind)}/s"
        limits = [each["limit"] for each in summary["limits"] if (each["kind"], each["measure"]) == (kind, measure(kind))]
        first = _name({**of_kind["busiest"][0], "kind": kind})
        blocks = [
            chart(
                lambda axes: _hours(axes, drawn["hours"], unit, limits),
                f"Mean (line) and peak (dots) by hour, {span['time_zone']}.",
            ),
            chart(lambda axes: _times(axes, drawn["times"], unit, limits), f"Peaks of {first} over time.", height=2.2),
        ]
    blocks.append(Table((*columns, "peak at"), rows, folded="the busiest, as a table" if drawn else ""))
    return Section(title, tuple(blocks), f"{number(of_kind['count'])} of them; the busiest has {of_kind['skew']:.2f} × the mean.")


def _hours(
    axes: Axes, by_hour: Mapping[tuple[str | None, str], tuple[list[float], list[float]]], unit: str, limits: list[float]
) -> None:
    for i, ((group, subject), (means, peaks)) in enumerate(by_hour.items()):
        color = COLORS[i % len(COLORS)]
        axes.plot(range(24), means, color=color, label=subject if group is None else f"{group}: {subject}")
        axes.plot(range(24), peaks, "o", color=color)
    _limits(axes, limits)
    axes.set_xlabel("hour of the day")
    axes.set_xticks(range(0, 24, 2))
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _times(axes: Axes, times: list[tuple[int, float]], unit: str, limits: list[float]) -> None:
    at = np.array([time for time, _ in times], dtype="datetime64[s]")
    axes.plot(at, [value for _, value in times], color=COLORS[0], linewidth=1)
    _limits(axes, limits)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)


def _limits(axes: Axes, limits: list[float]) -> None:
    for limit in limits:
        axes.axhline(limit, color=COLORS[6], linewidth=1, linestyle="--", label="limit")


def _name(row: Mapping[str, Any]) -> str:
    if row["kind"] == "broker":
        return f"broker {row['subject']}"
    return str(row["subject"]) if row["group_id"] is None else f"{row['group_id']}: {row['subject']}"


def _rate(value: float | None, of: str) -> str:
    if value is None:
        return "—"
    return number(value) if of == "records" else size(value)


def _time(seconds: float | None, span: Mapping[str, Any]) -> str:
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    if seconds is None or span["start"] is None:
        return "—"
    return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(span["time_zone"])).strftime("%Y-%m-%d %H:%M:%S")


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
