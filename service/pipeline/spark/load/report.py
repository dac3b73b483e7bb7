"""What ``load`` concludes from its summary, and its report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.printable import all_of, counted
from service.report.figures import duration, number, size
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, Figure, FigureRow, Report, Section, Table, chart, label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from pyspark.sql import Column, DataFrame

WITHOUT: Final = {"records_nobody_reads": "records without a group", "records_without_placement": "records without a placement"}

DRAWN: Final = 6
"""Most lines in a plot."""

POINTS: Final = 400
"""Most points of a line over time; each is the highest window of its stretch."""

WHOLE: Final = 3
"""With more windows than this, the first and the last are not drawn."""

_TITLES: Final = {"partition": "Partitions", "consumer": "Consumers", "broker": "Brokers"}
_MEASURE: Final = {"partition": "records", "consumer": "records", "broker": "bytes"}
"""By which a kind is drawn and ranked."""


def conclusion(summary: dict[str, Any]) -> str:
    """The first sentence: what is above a limit, or else what is busiest."""
    breaches = summary["breaches"]
    if summary["limits"]:
        if not breaches["subjects"]:
            windows = f"{counted(summary['span']['windows'], 'window')} of {summary['span']['window_seconds']:g} s"
            missing = [f"{number(summary[name])} {text}" for name, text in WITHOUT.items() if summary[name]]
            return f"Nothing went above a limit in {windows}{'; not counted: ' * bool(missing)}{all_of(missing, 2)}."
        worst = breaches["worst"][0]
        peak, limit = (_rate(worst[which], worst["measure"]) for which in ("peak", "limit"))
        several = f"{number(breaches['subjects'])} went above a limit; the worst, " if breaches["subjects"] > 1 else ""
        name = worst["measure"].replace("_", " ")
        return f"{several}{_name(worst)}{',' if several else ''} reached {peak} {name}/s, where {limit} are allowed."
    if summary["partitions"] is None:
        return ""
    busiest = summary["partitions"]["busiest"][0]
    peak = number(busiest["peak_records_per_second"])
    return f"The busiest partition, {busiest['subject']}, took in {peak} records/s at its peak."


def _name(row: Mapping[str, Any]) -> str:
    """A broker, a partition or a consumer, with its group."""
    if row["kind"] == "broker":
        return f"broker {row['subject']}"
    return str(row["subject"]) if row["group_id"] is None else f"{row['group_id']}: {row['subject']}"


def _rate(value: float | None, of: str) -> str:
    """A formatted rate of records or bytes."""
    return "—" if value is None else number(value) if of == "records" else size(value)


def curves(hours: DataFrame, windows: DataFrame, summary: dict[str, Any]) -> dict[str, Any]:
    """For each kind the mean and peak of the busiest subjects by hour of the day, and the peaks of the busiest over time."""
    span = summary["span"]
    stretch = max(1, -(-span["windows"] // POINTS)) * int(span["window_seconds"])
    names = {
        kind: [(row["group_id"], row["subject"]) for row in summary[f"{kind}s"]["busiest"][:DRAWN]]
        for kind in _TITLES
        if summary[f"{kind}s"] is not None
    }
    by_kind = {kind: {"hours": {name: ([0.0] * 24, [0.0] * 24) for name in busiest}} for kind, busiest in names.items()}
    for row in hours.where(_any_of([(kind, *name) for kind, busiest in names.items() for name in busiest])).collect():
        means, peaks = by_kind[row["kind"]]["hours"][row["group_id"], row["subject"]]
        what = _MEASURE[row["kind"]]
        means[row["hour"]], peaks[row["hour"]] = (float(row[f"{of}{what}_per_second"] or 0) for of in ("", "peak_"))
    at = (F.floor((F.col("window") - span["start"]) / stretch) * stretch + span["start"]).alias("at")
    first = windows.where(_any_of([(kind, *busiest[0]) for kind, busiest in names.items()]))
    rows = first.groupBy("kind", at).agg(F.max("records").alias("records"), F.max("bytes").alias("bytes")).collect()
    highest = {(row["kind"], int(row["at"])): float(row[_MEASURE[row["kind"]]] or 0) / span["window_seconds"] for row in rows}
    every = range(span["start"], span["start"] + int(span["windows"] * span["window_seconds"]), stretch)
    if len(every) > WHOLE:  # the first and the last window hold part of their time only, which would look like an outage
        every = every[1:-1]
    return {kind: {**of, "times": [(time, highest.get((kind, time), 0.0)) for time in every]} for kind, of in by_kind.items()}


def _any_of(subjects: list[tuple[str, str | None, str]]) -> Column:
    """Whether a row is about one of these kinds, groups and subjects."""
    matches = F.lit(False)
    for kind, group, subject in subjects:
        matches |= (F.col("kind") == kind) & (F.col("subject") == subject) & F.col("group_id").eqNullSafe(F.lit(group))
    return matches


def report(summary: dict[str, Any], drawn: Mapping[str, Any], source: str) -> Report:
    """The report. drawn : the ``curves``"""
    span, breaches = summary["span"], summary["breaches"]
    whole = duration(span["windows"] * span["window_seconds"])
    figures = [
        Figure("records", number(summary["records"])),
        Figure("time span", whole, f"in windows of {number(span['window_seconds'])} s"),
    ]
    if summary["limits"]:
        remark = f"{number(breaches['stretches'])} times"
        figures.append(Figure("above a limit", number(breaches["subjects"]), remark, "bad" if breaches["subjects"] else "good"))
    figures += [Figure(text, number(summary[name]), "", "bad") for name, text in WITHOUT.items() if summary[name]]
    if summary["rejected"]:
        figures.append(Figure("rejected records", number(sum(summary["rejected"].values())), f"in {REJECTED_ROWS}"))
    sections = [Section("At a glance", (FigureRow(tuple(figures)),))]
    if breaches["worst"]:
        columns = ("subject", "measure", "limit", "peak", "from", "until", "windows above")
        rows = [
            (
                *(_name(row), row["measure"].replace("_", " ") + "/s"),
                *(_rate(row[which], row["measure"]) for which in ("limit", "peak")),
                *(_time(row[end], span) for end in ("from", "until")),
                number(row["windows"]),
            )
            for row in breaches["worst"]
        ]
        sections.append(Section("Breaches of limits", (Table(columns, rows),), f"Worst first. Times are {span['time_zone']}."))
    sections += [_kind(kind, summary, drawn.get(kind)) for kind in _TITLES if summary[f"{kind}s"] is not None]
    if summary["groups"]:
        groups = [
            (str(row["group_id"]), number(row["members"]), number(row["idle"]), _rate(row["records_per_second"], "records"),
             f"{row['skew']:.2f}", str(row["busiest"]))
            for row in summary["groups"]
        ]  # fmt: skip
        headings = ("group", "members", "idle", "records/s", "load skew", "busiest member")
        sections.append(Section("Groups with the most uneven consumers", (Table(headings, groups),)))
    if summary["groups_failed"]:
        failed = [
            (str(row["group_id"]), str(row["assignor"] or "—"), str(row["detail"])[:160]) for row in summary["groups_failed"]
        ]
        sections.append(Section("Groups that could not be assigned", (Table(("group", "assignor", "detail"), failed),)))
    return Report("Load", source, tuple(sections), summary["conclusion"])


def _kind(kind: str, summary: dict[str, Any], drawn: dict[str, Any] | None) -> Section:
    of_kind, span, unit = summary[f"{kind}s"], summary["span"], f"{_MEASURE[kind]}/s"
    measures = ("records", "bytes", "bytes_out") if kind == "broker" else ("records", "bytes")
    columns = ["subject", *(f"{each.replace('_', ' ')}/s, {what}" for each in measures for what in ("mean", "peak")), "peak at"]
    rows = []
    for row in of_kind["busiest"]:
        rates = (_rate(row[f"{peak}{each}_per_second"], each) for each in measures for peak in ("", "peak_"))
        rows.append((_name({**row, "kind": kind}), *rates, _time(row[f"peak_{_MEASURE[kind]}_window"], span)))
    blocks: list[Any] = []
    if drawn:
        limits = [each["limit"] for each in summary["limits"] if (each["kind"], each["measure"]) == (kind, _MEASURE[kind])]
        first = _name({**of_kind["busiest"][0], "kind": kind})
        of_hours = f"Mean (line) and peak (dots) by hour, {span['time_zone']}"
        over_time = f"Peaks of {first} over time, without the first and the last window, which records cover in part"
        blocks = [
            chart(lambda axes: _hours(axes, drawn["hours"], unit, limits), of_hours),
            chart(lambda axes: _times(axes, drawn["times"], unit, limits), over_time, height=2.2),
        ]
    blocks.append(Table(tuple(columns), rows, folded="Show the busiest as a table" if drawn else ""))
    return Section(_TITLES[kind], tuple(blocks), _text(kind, of_kind, summary))


def _text(kind: str, of_kind: dict[str, Any], summary: dict[str, Any]) -> str:
    """How even a kind is; not as one figure for groups or topics that have nothing to do with each other."""
    text = f"{number(of_kind['count'])} in all."
    if kind == "consumer" and len(summary["groups"] or ()) > 1:
        return f"{text} They are of several groups, each with an evenness of its own, below."
    topics = {str(row["subject"]).rpartition("-")[0] for row in of_kind["busiest"]}
    if kind == "partition" and len(topics) > 1:
        return f"{text} They are of several topics, so that no mean of all is given."
    return f"{text} The busiest has {of_kind['skew']:.2f} × the mean."


def _hours(
    axes: Axes, by_hour: Mapping[tuple[str | None, str], tuple[list[float], list[float]]], unit: str, limits: list[float]
) -> None:
    for i, ((group, subject), (means, peaks)) in enumerate(by_hour.items()):
        color = COLORS[i % len(COLORS)]
        axes.plot(range(24), means, color=color, label=label(subject if group is None else f"{group}: {subject}"))
        axes.plot(range(24), peaks, "o", color=color)
    _limits(axes, limits, unit)
    axes.set_xlabel("hour of the day")
    axes.set_xticks(range(0, 24, 2))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _times(axes: Axes, times: list[tuple[int, float]], unit: str, limits: list[float]) -> None:
    at = np.array([time for time, _ in times], dtype="datetime64[s]")
    axes.plot(at, [value for _, value in times], color=COLORS[0], linewidth=1)
    _limits(axes, limits, unit)


def _limits(axes: Axes, limits: list[float], unit: str) -> None:
    for limit in limits:
        axes.axhline(limit, color=COLORS[6], linewidth=1, linestyle="--", label="limit")
    axes.set(ylabel=unit, ylim=(0, None))


def _time(seconds: float | None, span: Mapping[str, Any]) -> str:
    if seconds is None or span["start"] is None:
        return "—"
    return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(span["time_zone"])).strftime("%Y-%m-%d %H:%M:%S")
