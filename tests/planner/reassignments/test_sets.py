"""The state that the kernels work on: weights, racks and homes; the sets to start from; and which exchanges there are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.model import NONE
from service.planner.reassignments.feasibility.feasible import feasible_sets
from service.planner.reassignments.feasibility.start import keep_and_fill
from service.planner.reassignments.search.exchanges import IMPOSSIBLE, ReplicaSets, exchange_cost, link, list_exchanges
from service.planner.reassignments.search.paths import improve
from service.planner.reassignments.sets import Permits, homes_of, integer_weights, reach, replica_state
from tests.planner.reassignments.test_plan import a_cluster, questions, some_placements
from tests.reference.reassignments import allowed_sets, best, broker_set


def set_of(state: ReplicaSets, partition: int) -> frozenset[int]:
    return frozenset(state.members[state.offsets[partition] : state.offsets[partition + 1]].tolist())


def homes(state: ReplicaSets, partition: int) -> set[int]:
    return set(state.homes[state.home_offsets[partition] : state.home_offsets[partition + 1]].tolist())


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6))
def test_weights_become_integers_in_the_same_ratios(weights: list[float]) -> None:
    integers = integer_weights(np.array(weights)).tolist()
    assert min(integers) >= 1
    for weight, integer in zip(weights, integers, strict=True):
        ratio = Fraction(weight) / Fraction(max(weights))
        assert abs(float(ratio) - integer / max(integers)) < 1e-8


def test_weights_that_can_be_exact_are() -> None:
    assert integer_weights(np.array([0.1, 0.2, 2.5])).tolist() == [1, 2, 25]
    assert integer_weights(np.array([7.0, 7.0])).tolist() == [1, 1]


@given(racks=st.lists(st.integers(0, 3), min_size=1, max_size=7), factor=st.integers(0, 5), data=st.data())
def test_racks_have_the_least_level_at_which_all_replicas_find_a_place(
    racks: list[int], factor: int, data: st.DataObject
) -> None:
    receives, home = (data.draw(st.lists(st.booleans(), min_size=len(racks), max_size=len(racks))) for _ in range(2))
    may = [new or old for new, old in zip(receives, home, strict=True)]
    assume(sum(may) >= factor)
    brokers = a_cluster([str(rack) for rack in racks], cordoned=[not new for new in receives])
    homes = np.flatnonzero(home).astype(np.int32)
    placements = some_placements([[0]] * 2)
    offsets = np.array([0, 0, len(homes)], np.int32)  # of two partitions, the first without homes
    within = reach(Permits.of(brokers, placements), np.arange(2, dtype=np.int32), (offsets, homes), np.full(2, factor, np.int32))
    level = within.levels[1]
    sizes = Counter(rack for rack, one in zip(racks, may, strict=True) if one)
    assert (within.brokers.tolist(), within.racks[1]) == ([sum(receives), sum(may)], len(sizes))
    assert sum(min(size, level) for size in sizes.values()) >= factor
    assert level == 0 or sum(min(size, level - 1) for size in sizes.values()) < factor


def test_a_replica_has_to_go_to_the_broker_that_replaces_its_own() -> None:
    """Not if the partition has one there already, or is to lose a replica."""
    brokers = a_cluster([None] * 4, replaced_by=[3, NONE, NONE, NONE])
    placements = some_placements([[0, 1], [0, 3], [0, 1, 2]], factors=[2, 2, 2])
    rows, pinned, copies = homes_of(brokers, placements, np.arange(3, dtype=np.int32), hold=False)
    assert [rows.row(i).tolist() for i in range(3)] == [[3, 1], [0, 3], [0, 1, 2]]
    assert (pinned.tolist(), copies.tolist()) == ([True, *[False] * 6], [1, 0, 0])
    assert homes_of(brokers, placements, np.arange(3, dtype=np.int32), hold=True)[1].tolist() == [
        True,
        *[False] * 2,
        True,
        *[False] * 3,
    ]


@given(questions())
def test_each_partition_starts_with_the_fewest_copies_that_it_could_have_alone(question) -> None:
    brokers, placements, goal = question
    chosen = np.flatnonzero(~placements.excluded).astype(np.int32)
    factors = placements.replication_factors[chosen]
    assume(len(chosen) and factors.max() <= brokers.usable.sum())
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=False)
    rows = [placements.replicas.row(int(partition)).tolist() for partition in chosen]
    within = [broker_set(placements, int(partition)) for partition in chosen]
    sets = [
        allowed_sets(brokers, row, int(factor), goal.racks, within=one)
        for row, factor, one in zip(rows, factors, within, strict=True)
    ]
    if not keep_and_fill(state, copies):
        assert not all(sets)
        return
    assume(all(sets))
    for i, row in enumerate(rows):
        assert copies[i] == min(len(one - set(row)) for one in sets[i])
        without_pins = allowed_sets(brokers, row, int(factors[i]), goal.racks, within=within[i], pinned=False)
        assert set_of(state, i) in without_pins
    loads = np.bincount(state.members, minlength=len(brokers))
    excluded = [broker for i in np.flatnonzero(placements.excluded) for broker in placements.replicas.row(int(i)).tolist()]
    assert state.loads.tolist() == (loads + np.bincount(np.array(excluded, np.int64), minlength=len(brokers))).tolist()


@given(questions())
def test_exchanges_are_those_that_lead_to_a_set_that_the_rules_allow(question) -> None:
    """At the cost of the copies that they add. ``available`` counts them, also after exchanges; those of cost 1 are too many."""
    brokers, placements, goal = question
    chosen = np.flatnonzero(~placements.excluded).astype(np.int32)
    sets = feasible_sets(brokers, placements, goal, chosen, paid=True)
    if sets.state is None or not sets.feasible:
        return
    state = sets.state
    for step in ("as listed", "after exchanges"):
        if step == "after exchanges":
            improve(state, even_first=True)
        counts = np.zeros_like(state.available)
        for i, partition in enumerate(chosen.tolist()):
            row, now = placements.replicas.row(partition).tolist(), set_of(state, i)
            allowed = allowed_sets(brokers, row, len(now), goal.racks, within=broker_set(placements, partition))
            assert now in allowed
            for a, b in ((a, b) for a in now for b in range(len(brokers))):
                cost = exchange_cost(state, i, a, b)
                after = (now - {a}) | {b}
                assert (cost != IMPOSSIBLE) == (b not in now and after in allowed), (now, a, b)
                if cost != IMPOSSIBLE:
                    assert cost == len(after - homes(state, i)) - len(now - homes(state, i))
                    counts[cost + 1, a, b] += 1
        assert (state.available[:2] == counts[:2]).all()
        if step == "as listed":
            assert ((state.available[2] > 0) | (counts[2] == 0)).all()


@given(questions())
def test_sets_are_feasible_if_any_placement_is(question) -> None:
    brokers, placements, goal = question
    chosen = np.flatnonzero(~placements.excluded).astype(np.int32)
    sets = feasible_sets(brokers, placements, goal, chosen)
    assert sets.feasible == (best(brokers, placements, goal) is not None)
    if sets.feasible and sets.state is not None:
        assert (sets.state.loads <= sets.state.most)[brokers.usable].all()


def test_the_list_of_a_broker_has_its_places() -> None:
    brokers, placements = a_cluster([None] * 3), some_placements([list(pair) for pair in combinations(range(3), 2)])
    state, copies = replica_state(brokers, placements, np.arange(3, dtype=np.int32), "none", hold=False)
    assert keep_and_fill(state, copies)
    link(state)
    list_exchanges(state)
    for broker in range(3):
        places, place = [], int(state.first[broker])
        while place != NONE:
            places.append(place)
            place = int(state.after[place])
        assert sorted(places) == np.flatnonzero(state.members == broker).tolist()
