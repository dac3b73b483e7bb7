"""The evenness of a plan and its bound, against every placement of small clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import Infeasible, NoPlan
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.batches.schedule import BatchLimits
from service.planner.reassignments.model import NO_LIMIT, Goal
from service.planner.reassignments.plan import plan
from tests.planner.reassignments.test_plan import a_cluster, lists_of, questions, some_placements
from tests.reference.reassignments import best, judged


@given(questions(), st.data())
def test_no_placement_is_better_than_the_bounds(question, data) -> None:
    """With capacities and bytes, which are not proven: a goal is at its bound only if nothing is better."""
    brokers, placements, goal = question
    goal = replace(goal, balance=data.draw(st.sampled_from(["replicas", "bytes"])))
    sizes = data.draw(st.lists(st.integers(0, 30), min_size=len(placements), max_size=len(placements)))
    placements = replace(placements, sizes=np.array(sizes, np.int64))
    if data.draw(st.booleans()):
        room = st.sampled_from([20, 40, 60, NO_LIMIT])
        limits = data.draw(st.lists(room, min_size=len(brokers), max_size=len(brokers)))
        brokers = replace(brokers, capacity_bytes=np.array(limits, np.int64))
    try:
        answer = plan(brokers, placements, goal)
    except NoPlan:
        return
    weights = None if goal.balance == "replicas" else sizes
    ours = judged(brokers, lists_of(placements.replicas), [set(row) for row in lists_of(answer.replicas)], goal, weights)
    expected = best(brokers, placements, goal)
    assert expected is not None
    copies, evenness = (0, 1) if goal.objective == "fewest-moves" else (1, 0)
    assert (answer.cost, answer.evenness) == (ours[copies], pytest.approx(ours[evenness]))
    for first, second in ((copies, evenness), (evenness, copies)):
        bound = answer.lower_bound if first == copies else answer.evenness_bound
        if first == 0 or ours[second] == expected[second]:  # the second goal is judged among plans that are as good in the first
            assert bound <= expected[first] + 1e-6


def test_the_least_evenness_of_a_full_cluster_has_a_bound() -> None:
    """Two partitions of 7 bytes do not fit on one broker of 10: the numbers could be 2, 2, 2 and are 1, 1, 4."""
    brokers = a_cluster(["a"] * 3, capacity_bytes=[7, 7, 4])
    placements = some_placements([[0], [1], [0], [0], [0], [0]], sizes=[7, 7, 1, 1, 1, 1])
    with pytest.raises(Infeasible):
        plan(replace(brokers, capacity_bytes=np.array([7, 7, 3])), placements, Goal("even"))
    answer = plan(brokers, placements, Goal("even"))
    assert (answer.evenness, answer.evenness_bound, answer.evenness_gap) == (18.0, 12.0, 0.5)


def test_bytes_that_no_plan_moves_are_in_the_bound() -> None:
    """Broker 0 keeps its 90 bytes; the 30 of broker 2, which is emptied, go to broker 1."""
    brokers = a_cluster([None] * 3, draining=[False, False, True])
    placements = some_placements([[0], [1], [2]], sizes=[90, 10, 30])
    answer = plan(brokers, placements, Goal(balance="bytes"))
    assert answer.evenness == 90**2 + 40**2
    assert answer.evenness_bound == pytest.approx(answer.evenness)


@pytest.mark.parametrize("objective", ["even", "fewest-moves"])
def test_a_cordoned_broker_gets_nothing_in_the_bound(objective) -> None:
    """Only broker 0 may get the 30 bytes of broker 2; without the cordon broker 1 could."""
    brokers = a_cluster([None] * 3, draining=[False, False, True], cordoned=[False, True, False])
    answer = plan(brokers, some_placements([[0], [1], [2]], sizes=[90, 10, 30]), Goal(objective, balance="bytes"))
    assert answer.evenness == 120**2 + 10**2
    assert (answer.evenness_bound, answer.evenness_gap) == (pytest.approx(answer.evenness), 0.0)


def test_the_evenness_is_that_of_the_plan_with_its_detours() -> None:
    brokers = a_cluster(list("aabbb"), max_replicas=[1] * 5)
    placements = some_placements([[0, 1], [2, 3]])
    for objective in ("even", "fewest-moves"):
        answer, _ = plan_in_batches(brokers, placements, Goal(objective), BatchLimits())
        assert (answer.evenness, answer.evenness_gap) == (4.0, 0.0)
        assert answer.goals["copies"] == {"value": 2, "lower_bound": 2, "gap": 0.0}
