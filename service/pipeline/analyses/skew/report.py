"""The report of ``skew``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.core.printable import printable, share
from service.planner.sizing.conclusions import cause
from service.planner.sizing.plans import EVEN, Measure
from service.report.figures import number, size
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, LABELLED, SOFT, Figure, FigureRow, Plot, Report, Section, Table, chart, charts, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from service.pipeline.analyses.skew.answer import SkewAnswer
    from service.pipeline.analyses.skew.scan import SkewScan

TOP = 15
"""Hottest keys in the plot."""

BARS = 400
"""Most partitions that are drawn, a bar each."""


def headline(answer: SkewAnswer) -> dict[str, str]:
    """The figures for the terminal."""
    counts, distinct = answer.counts, answer.counts.distinct
    figures = {
        "records with a key": number(counts.records),
        "records without a key": number(int(counts.keyless[0])),
        "rejected records": _rejected(answer),
        "distinct keys": number(distinct.distinct)
        if answer.exact
        else f"≈ {number(distinct.distinct)} (standard error ± {distinct.relative_error:.1%})",
    }
    if counts.has_bytes:
        figures["bytes"] = size(counts.bytes)
    if answer.hottest:
        hottest = answer.hottest[0]
        figures["hottest key"] = f"{hottest.key} ({share(hottest.records / answer.records)} of all records)"
    for name in counts.names:
        for plan in (plan for plan in answer.plans if plan.partitioner == name):
            figures[f"skew {name} × {plan.partitions_count}"] = f"{plan.records.spread.skew:.4g}  ({_band(plan.records)})"
        if answer.reach_of(name).smallest:
            figures[f"recommended {name}"] = str(answer.reach_of(name).recommended or "none")
    return figures


def report(answer: SkewAnswer, source: str, scan: SkewScan) -> Report:
    """The report."""
    key = " + ".join(scan.key_columns)
    sections = [
        Section("At a glance", (_glance(answer),)),
        Section(
            "Skew by partition count",
            (_skew_plot(answer), _skew_table(answer)),
            "Skew is the fullest partition ÷ the mean; 1 is perfectly even. 99 of 100 random hashes of these keys give a skew in "
            "the band. No partitioner gets below the floor, because the records of a key stay together. The cause is even up to "
            f"{EVEN}; hot-keys where the floor, or hot keys that meet by chance, explain the skew; partitioner outside the band; "
            "else chance.",
        ),
        Section("Partitions", _partition_plots(answer), "Records on each partition, fullest first. The line is the mean."),
    ]
    if answer.hottest:
        sections.append(
            Section(
                "Hottest keys",
                (_hot_plot(answer), _hot_table(answer)),
                "All records of a key are on one partition, however many there are.",
            )
        )
    if len(answer.counts.partitions_counts) > 1:
        exact = all(move.exact for move in answer.moves)
        text = "The share of all records that move to another partition when the count changes."
        sections.append(
            Section(
                "Records that move",
                _move_blocks(answer),
                text if exact else f"{text} Values marked ≈ are estimated from a sample of the keys.",
            )
        )
    return Report(
        f"Skew of {source.rstrip('/').rpartition('/')[2]}",
        f"{source} · key: {key} ({scan.key_format})",
        tuple(sections),
        printable(answer.conclusion),
    )


def _glance(answer: SkewAnswer) -> FigureRow:
    counts = answer.counts
    figures = [
        Figure("records with a key", number(counts.records)),
        Figure("records without a key", number(int(counts.keyless[0])), _placed_as(answer)),
        Figure("rejected records", _rejected(answer), *((f"in {REJECTED_ROWS}", "bad") if answer.rejected else ())),
        Figure(
            "distinct keys",
            number(counts.distinct.distinct),
            "exact" if answer.exact else f"standard error ± {counts.distinct.relative_error:.1%}",
        ),
    ]
    if counts.has_bytes:
        figures.append(Figure("bytes", size(counts.bytes)))
    if answer.hottest:
        hottest = answer.hottest[0]
        figures.append(Figure("hottest key", share(hottest.records / answer.records), hottest.key))
    if answer.reach and answer.reach[0].smallest:
        for name in counts.names:
            reach = answer.reach_of(name)
            best = reach.recommended
            remark = "partitions, within every limit" if best else "of the planned counts keeps every limit"
            figures.append(Figure(f"recommended, {name}", number(best) if best else "none", remark, "good" if best else "bad"))
    return FigureRow(tuple(figures))


def _placed_as(answer: SkewAnswer) -> str:
    """What the partitioners do with records without a key."""
    hashing = [name for name in answer.counts.names if answer.counts.as_one_key(name)[0]]
    return f"one key for {', '.join(hashing)}" if hashing else "spread evenly over the partitions"


def _rejected(answer: SkewAnswer) -> str:
    total = sum(answer.rejected.values())
    return number(total) if not total else f"{number(total)} ({', '.join(f'{n:,} {why}' for why, n in answer.rejected.items())})"


def _band(measure: Measure) -> str:
    return f"{cause(measure)}; random hashes {measure.chance.low:.4g} to {measure.chance.high:.4g}"


def _skew_plot(answer: SkewAnswer) -> Plot:
    def draw(axes: Axes) -> None:
        plans = answer.plans_of(answer.counts.names[0])
        x = [plan.partitions_count for plan in plans]
        low, high = ([getattr(plan.records.chance, end) for plan in plans] for end in ("low", "high"))
        axes.fill_between(x, low, high, color=SOFT, alpha=0.18, linewidth=0, label="99% of random hashes")
        floor = [plan.records.floor for plan in plans]
        if max(floor) > 1.001:
            axes.plot(x, floor, color=SOFT, linestyle=":", linewidth=1.2, label="floor of any partitioner")
        for i, name in enumerate(answer.counts.names):
            axes.plot(
                x, [plan.records.spread.skew for plan in answer.plans_of(name)], color=COLORS[i % 8], marker="o", label=name
            )
        if answer.limits.skew is not None:
            axes.axhline(answer.limits.skew, color=COLORS[6], linestyle="--", linewidth=1, label="limit")
        axes.set_xlabel("partitions")
        axes.set_ylabel("record skew")
        axes.set_ylim(bottom=1)
        if len(x) <= 12:
            axes.set_xticks(x)
        axes.legend(ncols=4, loc="upper left", bbox_to_anchor=(0, 1.18))

    return chart(draw, height=3.3)


def _skew_table(answer: SkewAnswer) -> Table:
    has_bytes = answer.counts.has_bytes
    columns: tuple[str, ...] = ("partitioner", "partitions", "skew", "cause", "by chance", "floor", "Gini", "empty", "key skew")
    rows = []
    for plan in answer.plans:
        records = plan.records
        band = f"{records.chance.low:.4g} – {records.chance.high:.4g}"
        count = f"{plan.partitions_count}{' (new topic)' if plan.needs_new_topic else ''}"
        row: tuple[str, ...] = (plan.partitioner, count, f"{records.spread.skew:.4g}", records.verdict, band)
        row += (f"{records.floor:.4g}", f"{records.gini:.3f}", number(records.empty_partitions), f"{plan.keys.spread.skew:.4g}")
        of_bytes = (f"{plan.bytes.spread.skew:.4g}", plan.bytes.verdict) if plan.bytes else ("—", "—")
        rows.append((*row, *of_bytes) if has_bytes else row)
    columns += ("byte skew", "its cause") if has_bytes else ()
    return Table(columns, rows, folded="" if len(rows) <= 24 else f"All {len(rows)} plans")


def _partition_plots(answer: SkewAnswer) -> tuple[Plot | Table, ...]:
    counts = answer.counts
    chosen = counts.current if counts.current in counts.partitions_counts else None
    chosen = chosen or answer.reach_of(counts.names[0]).recommended or min(counts.partitions_counts, key=lambda n: abs(n - 24))
    plans = [plan for plan in answer.plans if plan.partitions_count == chosen and chosen <= BARS][:4]
    if not plans:
        return ()

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(1, len(plans), sharey=True, squeeze=False)[0]
        for i, (plan, of) in enumerate(zip(plans, axes, strict=True)):
            order = np.argsort(-plan.records.counts, kind="stable")  # the fullest first, each with its id
            loads = plan.records.counts[order]
            of.bar(np.arange(chosen), loads, width=0.85, color=COLORS[counts.names.index(plan.partitioner) % 8])
            of.axhline(loads.mean(), color=SOFT, linewidth=1)
            of.set_title(f"{plan.partitioner}, {chosen}")
            of.grid(visible=False, axis="x")
            if chosen <= LABELLED:
                of.set_xticks(np.arange(chosen), [str(p) for p in order], rotation=90 if chosen * len(plans) > LABELLED else 0)
                of.set_xlabel("partition")
            else:
                of.set_xticks([])
            of.yaxis.set_major_formatter(lambda value, _: _short(value))
            if i == 0:
                of.set_ylabel("records")

    return (charts(draw, height=2.4),)


def _short(value: float) -> str:
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def _hot_plot(answer: SkewAnswer) -> Plot:
    keys = answer.hottest[:TOP][::-1]

    def draw(axes: Axes) -> None:
        names = [label(key.key) for key in keys]
        shares = [100 * key.records / answer.records for key in keys]
        axes.barh(range(len(keys)), shares, color=COLORS[0], height=0.7)
        axes.set_yticks(range(len(keys)), names)
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}%")

    return chart(draw, "Share of all records", height=0.5 + 0.22 * len(keys))


def _hot_table(answer: SkewAnswer) -> Table:
    counts = answer.counts
    rows = []
    for key in answer.hottest[:100]:
        row: tuple[str, ...] = (
            key.key,
            number(key.records),
            share(key.records / answer.records),
            f"+{number(key.records_error)}" if key.records_error else "—",
        )
        rows.append((*row, size(key.bytes)) if counts.has_bytes else row)
    columns = ("key", "records (at least)", "share", "error")
    return Table((*columns, "bytes") if counts.has_bytes else columns, rows, folded=f"The {len(rows)} hottest keys")


def _move_blocks(answer: SkewAnswer) -> tuple[Table, ...]:
    counts = answer.counts
    total = max(answer.records, 1)
    tables = []
    for name in counts.names:
        moves = {(move.from_count, move.to_count): move for move in answer.moves if move.partitioner == name}
        ns = sorted(counts.partitions_counts)

        def cell(a: int, b: int, moves: object = moves) -> str:
            move = moves[min(a, b), max(a, b)]  # type: ignore[index]
            return f"{'' if move.exact else '≈ '}{move.records / total:.1%}"

        rows = [(str(a), *("—" if a == b else cell(a, b) for b in ns)) for a in ns]
        few = len(ns) <= 10 and len(counts.names) == 1
        tables.append(Table(("from ╲ to", *map(str, ns)), rows, "" if few else name, "" if few else f"Records that move, {name}"))
    return tuple(tables)
