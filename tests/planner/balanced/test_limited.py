"""``balanced`` with at most so many moves is the best of all assignments that move so few, and says what it has proven."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from service.core.errors import InvalidQuestion
from service.decisions.groups.question import of_rows
from service.decisions.groups.rows import read_group
from service.planner.balanced import balanced, weighing
from service.planner.balanced.balanced import forced_moves, frontier
from tests.planner.balanced.test_balanced import by_integer_program, found, owned_unevenly, ragged, random_group, relations
from tests.planner.balanced.test_weighted import least_maximum, ratios_of, weighed
from tests.reference.balanced_groups import best_within


def small_group(draw):
    sizes = [draw.randint(1, 2) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.4:
        return weighed(draw, draw.randint(1, 3), sizes, draw.choice([0, 2]), draw.choice([0.7, 1.5]), [0, 1, 2, 3, 5, 8, 13])
    group = random_group(draw, draw.randint(1, 4), sizes, draw.choice([0, 0, 2]), draw.choice([0.7, 1.5]))
    return owned_unevenly(draw, group) if draw.random() < 0.4 else group


@pytest.mark.parametrize("seed", range(2))
def test_no_assignment_that_moves_so_few_is_better(seed):
    """Every number of moves of small groups, against every assignment."""
    draw = random.Random(seed)
    racked = proven = 0
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
                racked, proven = racked + 1, proven + (certificate.rack_local.gap == 0)
    assert proven > 0.99 * racked > 0


def test_what_moves_is_what_others_read_nearby():
    """Of six partitions of a member the two on the rack of one that has come, and then one for a second member."""
    racks = [["a"], ["b"], ["c"], ["a"], ["b"], ["c"], ["a", "b"], ["c"]]
    owned = [[0, 1, 2, 3, 4, 5], [6, 7], []]
    members = [
        {"member_id": f"c{i}", "rack_id": "abc"[i], "owned_partitions": [{"topic_name": "t", "partition_ids": owned[i]}]}
        for i in range(3)
    ]
    question = of_rows([{"topic_name": "t", "partitions_count": 8, "partition_racks": racks}], members)
    group = read_group(question.topics, question.members)
    for k in range(4):
        rack_local = balanced.assign(group, max_moves=k).certificate.rack_local
        assert (rack_local.value, rack_local.bound) == (3 + k, 3 + k)


def limits_of(group):
    """Some numbers of moves, from the fewest possible to one below those of the best balance."""
    fewest, most = forced_moves(group), int(balanced.assign(group).certificate.moves.value)
    return sorted({fewest, (fewest + most) // 2, max(fewest, most - 1)})


@pytest.mark.parametrize("seed", range(4))
def test_integer_programmes_find_the_same_or_lie_between_bound_and_value(seed):
    """Middling groups, with racks or without: HiGHS says what is best with so few moves."""
    draw = random.Random(seed)
    group = random_group(draw, 6, [draw.randint(2, 6) for _ in range(6)], [0, 3][seed % 2], 1.2)
    relation, _ = relations(group)
    for k in limits_of(group):
        assignment = balanced.assign(group, max_moves=k)
        loads, moves, close = found(group, assignment)
        certificate = assignment.certificate
        largest, squares, fewest, nearest = by_integer_program(*relation, len(group), k)
        assert (loads[0], certificate.load.gap) == (largest, 0)
        assert certificate.evenness.bound <= squares <= certificate.evenness.value == sum(load**2 for load in loads)
        if squares == certificate.evenness.value:
            assert certificate.moves.bound <= fewest <= moves <= k
            if fewest == moves and certificate.rack_local is not None:
                assert close <= nearest <= certificate.rack_local.bound


def claimed_once(group):
    """The same, where each partition has at most one claimant."""
    taken, rows = set(), []
    for member in range(len(group)):
        rows.append([p for p in group.owned.row(member).tolist() if p not in taken])
        taken.update(rows[-1])
    return replace(group, owned=ragged(rows))


@pytest.mark.parametrize("seed", range(4))
def test_integer_programmes_find_the_same_with_weights_and_the_search_alone_comes_close(seed, monkeypatch):
    """With capacities or without."""
    draw = random.Random(seed)
    weights = [draw.randint(10, 1000) for _ in range(20)]
    group = claimed_once(weighed(draw, 3, [draw.randint(4, 8) for _ in range(6)], 0, 1, weights))
    for k in limits_of(group):
        least = least_maximum(group, k)
        proven = balanced.assign(group, max_moves=k).certificate.load
        with monkeypatch.context() as patched:
            patched.setattr(weighing, "MOST_ITEMS", -1)
            searched = balanced.assign(group, max_moves=k)
        assert found(group, searched)[1] <= k
        for load in (proven, searched.certificate.load):
            assert load.bound <= least * (1 + 1e-6)
            assert least <= load.value * (1 + 1e-4)
        assert proven.gap or proven.value == pytest.approx(least, rel=1e-4)
        assert searched.certificate.load.value <= least * 1.05


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
