"""From the counts of a scan to the answer: plans, moves between each two counts, hottest keys, tables, summary.

Its size depends on partitions, counts and ``max_keys`` only.
"""

from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.analyses.skew.scan import KeySample, SkewResult
from service.core.keys import columns as encodings
from service.core.keys.values import key_text, key_value
from service.core.model import Int32s
from service.core.sizing.counter import KeyCounter, hashing_rule, key_hashes_of
from service.core.sizing.distinct_keys import BYTES, RECORDS
from service.core.sizing.plans import Limits, Plan, Rates, plans
from service.core.sizing.reach import Reach, reach

SHOWN: Final = 10
"""Most hottest keys in the summary."""

NAMED: Final = 256
"""Most hottest keys in the answer."""


@dataclass(frozen=True)
class HotKey:
    """One of the hottest keys.

    key : as text, in the key format
    value : as a JSON value, in the key format
    records, bytes : lower bounds
    records_error : at most this many records more
    """

    key: str
    value: Any
    records: int
    bytes: int
    records_error: int


@dataclass(frozen=True)
class Move:
    """The records and bytes that two counts place on different partitions; not ``exact`` if estimated from a sample of keys."""

    partitioner: str
    from_count: int
    to_count: int
    records: int
    bytes: int
    exact: bool


@dataclass(frozen=True)
class Answer:
    """The whole answer.

    rejected : the number of rejected rows, by reason
    """

    counts: KeyCounter
    sample: KeySample
    rejected: dict[str, int]
    key_format: str
    plans: list[Plan]
    reach: list[Reach]
    moves: list[Move]
    hottest: list[HotKey]
    rates: Rates
    limits: Limits

    @property
    def exact(self) -> bool:
        """Whether every distinct key was counted."""
        return self.counts.distinct.level == 0

    def reach_of(self, partitioner: str) -> Reach:
        """Which limits the counts of a partitioner keep, and which count is recommended."""
        return next(each for each in self.reach if each.partitioner == partitioner)


def answer_from(
    result: SkewResult, rejected: dict[str, int], key_format: str, limits: Limits, duration_seconds: float | None
) -> Answer:
    """The answer. result : of the whole scan; duration_seconds : the time span of its records"""
    counts = result.counts
    rates = Rates()
    if duration_seconds is not None:
        rates = Rates(counts.records / duration_seconds, counts.bytes / duration_seconds if counts.has_bytes else None)
    all_plans = plans(counts, rates, limits)
    hottest = _hottest(counts, key_format)
    moves = [move for name in counts.names for move in _moves(counts, name, key_format)]
    return Answer(
        counts, result.sample, rejected, key_format, all_plans, reach(counts, all_plans, rates, limits, key_format),
        moves, hottest, rates, limits,
    )  # fmt: skip


def _hottest(counts: KeyCounter, key_format: str) -> list[HotKey]:
    by_records = counts.distinct.heaviest(RECORDS, NAMED)
    sizes = {key: weight - error for key, weight, error in counts.distinct.heaviest(BYTES, 2 * NAMED)}
    return [
        HotKey(key_text(key, key_format), key_value(key, key_format), weight - error, sizes.get(key, 0), error)
        for key, weight, error in by_records
        if weight > error
    ]


def _column(keys: list[bytes], key_format: str) -> encodings.Column:
    """Serialized keys as the column that they were."""
    flat = encodings.byte_strings(keys)
    if key_format in encodings.TEXTS:
        return encodings.Text(flat)
    kinds = encodings.INTEGERS | encodings.FLOATS | {"boolean": np.dtype(np.bool_)}
    if key_format in kinds:
        return encodings.Numbers(flat.data.view(kinds[key_format].newbyteorder(">")).astype(kinds[key_format]))
    return flat


def _moves(counts: KeyCounter, name: str, key_format: str) -> list[Move]:
    """Between each two counts: from a table of residues that has both, else from the keys, the hottest each by itself."""
    of = hashing_rule(name)
    key_hashes, weights, hashes = counts.entries(name)
    hot = (
        {key: [0, 0] for column in (RECORDS, BYTES) for key, _, _ in counts.distinct.heaviest(column, NAMED)}
        if counts.distinct.level
        else {}
    )
    for column in (RECORDS, BYTES):
        for key, weight, error in counts.distinct.heaviest(column, 2 * NAMED) if hot else ():
            hot[key][column] = weight - error
    hot_weights = np.array([*hot.values()], np.int64).reshape(-1, 2)
    hot_hashes: Int32s = np.zeros(0, np.int32)
    if hot:
        column_of_hot = _column([*hot], key_format)
        hot_hashes = of.hash.run(of.encoding.run(column_of_hot, key_format), key_format)
        light = ~np.isin(key_hashes, key_hashes_of(encodings.byte_strings([*hot])))
        weights, hashes = weights[light], hashes[light]
    keyless = np.array(counts.as_one_key(name))  # of a client that hashes records without a key as if they had one
    totals = np.array([counts.records, counts.bytes]) - counts.without_key(name) + counts.keyless - keyless
    partitions = {n: of.sign.run(hashes, n) for n in counts.partitions_counts}
    hot_partitions = {n: of.sign.run(hot_hashes, n) for n in counts.partitions_counts}
    rest = totals - hot_weights.sum(axis=0)
    sampled = np.maximum(weights.sum(axis=0), 1)
    moves = []
    for a, b in combinations(sorted(counts.partitions_counts), 2):
        both = lcm(a, b)
        exact = any(modulus % both == 0 for modulus in counts.moduli)
        if exact:
            _, records, sizes = counts.totals(name, both)
            residues = np.arange(both)
            differs = residues % a != residues % b
            moved = [int(records[differs].sum()), int(sizes[differs].sum())]
        else:
            stays = partitions[a] == partitions[b]
            hot_moved = hot_weights[hot_partitions[a] != hot_partitions[b]].sum(axis=0)
            share = weights[~stays].sum(axis=0) / sampled
            if of.null_hash is not None and len({int(of.sign.run(np.array([of.null_hash], np.int32), n)[0]) for n in (a, b)}) > 1:
                hot_moved = hot_moved + keyless
            moved = [round(float(x)) for x in (hot_moved + share * rest)]
            exact = counts.distinct.level == 0
        moves.append(Move(name, a, b, moved[0], moved[1], exact))
    return moves


def tables(answer: Answer) -> dict[str, pa.Table]:
    """The tables by file name: a row for each partition of each plan, each plan, each move and each hottest key."""
    counts = answer.counts
    return {
        "partitions.parquet": pa.concat_tables([_partitions(plan) for plan in answer.plans]),
        "plans.parquet": pa.Table.from_pylist([_plan(plan) for plan in answer.plans]),
        "moves.parquet": pa.table(
            {
                "partitioner": pa.array([move.partitioner for move in answer.moves], pa.string()),
                "from_count": pa.array([move.from_count for move in answer.moves], pa.int32()),
                "to_count": pa.array([move.to_count for move in answer.moves], pa.int32()),
                "records": pa.array([move.records for move in answer.moves], pa.int64()),
                "bytes": pa.array([move.bytes if counts.has_bytes else None for move in answer.moves], pa.int64()),
                "exact": pa.array([move.exact for move in answer.moves], pa.bool_()),
            }
        ),
        "hottest_keys.parquet": pa.table(
            {
                "key": pa.array([key.key for key in answer.hottest], pa.string()),
                "records": pa.array([key.records for key in answer.hottest], pa.int64()),
                "records_share": pa.array([key.records / max(counts.records, 1) for key in answer.hottest], pa.float64()),
                "records_error": pa.array([key.records_error for key in answer.hottest], pa.int64()),
                "bytes": pa.array([key.bytes if counts.has_bytes else None for key in answer.hottest], pa.int64()),
            }
        ),
    }


def _partitions(plan: Plan) -> pa.Table:
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


def _plan(plan: Plan) -> dict[str, Any]:
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
    return row | {f"meets_{limit}": kept for limit, kept in plan.meets.items()}


def summary(answer: Answer) -> dict[str, Any]:
    """The results: totals, the skew of each plan, what is recommended, the hottest keys."""
    counts, distinct = answer.counts, answer.counts.distinct
    return {
        "job": "skew",
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


def request(answer: Answer) -> dict[str, Any]:
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
