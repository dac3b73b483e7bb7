"""Plans against trying everything, and the properties that every plan has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.errors import Infeasible, NoPlan
from service.core.model import NONE, Cluster, Ragged
from service.planner.reassignments.model import NO_LIMIT, Brokers, BrokerSets, Goal, Placements
from service.planner.reassignments.plan import plan
from tests.reference.cruise_control import Removal
from tests.reference.reassignments import best, best_by_program, best_leaders, filled_greedily, judged
from tests.support.choices import choices


def a_cluster(racks, **given):
    count = len(racks)
    ids = tuple(sorted({rack for rack in racks if rack is not None}))
    index = np.array([NONE if rack is None else ids.index(rack) for rack in racks], np.int32)
    brokers = Brokers.of(Cluster(np.arange(count, dtype=np.int32), ids, index, np.zeros(count, np.bool_)))
    return replace(brokers, **{name: np.asarray(values, getattr(brokers, name).dtype) for name, values in given.items()})


def some_placements(rows, factors=None, sizes=None, excluded=None):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    count = len(rows)
    return Placements(
        ("t",),
        np.zeros(count, np.int32),
        np.arange(count, dtype=np.int32),
        Ragged(offsets, np.array([b for row in rows for b in row], np.int32)),
        np.array(factors or [len(row) for row in rows], np.int32),
        None if sizes is None else np.array(sizes, np.int64),
        None,
        np.zeros(count, np.bool_) if excluded is None else np.array(excluded, np.bool_),
    )


def broker_sets(random, brokers, partitions):
    if random.randint(0, 2):
        return None
    allowed = [random.choices([True, True, False], k=brokers) for _ in range(3)]
    return BrokerSets(np.array(random.choices(range(3), k=partitions), np.int32), np.array(allowed, np.bool_))


def lists_of(rows):
    return [rows.row(i).tolist() for i in range(len(rows))]


@st.composite
def questions(draw):
    random = draw(choices(256))
    count = random.randint(2, 5)

    def of_each(*values):
        return random.choices(values, k=count)

    brokers = a_cluster(
        of_each("a", "b", "c", None),
        draining=of_each(False, False, False, False, False, True),
        demoted=of_each(False, False, False, False, False, True),
        weights=of_each(1.0, 1.0, 2.0, 0.5, 3.0),
    )
    brokers.cordoned[:] = of_each(False, False, False, False, False, True)
    if random.randint(0, 3) == 0:
        brokers.destinations[:] = of_each(False, True)
    if random.randint(0, 3) == 0:
        brokers = replace(brokers, max_replicas=np.array(of_each(0, 1, 2, 3, NO_LIMIT), np.int64))
    rows = [random.sample(range(count), random.randint(1, min(3, count))) for _ in range(random.randint(1, 4))]
    factors = [random.choice([len(row), len(row), max(1, len(row) - 1), min(3, len(row) + 1)]) for row in rows]
    excluded = [random.randint(0, 5) == 0 for _ in rows]
    if random.randint(0, 3) == 0:
        replaced = np.full(count, NONE, np.int32)
        old, new = random.sample(range(count), 2)
        if brokers.receiving[new]:
            replaced[old] = new
            brokers = replace(brokers, replaced_by=replaced)
    goal = Goal(random.choice(["fewest-moves", "even"]), random.choice(["strict", "spread", "none"]))
    return (
        brokers,
        replace(some_placements(rows, factors, excluded=excluded), broker_sets=broker_sets(random, count, len(rows))),
        goal,
    )


@settings(max_examples=80)
@given(questions())
def test_a_plan_is_as_good_as_the_best_of_all_placements(question):
    brokers, placements, goal = question
    expected = best(brokers, placements, goal)
    if expected is None:
        with pytest.raises(Infeasible):
            plan(brokers, placements, goal)
        return
    answer = plan(brokers, placements, goal)
    now = lists_of(placements.replicas)
    after = lists_of(answer.replicas)
    assert judged(brokers, now, [frozenset(row) for row in after], goal) == expected
    copies = expected[0 if goal.objective == "fewest-moves" else 1]
    assert (answer.cost, answer.lower_bound, answer.gap) == (copies, copies, 0.0)
    assert all(len(set(row)) == len(row) for row in after)
    free = [not excluded for excluded in placements.excluded]
    leaders = [row[0] for row in now]
    counts = [sum(row[0] == b for row in after) for b in range(len(brokers))]
    squares = sum(counts[b] ** 2 / float(brokers.weights[b]) for b in range(len(brokers)) if brokers.usable[b])
    changes = sum(row[0] != leader for row, leader in zip(after, leaders, strict=True))
    assert (round(squares, 9), changes) == best_leaders(brokers, after, leaders, free)
    check_demoted_are_last(brokers, after, free)


def check_demoted_are_last(brokers, rows, free):
    for row, may in zip(rows, free, strict=True):
        followers = [bool(brokers.demoted[b]) for b in row[1:]]
        assert not may or followers == sorted(followers)


@given(questions(), st.data())
def test_a_demotion_moves_leaders_of_demoted_brokers_only(question, data):
    brokers, placements, goal = question
    rows = placements.replicas
    in_sync = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows.values), max_size=len(rows.values))), np.bool_)
    placements = replace(placements, in_sync=in_sync)
    now = lists_of(rows)
    after = lists_of(plan(brokers, placements, replace(goal, leaders="demote")).replicas)
    assert [set(row) for row in now] == [set(row) for row in after]
    usable = brokers.usable & ~brokers.demoted
    may = [  # a demoted leader stays where no other broker may lead
        not gone and not usable[row[0]] and bool(usable[row].any() or not brokers.usable[row[0]])
        for gone, row in zip(placements.excluded, now, strict=True)
    ]
    assert all(new[0] == old[0] for old, new, free in zip(now, after, may, strict=True) if not free)
    able = [  # the demoted only where no other is
        [b for b in row if usable[b]] or [b for b in row if brokers.usable[b]] or row for row in now
    ]
    synced = [  # the replicas that may lead: those in sync if there are any
        [b for b, each in zip(row, in_sync[start : start + len(row)], strict=True) if each and b in some] or some
        for row, some, start in zip(now, able, rows.offsets.tolist(), strict=False)
    ]
    counts = [sum(row[0] == b for row in after) for b in range(len(brokers))]
    squares = sum(counts[b] ** 2 / float(brokers.weights[b]) for b in range(len(brokers)) if brokers.usable[b])
    lists = [some if free else row for some, row, free in zip(synced, now, may, strict=True)]
    assert round(squares, 9) == best_leaders(brokers, lists, [row[0] for row in now], may)[0]
    check_demoted_are_last(brokers, after, [not each for each in placements.excluded])


@given(questions())
def test_a_second_plan_from_the_result_of_the_first_changes_nothing(question):
    brokers, placements, goal = question
    try:
        answer = plan(brokers, placements, goal)
    except NoPlan:
        return
    again = plan(brokers, replace(placements, replicas=answer.replicas), goal)
    assert again.cost == 0
    assert lists_of(again.replicas) == lists_of(answer.replicas)


@pytest.mark.parametrize("seed", range(12))
def test_a_larger_plan_is_as_good_as_an_integer_program(seed):
    draw = np.random.default_rng(seed)
    count, partitions = 9, 30
    brokers = a_cluster([("a", "b", "c", "d")[draw.integers(4)] for _ in range(count)])
    brokers.draining[0] = True
    if seed % 3 == 0:
        brokers = replace(brokers, max_replicas=np.full(count, 11 + seed, np.int64))
    rows = [draw.permutation(count - seed % 3)[: draw.integers(1, 4)].tolist() for _ in range(partitions)]
    placements = some_placements(rows, [int(min(4, max(1, len(row) + draw.integers(-1, 2)))) for row in rows])
    if seed % 3 == 1:
        brokers.cordoned[2:4] = True
    if seed % 3 == 2:
        brokers.destinations[[1, 4]] = False
    if seed % 4 == 3:  # the first half without broker 8, the second without broker 1
        allowed = np.ones((2, count), np.bool_)
        allowed[[0, 1], [8, 1]] = False
        placements = replace(
            placements, broker_sets=BrokerSets(np.repeat(np.arange(2, dtype=np.int32), partitions // 2), allowed)
        )
    for objective in ("fewest-moves", "even"):
        goal = Goal(objective)
        answer = plan(brokers, placements, goal)
        counts = np.bincount(answer.replicas.values, minlength=count)
        assert (answer.cost, int((counts**2).sum())) == best_by_program(brokers, placements, goal)
        assert answer.gap == 0


def test_each_topic_is_evened_out_without_another_copy():
    """Broker 3 is to be emptied; its replicas of t and u could all go to one broker each, which is as even as a whole."""
    brokers = a_cluster(["a"] * 4, draining=[False, False, False, True])
    rows = [[3]] * 12
    placements = replace(some_placements(rows), topic_names=("t", "u", "v"), topics=np.repeat(np.arange(3, dtype=np.int32), 4))
    squares = []
    for per_topic in (False, True):
        answer = plan(brokers, placements, Goal(racks="none", per_topic=per_topic))
        assert (answer.cost, answer.gap) == (12, 0)
        counts = np.zeros((3, 4), int)
        np.add.at(counts, (placements.topics, answer.replicas.values), 1)
        assert counts.sum(axis=0).tolist() == [4, 4, 4, 0]
        squares.append(int((counts**2).sum()))
    assert squares[1] <= squares[0]
    assert squares[1] == 3 * (2 * 2 + 1 + 1)


@given(questions(), st.data())
def test_plans_by_bytes_are_bounded_and_final(question, data):
    brokers, placements, goal = question
    sizes = data.draw(st.lists(st.integers(0, 30), min_size=len(placements), max_size=len(placements)))
    placements, goal = replace(placements, sizes=np.array(sizes, np.int64)), replace(goal, balance="bytes")
    try:
        answer = plan(brokers, placements, goal)
    except NoPlan:
        return
    assert answer.lower_bound <= answer.cost
    again = plan(brokers, replace(placements, replicas=answer.replicas), goal)
    assert lists_of(again.replicas) == lists_of(answer.replicas)


def test_what_fits_is_found_though_the_evenest_does_not_fit():
    """Each broker has room for one of the large partitions; the small ones could even out the numbers."""
    brokers = a_cluster(["a"] * 3, capacity_bytes=[10, 10, 3])
    placements = some_placements([[0], [1], [0], [0], [0], [0]], sizes=[7, 7, 0, 0, 1, 1])
    answer = plan(brokers, placements, Goal("even"))
    assert np.bincount(answer.replicas.values, placements.sizes, 3)[2] <= 3
    again = plan(brokers, replace(placements, replicas=answer.replicas), Goal("even"))
    assert lists_of(again.replicas) == lists_of(answer.replicas)


@pytest.mark.parametrize("seed", range(8))
def test_no_greedy_filling_is_better(seed):
    """In topicmappr's manner: a plan is at least as even, and copies at most as much where it is only as even."""
    draw = np.random.default_rng(seed)
    brokers = a_cluster(["abcd"[b % 4] for b in range(14)], draining=[b == 0 for b in range(14)])
    rows = [[4 * int(draw.integers(3)) + int(rack) for rack in draw.permutation(4)[:3]] for _ in range(60)]
    placements = some_placements(rows)
    copies, counts = filled_greedily(brokers, placements)
    answer = plan(brokers, placements, Goal("even"))
    ours = int((np.bincount(answer.replicas.values, minlength=14) ** 2).sum())
    theirs = int((counts**2).sum())
    assert ours < theirs or (ours == theirs and answer.cost <= copies)


@pytest.mark.parametrize("seed", range(8))
def test_cruise_control_removes_a_broker_with_as_many_copies_and_less_evenly(seed):
    """Its replicas are the only ones that move, and end within 9 % of the average; a plan is as even as these moves allow."""
    draw = np.random.default_rng(seed)
    brokers = a_cluster(["abcd"[b % 4] for b in range(13)], draining=[b == 0 for b in range(13)])
    rows = [[4 * int(draw.integers(3)) + int(rack) for rack in draw.permutation(4)[:3]] for _ in range(120)]
    placements = some_placements(rows)
    removal = Removal(brokers, placements)
    answer = plan(brokers, placements, Goal())
    assert answer.cost == removal.copies == sum(0 in row for row in rows)
    assert all(len({b % 4 for b in row}) == 3 and 0 not in row for row in removal.rows)
    ours = np.bincount(answer.replicas.values, minlength=13)
    assert (ours**2).sum() <= (removal.counts**2).sum()


@pytest.mark.parametrize("leaves", ["draining", "listed", "fenced"])
def test_a_replica_that_has_to_leave_does_not_come_to_share_a_rack(leaves):
    """Both replicas are on rack a; the one that stays keeps its place, the other is to find a rack of its own."""
    brokers = a_cluster([*"aaabc"])
    flags = {"draining": brokers.draining, "listed": brokers.listed, "fenced": brokers.cluster.fenced}[leaves]
    flags[1] = not flags[1]
    answer = plan(brokers, some_placements([[0, 1]]), Goal(racks="spread"))
    assert lists_of(answer.replicas) == [[0, 3]]


def test_a_broker_that_is_gone_leaves_no_room_on_the_rack_of_brokers_without_one():
    """Brokers 1 and 2 are gone, 3 and 4 have no rack: they share one, which gets one replica, as a and b do."""
    brokers = a_cluster(["a", None, None, None, None, "b"], listed=[True, False, False, True, True, True])
    answer = plan(brokers, some_placements([[1, 2, 0]]), Goal(racks="spread"))
    assert sorted(brokers.racks()[answer.replicas.values].tolist()) == [0, 1, 2]
