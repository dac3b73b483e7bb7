"""The partition count that throughput needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion
from service.planner.sizing.plans import Throughput, throughput

TENTHS = st.integers(1, 10**6)


@pytest.mark.parametrize(
    ("rates", "counts"),
    [
        ((50.0, 10.0, 5.0), (5, 10, 10)),
        ((50.0, 10.0, None), (5, None, 5)),
        ((1.0, None, 3.0), (None, 1, 1)),
        ((0.3, 0.1, 0.05), (3, 6, 6)),  # by floats 0.3 ÷ 0.1 is less than 3, and 0.7 ÷ 0.1 is less than 7
        ((0.7, 0.1, 0.7), (7, 1, 7)),
        ((2.0**31 - 1, 1.0, None), (2**31 - 1, None, 2**31 - 1)),
    ],
)
def test_examples(rates, counts):
    assert throughput(*rates) == Throughput(*counts)


@given(TENTHS, TENTHS)
def test_the_count_is_the_smallest_that_is_enough(target, rate):
    """Rates in tenths, so that integers can tell."""
    needed = throughput(target / 10, rate / 10, None).partitions_count
    assert (needed - 1) * rate < target <= needed * rate


def test_more_than_kafka_allows():
    with pytest.raises(InvalidQuestion, match="more partitions than Kafka allows") as refused:
        throughput(2.0**31, 1.0, 1.0)
    assert refused.value.field == ("target_mb_per_second",)
