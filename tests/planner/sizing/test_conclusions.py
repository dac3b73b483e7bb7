"""A conclusion says of which count it speaks, how even that is, and why."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.keys import columns
from service.planner.sizing.conclusions import reach
from service.planner.sizing.counter import KeyCounter
from service.planner.sizing.plans import CountLimits, Rates, plans

LIGHT = [(f"key-{i}", 1) for i in range(1000)]


def conclusion_of(rows, n=12, *, sizes=None, name="java", current=None, max_skew=None, key_format="string") -> str:
    counts = KeyCounter((name,), n if isinstance(n, tuple) else (n,), current)
    keys = [key for key, _ in rows]
    column = columns.strings(keys) if key_format == "string" else columns.Numbers(np.array(keys, np.int32))
    weights = np.array([weight for _, weight in rows], np.int64)
    counts.add(column, key_format, weights, None if sizes is None else np.array(sizes, np.int64))
    limits = CountLimits(skew=max_skew)
    (result,) = reach(counts, plans(counts, Rates(), limits), Rates(), limits, key_format)
    return result.conclusion


def test_one_hot_key_is_named_with_its_share_and_the_floor():
    assert conclusion_of([("user-1", 1128), *LIGHT]) == (
        "user-1 has 53% of the records: no partition count brings the fullest partition below that; with java and 12 partitions, "
        "it has 57% of the records. Without this key, it would have 1.12 × the mean."
    )


@pytest.mark.parametrize(
    ("hot", "beginning", "bound"),
    [
        ([("b", 600), ("a", 700)], "a and b have 56.5% of the records, a alone 30.4%: no", "the 30.4% of a"),
        ([(key, 500) for key in "cab"], "a, b and c have 60% of the records, a alone 20%: no", "the 20% of a"),
        ([(f"k{i}", 600 - i) for i in range(5)], "5 keys, such as k0, k1 and k2, have 74.9% of the records", "the 15% of k0"),
        (
            [("", 800), *((f"k{i}", 600) for i in range(4))],
            "5 keys, such as the empty key, k0 and k1, have",
            "the 19% of the empty key",
        ),
        ([("", 1000)], "The empty key has 50% of the records: no", "that"),
        ([("x" * 50, 1000)], f"{'x' * 40}… has 50% of the records: no", "that"),
        ([("\x1b[2J", 1000)], "\\x1b[2J has 50% of the records: no", "that"),
    ],
)
def test_hot_keys_are_named_heaviest_first(hot, beginning, bound):
    sentence = conclusion_of([*LIGHT, *hot])
    assert sentence.startswith(beginning)
    assert f"no partition count brings the fullest partition below {bound}; with java and 12 partitions" in sentence


def test_keys_that_are_too_few_for_the_count():
    assert conclusion_of([("a", 5), ("b", 5)], 12).endswith("More keys are needed to use all partitions.")


def test_records_without_a_key_that_the_partitioner_hashes_are_a_hot_key():
    sentence = conclusion_of([*LIGHT, (None, 3000)], name="librdkafka:consistent")
    assert sentence.startswith("The null key has 75% of the records: no partition count brings the fullest partition below that;")
    assert conclusion_of([*LIGHT, (None, 3000)]) == (
        "75% of the records have no key, which producers spread evenly. With java and 12 partitions, the fullest partition has "
        "1.03 × the mean: the records are spread evenly."
    )


def test_causes_other_than_hot_keys():
    assert conclusion_of([(f"key-{i}", 1) for i in range(100_000)]) == (
        "With java and 12 partitions, the fullest partition has 1.02 × the mean: the records are spread evenly."
    )
    assert "× the mean, as chance gives for these keys (1.07 to 1.37)." in conclusion_of(LIGHT)
    assert conclusion_of([], 12) == "There is no record with a key."
    assert conclusion_of(LIGHT, 1) == "One partition has every record."


def test_a_partitioner_may_suit_the_keys_worse_or_better_than_chance():
    """Object.hashCode of an integer is the integer."""
    hash_code = {"name": "spark:hash-partitioner", "key_format": "int"}
    assert conclusion_of([(number, 1) for number in range(0, 20_000, 2)], **hash_code) == (
        "With spark:hash-partitioner and 12 partitions, the fullest partition has 2 × the mean. Chance gives 1.02 to 1.11 for "
        "these keys, so the partitioner is the cause."
    )
    rows = [(number, 90) for number in range(12)] + [(12 * number, 1) for number in range(1, 51)]
    assert conclusion_of(rows, **hash_code) == (
        "With spark:hash-partitioner and 12 partitions, the fullest partition has 1.49 × the mean. Chance gives 1.94 to 4.84 for "
        "these keys; spark:hash-partitioner is more even."
    )


def test_equal_keys_may_not_spread_evenly():
    assert conclusion_of([(number, 1) for number in range(70)], 40, name="spark:hash-partitioner", key_format="int") == (
        "The heaviest keys do not spread evenly: with spark:hash-partitioner and 40 partitions, the fullest partition has 2.86% "
        "of the records; no partitioner gets below 2.86% of the records."
    )


def test_bytes_are_added_if_they_are_uneven_for_another_reason():
    sizes = [1] * 1000
    assert "bytes" not in conclusion_of(LIGHT, sizes=sizes)
    sizes[7] = 3000
    assert ". key-7 has 75% of the bytes: no partition count brings the fullest partition below that" in conclusion_of(
        LIGHT, sizes=sizes
    )


def test_the_count_in_question_is_the_current_one_or_the_recommended_or_the_most_even():
    rows = [(f"key-{i}", 1) for i in range(5000)]
    assert "and 48 partitions" in conclusion_of(rows, (6, 12, 48), current=48)
    assert "and 12 partitions" in conclusion_of(rows, (1, 12, 48), current=7, max_skew=1.5)
    assert "and 12 partitions" in conclusion_of(rows, (6, 12, 48), current=7)
    assert conclusion_of(rows, (1, 6), current=7).endswith(
        "Kafka cannot remove partitions, so one partition would need a new topic."
    )
    assert "and 6 partitions" in conclusion_of(rows, (6, 12, 48))
