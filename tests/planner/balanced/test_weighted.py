"""``balanced`` with weights and capacities: exact where small, else within its bound."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from service.core.errors import AllocatorError
from service.core.model import NONE
from service.core.ragged import grouped
from service.decisions.groups.question import of_rows
from service.decisions.groups.rows import read_group
from service.planner.balanced import balanced, weighing, weighted
from service.strategies import GROUP_PROTOCOLS, KAFKAS
from tests.planner.balanced.test_balanced import found, random_group, relations, values
from tests.reference.balanced_groups import best_weighted, most_near


def weighed(draw, members, sizes, racks, claim, weights):
    """A random group with these kinds of weights, and capacities or not."""
    group = random_group(draw, members, sizes, racks, claim)
    of_each = np.array([draw.choice(weights) for _ in range(group.topics.partitions_count)], np.float64)
    capacities = np.array([draw.choice([1, 1, 2, 3]) for _ in range(members)], np.float64)
    topics = replace(group.topics, weights=of_each)
    return replace(group, topics=topics, capacities=capacities if draw.random() < 0.5 else None)


def ratios_of(group, assignment):
    """The loads ÷ capacity, largest first."""
    capacities = np.ones(len(group)) if group.capacities is None else group.capacities
    loads = [group.topics.weights[assignment.rows.row(member)].sum() for member in range(len(group))]
    return sorted((load / capacity for load, capacity in zip(loads, capacities, strict=True)), reverse=True)


def expected(group):
    """The best by trying every assignment."""
    (readers, claims, near), read = relations(group)
    capacities = [1] * len(group) if group.capacities is None else group.capacities.astype(int).tolist()
    weights = group.topics.weights.astype(int)[read].tolist()
    return best_weighted(readers, claims, near, weights, capacities)


@pytest.mark.parametrize("seed", range(6))
def test_no_assignment_of_few_partitions_is_better_in_any_aim(seed):
    draw = random.Random(seed)
    for _ in range(60):
        sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
        group = weighed(draw, draw.randint(1, 3), sizes, draw.choice([0, 2]), draw.choice([0, 0.7, 1.5]), [0, 1, 2, 3, 5, 8, 13])
        if not balanced._is_weighed(group):
            continue
        assignment = balanced.assign(group)
        ratios, moves, close = expected(group)
        assert ratios_of(group, assignment) == list(map(float, ratios))
        assert found(group, assignment)[1:] == (moves, close)
        told = values(assignment)
        assert told["load"] == (float(ratios[0]), float(ratios[0]))
        assert told["moves"] == (moves, moves)
        if group.topics.racks is not None and (group.racks != NONE).any():
            assert told["rack_local"] == (close, close)


KAFKAS_OWN = [(protocol, each.name) for protocol in ("classic", "consumer") for each in KAFKAS[protocol]]


def test_no_assignor_of_kafkas_has_a_smaller_largest_weight_or_as_even_weights_with_fewer_moves():
    """Groups that are proven, and others, whose gap says how much Kafka's could be better."""
    draw = random.Random(9)
    for _ in range(15):
        sizes = [draw.randint(1, 12) for _ in range(draw.randint(1, 5))]
        group = weighed(draw, draw.randint(1, 6), sizes, 0, draw.choice([0, 0.9]), [1, 2, 3, 5, 8, 13, 40])
        ours = balanced.assign(group)
        largest = ours.certificate.load
        for protocol, assignor in KAFKAS_OWN:
            try:
                theirs = GROUP_PROTOCOLS[protocol][assignor].run(group)
            except AllocatorError:
                continue
            load = ratios_of(group, theirs)
            assert largest.bound <= load[0] * (1 + 1e-12) or theirs.withheld is not None, assignor
            if not largest.gap and theirs.withheld is None:
                assert ratios_of(group, ours)[0] <= load[0] * (1 + 1e-12), assignor
                if not ours.certificate.moves.gap and ratios_of(group, ours) == load:
                    assert ours.certificate.moves.value <= found(group, theirs)[1], assignor


@pytest.mark.parametrize("seed", range(4))
def test_the_bounds_hold_where_not_all_is_looked_through(seed, monkeypatch):
    """Of the search alone, on groups of which every assignment is known. With these loads, the search finds the best."""
    monkeypatch.setattr(weighing, "MOST_ITEMS", -1)
    draw = random.Random(seed)
    for _ in range(60):
        sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
        group = weighed(draw, draw.randint(1, 3), sizes, draw.choice([0, 2]), draw.choice([0, 0.7, 1.5]), [0, 1, 3, 5, 8, 0.5])
        if not balanced._is_weighed(group):
            continue
        doubled = replace(group, topics=replace(group.topics, weights=2 * group.topics.weights))
        assignment = balanced.assign(group)
        loads, fewest_moves, most_near_of_these = expected(doubled)
        least = float(loads[0]) / 2
        value, bound = values(assignment)["load"]
        assert bound <= least * (1 + 1e-12)
        assert value == pytest.approx(ratios_of(group, assignment)[0], rel=1e-12)
        moved, fewest = values(assignment)["moves"]
        _, moves, close = found(group, assignment)
        assert moved == moves >= fewest
        if "rack_local" in values(assignment):
            near, most = values(assignment)["rack_local"]
            (readers, claims, closest), read = relations(group)
            ratio = value * (1 + 1e-12)
            capacities = np.ones(len(group)) if group.capacities is None else group.capacities
            best = most_near(readers, claims, closest, group.topics.weights[read].tolist(), capacities.tolist(), (ratio, moved))
            assert near == close <= best <= most
            if [load / 2 for load in loads] == ratios_of(group, assignment):
                assert (moves, near) == (fewest_moves, most_near_of_these)


def least_maximum(group, max_moves=np.inf):
    """By an integer programme: the largest load ÷ capacity, if at most so many partitions move."""
    (readers, claims, _), read = relations(group)
    pairs = [(p, m) for p, some in enumerate(readers) for m in sorted(some)]
    rows, moves = np.zeros((len(readers) + len(group), len(pairs) + 1)), np.zeros(len(pairs) + 1)
    for column, (p, m) in enumerate(pairs):
        rows[p, column] = 1
        moves[column] = bool(claims[p]) and m not in claims[p]
        rows[len(readers) + m, column] = group.topics.weights[read][p]
    rows[len(readers) :, -1] = -1 if group.capacities is None else -group.capacities
    low = np.append(np.ones(len(readers)), np.full(len(group), -np.inf))
    high = np.append(np.ones(len(readers)), np.zeros(len(group)))
    upper = np.append(np.ones(len(pairs)), np.inf)
    solved = milp(
        np.append(np.zeros(len(pairs)), 1),
        integrality=np.append(np.ones(len(pairs)), 0),
        bounds=Bounds(0, upper),
        constraints=[LinearConstraint(rows, low, high), LinearConstraint(moves[None], 0, max_moves)],
        options={"mip_rel_gap": 1e-4},
    )
    return solved.fun


@pytest.mark.parametrize("seed", range(2))
def test_integer_programmes_lie_between_bound_and_value(seed):
    draw = random.Random(seed)
    group = weighed(draw, 4, [draw.randint(5, 12) for _ in range(6)], 0, 1, [draw.randint(10, 1000) for _ in range(20)])
    assignment = balanced.assign(group)
    least = least_maximum(group)
    value, bound = values(assignment)["load"]
    assert bound <= least * (1 + 1e-6)
    assert least <= value * (1 + 1e-6)
    assert value <= bound * 1.02


def test_ten_thousand_partitions_come_close_to_the_bound():
    draw = random.Random(7)
    group = random_group(draw, 40, [100] * 20, 0, 1)
    weights = np.floor(np.random.default_rng(7).lognormal(8, 1.2, group.topics.partitions_count))
    assignment = balanced.assign(replace(group, topics=replace(group.topics, weights=weights)))
    objective = assignment.certificate.load
    assert 0 <= objective.gap < 0.01
    assert assignment.certificate.load.method == weighing.BY_SEARCH


def test_a_hundred_thousand_partitions_owned_by_anybody_come_close_to_the_bound_within_the_steps():
    """Members that together are not better off than the most loaded one would like are not looked at."""
    draw = np.random.default_rng(1)
    weights = draw.lognormal(0, 1, 100_000)
    topics = [{"topic_name": "t", "partitions_count": len(weights), "partition_weights": weights.tolist()}]
    question = of_rows(topics, [{"member_id": f"m{i}"} for i in range(1_000)])
    group = read_group(question.topics, question.members)
    owned = grouped(draw.integers(0, len(group), len(weights)).astype(np.int32), len(group))
    assert balanced.assign(replace(group, owned=owned)).certificate.load.gap < 0.0005


def test_a_search_that_is_too_long_ends(monkeypatch):
    monkeypatch.setattr(weighted, "MOST_NODES", 50)
    draw = random.Random(3)
    group = weighed(draw, 3, [4, 4], 0, 1, [3, 5, 8, 13])
    assert balanced.assign(group).certificate.moves.method == weighing.BY_EXCESS


def test_a_stronger_member_gets_more_and_weights_far_apart_are_kept_apart():
    draw = random.Random(1)
    group = random_group(draw, 2, [6], 0, 0)
    group = replace(group, capacities=np.array([1.0, 2.0]))
    from_all = replace(group, subscriptions=type(group.subscriptions)(np.array([0, 1, 2], np.int32), np.zeros(2, np.int32)))
    assert sorted(balanced.assign(from_all).rows.lengths().tolist()) == [2, 4]
    apart = replace(from_all, capacities=np.array([1e-100, 1e100]))
    apart = replace(apart, topics=replace(apart.topics, weights=np.array([2.0**62, 1, 1, 1, 1, 1])))
    load = balanced.assign(apart).certificate.load
    assert load.value == pytest.approx(ratios_of(apart, balanced.assign(apart))[0])
    assert load.bound <= load.value
    huge = replace(from_all, topics=replace(from_all.topics, weights=np.array([1e100, 1e100, 1, 1, 1e-90, 0.0])))
    assignment = balanced.assign(huge)
    assert values(assignment)["load"][0] == pytest.approx(1e100)
