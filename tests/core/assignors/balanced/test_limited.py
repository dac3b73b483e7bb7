"""``balanced`` with at most so many moves is the best of all assignments that move so few, and says what it has proven."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from service.core.assignors.balanced import balanced
from service.core.assignors.balanced.frontier import frontier
from service.core.errors import InvalidQuestion
from tests.core.assignors.balanced.test_balanced import found, ragged, random_group, relations
from tests.core.assignors.balanced.test_weighted import ratios_of, weighed
from tests.reference.balanced_groups import best_within


def owned_unevenly(draw, group):
    """The same with members that subscribe alike, where most partitions have one owner: what a formula answers."""
    topics, count = len(group.topics), group.topics.partitions_count
    owners = [draw.choice([0, 0, 0, draw.randrange(len(group)), None]) for _ in range(count)]
    owned = [[p for p, owner in enumerate(owners) if owner == member] for member in range(len(group))]
    return replace(group, subscriptions=ragged([list(range(topics))] * len(group)), owned=ragged(owned))


def small_group(draw):
    sizes = [draw.randint(1, 2) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.4:
        return weighed(draw, draw.randint(1, 3), sizes, draw.choice([0, 2]), draw.choice([0.7, 1.5]), [0, 1, 2, 3, 5, 8, 13])
    group = random_group(draw, draw.randint(1, 4), sizes, draw.choice([0, 0, 2]), draw.choice([0.7, 1.5]))
    return owned_unevenly(draw, group) if draw.random() < 0.4 else group


@pytest.mark.parametrize("seed", range(4))
def test_no_assignment_that_moves_so_few_is_better(seed):
    """Every number of moves of small groups, against every assignment."""
    draw = random.Random(seed)
    for _ in range(100):
        group = small_group(draw)
        (readers, claims, near), read = relations(group)
        is_weighed = balanced._is_weighed(group)
        weights = group.topics.weights[read].tolist() if is_weighed else None
        capacities = [1.0] * len(group) if group.capacities is None or not is_weighed else group.capacities.tolist()
        for k, best in enumerate(best_within(readers, claims, near, weights, capacities, len(read))):
            if best is None:
                with pytest.raises(InvalidQuestion, match="must move"):
                    balanced.assign(group, max_moves=k)
                continue
            assignment = balanced.assign(group, max_moves=k)
            loads, moves, close = found(group, assignment)
            even = tuple(ratios_of(group, assignment)) if is_weighed else (loads[0], sum(load**2 for load in loads))
            assert (even, moves) == best[:2]
            certificate = assignment.certificate
            assert (certificate.load.gap, certificate.moves.gap, certificate.moves.value) == (0, 0, moves)
            if certificate.rack_local is not None:
                assert certificate.rack_local.value == close <= len(read) - best[2] <= certificate.rack_local.bound


def test_the_sum_of_squares_has_a_bound_where_it_is_not_proven():
    """Middling groups of which not every assignment can be tried."""
    draw = random.Random(5)
    for _ in range(5):
        group = random_group(draw, 6, [8] * 8, draw.choice([0, 3]), 1)
        most = found(group, balanced.assign(group))[1]
        before = np.inf
        for k in range(0, most + 1, 3):
            try:
                certificate = balanced.assign(group, max_moves=k).certificate
            except InvalidQuestion:
                continue
            assert certificate.load.gap == 0
            assert certificate.evenness.bound <= certificate.evenness.value
            assert certificate.evenness.bound <= before, "more moves allow no more uneven a best"
            assert certificate.evenness.gap < 0.01
            before = certificate.evenness.value


def test_a_large_search_keeps_the_limit_of_moves():
    """Weights of which not every assignment is tried: never more moves, and never below the bound."""
    draw = random.Random(6)
    group = weighed(draw, 7, [20] * 10, 0, 1, [1, 2, 5, 9, 40])
    group = replace(group, capacities=np.array([1, 1, 2, 2, 3, 1, 1.5]))
    (_, claims, _), _ = relations(group)
    must = balanced.assign(group).certificate.moves.value
    for k in range(60, int(must), 10):
        try:
            assignment = balanced.assign(group, max_moves=k)
        except InvalidQuestion:
            continue
        certificate = assignment.certificate
        assert found(group, assignment)[1] == certificate.moves.value <= k
        assert certificate.load.bound <= ratios_of(group, assignment)[0] * (1 + 1e-12)
        assert certificate.load.gap < 0.1
    assert any(claims)


@pytest.mark.parametrize("weights", [False, True])
def test_the_frontier_goes_from_the_fewest_moves_to_the_best_balance(weights):
    draw = random.Random(7)
    group = random_group(draw, 4, [4, 4, 4], 0, 1)
    group = owned_unevenly(draw, group)
    if weights:
        of_each = np.array([draw.randint(1, 9) for _ in range(12)], np.float64)
        group = replace(group, topics=replace(group.topics, weights=of_each))
    points = frontier(group, balanced.assign)
    best = balanced.assign(group).certificate
    assert (points[0].moves, points[-1].moves) == (0, best.moves.value)
    assert points[-1].worst_load == best.load.value
    assert [point.moves for point in points] == sorted({point.moves for point in points})
    evenness = [(point.worst_load, point.stddev) for point in points]
    assert evenness == sorted(set(evenness), reverse=True)
    assert all(point.proven for point in points)
    for point in points:
        assert balanced.assign(group, max_moves=point.moves).certificate.load.value == point.worst_load
