"""All options of a plan at the same time: the rules hold at every boundary of its batches, and a second plan changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion, NoPlan
from service.core.model import NONE
from service.core.reassignments import BALANCES, LEADER_RULES, OBJECTIVES, RACK_RULES
from service.core.reassignments.batches.model import BatchLimits
from service.core.reassignments.batches.plan import plan_in_batches
from service.core.reassignments.model import NO_LIMIT, Goal
from service.core.reassignments.moves import DEMOTES, LEADER, moves_of
from service.core.reassignments.plan import plan
from tests.core.reassignments.batches.test_batches import check_every_boundary
from tests.core.reassignments.test_plan import a_cluster, broker_sets, lists_of, some_placements

SELDOM = st.sampled_from([False] * 9 + [True])


@st.composite
def questions(draw):
    count, partitions = draw(st.integers(3, 6)), draw(st.integers(1, 10))

    def of_each(values, length=count):
        return draw(st.lists(values, min_size=length, max_size=length))

    brokers = a_cluster(of_each(st.sampled_from(["a", "a", "b", "c", None])), weights=of_each(st.sampled_from([1, 1, 2, 0.5])))
    brokers.draining[:] = of_each(SELDOM)
    brokers.demoted[:] = of_each(SELDOM)
    brokers.cluster.fenced[:] = of_each(SELDOM)
    brokers.listed[:] = [not gone for gone in of_each(SELDOM)]
    brokers.cordoned[:] = of_each(SELDOM)
    if draw(SELDOM):
        brokers.destinations[:] = of_each(st.booleans())
    old, new = draw(st.permutations(range(count)))[:2]
    if draw(SELDOM) and brokers.receiving[new]:
        brokers.replaced_by[old] = new
    rows = [list(draw(st.permutations(range(count))))[: draw(st.integers(1, 3))] for _ in range(partitions)]
    factors = [max(1, len(row) + draw(st.sampled_from([0, 0, 0, -1, 1]))) for row in rows]
    placements = replace(
        some_placements(rows, factors, of_each(st.integers(0, 30), partitions), of_each(SELDOM, partitions)),
        topic_names=("t", "u"),
        topics=np.array(of_each(st.integers(0, 1), partitions), np.int32),
        broker_sets=draw(broker_sets(count, partitions)),
    )
    rows = placements.replicas
    if draw(st.booleans()):  # many brokers are full
        counts = np.bincount(rows.values, minlength=count)
        brokers = replace(brokers, max_replicas=counts + of_each(st.sampled_from([0, 0, 0, 1, 2, 5])))
    if draw(st.booleans()):
        loads = np.bincount(rows.values, placements.sizes[rows.row_of_each_value()], count).astype(np.int64)
        brokers = replace(brokers, capacity_bytes=loads + of_each(st.sampled_from([0, 5, 10, 30, NO_LIMIT // 2])))
    limits = BatchLimits(
        draw(st.sampled_from([None, 1, 2])), draw(st.sampled_from([None, 4, 6])), draw(st.sampled_from([None, 90, 150]))
    )
    choices = [draw(st.sampled_from(values)) for values in (OBJECTIVES, RACK_RULES, (*LEADER_RULES, "balance"), BALANCES)]
    if choices[2] in ("only", "demote"):
        placements = replace(placements, replication_factors=placements.replicas.lengths())
    between = draw(st.sampled_from([{}, {}, {"tolerance": 0.2}, {"max_moves": 2}, {"max_bytes": 40}]))
    if choices[0] != "even" or choices[2] in ("only", "demote"):
        between = {}
    return brokers, placements, Goal(*choices, per_topic=choices[3] == "replicas" and draw(st.booleans()), **between), limits


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
