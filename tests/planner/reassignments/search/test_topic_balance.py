"""The replicas of each topic evened out by swaps: none is left that gains, and few of those that cannot gain are looked at."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count, permutations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.budget import limited
from service.core.errors import NoPlan
from service.core.model import NONE
from service.planner.reassignments.model import Goal
from service.planner.reassignments.plan import plan
from tests.planner.reassignments.test_plan import a_cluster, lists_of, questions, some_placements
from tests.reference.reassignments import allowed_sets, broker_set
from tests.support.time_limits import Looks


@given(questions(), st.data())
def test_no_swap_is_left_that_evens_out_a_topic(question, data) -> None:
    """Without another copy, and with as many replicas on each broker: tried for all pairs of replicas."""
    brokers, placements, goal = question
    assume((brokers.replaced_by == NONE).all())
    topics = np.array([data.draw(st.integers(0, 1)) for _ in range(len(placements))], np.int32)
    placements = replace(placements, topics=topics, topic_names=("t", "u"))
    try:
        answer = plan(brokers, placements, replace(goal, per_topic=True))
    except NoPlan:
        return
    now, sets = lists_of(placements.replicas), [frozenset(row) for row in lists_of(answer.replicas)]
    free = [p for p in range(len(sets)) if not placements.excluded[p]]
    counts = Counter((int(topics[p]), b) for p in free for b in sets[p])

    def gain(topic: int, a: int, b: int) -> float:
        return (2 * counts[topic, a] - 1) / brokers.weights[a] - (2 * counts[topic, b] + 1) / brokers.weights[b]

    allowed = [
        allowed_sets(brokers, row, len(after), goal.racks, within=broker_set(placements, p))
        for p, (row, after) in enumerate(zip(now, sets, strict=True))
    ]
    for p, q in permutations(free, 2):
        t, u = int(topics[p]), int(topics[q])
        for a, b in product(sets[p] - sets[q], sets[q] - sets[p]):
            after = sets[p] - {a} | {b}, sets[q] - {b} | {a}
            if t == u or after[0] not in allowed[p] or after[1] not in allowed[q]:
                continue
            copies = [len(after[i] - set(now[each])) - len(sets[each] - set(now[each])) for i, each in enumerate((p, q))]
            assert sum(copies) > 0 or gain(t, a, b) + gain(u, b, a) <= 1e-9


@pytest.mark.parametrize("objective", ["even", "fewest-moves"])
def test_topics_are_evened_out_in_time(objective) -> None:
    """Five empty brokers, 40 full ones and 5,000 partitions of 50 topics: a few turns of ten milliseconds."""
    draw = np.random.default_rng(7)
    brokers = a_cluster(["abcde"[b % 5] for b in range(45)], draining=[b == 0 for b in range(45)])
    rows = [[5 * int(draw.integers(8)) + int(rack) for rack in draw.permutation(5)[:3]] for _ in range(5_000)]
    topics = np.sort(draw.integers(50, size=5_000)).astype(np.int32)
    placements = replace(some_placements(rows), topics=topics, topic_names=tuple(f"t{i}" for i in range(50)))
    checks = count()
    with limited(Looks(lambda: next(checks))):
        answer = plan(brokers, placements, Goal(objective, per_topic=True))
    assert next(checks) < 60
    without = plan(brokers, placements, Goal(objective))
    squares = []
    for replicas in (without.replicas, answer.replicas):
        counts = np.zeros((50, 45), np.int64)
        np.add.at(counts, (topics[replicas.row_of_each_value()], replicas.values), 1)
        squares.append(int((counts**2).sum()))
    assert answer.cost == without.cost
    assert squares[1] < squares[0]


def test_leaders_of_each_topic_are_evened_out_while_brokers_lead_as_many() -> None:
    """Broker 0 leads both partitions of t, broker 1 both of u; a second plan changes nothing."""
    brokers, placements = a_cluster([None] * 2), some_placements([[0, 1], [0, 1], [1, 0], [1, 0]])
    placements = replace(placements, topic_names=("t", "u"), topics=np.array([0, 0, 1, 1], np.int32))
    assert plan(brokers, placements, Goal()).replicas.values.tolist() == placements.replicas.values.tolist()
    for goal in (Goal(per_topic=True), Goal(leaders="only", per_topic=True)):
        answer = plan(brokers, placements, goal)
        leaders = answer.replicas.values[::2]
        assert (sorted(leaders[:2]), sorted(leaders[2:])) == ([0, 1], [0, 1])
        again = plan(brokers, replace(placements, replicas=answer.replicas), goal)
        assert again.replicas.values.tolist() == answer.replicas.values.tolist()
