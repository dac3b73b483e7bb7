"""The expected shares are the frequencies of the draws."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.core.model import NONE
from service.core.partitioners import PARTITIONERS, Question, allocate
from service.planner.keyless import ADAPTIVE, DRAWS, RULES, STICKY, ConfigException, Keyless, distribution
from tests.support.golden import lines


def question(
    rule, sizes, *, led=None, slow=None, racks=None, batch=None, producers=(NONE,), weights=None, rack_aware=False
) -> Keyless:
    n = len(sizes)
    return Keyless(
        rule=rule,
        racks=np.array(racks or [NONE] * n, np.int32),
        led=np.array(led or [True] * n, np.bool_),
        queue_sizes=np.array(sizes, np.int64),
        slow=np.array(slow or [False] * n, np.bool_),
        batch_records=np.array(batch or [1.0] * n),
        rack_aware=rack_aware,
        producer_racks=np.array(producers, np.int32),
        producer_weights=np.array(weights or [1.0] * len(producers)),
    )


def adaptive_draws(sizes, length, ids, count):
    """What the exact draws of service.core.partitioners.drawing choose for the random numbers 0, 1, 2 …"""
    question = Question(
        count,
        columns.byte_strings([None] * 5000),
        queue_sizes=np.array(sizes, np.int32),
        partition_ids=np.array(ids, np.int32),
        length=length,
        random_values=np.arange(5000, dtype=np.int32),
    )
    return allocate(PARTITIONERS["java:adaptive"], question)


def test_adaptive_shares_are_those_that_kafkas_own_tables_give():
    """The tables of the golden vectors came from the real BuiltInPartitioner."""
    cases = 0
    for case in lines("partitions/adaptive"):
        request, table = case["request"], case["expected"].get("cumulative_frequency_table")
        sizes = request.get("queue_sizes")
        ids = request.get("partition_ids") or (list(range(len(sizes))) if sizes else [])
        if (
            not table
            or ids != sorted(ids)
            or len(sizes) != request["partitions_count"]
            or request.get("length", len(sizes)) != len(sizes)
        ):
            continue
        cases += 1
        (of,) = distribution(question(ADAPTIVE, sizes)).producers
        assert of.frequency_table.tolist() == table
    assert cases


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_every_random_number_falls_on_a_partition_as_often_as_its_share_says(sizes):
    shares = distribution(question(ADAPTIVE, sizes))
    table = shares.producers[0].frequency_table
    total = len(sizes) if table is None else int(table[-1])
    drawn = Counter(adaptive_draws(sizes, len(sizes), list(range(len(sizes))), len(sizes)).partitions[:total].tolist())
    whole, rest = divmod(DRAWS, total)
    first = Counter(adaptive_draws(sizes, len(sizes), list(range(len(sizes))), len(sizes)).partitions[:rest].tolist())
    for p, share in enumerate(shares.shares):
        assert share == pytest.approx(float(Fraction(whole * drawn[p] + first[p], DRAWS)), rel=1e-12)


PARTITION = st.tuples(st.integers(0, 4), st.booleans(), st.booleans(), st.integers(NONE, 2))


def kafkas_loop(partitions, rack, rack_aware):
    """RecordAccumulator.partitionReady and BuiltInPartitioner.nextPartition, statement by statement: partition → weight."""
    n = len(partitions)
    queue_sizes, ids, index = [0] * n, [0] * n, -1
    for p, (waiting, led, slow, _) in enumerate(partitions):
        if led:
            index += 1
            ids[index] = p
        if waiting == 0:
            continue
        if led:
            queue_sizes[index] = waiting
            if slow:
                index -= 1
    length = index + 1
    available = [p for p, (_, led, _, _) in enumerate(partitions) if led]
    if length < 1 or n < 2 or (length == n and len(set(queue_sizes)) == 1):
        near = [p for p in available if partitions[p][3] == rack] if rack_aware else []
        return dict.fromkeys(near or available or range(n), 1)
    listed = list(zip(ids[:length], queue_sizes[:length], strict=True))
    near = [(p, size) for p, size in listed if partitions[p][3] == rack] if rack_aware else []
    listed = near or listed
    most = max(size for _, size in listed) + 1
    return {p: most - size for p, size in listed}


@given(st.lists(PARTITION, min_size=1, max_size=7), st.integers(0, 2), st.booleans())
def test_adaptive_shares_follow_kafkas_loop(partitions, rack, rack_aware):
    """Slow leaders, no leaders, racks: KIP-794 and KIP-1123."""
    sizes, led, slow, racks = (list(column) for column in zip(*partitions, strict=True))
    case = question(ADAPTIVE, sizes, led=led, slow=slow, racks=racks, producers=(rack,), rack_aware=rack_aware)
    weights = kafkas_loop(partitions, rack, rack_aware)
    expected = [weights.get(p, 0) / sum(weights.values()) for p in range(len(partitions))]
    shares = distribution(case)
    assert shares.shares.tolist() == pytest.approx(expected, abs=1e-7)
    assert shares.shares.sum() == pytest.approx(1)
    assert shares.producers[0].same_rack == pytest.approx(
        sum(share for share, at in zip(expected, racks, strict=True) if at == rack)
    )


def test_a_slow_broker_gets_fewer_records_until_it_gets_none():
    evenly = distribution(question(ADAPTIVE, [2, 2, 2])).shares
    behind = distribution(question(ADAPTIVE, [2, 9, 2])).shares
    out = distribution(question(ADAPTIVE, [2, 9, 2], slow=[False, True, False])).shares
    assert evenly.tolist() == pytest.approx([1 / 3] * 3)
    assert behind.tolist() == pytest.approx([8 / 17, 1 / 17, 8 / 17])
    assert out.tolist() == pytest.approx([1 / 2, 0, 1 / 2])


def test_sticky_shares_are_those_of_a_simulation():
    """KIP-480: a new batch goes anywhere but where the last one went; larger batches make a larger share."""
    led, batch = [True, True, False, True, True], [10.0, 10.0, 10.0, 40.0, 5.0]
    shares = distribution(question(STICKY, [0] * 5, led=led, batch=batch))
    generator, available, at, records = random.Random(1), [0, 1, 3, 4], 0, Counter()
    for _ in range(40_000):
        new = at
        while new == at:
            new = generator.choice(available)
        at = new
        records[at] += batch[at]
    assert shares.shares.tolist() == pytest.approx([records[p] / records.total() for p in range(5)], abs=0.01)


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_without_load_every_rule_is_even_over_the_partitions_with_a_leader(led):
    assume(any(led))
    for rule in RULES:
        shares = distribution(question(rule, [0] * len(led), led=led)).shares
        assert shares.tolist() == pytest.approx([has / sum(led) for has in led], abs=1e-7)


def test_round_robin_is_the_long_run_of_the_counter():
    (of,) = distribution(question("round-robin", [0] * 7)).producers
    turns = allocate(PARTITIONERS["java-2.3"], Question(7, columns.byte_strings([None] * 7000))).partitions
    assert of.shares.tolist() == pytest.approx((np.bincount(turns) / 7000).tolist(), abs=1e-7)


def test_producers_of_several_racks_mix_by_their_number():
    """Three producers in a rack with one leader make that partition hot, which is what KIP-1123 warns of."""
    case = question("uniform-sticky", [0] * 4, racks=[0, 1, 1, 1], producers=(0, 1), weights=[3.0, 1.0], rack_aware=True)
    shares = distribution(case)
    assert shares.shares.tolist() == pytest.approx([3 / 4, 1 / 12, 1 / 12, 1 / 12])
    assert shares.skew == pytest.approx(3.0)
    assert [of.same_rack for of in shares.producers] == pytest.approx([1.0, 1.0])


def test_a_rack_aware_producer_needs_a_rack():
    with pytest.raises(ConfigException, match=r"client\.rack must be provided"):
        distribution(question(ADAPTIVE, [0, 0], rack_aware=True))
    with pytest.raises(InvalidQuestion, match="ignores racks"):
        distribution(question(STICKY, [0, 0], producers=(0,), rack_aware=True))


def test_queues_that_kafkas_int_table_cannot_hold_are_refused():
    with pytest.raises(InvalidQuestion, match="int table"):
        distribution(question(ADAPTIVE, [0, 0, 2**30]))
