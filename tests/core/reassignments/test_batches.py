"""Batches keep the rules while they run and after, and their rollbacks lead back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.errors import Infeasible, InvalidQuestion
from service.core.model import NONE
from service.core.reassignments.batches import Limits, Traffic, in_batches
from service.core.reassignments.model import NO_LIMIT, Goal
from service.core.reassignments.plan import plan
from tests.core.reassignments.test_plan import a_cluster, lists_of, some_placements


@st.composite
def questions(draw):
    count = draw(st.integers(4, 7))
    brokers = a_cluster([draw(st.sampled_from("abc")) for _ in range(count)])
    brokers.draining[0] = True
    partitions = draw(st.integers(1, 12))
    rows = [list(draw(st.permutations(range(count))))[: draw(st.integers(1, 3))] for _ in range(partitions)]
    sizes = draw(st.lists(st.integers(0, 50), min_size=partitions, max_size=partitions))
    if draw(st.booleans()):
        brokers = replace(
            brokers, max_replicas=np.array(draw(st.lists(st.integers(2, 9), min_size=count, max_size=count)), np.int64)
        )
    if draw(st.booleans()):
        limits = draw(st.lists(st.integers(100, 500), min_size=count, max_size=count))
        brokers = replace(brokers, capacity_bytes=np.array(limits, np.int64))
    limits = Limits(
        draw(st.sampled_from([None, 1, 2])), draw(st.sampled_from([None, 4, 6])), draw(st.sampled_from([None, 150, 300]))
    )
    objective, balance = draw(st.sampled_from(["fewest-moves", "even"])), draw(st.sampled_from(["replicas", "bytes"]))
    return brokers, some_placements(rows, sizes=sizes), Goal(objective, "strict", balance=balance), limits


def usage(rows, sizes, count):
    counts, loads = [0] * count, [0] * count
    for row, size in zip(rows, sizes, strict=True):
        for b in row:
            counts[b] += 1
            loads[b] += size
    return counts, loads


@settings(max_examples=300)
@given(questions())
def test_the_rules_hold_in_every_batch_and_rollback_restores_the_start(question):
    brokers, placements, goal, limits = question
    try:
        answer = plan(brokers, placements, goal)
        batches = in_batches(brokers, placements, answer.replicas, limits)
    except Infeasible:
        return
    count = len(brokers)
    sizes = placements.sizes.tolist()
    start, end = lists_of(placements.replicas), lists_of(answer.replicas)
    assert all(0 not in row for row in end)
    rows = [list(row) for row in start]
    assert answer.lower_bound <= answer.cost
    for batch in range(len(batches)):
        mine = np.flatnonzero(batches.batch_of == batch).tolist()
        assert mine
        copies = [(p, b) for p in mine for b in end[p] if b not in start[p]]
        leaves = [(p, b) for p in mine for b in start[p] if b not in end[p] and set(end[p]) - set(start[p])]
        assert batches.moves[batch] == len(copies)
        assert batches.amounts[batch] == sum(sizes[p] for p, _ in copies)
        assert len(copies) <= (limits.moves_per_batch or NO_LIMIT)
        assert batches.amounts[batch] <= (limits.bytes_in_flight or NO_LIMIT)
        for b in range(count):
            for moves in (copies, leaves):
                assert sum(b == other for _, other in moves) <= (limits.moves_per_broker or NO_LIMIT)
        before = usage(rows, sizes, count)
        during = usage([[*row, *(b for p, b in copies if p == i)] for i, row in enumerate(rows)], sizes, count)
        for p in mine:
            rows[p] = end[p]
        after = usage(rows, sizes, count)
        for b in range(count):
            for now, least, most in ((during, before, brokers.max_replicas[b]), (after, before, brokers.max_replicas[b])):
                assert now[0][b] <= max(most, least[0][b])
            assert max(during[1][b], after[1][b]) <= max(brokers.capacity_bytes[b], before[1][b])
    assert rows == end
    for p in np.flatnonzero(batches.batch_of != NONE).tolist():
        rows[p] = start[p]
    assert rows == start


def test_the_throttle_for_a_time_is_the_least_that_suffices():
    traffic = Traffic(
        np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32), np.array([True, False, True]),
        np.array([1000, 500, 300], np.int64), np.array([5.0, 0.0, 0.0]),
    )  # fmt: skip
    throttle = traffic.throttle_for(10.0, 2)
    assert traffic.seconds(throttle, 2).sum() <= 10 < traffic.seconds(throttle - 1, 2).sum()
    assert traffic.seconds(5, 2)[0] == np.inf


def test_a_partition_larger_than_a_batch_is_named():
    brokers = a_cluster(["a", "b", "c"], draining=[True, False, False])
    placements = some_placements([[0, 1]], sizes=[100])
    answer = plan(brokers, placements, Goal())
    with pytest.raises(InvalidQuestion, match="Must be at least 100: t-0") as raised:
        in_batches(brokers, placements, answer.replicas, Limits(bytes_in_flight=99))
    assert raised.value.field == ("limits", "bytes_in_flight")


def test_what_has_no_live_replica_cannot_be_copied():
    brokers = a_cluster(["a", "b"])
    brokers.cluster.fenced[0] = True
    placements = some_placements([[0]])
    with pytest.raises(Infeasible, match="cannot be copied"):
        in_batches(brokers, placements, plan(brokers, placements, Goal()).replicas, Limits())


def test_full_brokers_that_swap_have_no_order():
    brokers = a_cluster(["a", "b", "b"], max_replicas=[1, 1, 0])
    placements = some_placements([[0], [1]])
    swapped = replace(placements.replicas, values=placements.replicas.values[::-1].copy())
    with pytest.raises(Infeasible, match="No order"):
        in_batches(brokers, placements, swapped, Limits())
