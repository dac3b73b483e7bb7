"""How evenly several partitioners and partition counts would distribute records, from one scan: summary, tables, a request."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.keys.values import key_value
from service.decisions.rows import columns, is_text
from service.pipeline.analyses.outcome import Outcome, Records
from service.pipeline.analyses.skew import report
from service.pipeline.analyses.skew.answer import HotKey, Move, SkewAnswer, answer_from
from service.pipeline.analyses.skew.scan import SkewResult, SkewScan, check_partitioners
from service.pipeline.files.errors import WrongTable
from service.pipeline.files.key_columns import check_format, check_keys, is_bytes
from service.planner.sizing.plans import CountLimits, CountPlan, Rates, check_not_empty

MOVES: Final = pa.schema(columns("partitioner string, from_count int, to_count int, records long, bytes long, exact boolean"))
HOTTEST: Final = pa.schema(columns("key string, records long, records_share double, records_error long, bytes long"))

LIMITS: Final = ("records_per_second", "bytes_per_second", "mb_per_second", "skew")
"""Of a plan; see CountLimits."""

SHOWN: Final = 10
"""Most hottest keys in the summary."""


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
    return outcome_of(
        answer_from(result, rejected, scan.key_format, limits, rates, duration_seconds, proposed=proposed), records.name, scan
    )


def outcome_of(answer: SkewAnswer, name: str, scan: SkewScan) -> Outcome:
    """What is written of an answer. name : of the records"""
    return Outcome(
        _summary(answer),
        _tables(answer),
        report.report(answer, name, scan),
        report.headline(answer),
        {"partition-count-plans.json": _request(answer)},
        within_limits=all(not each.smallest or each.recommended is not None for each in answer.reach),
    )


def _tables(answer: SkewAnswer) -> dict[str, pa.Table]:
    """The tables by file name: a row for each partition of each plan, each plan, each move and each hottest key."""
    counts = answer.counts

    def sizes(row: Move | HotKey) -> dict[str, int | None]:
        return {"bytes": row.bytes if counts.has_bytes else None}

    return {
        "partitions.parquet": pa.concat_tables([_partitions(plan) for plan in answer.plans]),
        "plans.parquet": _plans(answer),
        "moves.parquet": pa.Table.from_pylist([vars(move) | sizes(move) for move in answer.moves], MOVES),
        "hottest_keys.parquet": pa.Table.from_pylist(
            [vars(key) | {"records_share": key.records / max(answer.records, 1)} | sizes(key) for key in answer.hottest], HOTTEST
        ),
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


def _plans(answer: SkewAnswer) -> pa.Table:
    """A row for each plan, of one schema whatever is known and whichever limits are set: tables of several runs are one table."""
    table = pa.Table.from_pylist([_plan(plan) for plan in answer.plans])
    kinds = {"verdict": pa.string(), "partitions": pa.int64()}
    kinds |= {name: pa.bool_() for name in table.column_names if name.startswith("meets_")}
    fields = [
        field.with_type(kinds.get(field.name, kinds.get(field.name.rpartition("_")[2], pa.float64())))
        if pa.types.is_null(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _plan(plan: CountPlan) -> dict[str, Any]:
    row: dict[str, Any] = {"partitioner": plan.partitioner, "partitions_count": plan.partitions_count}
    for name, of in (("records", plan.records), ("bytes", plan.bytes), ("keys", plan.keys)):
        row |= {
            f"{name}_skew": of.spread.skew if of else None,
            f"{name}_stddev": of.spread.stddev if of else None,
            f"{name}_gini": of.gini if of else None,
            f"{name}_empty_partitions": of.empty_partitions if of else None,
            f"{name}_floor": of.floor if of else None,
            f"{name}_chance_mean": of.chance.mean if of else None,
            f"{name}_chance_low": of.chance.low if of else None,
            f"{name}_chance_high": of.chance.high if of else None,
            f"{name}_verdict": of.verdict if of else None,
        }
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
            {"key": key.value, "records": key.records, "records_error": key.records_error} for key in answer.hottest[:SHOWN]
        ],
    }


def _request(answer: SkewAnswer) -> dict[str, Any]:
    """A request to ``/v1/partition-count-plans`` with a histogram of the keys.

    The histogram has every key while they are few; otherwise the hottest, and a sample scaled to the weight of all others.
    """
    counts, sample = answer.counts, answer.sample
    rows = {key_value(key, answer.key_format): [*weights] for key, weights in sample.weights.items()}
    if not sample.complete:
        hot = {key.value: [key.records, key.bytes] for key in answer.hottest}
        light = np.array([weights for key, weights in rows.items() if key not in hot], np.float64).reshape(-1, 2)
        rest = np.array([counts.records, counts.bytes]) - np.array([*hot.values()], np.int64).reshape(-1, 2).sum(axis=0)
        scaled = np.maximum(np.round(light * (rest / np.maximum(light.sum(axis=0), 1))), [1, 0]).astype(np.int64).tolist()
        rows = hot | dict(zip((key for key in rows if key not in hot), scaled, strict=True))
    histogram: list[dict[str, Any]] = [
        {"key": key, "records": records} | ({"bytes": size} if counts.has_bytes else {}) for key, (records, size) in rows.items()
    ]
    histogram.sort(key=lambda row: (-row["records"], str(row["key"])))
    keyless = counts.keyless.tolist()
    if keyless[0]:
        histogram.append({"key": None, "records": keyless[0]} | ({"bytes": keyless[1]} if counts.has_bytes else {}))
    document: dict[str, Any] = {
        "partitioners": list(counts.names),
        "partitions_counts": list(counts.partitions_counts),
        "key_format": answer.key_format,
        "histogram": histogram,
        "is_sample": True if not sample.complete else None,
        "current_partitions_count": counts.current,
        "records_per_second": answer.rates.records_per_second,
        "bytes_per_second": answer.rates.bytes_per_second,
        "max_partition_records_per_second": answer.limits.records_per_second,
        "max_partition_bytes_per_second": answer.limits.bytes_per_second,
        "max_skew": answer.limits.skew,
    }
    return {name: value for name, value in document.items() if value is not None}
