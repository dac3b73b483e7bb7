"""Improvements of sets against the best of all: even loads, copies, limits, bytes and topics; and the turns that they take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.budget import limited
from service.core.model import NONE
from service.planner.reassignments.feasibility.feasible import bytes_of_brokers, feasible_sets, fits
from service.planner.reassignments.model import NO_LIMIT, Goal
from service.planner.reassignments.search.byte_balance import EXCEEDED, Exchanged, balance_bytes
from service.planner.reassignments.search.exchanges import DONE, MORE, STUCK, in_turns
from service.planner.reassignments.search.paths import improve
from service.planner.reassignments.search.topic_balance import even_out_topics
from service.planner.reassignments.search.trade import Record
from tests.planner.reassignments.test_plan import a_cluster, questions, some_placements
from tests.planner.reassignments.test_sets import homes, set_of
from tests.reference.reassignments import best, judged
from tests.support.time_limits import Looks


def squares(loads: np.ndarray, weights: np.ndarray) -> float:
    return float((loads.astype(np.float64) ** 2 / weights).sum())


@given(questions())
def test_paths_end_at_the_best_sets_of_all(question) -> None:
    """With no replica that has to stay where it replaces another, even loads come first, or the fewest copies."""
    brokers, placements, goal = question
    brokers = replace(brokers, replaced_by=np.full(len(brokers), NONE, np.int32))
    placements = replace(placements, excluded=np.zeros(len(placements), np.bool_))
    sets = feasible_sets(brokers, placements, goal, np.arange(len(placements), dtype=np.int32), paid=True)
    if sets.state is None or not sets.feasible:
        return
    assert improve(sets.state, even_first=goal.objective == "even")
    now = [placements.replicas.row(i).tolist() for i in range(len(placements))]
    found = [set_of(sets.state, i) for i in range(len(placements))]
    assert judged(brokers, now, found, goal) == best(brokers, placements, goal)


@given(questions(), st.data())
def test_bytes_are_evened_out_and_kept_below_capacities(question, data: st.DataObject) -> None:
    brokers, placements, goal = question
    sizes = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(placements), max_size=len(placements))), np.int64)
    placements = replace(placements, sizes=sizes)
    capacity = data.draw(st.sampled_from((NO_LIMIT, 12, 20)))
    brokers = replace(brokers, capacity_bytes=np.full(len(brokers), capacity, np.int64))
    chosen = np.flatnonzero(~placements.excluded).astype(np.int32)
    chosen = chosen[np.argsort(sizes[chosen], kind="stable")]
    sets = feasible_sets(brokers, placements, goal, chosen, paid=True)
    if sets.state is None or not sets.feasible:
        return
    state = sets.state
    if fits(brokers, placements, chosen, state) == EXCEEDED:
        return
    loads = bytes_of_brokers(brokers, placements, chosen, state)
    assert (loads <= brokers.capacity_bytes)[brokers.usable].all()
    before, copies = squares(loads, state.weights), [len(set_of(state, i) - homes(state, i)) for i in range(len(chosen))]
    capacities = np.where(brokers.usable, brokers.capacity_bytes, NO_LIMIT)
    most_bytes = data.draw(st.sampled_from((None, 0, 20)))
    limits, band = Goal(max_bytes=most_bytes).limits(), np.full(len(brokers), -1, np.int64)
    record = Record.start(limits, (0, 0), sizes[chosen], loads, capacities)
    done = Exchanged.none(state, record.sizes, per_byte=most_bytes is not None)
    evened = in_turns(state, lambda: balance_bytes(state, record, (band, band), 0, done))
    assert evened == DONE
    assert loads.tolist() == bytes_of_brokers(brokers, placements, chosen, state).tolist()
    assert squares(loads, state.weights) <= before * (1 + 1e-9)
    assert (loads <= brokers.capacity_bytes)[brokers.usable].all()
    assert sum(len(set_of(state, i) - homes(state, i)) for i in range(len(chosen))) <= sum(copies)


def test_a_broker_over_its_capacity_gives_the_smallest_replica_that_suffices() -> None:
    brokers = a_cluster([None] * 2, capacity_bytes=[10, 100])
    placements = some_placements([[0], [0], [0]], sizes=[3, 5, 7])
    chosen = np.arange(3, dtype=np.int32)
    sets = feasible_sets(brokers, placements, Goal(), chosen)
    assert sets.state is not None
    assert fits(brokers, placements, chosen, sets.state) == 1
    assert [sorted(set_of(sets.state, i)) for i in range(3)] == [[0], [1], [0]]


def test_topics_are_evened_out_while_brokers_keep_their_replicas() -> None:
    """All replicas leave broker 2, one topic for each of the others, until they swap; the second time nothing is left to do."""
    brokers, placements = a_cluster([None] * 3, draining=[False, False, True]), some_placements([[2]] * 4)
    chosen = np.arange(4, dtype=np.int32)
    sets = feasible_sets(brokers, placements, Goal("even"), chosen, paid=True)
    assert sets.state is not None
    topics, members = np.array([0, 1, 0, 1], np.int32), sets.state.members
    assert members.tolist() == [0, 1, 0, 1]
    for _ in range(2):
        even_out_topics(sets.state, topics)
        assert (sorted(members[topics == 0]), sorted(members[topics == 1])) == ([0, 1], [0, 1])
        assert sets.state.loads.tolist() == [2, 2, 0]


class _Kernel:
    """Looks at so much in each turn, and returns these results."""

    def __init__(self, state, *results: int) -> None:
        self.state, self.results, self.began_at = state, list(results), []

    def __call__(self) -> int:
        self.began_at.append(int(self.state.work[0]))
        self.state.work[0] += 10
        return self.results.pop(0)


@pytest.mark.parametrize("end", [DONE, STUCK])
def test_a_kernel_is_called_until_it_is_done_and_the_time_is_checked_between(end: int) -> None:
    sets = feasible_sets(a_cluster([None]), some_placements([[0]]), Goal(), np.zeros(1, np.int32))
    kernel, checks = _Kernel(sets.state, MORE, MORE, end), []
    with limited(Looks(lambda: checks.append(1))):
        assert in_turns(sets.state, kernel) == end
    assert (kernel.began_at, len(checks)) == ([0, 0, 0], 2)
    assert in_turns(sets.state, _Kernel(sets.state, *[MORE] * 3), most=30) == MORE
