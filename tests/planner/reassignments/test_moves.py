"""The order of replicas, leaders, and the moves of a plan with their reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import NoPlan
from service.core.model import NONE, Ragged
from service.planner.reassignments.batches.plan import in_batches
from service.planner.reassignments.batches.schedule import BatchLimits
from service.planner.reassignments.feasibility.start import keep_and_fill
from service.planner.reassignments.leaders import elect
from service.planner.reassignments.model import Goal, Plan, broker_names
from service.planner.reassignments.plan import plan
from service.planner.reassignments.planned import REASONS, moves_of
from service.planner.reassignments.sets import copied, in_order, replica_state
from tests.planner.reassignments.test_plan import a_cluster, lists_of, questions, some_placements
from tests.planner.reassignments.test_sets import set_of
from tests.reference.reassignments import best_leaders


def ragged(rows: list[list[int]]) -> Ragged:
    return some_placements(rows).replicas


@given(questions())
def test_a_replica_that_stays_keeps_its_place_and_a_new_one_takes_that_of_one_that_leaves(question) -> None:
    brokers, placements, goal = question
    chosen = np.flatnonzero(~placements.excluded).astype(np.int32)
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=False)
    if placements.replication_factors[chosen].max(initial=0) > brokers.usable.sum():
        return
    if not keep_and_fill(state, copies):
        return
    rows = lists_of(in_order(brokers, placements, chosen, state))
    for i, old in enumerate(lists_of(placements.replicas)):
        if i not in chosen:
            assert rows[i] == old
            continue
        wanted = set_of(state, chosen.tolist().index(i))
        assert (set(rows[i]), len(rows[i])) == (set(wanted), len(wanted))
        if {int(brokers.replaced_by[broker]) for broker in old} & set(old):
            continue  # a broker that has a replica takes over another one's place too
        if len(wanted) >= len(old):
            for place, broker in enumerate(old):
                target = int(brokers.replaced_by[broker])
                if broker in wanted:
                    assert rows[i][place] == broker
                elif target != NONE and target in wanted and target not in old:
                    assert rows[i][place] == target
        else:
            kept = [broker for broker in old if broker in wanted]
            assert [broker for broker in rows[i] if broker in kept] == kept
    expected = [len(set(row) - set(old)) for row, old in zip(rows, lists_of(placements.replicas), strict=True)]
    assert copied(placements, ragged(rows)).tolist() == expected


@given(questions(), st.sampled_from(("balance", "keep")))
def test_leaders_are_even_with_the_fewest_changes_or_stay(question, rule: str) -> None:
    brokers, placements, _ = question
    replicas, now = placements.replicas, lists_of(placements.replicas)
    rows = lists_of(elect(brokers, placements, replicas, rule))
    leaders = [row[0] for row in now]
    may_lead = brokers.usable & ~brokers.demoted
    may_stay = [bool(may_lead[row[0]] or (brokers.usable[row[0]] and not may_lead[row].any())) for row in now]
    assert [sorted(row) for row in rows] == [sorted(row) for row in now]
    followers = [[b for b in old if b != row[0]] for row, old in zip(rows, now, strict=True)]
    assert [row[1:] for row in rows] == [
        some if excluded else sorted(some, key=lambda b: brokers.demoted[b])
        for some, excluded in zip(followers, placements.excluded, strict=True)
    ]
    if rule == "keep":
        assert all(row[0] == leader for row, leader, stays in zip(rows, leaders, may_stay, strict=True) if stays)
        return
    free = [not excluded for excluded in placements.excluded]
    counts = [sum(row[0] == b for row in rows) for b in range(len(brokers))]
    squares = sum(counts[b] ** 2 / float(brokers.weights[b]) for b in range(len(brokers)) if brokers.usable[b])
    changes = sum(row[0] != leader for row, leader in zip(rows, leaders, strict=True))
    assert (round(squares, 9), changes) == best_leaders(brokers, now, leaders, free)


@given(questions())
def test_moves_lead_from_the_current_replicas_to_those_of_the_plan(question) -> None:
    brokers, placements, goal = question
    try:
        after = plan(brokers, placements, goal).replicas
        batches = in_batches(brokers, placements, after, BatchLimits(), goal.racks)
    except NoPlan:
        return
    moves = moves_of(brokers, placements, goal, after, batches)
    sets = [set(row) for row in lists_of(placements.replicas)]
    for partition, source, target in zip(moves.partitions.tolist(), moves.sources.tolist(), moves.targets.tolist(), strict=True):
        leads_only = {source, target} <= set(after.row(partition).tolist()) and {source, target} <= sets[partition]
        if not leads_only:
            sets[partition] -= {source}
            sets[partition] |= {target} - {NONE}
    assert sets == [set(row) for row in lists_of(after)]
    assert (np.diff(moves.partitions) >= 0).all()


REASON_CASES = [
    ({"draining": [True, False, False]}, [[0]], None, ["drains broker 0"]),
    ({"replaced_by": [1, NONE, NONE]}, [[0]], None, ["replaces broker 0"]),
    ({}, [[0], [0], [0]], None, ["evens out broker 1", "evens out broker 2"]),
    ({}, [[0]], [2], ["replication factor"]),
    ({"max_replicas": [0, 9, 9]}, [[0]], None, ["limits of broker 0"]),
    ({"listed": [False, True, True]}, [[0, 1]], None, ["broker 0 is not in brokers"]),
]


@pytest.mark.parametrize(
    ("given_brokers", "rows", "factors", "expected"), REASON_CASES, ids=[case[3][0] for case in REASON_CASES]
)
def test_each_move_has_its_reason(given_brokers, rows, factors, expected: list[str]) -> None:
    brokers, placements = a_cluster([None] * 3, **given_brokers), some_placements(rows, factors=factors)
    goal = Goal("even" if expected[0].startswith("evens") else "fewest-moves")
    after = plan(brokers, placements, goal).replicas
    moves = moves_of(brokers, placements, goal, after, in_batches(brokers, placements, after, BatchLimits(), goal.racks))
    rows_of_moves = zip(moves.reasons.tolist(), moves.sources.tolist(), moves.targets.tolist(), strict=True)
    texts = [REASONS[reason].format(source=source, target=target) for reason, source, target in rows_of_moves]
    assert sorted(texts) == expected


def test_many_brokers_are_not_all_named() -> None:
    assert (broker_names([7]), broker_names([1, 2])) == ("broker 7", "brokers 1, 2")
    assert broker_names(list(range(13))).endswith("8, 9 and 3 more")


def test_the_gap_of_a_plan_is_a_share_of_its_bound() -> None:
    proven = Plan(ragged([[0]]), lower_bound=4, cost=4, evenness=50.0, evenness_bound=40.0)
    assert (proven.gap, replace(proven, cost=5).gap, replace(proven, lower_bound=0, cost=2).gap) == (0.0, 0.25, None)
    assert (proven.evenness_gap, replace(proven, evenness=40.0).evenness_gap) == (0.25, 0.0)


def test_a_broker_may_have_replicas_if_it_serves_and_is_not_to_be_left() -> None:
    brokers = a_cluster([None] * 5, draining=[1, 0, 0, 0, 0], listed=[1, 0, 1, 1, 1], replaced_by=[NONE, NONE, 4, NONE, NONE])
    brokers.cluster.fenced[3] = True
    assert brokers.usable.tolist() == [False, False, False, False, True]
    assert brokers.live.tolist() == [True, False, True, False, True]
