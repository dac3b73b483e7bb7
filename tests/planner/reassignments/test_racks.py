"""Replicas stay on their rack where the plan is as good, and what crosses racks is counted."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from itertools import permutations, product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given

from service.core.errors import InvalidQuestion, NoPlan
from service.planner.reassignments import BALANCES, OBJECTIVES
from service.planner.reassignments import plan as planning
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.batches.schedule import BatchLimits
from service.planner.reassignments.leaders import leading
from service.planner.reassignments.model import Goal
from service.planner.reassignments.plan import plan
from service.planner.reassignments.planned import rack_changes, rack_traffic
from service.planner.reassignments.resources import search
from tests.planner.reassignments import test_all_options as all_options
from tests.planner.reassignments.test_plan import a_cluster, lists_of, questions, some_placements
from tests.reference.reassignments import allowed_sets, broker_set


def changes_of(brokers, before, after) -> int:
    """The plain twin of ``rack_changes``."""
    racks, total = brokers.racks().tolist(), 0
    for old, new in zip(before, after, strict=True):
        was, then = (Counter(racks[b] for b in row if brokers.listed[b]) for row in (old, new))
        total += min((then - was).total(), (was - then).total())
    return total


def growing(seed: int):
    """Old brokers and empty ones on the same racks, more racks than replicas of a partition, and some limits."""
    chance = np.random.default_rng(seed)
    count = int(chance.integers(6, 24))
    rows = [chance.permutation(8)[: chance.integers(1, 3)].tolist() for _ in range(count)]
    placements = some_placements(rows, sizes=chance.integers(1, 4, count).tolist())
    placements = replace(placements, topics=chance.integers(0, 2, count).astype(np.int32), topic_names=("t", "u"))
    brokers = a_cluster([*"abcd"] * 3, draining=[False] * 7 + [bool(chance.integers(2))] + [False] * 4)
    if chance.integers(2):
        counts = np.bincount(placements.replicas.values, minlength=12)
        brokers = replace(brokers, max_replicas=np.maximum(counts, chance.integers(1, 4)))
    objective, leaders, balance = map(str, (chance.choice(values) for values in (OBJECTIVES, ("balance", "keep"), BALANCES)))
    between = [{}, {"tolerance": 0.2}, {"max_moves": 3}][chance.integers(3)] if objective == "even" else {}
    per_topic = balance == "replicas" and bool(chance.integers(2))
    return brokers, placements, Goal(objective, "strict", leaders, balance, per_topic=per_topic, **between), BatchLimits()


def planned(question, *, swapping: bool):
    brokers, placements, goal, limits = question
    with ExitStack() as patches:
        for module in () if swapping else (planning, search):
            patches.enter_context(patch.object(module, "stay_on_racks", lambda *_: False))
        return plan_in_batches(brokers, placements, goal, limits)


def with_resources(question, chance):
    """The same with some resources, by priority or weighted, and sizes and rates of which some are equal."""
    brokers, placements, goal, limits = question
    rates = chance.integers(0, 3, len(placements)).astype(np.float64)
    names = chance.permutation(["replicas", "leaders", "bytes", "bytes_per_second", "leader_bytes_per_second"])[
        : chance.integers(2, 4)
    ]
    resources = tuple(((str(name), 1.0),) for name in names)
    goal = replace(
        goal, balance="replicas", per_topic=False, resources=resources if chance.integers(2) else (sum(resources, ()),)
    )
    return brokers, replace(placements, rates=rates), goal, limits


@given(all_options.questions())
def test_nothing_gets_worse_where_replicas_stay_on_their_rack(question) -> None:
    """With every option at random, few of which leave anything to swap."""
    check_nothing_is_worse(question)


def test_nothing_gets_worse_in_a_growing_cluster() -> None:
    """A third of these have swaps, one in forty such that leaders would be less even."""
    for seed in range(150):
        check_nothing_is_worse(growing(seed))


def test_several_resources_are_as_even_where_replicas_stay_on_their_rack() -> None:
    """By priority, and the sum of weighted ones; no leader less is led, and nothing more is copied."""
    fewer = 0
    for seed in range(75):
        question = with_resources(growing(seed), np.random.default_rng(seed))
        brokers, placements, goal, _ = question
        try:
            (answer, batches), (other, others) = (planned(question, swapping=each) for each in (True, False))
        except NoPlan:
            continue
        assert (answer.cost, len(batches.detours)) == (other.cost, len(others.detours))
        assert len(answer.outside) <= len(other.outside)
        if goal.tolerance is None:  # else the bands come first, and a broker may be nearer to one of them
            values = [[each.value for each in one.resources] for one in (answer, other)]
            sums = [[one.evenness] if len(goal.resources) == 1 else of for one, of in zip((answer, other), values, strict=True)]
            assert [round(each, 6) for each in sums[0]] <= [round(each, 6) for each in sums[1]]
        changes = [rack_changes(brokers, placements.replicas, each.replicas) for each in (answer, other)]
        assert changes[0] <= changes[1]
        fewer += changes[0] < changes[1]
    assert fewer > 10


def check_nothing_is_worse(question) -> None:
    """Copies, bytes, evenness, leaders, the tolerance and the batches are as good as without the swaps."""
    brokers, placements, goal, _ = question
    try:
        (answer, batches), (other, others) = (planned(question, swapping=each) for each in (True, False))
    except (NoPlan, InvalidQuestion):
        for swapping in (True, False):
            with pytest.raises((NoPlan, InvalidQuestion)):
                planned(question, swapping=swapping)
        return
    assert (answer.cost, answer.lower_bound, answer.evenness, answer.evenness_bound) == (
        other.cost, other.lower_bound, pytest.approx(other.evenness), pytest.approx(other.evenness_bound),
    )  # fmt: skip
    assert [batches.cost(unit) for unit in ("replicas", "bytes")] == [others.cost(unit) for unit in ("replicas", "bytes")]
    assert answer.outside.tolist() == other.outside.tolist()
    led, otherwise = (leading(brokers, placements, each.replicas, per_topic=goal.per_topic) for each in (answer, other))
    assert led <= otherwise
    if goal.per_topic:
        assert of_topics(brokers, placements, answer) == pytest.approx(of_topics(brokers, placements, other))
    now = placements.replicas
    assert rack_changes(brokers, now, answer.replicas) <= rack_changes(brokers, now, other.replicas)


def of_topics(brokers, placements, answer) -> float:
    """The sum of (replicas of a topic on a broker)² ÷ weight."""
    rows = answer.replicas
    counts = Counter(zip(placements.topics[rows.row_of_each_value()].tolist(), rows.values.tolist(), strict=True))
    return float(sum(count**2 / brokers.weights[b] for (_, b), count in counts.items()))


@given(questions())
def test_no_swap_is_left_that_keeps_a_replica_on_its_rack(question) -> None:
    """Tried for all pairs of replicas that are copied, as the rules of each partition have it."""
    brokers, placements, goal = question
    best = planning.Search.of(brokers, placements, goal).best()
    if best is None:
        return
    now, rows = lists_of(placements.replicas), lists_of(best.replicas if best.on_racks is None else best.on_racks)
    allowed = [
        allowed_sets(brokers, row, len(after), goal.racks, within=broker_set(placements, p))
        for p, (row, after) in enumerate(zip(now, rows, strict=True))
    ]
    pinned = set(brokers.replaced_by.tolist())
    changes = changes_of(brokers, now, rows)
    free = [p for p in range(len(rows)) if not placements.excluded[p]]
    for p, q in permutations(free, 2):
        for a, b in product(set(rows[p]) - set(now[p]) - pinned, set(rows[q]) - set(now[q]) - pinned):
            if a in rows[q] or b in rows[p] or a in now[q] or b in now[p]:
                continue
            after = set(rows[p]) - {a} | {b}, set(rows[q]) - {b} | {a}
            if after[0] in allowed[p] and after[1] in allowed[q]:
                assert changes_of(brokers, (now[p], now[q]), after) >= changes_of(brokers, (now[p], now[q]), (rows[p], rows[q]))
    assert rack_changes(brokers, placements.replicas, best.on_racks or best.replicas) == changes


@given(all_options.questions())
def test_what_crosses_racks_is_what_each_step_copies_from_another_rack(question) -> None:
    """Step by step, from the first live broker of the partition's list."""
    brokers, placements, _, _ = question
    try:
        answer, batches = planned(question, swapping=True)
    except (NoPlan, InvalidQuestion):
        return
    traffic = rack_traffic(brokers, placements, answer.replicas, batches.steps)
    if not len(brokers.cluster.rack_ids):
        assert traffic is None
        return
    racks, steps, copies, amount = brokers.racks(), batches.steps, 0, 0
    for step, partition in enumerate(steps.partitions.tolist()):
        before, after = steps.before.row(step).tolist(), steps.after.row(step).tolist()
        leader = next((b for b in before if brokers.live[b]), None)
        crossing = [b for b in after if b not in before and racks[b] != racks[leader]]
        copies += len(crossing)
        amount += len(crossing) * int(placements.sizes[partition])
    changes = changes_of(brokers, lists_of(placements.replicas), lists_of(answer.replicas))
    assert (traffic.changes, traffic.copies, traffic.amount) == (changes, copies, amount)


def test_new_brokers_are_filled_from_their_racks() -> None:
    """Five racks of three brokers, and a new one in each; without the swaps, most replicas would come from other racks."""
    racks = [*("abcde" * 3), *"abcde"]
    rows = [[(i + 5 * j + j) % 15 for j in range(3)] for i in range(150)]
    question = a_cluster(racks), some_placements(rows), Goal("even"), BatchLimits()
    changes = [
        rack_changes(question[0], question[1].replicas, planned(question, swapping=each)[0].replicas) for each in (True, False)
    ]
    assert changes[0] * 5 <= changes[1]
    assert plan(*question[:3]).goals["evenness"]["gap"] == 0.0
    brokers, placements, _, limits = question
    several = brokers, placements, Goal("even", resources=((("replicas", 1.0),), (("leaders", 1.0),))), limits
    changes = [rack_changes(brokers, placements.replicas, planned(several, swapping=each)[0].replicas) for each in (True, False)]
    assert changes[0] * 3 <= changes[1]
