"""At least so many leaders of a topic on each broker: the fewest copies that do it, and a refusal only where nothing does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import Infeasible, NotFound
from service.planner.reassignments.model import NO_LIMIT, TopicLeaders
from service.planner.reassignments.plan import plan
from tests.planner.reassignments.test_plan import lists_of, questions
from tests.reference.reassignments import best, judged, leaders_possible


@st.composite
def with_topic_leaders(draw):
    brokers, placements, goal = draw(questions())
    topics = np.array(draw(st.lists(st.integers(0, 1), min_size=len(placements), max_size=len(placements))), np.int32)
    may_lead = np.flatnonzero(brokers.usable & ~brokers.demoted).tolist()
    pairs = sorted({(int(topic), b) for topic in topics for b in may_lead if draw(st.integers(0, 2)) == 0})
    least = [draw(st.sampled_from([1, 1, 1, 2])) for _ in pairs]
    columns = np.array(pairs, np.int32).reshape(-1, 2)
    rule = TopicLeaders(columns[:, 0], columns[:, 1], np.array(least, np.int32)) if pairs else None
    excluded = placements.excluded & (draw(st.integers(0, 2)) == 0)
    leaders = draw(st.sampled_from(["balance", "balance", "keep", "only", "demote"]))
    if leaders in ("only", "demote"):
        placements = replace(placements, replication_factors=placements.replicas.lengths())
    if placements.broker_sets is not None:  # of topics, not of partitions
        placements = replace(placements, broker_sets=replace(placements.broker_sets, rows=topics))
    goal = replace(goal, leaders=leaders, per_topic=draw(st.booleans()))
    return brokers, replace(placements, topic_names=("t", "u"), topics=topics, topic_leaders=rule, excluded=excluded), goal


@given(with_topic_leaders())
def test_a_broker_leads_enough_of_each_topic_with_the_fewest_copies(question):
    brokers, placements, goal = question
    rule = placements.topic_leaders
    if goal.only_leaders:
        expected = (0,) if leaders_possible(placements, lists_of(placements.replicas)) else None
    else:
        expected = best(brokers, placements, goal)
    try:
        answer = plan(brokers, placements, goal)
    except Infeasible:
        assert expected is None
        return
    except NotFound:  # only where brokers have limits, or replicas are pinned in two ways
        assert (brokers.max_replicas != NO_LIMIT).any() or (brokers.replaced_by >= 0).any()
        return
    assert expected is not None
    rows = lists_of(answer.replicas)
    led = Counter(zip(placements.topics.tolist(), (row[0] for row in rows), strict=True))
    if rule is not None:
        for topic, broker, number in zip(rule.topics.tolist(), rule.brokers.tolist(), rule.least.tolist(), strict=True):
            assert led[topic, broker] >= number
    if goal.only_leaders:
        return
    value = judged(brokers, lists_of(placements.replicas), [frozenset(row) for row in rows], goal)
    assert value >= expected
    copies, squares = expected if goal.objective == "fewest-moves" else expected[::-1]
    assert answer.evenness_bound <= max(squares, answer.evenness) * (1 + 1e-9)
    if goal.objective == "fewest-moves":
        assert answer.lower_bound <= copies
        assert value[0] == copies or (brokers.max_replicas != NO_LIMIT).any() or (brokers.replaced_by >= 0).any()
    else:
        assert answer.lower_bound <= copies or value[0] > squares
        assert answer.evenness_bound <= squares * (1 + 1e-9)
