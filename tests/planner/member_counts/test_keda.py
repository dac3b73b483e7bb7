"""KEDA's formulas: what its scalers answered, its own unit and end-to-end tests as examples, and a plain twin.

The examples are those of KEDA 2.20.2: pkg/scalers/kafka_scaler_test.go (TestFindFactors, TestGetNextFactor,
TestGetLagForPartition) and tests/scalers/kafka/kafka_test.go, which runs the scaler in a cluster.
"""

from __future__ import annotations

import re
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.planner.member_counts import Metric, Scaling, Trigger, factors, metric, partition_lags, replicas
from tests.reference.member_counts import total_lag
from tests.support.golden import lines

ONE = Trigger(lag_threshold=1, activation_lag_threshold=1)
"""The trigger of KEDA's end-to-end tests."""


def lags(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (10, [1, 2, 5, 10]),
        (13, [1, 13]),
        (17, [1, 17]),
        (25, [1, 5, 25]),
        (50, [1, 2, 5, 10, 25, 50]),
        (100, [1, 2, 4, 5, 10, 20, 25, 50, 100]),
    ],
)
def test_factors(number, expected):
    assert factors(number) == expected


@pytest.mark.parametrize(("total", "factor"), [(10, 1), (20, 2), (40, 4), (50, 5), (99, 10), (100, 10), (101, 20), (10_000, 100)])
def test_the_smallest_factor_of_100_partitions_that_is_enough(total, factor):
    trigger = Trigger(lag_threshold=10, ensure_even_distribution_of_partitions=True)
    assert metric(lags(total, *[0] * 99), trigger).total_lag == factor * 10


@pytest.mark.parametrize(
    ("committed", "end", "policy", "zero", "expected"),
    [
        (-1, 150, "latest", False, 1),
        (-1, 150, "latest", True, 0),
        (-1, 150, "earliest", False, 150),
        (100, 150, "earliest", False, 50),
    ],
)
def test_the_lag_of_a_partition(committed, end, policy, zero, expected):
    trigger = Trigger(offset_reset_policy=policy, scale_to_zero_on_invalid_offset=zero)
    assert partition_lags(lags(committed), lags(end), trigger).tolist() == [expected]


def test_both_scalers_report_these_metrics():
    """Recorded from the scalers' own code, at the first poll; three of ten with ``excludePersistentLag``."""
    cases = list(lines("autoscalers/keda"))
    for case in cases:
        trigger = Trigger(**{_snake(name): value for name, value in case["trigger"].items() if name != "excludePersistentLag"})
        found = metric(partition_lags(lags(*case["committed_offsets"]), lags(*case["log_end_offsets"]), trigger), trigger)
        assert asdict(found) == case["expected"], case
    assert len(cases) == 200


def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


@pytest.mark.parametrize(
    ("of_partitions", "trigger", "current", "expected"),
    [
        # earliest and latest policy: 3 partitions; 1 message does not activate, 2 do; 7 are more than partitions
        ((1, 0, 0), ONE, 0, 0),
        ((1, 1, 0), ONE, 0, 2),
        ((3, 2, 2), ONE, 2, 3),
        # multi topic: a message in each of two topics
        ((1, 0, 0, 1, 0, 0), Trigger(lag_threshold=1), 1, 2),
        # limitToPartitionsWithLag: 6 messages in one partition, then 5 in another
        ((6, 0, 0), Trigger(1, 1, limit_to_partitions_with_lag=True), 0, 1),
        ((6, 5, 0), Trigger(1, 1, limit_to_partitions_with_lag=True), 1, 2),
        # ensureEvenDistributionOfPartitions: 10 partitions, lags of 5 and 8
        ((1, 1, 1, 1, 1, *[0] * 5), Trigger(1, 1, ensure_even_distribution_of_partitions=True), 0, 5),
        ((*[1] * 8, 0, 0), Trigger(1, 1, ensure_even_distribution_of_partitions=True), 5, 10),
    ],
)
def test_kedas_end_to_end_tests_come_to_these_replicas(of_partitions, trigger, current, expected):
    assert replicas([metric(lags(*of_partitions), trigger)], trigger.lag_threshold, current, Scaling()) == expected


@pytest.mark.parametrize(
    ("total", "current", "scaling", "expected"),
    [
        (109, 10, Scaling(), 10),  # within a tenth: nothing changes
        (112, 10, Scaling(), 12),
        (91, 10, Scaling(), 10),
        (89, 10, Scaling(), 9),
        (109, 10, Scaling(tolerance=0.0), 11),
        (5_000, 10, Scaling(), 100),
        (5_000, 10, Scaling(max_replica_count=7), 7),
        (0, 10, Scaling(), 0),
        (0, 10, Scaling(min_replica_count=3), 3),
        (5, 0, Scaling(), 1),
        (-7, 10, Scaling(min_replica_count=1), 1),
    ],
)
def test_the_autoscaler_rounds_up_beyond_its_tolerance_and_within_its_bounds(total, current, scaling, expected):
    assert replicas([Metric(total, is_active=total > 0)], 10, current, scaling) == expected


def test_of_several_triggers_the_most_counts():
    metrics = [Metric(10, is_active=False), Metric(70, is_active=True)]
    assert replicas(metrics, 10, 1, Scaling()) == 7


def test_a_sum_beyond_64_bits_is_exact():
    assert metric(lags(2**63 - 1, 2**63 - 1, -1), Trigger(allow_idle_consumers=True)).total_lag == 2**64 - 3


@given(st.lists(st.integers(0, 40), min_size=1, max_size=24), st.integers(1, 30), st.booleans(), st.booleans(), st.booleans())
def test_the_total_is_that_of_kedas_text(of_partitions, threshold, idle, limited, even):
    trigger = Trigger(
        threshold,
        allow_idle_consumers=idle,
        limit_to_partitions_with_lag=limited,
        ensure_even_distribution_of_partitions=even,
    )
    expected = total_lag(of_partitions, threshold, idle=idle, limited=limited, even=even)
    assert metric(lags(*of_partitions), trigger) == Metric(expected, is_active=sum(of_partitions) > 0)
