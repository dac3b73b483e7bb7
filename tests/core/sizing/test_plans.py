"""Every number of a plan is that of a plain computation."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.keys import columns
from service.core.sizing.counter import KeyCounter
from service.core.sizing.plans import Limits, Rates, gini, measure, plans, reach
from service.core.sizing.random_baseline import RandomSkew
from tests.core.sizing.test_counter import partitions_of
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
    measured = measure(np.array(loads, np.int64), 3, RandomSkew(1.0, 1.0, 1.0))
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
    for plan in plans(counts, Rates(), Limits()):
        partition_of = partitions_of("java", sorted({row[0] for row in ROWS}), plan.partitions_count)
        loads = lying_on(ROWS, partition_of, plan.partitions_count)
        for what in ("keys", "records", "bytes"):
            assert getattr(plan, what).counts.tolist() == loads[what]
        records = sum(row[1] for row in ROWS)
        assert plan.records.floor == pytest.approx(max(1.0, 500 * plan.partitions_count / records))
        assert plan.records.spread.skew >= plan.records.floor
        assert plan.multiple == (plan.partitions_count % 6 == 0)


def test_a_hot_key_is_above_neither_chance_nor_its_own_floor():
    """Half of all records on one key: the skew is large, and no fault of the partitioner."""
    (plan,) = plans(counts_of([*ROWS, ("hot", 2000, 0)], partitions_counts=(48,), current=None), Rates(), Limits())
    assert plan.records.spread.skew > 20
    assert plan.records.verdict == "chance"
    assert (plan.moved, plan.multiple) == (None, None)


def test_keys_that_share_a_partition_by_design_are_above_chance():
    """Integer keys whose Object.hashCode is even: every second partition stays empty."""
    counts = KeyCounter(("spark:hash-partitioner",), (12,))
    counts.add(columns.Numbers(np.arange(0, 20_000, 2, dtype=np.int32)), "int")
    (plan,) = plans(counts, Rates(), Limits())
    assert plan.keys.empty_partitions == 6
    assert plan.keys.verdict == plan.records.verdict == "above chance"
    evenly = KeyCounter(("spark:hash-partitioner",), (12,))
    evenly.add(columns.Numbers(np.arange(12_000, dtype=np.int32)), "int")
    assert plans(evenly, Rates(), Limits())[0].keys.verdict == "below chance"


def test_without_bytes_nothing_is_said_of_them():
    (plan, *_) = plans(counts_of(ROWS, sizes=False), Rates(1.0, 1.0), Limits(bytes_per_second=1.0))
    assert plan.bytes is None
    assert (plan.busiest.records_per_second is None, plan.busiest.bytes_per_second) == (False, None)
    assert plan.meets == {}


def test_the_smallest_count_is_the_first_whose_busiest_partition_keeps_the_limit():
    rows = [(f"key-{i}", 1, 100) for i in range(5000)]
    counts = counts_of(rows, ("java", "librdkafka:consistent"), (1, 2, 3, 4, 6, 8, 12), None)
    rates, limits = Rates(10_000.0, 1e6), Limits(2_600.0, 300_000.0, 1.05)
    results = plans(counts, rates, limits)
    for of in reach(counts, results, rates, limits):
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
    rates, limits = Rates(records_per_second=float(total)), Limits(records_per_second=499.0, skew=2.0)
    (result,) = reach(counts, plans(counts, rates, limits), rates, limits)
    assert result.smallest["records_per_second"] is None
    assert "500" in result.out_of_reach["records_per_second"]
    share = max(500 / total, 9000 / sum(row[2] for row in ROWS))
    assert f"no count above {int(2.0 / share)} " in result.out_of_reach["skew"]


def test_nothing_at_all_is_even():
    (plan,) = plans(KeyCounter(("java",), (5,), 3), Rates(1.0), Limits(skew=1.0))
    assert (plan.records.spread.skew, plan.records.gini, plan.records.verdict) == (1.0, 0.0, "chance")
    assert plan.meets == {"skew": True}
    assert plan.moved.keys == 0


def test_records_without_a_key_that_a_client_hashes_as_one_are_a_hot_key():
    """The consistent partitioner of librdkafka takes no key for an empty one: all of them go to one partition."""
    rows = [(f"key-{i}", 1, 1) for i in range(100)] + [(None, 1, 1)] * 300
    counts = KeyCounter(("librdkafka:consistent", "java"), (4, 8), 4)
    counts.add(columns.strings([key for key, _, _ in rows]), "string")
    assert (counts.without_key("librdkafka:consistent"), counts.without_key("java")) == ((0, 0), (300, 0))
    hot, *_, evenly = results = plans(counts, Rates(40.0), Limits(20.0, None, 1.5))
    assert hot.records.counts.sum() == 400
    assert hot.records.spread.max >= 300
    assert (hot.records.floor, hot.records.verdict) == (3.0, "chance")
    assert (evenly.records.counts.sum(), evenly.records.floor) == (100, 1.0)
    of_hot, of_java = reach(counts, results, Rates(40.0), Limits(20.0, None, 1.5))
    assert set(of_hot.out_of_reach) == {"records_per_second", "skew"}
    assert of_java.out_of_reach == {}
