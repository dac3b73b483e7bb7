"""All options of a plan at the same time: the rules hold at every boundary of its batches, and a second plan changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion, NoPlan
from service.core.model import NONE
from service.planner.reassignments import BALANCES, LEADER_RULES, OBJECTIVES, RACK_RULES
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.batches.schedule import BatchLimits
from service.planner.reassignments.model import NO_LIMIT, Goal
from service.planner.reassignments.plan import plan
from service.planner.reassignments.planned import DEMOTES, LEADER, moves_of
from tests.planner.reassignments.batches.test_batches import check_every_boundary
from tests.planner.reassignments.test_plan import a_cluster, broker_sets, lists_of, some_placements
from tests.support.choices import choices

SELDOM = [False] * 9 + [True]


@st.composite
def questions(draw):
    random = draw(choices(512))
    count, partitions = random.randint(3, 6), random.randint(1, 10)

    def of_each(values, length=count):
        return random.choices(values, k=length)

    brokers = a_cluster(of_each(["a", "a", "b", "c", None]), weights=of_each([1, 1, 2, 0.5]))
    brokers.draining[:] = of_each(SELDOM)
    brokers.demoted[:] = of_each(SELDOM)
    brokers.cluster.fenced[:] = of_each(SELDOM)
    brokers.listed[:] = [not gone for gone in of_each(SELDOM)]
    brokers.cordoned[:] = of_each(SELDOM)
    if random.choice(SELDOM):
        brokers.destinations[:] = of_each([False, True])
    old, new = random.sample(range(count), 2)
    if random.choice(SELDOM) and brokers.receiving[new]:
        brokers.replaced_by[old] = new
    rows = [random.sample(range(count), random.randint(1, 3)) for _ in range(partitions)]
    factors = [max(1, len(row) + random.choice([0, 0, 0, -1, 1])) for row in rows]
    placements = replace(
        some_placements(rows, factors, of_each(range(31), partitions), of_each(SELDOM, partitions)),
        topic_names=("t", "u"),
        topics=np.array(of_each([0, 1], partitions), np.int32),
        broker_sets=broker_sets(random, count, partitions),
    )
    rows = placements.replicas
    if random.randint(0, 2) == 0:  # many brokers are full
        counts = np.bincount(rows.values, minlength=count)
        brokers = replace(brokers, max_replicas=counts + of_each([0, 0, 0, 1, 2, 5]))
    if random.randint(0, 2) == 0:
        loads = np.bincount(rows.values, placements.sizes[rows.row_of_each_value()], count).astype(np.int64)
        brokers = replace(brokers, capacity_bytes=loads + of_each([0, 5, 10, 30, NO_LIMIT // 2]))
    limits = BatchLimits(random.choice([None, 1, 2]), random.choice([None, 4, 6]), random.choice([None, 90, 150]))
    rules = [random.choice(values) for values in (OBJECTIVES, RACK_RULES, (*LEADER_RULES, "balance"), BALANCES)]
    if rules[2] in ("only", "demote"):
        placements = replace(placements, replication_factors=placements.replicas.lengths())
    between = random.choice([{}, {}, {"tolerance": 0.2}, {"max_moves": 2}, {"max_bytes": 40}])
    if rules[0] != "even" or rules[2] in ("only", "demote"):
        between = {}
    per_topic = rules[3] == "replicas" and random.choice([False, True])
    return brokers, placements, Goal(*rules, per_topic=per_topic, **between), limits


@given(questions())
def test_the_rules_hold_at_every_boundary(question):
    brokers, placements, goal, limits = question
    try:
        answer, batches = plan_in_batches(brokers, placements, goal, limits)
    except (NoPlan, InvalidQuestion):
        return
    check_every_boundary(brokers, placements, answer.replicas, goal, limits, batches)
    if not goal.only_leaders:
        counts = np.bincount(answer.replicas.values, minlength=len(brokers))
        loads = np.bincount(answer.replicas.values, placements.sizes[answer.replicas.row_of_each_value()], len(brokers))
        assert (counts <= brokers.max_replicas)[brokers.usable].all()
        assert (loads <= brokers.capacity_bytes)[brokers.usable].all()
    moves = moves_of(brokers, placements, goal, answer.replicas, batches)
    assert goal.within_limits(batches.cost("replicas"), batches.cost("bytes"))
    copies = np.count_nonzero((moves.targets != NONE) & ~np.isin(moves.reasons, (LEADER, DEMOTES)))
    assert copies == batches.cost("replicas")


@given(questions())
def test_a_second_plan_changes_nothing(question):
    brokers, placements, goal, limits = question
    if goal.limited or goal.tolerance is not None:  # another plan may go on; test_trade has what holds of a tolerance
        return
    try:
        answer, _ = plan_in_batches(brokers, placements, goal, limits)
    except (NoPlan, InvalidQuestion):
        return
    again = plan(brokers, replace(placements, replicas=answer.replicas), goal)
    assert lists_of(again.replicas) == lists_of(answer.replicas)
