"""Every number of a plan is that of a plain computation."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.keys import columns
from service.planner.sizing.conclusions import reach
from service.planner.sizing.counter import KeyCounter
from service.planner.sizing.plans import CountLimits, Rates, gini, measure, plans
from service.planner.sizing.random_baseline import Weights
from tests.planner.sizing.test_counter import partitions_of
from tests.reference.counter import lying_on

ROWS = [(f"key-{i}", 1 + i % 7, 10 * (i % 13)) for i in range(300)] + [("hot", 500, 9000)]


def counts_of(rows, names=("java",), partitions_counts=(6, 9, 12), current=6, *, sizes=True) -> KeyCounter:
    counts = KeyCounter(names, partitions_counts, current)
    column = columns.strings([key for key, _, _ in rows])
    records = np.array([r for _, r, _ in rows], np.int64)
    counts.add(column, "string", records, np.array([b for _, _, b in rows], np.int64) if sizes else None)
    return counts


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30))
def test_a_measure_is_a_plain_computation(loads):
    measured = measure(np.array(loads, np.int64), Weights.of(np.array([3])))
    n, total = len(loads), sum(loads)
    assert measured.empty_partitions == loads.count(0)
    assert measured.spread.stddev == pytest.approx(statistics.pstdev(loads))
    assert measured.spread.skew == pytest.approx(max(loads) / statistics.mean(loads) if total else 1.0)
    differences = sum(abs(a - b) for a in loads for b in loads)
    assert measured.gini == pytest.approx(differences / (2 * n * total) if total else 0.0)
    assert measured.floor == pytest.approx(max(1.0, 3 / (total / n)) if total else 1.0)


def test_gini_of_the_extremes():
    assert gini(np.array([5, 5, 5])) == 0
    assert gini(np.array([0, 0, 0, 9])) == 0.75


def test_a_plan_measures_what_lies_on_the_partitions():
    counts = counts_of(ROWS)
    for plan in plans(counts, Rates(), CountLimits()):
        partition_of = partitions_of("java", sorted({row[0] for row in ROWS}), plan.partitions_count)
        loads = lying_on(ROWS, partition_of, plan.partitions_count)
        for what in ("keys", "records", "bytes"):
            assert getattr(plan, what).counts.tolist() == loads[what]
        records = sum(row[1] for row in ROWS)
        assert plan.records.floor == pytest.approx(max(1.0, 500 * plan.partitions_count / records))
        assert plan.records.spread.skew >= plan.records.floor
        assert plan.multiple == (plan.partitions_count % 6 == 0)


def test_a_hot_key_is_the_cause_of_a_skew_within_the_band_of_chance():
    """Half of all records on one key: the skew is large, and no fault of the partitioner."""
    (plan,) = plans(counts_of([*ROWS, ("hot", 2000, 0)], partitions_counts=(48,), current=None), Rates(), CountLimits())
    assert plan.records.spread.skew > 20
    assert plan.records.chance.low <= plan.records.spread.skew <= plan.records.chance.high
    assert (plan.records.verdict, plan.records.hot_keys, plan.keys.verdict) == ("hot-keys", 1, "chance")
    assert plan.records.hot_share == pytest.approx(2500 / sum(plan.records.counts))
    assert (plan.moved, plan.multiple) == (None, None)


def verdict_of(weights, n: int, *loads: int) -> str:
    """The verdict on a placement of keys with these weights; loads : of the fullest partitions; the others share the rest"""
    rest = np.diff(np.linspace(0, sum(weights) - sum(loads), n - len(loads) + 1).astype(np.int64))
    return measure(np.array([*loads, *rest], np.int64), Weights.of(np.array(weights, np.int64))).verdict


LIGHT = [1] * 2500
FIVE_HOT_KEYS = [1500] * 5 + LIGHT


def test_a_verdict_is_the_cause():
    assert verdict_of(LIGHT, 12, 220) == "even"
    assert verdict_of(LIGHT, 12, 246) == "chance", "at most 1.27 by chance"
    assert verdict_of(LIGHT, 12, 400) == "partitioner", "more than chance gives"
    assert verdict_of([90] * 12 + [1] * 50, 12, 140) == "partitioner", "less than chance gives"


def test_several_hot_keys_are_the_cause_if_the_other_keys_fill_no_partition_as_much():
    assert verdict_of(FIVE_HOT_KEYS, 12, 1700) == "hot-keys", "each alone"
    assert verdict_of(FIVE_HOT_KEYS, 12, 3200, 1700) == "hot-keys", "two on one partition"
    assert verdict_of(FIVE_HOT_KEYS, 12, 7900) == "partitioner", "all on one partition, which chance does in 1 of 20,000 cases"
    assert verdict_of([1500] * 5 + [300] * 9, 6, 3000) == "chance", "on 6 partitions no key outweighs the mean"


def test_a_hot_key_is_not_the_cause_of_what_chance_does_with_the_other_keys():
    """One key has 1.2 × the mean, and others that are nearly as heavy meet by chance."""
    assert verdict_of([120, *[80] * 10, *[4] * 70], 12, 250) == "chance"


@given(
    st.lists(st.tuples(st.none() | st.text("ab", max_size=4), st.integers(0, 50), st.integers(0, 900)), max_size=60),
    st.integers(1, 30),
)
def test_no_plan_is_below_its_floor(rows, n):
    """Whatever the partitioner does with records without a key, or with an empty one."""
    counts = KeyCounter(("java", "librdkafka:consistent", "kafka-go:crc32", "sarama"), (n,))
    weights = np.array([row[1:] for row in rows], np.int64).reshape(-1, 2)
    counts.add(columns.strings([row[0] for row in rows]), "string", weights[:, 0].copy(), weights[:, 1].copy())
    for plan in plans(counts, Rates(), CountLimits()):
        for what in ("keys", "records", "bytes"):
            of = getattr(plan, what)
            assert of.floor <= of.spread.skew * (1 + 1e-9)
            assert of.chance.low >= 1
            assert (of.hot_share > 0) == (of.hot_keys > 0)
            assert of.hot_share <= 1 + 1e-9


def test_a_hot_key_among_more_keys_than_are_held():
    rows = [(f"key-{i}", 1, 1) for i in range(20_000)]
    counts = KeyCounter(("java",), (12,), max_keys=1024)
    for _ in range(5):  # the key is in every batch
        column = columns.strings([*[row[0] for row in rows], *["hot"] * 5000])
        counts.add(column, "string")
    (plan,) = plans(counts, Rates(), CountLimits())
    assert (counts.distinct.level > 0, plan.records.verdict, plan.records.hot_keys) == (True, "hot-keys", 1)
    assert plan.records.floor == pytest.approx(0.2 * 12, rel=0.01)
    assert plan.records.floor <= plan.records.spread.skew
    (result,) = reach(counts, [plan], Rates(), CountLimits(), "string")
    assert result.conclusion.startswith(
        "hot has at least 20% of the records: no partition count brings the fullest partition below that"
    )


def test_more_keys_than_partitions_may_share_only_unevenly():
    """Of 13 keys of one weight, two share one of 12 partitions."""
    best = measure(np.array([2, *[1] * 11]), Weights.of(np.ones(13)))
    assert (best.floor, best.hot_keys, best.verdict) == (pytest.approx(2 * 12 / 13), 0, "hot-keys")


def test_the_floor_leaves_out_keys_that_the_partitioner_takes_for_none():
    """kafka-go's CRC-32 balancer places records with an empty key like those without one."""
    counts = KeyCounter(("kafka-go:crc32", "java", "librdkafka:consistent"), (4,))
    counts.add(columns.strings([*[f"key-{i}" for i in range(100)], *[""] * 300, *[None] * 50]), "string")
    crc32, java, consistent = results = plans(counts, Rates(), CountLimits())
    assert (crc32.records.floor, crc32.records.hot_keys, crc32.records.heaviest) == (1.0, 0, 1)
    assert (java.records.floor, java.records.hot_keys, java.records.heaviest) == ((300 + 50 / 4) / (450 / 4), 1, 300)
    assert consistent.records.hot_keys == 1
    for plan in results:
        placed = counts.placed(plan.partitioner)[0]
        assert counts.weights(plan.partitioner, 0).total == placed == plan.records.counts.sum() - plan.records.unhashed
        assert plan.records.counts.sum() == 450
        assert len(counts.entries(plan.partitioner)[0]) == plan.keys.counts.sum()


def test_keys_that_share_a_partition_by_design_are_above_chance():
    """Integer keys whose Object.hashCode is even: every second partition stays empty."""
    counts = KeyCounter(("spark:hash-partitioner",), (12,))
    counts.add(columns.Numbers(np.arange(0, 20_000, 2, dtype=np.int32)), "int")
    (plan,) = plans(counts, Rates(), CountLimits())
    assert plan.keys.empty_partitions == 6
    assert plan.keys.verdict == plan.records.verdict == "partitioner"
    evenly = KeyCounter(("spark:hash-partitioner",), (12,))
    evenly.add(columns.Numbers(np.arange(12_000, dtype=np.int32)), "int")
    assert plans(evenly, Rates(), CountLimits())[0].keys.verdict == "even"


def test_without_bytes_the_plan_has_none():
    (plan, *_) = plans(counts_of(ROWS, sizes=False), Rates(1.0, 1.0), CountLimits(bytes_per_second=1.0))
    assert plan.bytes is None
    assert (plan.busiest.records_per_second is None, plan.busiest.bytes_per_second) == (False, None)
    assert plan.meets == {}


def test_the_smallest_count_is_the_first_whose_busiest_partition_keeps_the_limit():
    rows = [(f"key-{i}", 1, 100) for i in range(5000)]
    counts = counts_of(rows, ("java", "librdkafka:consistent"), (1, 2, 3, 4, 6, 8, 12), None)
    rates, limits = Rates(10_000.0, 1e6), CountLimits(2_600.0, 300_000.0, 1.05)
    results = plans(counts, rates, limits)
    for of in reach(counts, results, rates, limits, "string"):
        skews, busiest = {}, {}
        for n in counts.partitions_counts:
            loads = lying_on(rows, partitions_of(of.partitioner, [row[0] for row in rows], n), n)["records"]
            skews[n], busiest[n] = max(loads) * n / 5000, max(loads) / 5000
        keeping = {
            "records_per_second": [n for n in busiest if busiest[n] * 10_000 <= 2_600],
            "bytes_per_second": [n for n in busiest if busiest[n] * 1e6 <= 300_000],
            "skew": [n for n in skews if skews[n] <= 1.05],
        }
        keeping["all"] = sorted(set.intersection(*map(set, keeping.values())))
        assert of.smallest == {limit: min(some, default=None) for limit, some in keeping.items()}
        assert of.out_of_reach == {}
        for plan in results:
            if plan.partitioner == of.partitioner:
                assert plan.busiest.records_per_second == pytest.approx(busiest[plan.partitions_count] * 10_000)


def test_a_limit_that_the_hottest_key_breaks_by_itself_is_out_of_reach():
    counts = counts_of(ROWS)
    total = sum(row[1] for row in ROWS)
    rates, limits = Rates(records_per_second=float(total)), CountLimits(records_per_second=499.0, skew=2.0)
    (result,) = reach(counts, plans(counts, rates, limits), rates, limits, "string")
    assert result.smallest["records_per_second"] is None
    of_bytes = 9000 / sum(row[2] for row in ROWS)
    assert of_bytes > 500 / total
    assert result.out_of_reach == {
        "records_per_second": "the heaviest key alone exceeds it (500 per second) at any partition count",
        "skew": f"the heaviest key alone exceeds it ({of_bytes:.2%} of the bytes) above {int(2.0 / of_bytes)} partitions",
    }


def test_nothing_at_all_is_even():
    (plan,) = plans(KeyCounter(("java",), (5,), 3), Rates(1.0), CountLimits(skew=1.0))
    assert (plan.records.spread.skew, plan.records.gini, plan.records.verdict) == (1.0, 0.0, "even")
    assert plan.meets == {"skew": True}
    assert plan.moved.keys == 0


def test_records_without_a_key_that_a_client_hashes_as_one_are_a_hot_key():
    """The consistent partitioner of librdkafka takes no key for an empty one: all of them go to one partition."""
    rows = [(f"key-{i}", 1, 1) for i in range(100)] + [(None, 1, 1)] * 300
    counts = KeyCounter(("librdkafka:consistent", "java"), (4, 8), 4)
    counts.add(columns.strings([key for key, _, _ in rows]), "string")
    assert (counts.without_key("librdkafka:consistent"), counts.without_key("java")) == ((0, 0), (300, 0))
    hot, *_, evenly = results = plans(counts, Rates(40.0), CountLimits(20.0, None, 1.5))
    assert hot.records.counts.sum() == 400
    assert hot.records.spread.max >= 300
    assert (hot.records.floor, hot.records.verdict) == (3.0, "hot-keys")
    assert (evenly.records.counts.sum(), evenly.records.floor) == (400, pytest.approx((13 + 300 / 8) / 50))
    of_hot, of_java = reach(counts, results, Rates(40.0), CountLimits(20.0, None, 1.5), "string")
    assert set(of_hot.out_of_reach) == {"records_per_second", "skew"}
    assert of_java.out_of_reach == {}
