"""Several resources evened out: what replicas take, the rules, the bounds, and how near plans are to the best placement."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.budget import limited
from service.core.errors import NoPlan
from service.core.model import NONE
from service.planner.reassignments import RESOURCES
from service.planner.reassignments.model import Goal
from service.planner.reassignments.plan import plan
from service.planner.reassignments.resources import search
from service.planner.reassignments.resources.loads import Loads, names_of, placed_loads
from tests.planner.reassignments.test_plan import a_cluster, check_demoted_are_last, lists_of, questions, some_placements
from tests.reference.resources import every_placement, loads, sums
from tests.support.time_limits import Looks

AMOUNTS = st.sampled_from([0.0, 1.0, 2.0, 3.5, 10.0, 1e6])


@st.composite
def several(draw):
    """A question with sizes, rates, and several resources."""
    brokers, placements, goal = draw(questions())
    length = len(placements)

    def of_each(values):
        return np.array(draw(st.lists(values, min_size=length, max_size=length)))

    placements = replace(
        placements,
        sizes=of_each(st.integers(0, 30)).astype(np.int64),
        rates=of_each(AMOUNTS).astype(np.float64),
        read_rates=of_each(AMOUNTS).astype(np.float64),
    )
    if draw(st.booleans()):
        usage = draw(st.lists(st.sampled_from([0.0, 0.25, 3.0]), min_size=len(brokers), max_size=len(brokers)))
        brokers = replace(brokers, cpu_usage=np.where(brokers.listed, usage, np.nan))
    names = draw(st.permutations(RESOURCES))[: draw(st.integers(1, 4))]
    weights = [draw(st.sampled_from([1.0, 2.0, 0.5])) for _ in names]
    by_priority = draw(st.booleans())
    pairs = tuple(zip(names, weights, strict=True))
    leaders = draw(st.sampled_from(["balance", "balance", "keep"]))
    between = {}
    if goal.objective == "even":
        between = draw(st.sampled_from([{}, {}, {"tolerance": 0.2}, {"max_moves": 2}]))
    resources = tuple((pair,) for pair in pairs) if by_priority else (pairs,)
    return brokers, placements, replace(goal, resources=resources, leaders=leaders, **between)


@given(several())
def test_loads_are_what_each_replica_takes(question):
    brokers, placements, goal = question
    of_all = Loads.of(brokers, placements, goal, placements.replicas)
    for i, name in enumerate(of_all.names):
        expected = loads(brokers, placements, name, lists_of(placements.replicas))
        assert of_all.totals[:, i] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_cpu_of_a_replica_is_that_of_cruise_control():
    """A leader with 100 in and 50 + 2 × 100 out beside followers of another with 40 in and nothing read."""
    brokers = replace(a_cluster(["a", "b", "c"]), cpu_usage=np.array([0.6, 0.3, 0.1]))
    placements = replace(some_placements([[0, 1, 2], [1, 0]]), rates=np.array([100.0, 40.0]), read_rates=np.array([50.0, 0.0]))
    first, second = 0.7 * 100 + 0.15 * 250, 0.7 * 40 + 0.15 * 40
    of_first, of_second = 0.6 / (first + 0.15 * 40), 0.3 / (second + 0.15 * 100)  # CPU for each weighted byte
    expected = [of_first * first + of_second * 0.15 * 40, of_second * second + of_first * 0.15 * 100, of_first * 0.15 * 100]
    assert placed_loads(brokers, placements, placements.replicas)[0].totals["cpu"].tolist() == pytest.approx(expected)


@given(several())
def test_plans_keep_the_rules_and_their_bounds_hold(question):
    brokers, placements, goal = question
    assume((brokers.replaced_by == NONE).all())
    try:
        answer = plan(brokers, placements, goal)
    except NoPlan:
        return
    rows, now = lists_of(answer.replicas), lists_of(placements.replicas)
    allowed = list(every_placement(brokers, placements, goal))
    by_sets = {tuple(frozenset(row) for row in each) for each in allowed}
    assert tuple(map(frozenset, rows)) in by_sets
    free = [not excluded for excluded in placements.excluded]
    check_demoted_are_last(brokers, rows, free)
    for before, after, may in zip(now, rows, free, strict=True):
        can_lead = [b for b in after if brokers.usable[b] and not brokers.demoted[b]]
        assert not may or not can_lead or after[0] in can_lead
        if goal.leaders == "keep" and before[0] in can_lead:
            assert after[0] == before[0]
    copies = sum(len(set(after) - set(before)) for before, after in zip(now, rows, strict=True))
    assert copies == answer.cost >= answer.lower_bound
    if goal.max_moves is not None:
        fewest = min(sum(len(set(a) - set(b)) for b, a in zip(now, each, strict=True)) for each in allowed)
        assert copies <= max(goal.max_moves, fewest)
    values = [value for level in sums(brokers, placements, goal, rows) for value in level]
    scales = Loads.of(brokers, placements, goal, answer.replicas).scales(brokers)
    weights = [weight for level in goal.resources for _, weight in level]
    for i, each in enumerate(answer.resources):
        assert each.resource == names_of(goal)[i]
        assert each.value * weights[i] == pytest.approx(values[i] * scales[i], rel=1e-9, abs=1e-9)
        if goal.objective == "even" or copies == answer.lower_bound:
            least = min(
                sums(brokers, placements, replace(goal, resources=(((each.resource, 1.0),),)), rows)[0][0]
                for rows in allowed
                if goal.objective == "even"
                or sum(len(set(a) - set(b)) for b, a in zip(now, rows, strict=True)) == answer.lower_bound
            )
            assert each.lower_bound <= least * scales[i] * (1 + 1e-8) + 1e-9


@given(several())
def test_a_second_plan_changes_nothing(question):
    brokers, placements, goal = question
    if goal.limited or goal.tolerance is not None or (brokers.replaced_by != NONE).any():
        return
    brokers = replace(brokers, cpu_usage=None)  # which is divided anew among the replicas of now
    try:
        answer = plan(brokers, placements, goal)
    except NoPlan:
        return
    again = plan(brokers, replace(placements, replicas=answer.replicas), goal)
    assert lists_of(again.replicas) == lists_of(answer.replicas)


@pytest.mark.parametrize("resources", [
    ((("bytes", 1.0), ("cpu", 1.0), ("leaders", 1.0)),),
    ((("replicas", 1.0),), (("bytes", 1.0),), (("leaders", 1.0),)),
])  # fmt: skip
def test_plans_are_near_the_best_of_all_placements(resources):
    """40 clusters: of the first priority most plans are the best, and all together are within a percent."""
    draw = np.random.default_rng(5)
    found, best = [], []
    for _ in range(40):
        brokers = a_cluster(["a", "b", "c"])
        rows = [draw.permutation(3)[: int(draw.integers(1, 3))].tolist() for _ in range(4)]
        placements = replace(
            some_placements(rows, sizes=draw.integers(1, 30, 4).tolist()),
            rates=draw.integers(1, 30, 4).astype(float),
            read_rates=draw.integers(1, 90, 4).astype(float),
        )
        goal = Goal("even", "none", resources=resources)
        answer = plan(brokers, placements, goal)
        found.append(sum(sums(brokers, placements, goal, lists_of(answer.replicas))[0]))
        best.append(min(sum(sums(brokers, placements, goal, each)[0]) for each in every_placement(brokers, placements, goal)))
    found, best = np.array(found), np.array(best)
    assert (found >= best * (1 - 1e-9)).all()
    assert np.mean(found <= best * (1 + 1e-9)) > 0.7
    assert (found / best).mean() < 1.01


def test_resources_of_one_are_as_proven_as_replicas_alone():
    """Counted by itself, the sum of squares of replicas is what the flow proves to be least."""
    draw = np.random.default_rng(3)
    brokers = a_cluster(["abc"[i % 3] for i in range(9)])
    placements = some_placements([draw.permutation(6)[:2].tolist() for _ in range(60)])
    proven = plan(brokers, placements, Goal("even"))
    answer = plan(brokers, placements, Goal("even", resources=((("replicas", 1.0),), (("leaders", 1.0),))))
    assert answer.resources[0].value == proven.evenness
    assert answer.resources[0].gap == answer.resources[1].gap == 0.0


def test_the_time_is_checked_and_the_work_bounded(monkeypatch):
    """3,000 partitions of all sizes on 30 brokers."""
    draw, calls = np.random.default_rng(1), count()
    brokers = a_cluster([None] * 30)
    rows = [draw.permutation(20)[:3].tolist() for _ in range(3_000)]
    placements = some_placements(rows, sizes=draw.integers(1, 10**9, 3_000).tolist())
    goal = Goal("even", resources=((("bytes", 1.0), ("leaders", 1.0), ("replicas", 1.0)),))
    with limited(Looks(lambda: next(calls))):
        answer = plan(brokers, placements, goal)
    assert next(calls) > 3
    assert all(each.gap < 0.01 for each in answer.resources)
    monkeypatch.setattr(search, "MOST", 0)
    assert plan(brokers, placements, goal).cost == 0


@pytest.mark.parametrize(
    ("resources", "between", "fewest"),
    [
        ([("bytes",)], {}, 2),
        ([("bytes",)], {"tolerance": 0.5}, 1),
        ([("bytes", "replicas")], {}, 2),
        ([("leaders",)], {}, 2),
        ([("leaders",), ("bytes",)], {"tolerance": 0.0}, 2),
    ],
)
def test_the_bound_of_copies_is_what_brokers_have_too_much_of(resources, between, fewest):
    """Broker 0 has four partitions of 10 bytes, and broker 1 none."""
    brokers = a_cluster([None] * 2)
    placements = some_placements([[0]] * 4, sizes=[10] * 4)
    levels = tuple(tuple((name, 1.0) for name in level) for level in resources)
    answer = plan(brokers, placements, Goal("even", "none", resources=levels, **between))
    assert (answer.cost, answer.lower_bound) == (max(answer.cost, fewest), fewest)
    assert answer.cost == 2 or between == {"tolerance": 0.5}
