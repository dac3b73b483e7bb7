"""How evenly several partitioners and partition counts would distribute records, from one scan: what is written of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from service.core.keys.columns import key_value
from service.core.printable import printable, share
from service.decisions.rows import columns, is_text
from service.pipeline.analyses.results import Outcome, Records
from service.pipeline.analyses.skew.answer import Row, SkewAnswer, answer_from
from service.pipeline.analyses.skew.scan import SkewResult, SkewScan, check_partitioners
from service.pipeline.files.key_columns import check_format, check_keys, is_bytes
from service.pipeline.files.rejected import WrongTable
from service.planner.sizing.conclusions import cause
from service.planner.sizing.plans import EVEN, CountLimits, CountPlan, Rates, check_not_empty
from service.report.figures import number, size
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, LABELLED, SOFT, Figure, FigureRow, Plot, Report, Section, Table, chart, charts, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

MOVES: Final = pa.schema(columns("partitioner string, from_count int, to_count int, records long, bytes long, exact boolean"))
HOTTEST: Final = pa.schema(columns("key string, records long, records_share double, records_error long, bytes long"))

LIMITS: Final = ("records_per_second", "bytes_per_second", "mb_per_second", "skew")
"""Of a plan; see CountLimits."""

SHOWN: Final = 10
"""Most hottest keys in the summary."""

TOP: Final = 15
"""Hottest keys in the plot."""

BARS: Final = 400
"""Most partitions that are drawn, a bar each."""


def scan_of(
    records: Records, *, key_columns: tuple[str, ...], key_format: str | None, partitioners: Sequence[str], **options: Any
) -> SkewScan:
    """The scan of records, once their columns hold keys of the format. options : as of SkewScan

    Raises WrongTable or InvalidQuestion.
    """
    kind = records.schema.field(key_columns[0]).type if len(key_columns) == 1 else pa.string()
    key_format = check_format(kind, key_format)
    names = check_partitioners(partitioners, key_format)
    scan = SkewScan(key_columns=key_columns, key_format=key_format, partitioners=names, corrupt=records.corrupt, **options)
    for name in scan.size_columns:
        kind = records.schema.field(name).type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (is_number or is_text(kind) or is_bytes(kind)):
            raise WrongTable(
                f"{records.name}: The column {name!r} is {kind}, which has no size; only integers, strings and bytes have one."
            )
    check_keys(records.first(), key_columns, scan.separator, key_format, records.name)
    return scan


def skew(
    records: Records,
    scan: SkewScan,
    limits: CountLimits,
    rates: Rates,
    duration_seconds: float | None,
    *,
    proposed: bool = False,
) -> Outcome:
    """Scan the records once. rates, duration_seconds, proposed : as of ``answer_from``

    Raises WrongTable without records, InvalidQuestion without a key.
    """
    result: SkewResult
    result, rejected = records.scan(scan, "scanning")
    if not (result.counts.records or result.counts.keyless[0] or rejected):
        raise WrongTable.without_records(records.name)
    check_not_empty(result.counts)
    answer = answer_from(result, rejected, scan.key_format, limits, rates, duration_seconds, proposed=proposed)
    return outcome_of(answer, records.name, scan)


def outcome_of(answer: SkewAnswer, name: str, scan: SkewScan) -> Outcome:
    """What is written of an answer. name : of the records"""
    return Outcome(
        _summary(answer),
        _tables(answer),
        _report(answer, name, scan),
        _headline(answer),
        {"partition-count-plans.json": _request(answer)},
        within_limits=all(not each.smallest or each.recommended is not None for each in answer.reach),
    )


def _tables(answer: SkewAnswer) -> dict[str, pa.Table]:
    """The tables by file name: a row for each partition of each plan, each plan, each move and each hottest key."""

    def rows(of: Sequence[Row], schema: pa.Schema) -> pa.Table:
        unknown = {} if answer.counts.has_bytes else {"bytes": None}
        every = max(answer.records, 1)
        return pa.Table.from_pylist([{**row, "records_share": row["records"] / every, **unknown} for row in of], schema)

    # Of one schema whatever is known and whichever limits are set: tables of several runs are one table.
    plans = pa.Table.from_pylist([_plan(plan) for plan in answer.plans])
    kinds = {"verdict": pa.string(), "partitions": pa.int64(), "meets": pa.bool_()}
    for i, field in enumerate(plans.schema):
        if pa.types.is_null(field.type):
            name = "meets" if field.name.startswith("meets_") else field.name.rpartition("_")[2]
            plans = plans.set_column(i, field.name, plans.column(i).cast(kinds.get(name, pa.float64())))
    return {
        "partitions.parquet": pa.concat_tables([_partitions(plan) for plan in answer.plans]),
        "plans.parquet": plans,
        "moves.parquet": rows(answer.moves, MOVES),
        "hottest_keys.parquet": rows(answer.hottest, HOTTEST),
    }


def _partitions(plan: CountPlan) -> pa.Table:
    n = plan.partitions_count
    return pa.table(
        {
            "partitioner": pa.repeat(plan.partitioner, n),
            "partitions_count": pa.repeat(pa.scalar(n, pa.int32()), n),
            "partition_id": pa.array(np.arange(n, dtype=np.int32)),
            "records": pa.array(plan.records.counts),
            "bytes": pa.array(plan.bytes.counts) if plan.bytes else pa.nulls(n, pa.int64()),
            "distinct_keys": pa.array(plan.keys.counts),
        }
    )


def _plan(plan: CountPlan) -> dict[str, Any]:
    row: dict[str, Any] = {"partitioner": plan.partitioner, "partitions_count": plan.partitions_count}
    for name, of in (("records", plan.records), ("bytes", plan.bytes), ("keys", plan.keys)):
        values: tuple[Any, ...] = (None,) * 9
        if of is not None:
            chance = of.chance
            values = (of.spread.skew, of.spread.stddev, of.gini, of.empty_partitions, of.floor)
            values += (chance.mean, chance.low, chance.high, of.verdict)
        measures = ("skew", "stddev", "gini", "empty_partitions", "floor", "chance_mean", "chance_low", "chance_high", "verdict")
        row |= {f"{name}_{measure}": value for measure, value in zip(measures, values, strict=True)}
    return row | {f"meets_{limit}": plan.meets.get(limit) for limit in LIMITS}


def _summary(answer: SkewAnswer) -> dict[str, Any]:
    """The results: totals, the skew of each plan, what is recommended, the hottest keys."""
    counts, distinct = answer.counts, answer.counts.distinct
    return {
        "job": "skew",
        "conclusion": answer.conclusion,
        "records": counts.records,
        "keyless": int(counts.keyless[0]),
        "rejected": answer.rejected,
        "bytes": counts.bytes if counts.has_bytes else None,
        "distinct_keys": distinct.distinct,
        "exact": answer.exact,
        "relative_error": distinct.relative_error,
        "current_partitions_count": counts.current,
        "plans": [
            {
                "partitioner": plan.partitioner,
                "partitions_count": plan.partitions_count,
                "skew": plan.records.spread.skew,
                "byte_skew": plan.bytes.spread.skew if plan.bytes else None,
                "verdict": plan.records.verdict,
                "floor": plan.records.floor,
                "byte_verdict": plan.bytes.verdict if plan.bytes else None,
                "meets": plan.meets,
            }
            for plan in answer.plans
        ],
        "limits": [vars(each) for each in answer.reach],
        "hottest_keys": [
            {"key": key["value"], "records": key["records"], "records_error": key["records_error"]}
            for key in answer.hottest[:SHOWN]
        ],
    }


def _request(answer: SkewAnswer) -> dict[str, Any]:
    """A request to ``/v1/partition-count-plans`` with a histogram of the keys.

    The histogram has every key while they are few; otherwise the hottest, and a sample scaled to the weight of all others.
    """
    counts, sample = answer.counts, answer.sample
    rows = {key_value(key, answer.key_format): [*weights] for key, weights in sample.weights.items()}
    if not sample.complete:
        hot = {key["value"]: [key["records"], key["bytes"]] for key in answer.hottest}
        light = np.array([weights for key, weights in rows.items() if key not in hot], np.float64).reshape(-1, 2)
        rest = np.array([counts.records, counts.bytes]) - np.array([*hot.values()], np.int64).reshape(-1, 2).sum(axis=0)
        scaled = np.maximum(np.round(light * (rest / np.maximum(light.sum(axis=0), 1))), [1, 0]).astype(np.int64).tolist()
        rows = hot | dict(zip((key for key in rows if key not in hot), scaled, strict=True))
    histogram = sorted(([key, *weights] for key, weights in rows.items()), key=lambda row: (-row[1], str(row[0])))
    if counts.keyless[0]:
        histogram.append([None, *counts.keyless.tolist()])
    names = ("key", "records", "bytes") if counts.has_bytes else ("key", "records")
    document: dict[str, Any] = {
        "partitioners": list(counts.names),
        "partitions_counts": list(counts.partitions_counts),
        "key_format": answer.key_format,
        "histogram": [dict(zip(names, row, strict=False)) for row in histogram],
        "is_sample": True if not sample.complete else None,
        "current_partitions_count": counts.current,
        "records_per_second": answer.rates.records_per_second,
        "bytes_per_second": answer.rates.bytes_per_second,
        "max_partition_records_per_second": answer.limits.records_per_second,
        "max_partition_bytes_per_second": answer.limits.bytes_per_second,
        "max_skew": answer.limits.skew,
    }
    return {name: value for name, value in document.items() if value is not None}


# ---- the report --------------------------------------------------------------------------------------------------------


def _headline(answer: SkewAnswer) -> dict[str, str]:
    """The figures for the terminal."""
    counts, distinct = answer.counts, answer.counts.distinct
    error = "" if answer.exact else f" (standard error ± {distinct.relative_error:.1%})"
    figures = {
        "records with a key": number(counts.records),
        "records without a key": number(int(counts.keyless[0])),
        "rejected records": _rejected(answer),
        "distinct keys": f"{'≈ ' * bool(error)}{number(distinct.distinct)}{error}",
    }
    if counts.has_bytes:
        figures["bytes"] = size(counts.bytes)
    if answer.hottest:
        hottest = answer.hottest[0]
        figures["hottest key"] = f"{hottest['key']} ({share(hottest['records'] / answer.records)} of all records)"
    for name in counts.names:
        for plan in (plan for plan in answer.plans if plan.partitioner == name):
            chance = plan.records.chance
            band = f"{cause(plan.records)}; random hashes {chance.low:.4g} to {chance.high:.4g}"
            figures[f"skew {name} × {plan.partitions_count}"] = f"{plan.records.spread.skew:.4g}  ({band})"
        if answer.reach_of(name).smallest:
            figures[f"recommended {name}"] = str(answer.reach_of(name).recommended or "none")
    return figures


def _report(answer: SkewAnswer, source: str, scan: SkewScan) -> Report:
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
        text = "All records of a key are on one partition, however many there are."
        sections.append(Section("Hottest keys", (_hot_plot(answer), _hot_table(answer)), text))
    if len(answer.counts.partitions_counts) > 1:
        text = "The share of all records that move to another partition when the count changes."
        if not all(move["exact"] for move in answer.moves):
            text += " Values marked ≈ are estimated from a sample of the keys."
        sections.append(Section("Records that move", _move_blocks(answer), text))
    title = f"Skew of {source.rstrip('/').rpartition('/')[2]}"
    return Report(title, f"{source} · key: {key} ({scan.key_format})", tuple(sections), printable(answer.conclusion))


def _glance(answer: SkewAnswer) -> FigureRow:
    counts = answer.counts
    hashing = [name for name in counts.names if counts.as_one_key(name)[0]]
    placed_as = f"one key for {', '.join(hashing)}" if hashing else "spread evenly over the partitions"
    error = "exact" if answer.exact else f"standard error ± {counts.distinct.relative_error:.1%}"
    figures = [
        Figure("records with a key", number(counts.records)),
        Figure("records without a key", number(int(counts.keyless[0])), placed_as),
        Figure("rejected records", _rejected(answer), *((f"in {REJECTED_ROWS}", "bad") if answer.rejected else ())),
        Figure("distinct keys", number(counts.distinct.distinct), error),
    ]
    if counts.has_bytes:
        figures.append(Figure("bytes", size(counts.bytes)))
    if answer.hottest:
        hottest = answer.hottest[0]
        figures.append(Figure("hottest key", share(hottest["records"] / answer.records), hottest["key"]))
    if answer.reach and answer.reach[0].smallest:
        for name in counts.names:
            best = answer.reach_of(name).recommended
            remark = "partitions, within every limit" if best else "of the planned counts keeps every limit"
            figures.append(Figure(f"recommended, {name}", number(best) if best else "none", remark, "good" if best else "bad"))
    return FigureRow(tuple(figures))


def _rejected(answer: SkewAnswer) -> str:
    total = sum(answer.rejected.values())
    return number(total) if not total else f"{number(total)} ({', '.join(f'{n:,} {why}' for why, n in answer.rejected.items())})"


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
            skews = [plan.records.spread.skew for plan in answer.plans_of(name)]
            axes.plot(x, skews, color=COLORS[i % 8], marker="o", label=name)
        if answer.limits.skew is not None:
            axes.axhline(answer.limits.skew, color=COLORS[6], linestyle="--", linewidth=1, label="limit")
        axes.set(xlabel="partitions", ylabel="record skew", ylim=(1, None))
        if len(x) <= 12:
            axes.set_xticks(x)
        axes.legend(ncols=4, loc="upper left", bbox_to_anchor=(0, 1.18))

    return chart(draw, height=3.3)


def _skew_table(answer: SkewAnswer) -> Table:
    of_bytes = ("byte skew", "its cause") if answer.counts.has_bytes else ()
    columns = ("partitioner", "partitions", "skew", "cause", "by chance", "floor", "Gini", "empty", "key skew", *of_bytes)
    rows = []
    for plan in answer.plans:
        records = plan.records
        band = f"{records.chance.low:.4g} – {records.chance.high:.4g}"
        count = f"{plan.partitions_count}{' (new topic)' if plan.needs_new_topic else ''}"
        row: tuple[str, ...] = (plan.partitioner, count, f"{records.spread.skew:.4g}", records.verdict, band)
        row += (f"{records.floor:.4g}", f"{records.gini:.3f}", number(records.empty_partitions), f"{plan.keys.spread.skew:.4g}")
        row += (f"{plan.bytes.spread.skew:.4g}", plan.bytes.verdict) if plan.bytes else ("—", "—")
        rows.append(row[: len(columns)])
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
        axes.barh(range(len(keys)), [100 * key["records"] / answer.records for key in keys], color=COLORS[0], height=0.7)
        axes.set_yticks(range(len(keys)), [label(key["key"]) for key in keys])
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}%")

    return chart(draw, "Share of all records", height=0.5 + 0.22 * len(keys))


def _hot_table(answer: SkewAnswer) -> Table:
    columns = ("key", "records (at least)", "share", "error", *(("bytes",) if answer.counts.has_bytes else ()))
    rows = []
    for key in answer.hottest[:100]:
        error = f"+{number(key['records_error'])}" if key["records_error"] else "—"
        row = (key["key"], number(key["records"]), share(key["records"] / answer.records), error, size(key["bytes"]))
        rows.append(row[: len(columns)])
    return Table(columns, rows, folded=f"The {len(rows)} hottest keys")


def _move_blocks(answer: SkewAnswer) -> tuple[Table, ...]:
    counts = answer.counts
    tables = []
    for name in counts.names:
        ns = sorted(counts.partitions_counts)
        cells = {}
        for move in (move for move in answer.moves if move["partitioner"] == name):
            text = f"{'' if move['exact'] else '≈ '}{move['records'] / max(answer.records, 1):.1%}"
            cells[move["from_count"], move["to_count"]] = cells[move["to_count"], move["from_count"]] = text
        rows = [(str(a), *(cells.get((a, b), "—") for b in ns)) for a in ns]
        few = len(ns) <= 10 and len(counts.names) == 1
        tables.append(Table(("from ╲ to", *map(str, ns)), rows, "" if few else name, "" if few else f"Records that move, {name}"))
    return tuple(tables)
