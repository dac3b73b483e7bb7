"""Batches keep the rules while they run and after, and their rollbacks lead back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import Infeasible, InvalidQuestion, NoPlan
from service.core.model import NONE
from service.planner.reassignments.batches.plan import in_batches, plan_in_batches
from service.planner.reassignments.batches.schedule import BatchLimits, Pace, Traffic
from service.planner.reassignments.model import NO_LIMIT, Goal
from service.planner.reassignments.plan import plan
from service.planner.reassignments.planned import LEADER, WAS_FULL, moves_of
from tests.planner.reassignments.test_plan import a_cluster, lists_of, some_placements
from tests.reference.reassignments import allowed_sets, best, broker_set, judged


@st.composite
def questions(draw):
    count = draw(st.integers(4, 7))
    brokers = a_cluster([draw(st.sampled_from("abc")) for _ in range(count)])
    brokers.draining[0] = True
    partitions = draw(st.integers(1, 12))
    rows = [list(draw(st.permutations(range(count))))[: draw(st.integers(1, 3))] for _ in range(partitions)]
    sizes = draw(st.lists(st.integers(0, 50), min_size=partitions, max_size=partitions))
    if draw(st.booleans()):
        brokers = replace(
            brokers, max_replicas=np.array(draw(st.lists(st.integers(2, 9), min_size=count, max_size=count)), np.int64)
        )
    if draw(st.booleans()):
        limits = draw(st.lists(st.integers(100, 500), min_size=count, max_size=count))
        brokers = replace(brokers, capacity_bytes=np.array(limits, np.int64))
    limits = BatchLimits(
        draw(st.sampled_from([None, 1, 2])), draw(st.sampled_from([None, 4, 6])), draw(st.sampled_from([None, 150, 300]))
    )
    objective, balance = draw(st.sampled_from(["fewest-moves", "even"])), draw(st.sampled_from(["replicas", "bytes"]))
    return brokers, some_placements(rows, sizes=sizes), Goal(objective, "strict", balance=balance), limits


def usage(rows, sizes, count):
    counts, loads = [0] * count, [0] * count
    for row, size in zip(rows, sizes, strict=True):
        for b in row:
            counts[b] += 1
            loads[b] += size
    return counts, loads


def check_every_boundary(brokers, placements, replicas, goal, limits, batches):
    """The hard rules hold while each batch runs and after it, the batches' own limits too, and the rollbacks lead back."""
    count, sizes, usable = len(brokers), placements.bytes_of_each().tolist(), brokers.usable
    start, end = lists_of(placements.replicas), lists_of(replicas)
    steps = batches.steps
    rows = [list(row) for row in start]
    for batch in range(len(batches)):
        of_batch = np.flatnonzero(steps.batches == batch).tolist()
        assert of_batch
        mine = {int(steps.partitions[i]): steps.after.row(i).tolist() for i in of_batch}
        assert len(mine) == len(of_batch)
        for i in of_batch:
            assert steps.before.row(i).tolist() == rows[steps.partitions[i]] != mine[steps.partitions[i]]
        copies = [(p, b) for p, row in mine.items() for b in row if b not in rows[p]]
        leaves = [(p, b) for p, row in mine.items() for b in rows[p] if b not in row and set(row) - set(rows[p])]
        assert batches.moves[batch] == len(copies)
        assert batches.amounts[batch] == sum(sizes[p] for p, _ in copies)
        assert len(copies) <= (limits.moves_per_batch or NO_LIMIT)
        assert batches.amounts[batch] <= (limits.bytes_in_flight or NO_LIMIT)
        for b in range(count):
            for moves in (copies, leaves):
                assert sum(b == other for _, other in moves) <= (limits.moves_per_broker or NO_LIMIT)
        before = usage(rows, sizes, count)
        during = usage([[*row, *(b for p, b in copies if p == i)] for i, row in enumerate(rows)], sizes, count)
        for p, row in mine.items():
            rows[p] = row
            assert not placements.excluded[p]
            assert len(set(row)) == len(row) == placements.replication_factors[p]
            if not goal.only_leaders:
                within = broker_set(placements, p)
                assert frozenset(row) in allowed_sets(
                    brokers, start[p], len(row), goal.racks, within=within, pinned=row == end[p]
                )
        after = usage(rows, sizes, count)
        for b in range(count):
            assert during[0][b] <= max(brokers.max_replicas[b], before[0][b])
            assert after[0][b] <= max(brokers.max_replicas[b], before[0][b])
            assert max(during[1][b], after[1][b]) <= max(brokers.capacity_bytes[b], before[1][b])
    assert rows == end
    assert all(usable[b] for p in range(len(rows)) if not placements.excluded[p] for b in rows[p]) or goal.only_leaders
    for i in range(len(steps.partitions) - 1, -1, -1):
        assert rows[steps.partitions[i]] == steps.after.row(i).tolist()
        rows[steps.partitions[i]] = steps.before.row(i).tolist()
    assert rows == start


@given(questions())
def test_the_rules_hold_in_every_batch_and_rollback_restores_the_start(question):
    brokers, placements, goal, limits = question
    try:
        answer = plan(brokers, placements, goal)
        batches = in_batches(brokers, placements, answer.replicas, limits, goal.racks)
    except (NoPlan, InvalidQuestion):
        return
    assert answer.lower_bound <= answer.cost <= batches.cost(goal.balance)
    check_every_boundary(brokers, placements, answer.replicas, goal, limits, batches)


@st.composite
def exchanges(draw):
    """Full brokers that exchange replicas, and perhaps a broker with room."""
    count = draw(st.integers(2, 5))
    each = draw(st.integers(1, 3))
    room = draw(st.integers(0, 2))
    racks = draw(st.lists(st.sampled_from("aab"), min_size=count + 1, max_size=count + 1))
    brokers = a_cluster(racks, max_replicas=[each] * count + [room])
    now = [b for b in range(count) for _ in range(each)]
    placements = some_placements(
        [[b] for b in now], sizes=draw(st.lists(st.integers(0, 9), min_size=len(now), max_size=len(now)))
    )
    return brokers, placements, draw(st.permutations(now)), room


@given(exchanges())
def test_full_brokers_exchange_replicas_with_one_detour_in_each_circle(question):
    brokers, placements, target, room = question
    replicas = replace(placements.replicas, values=np.array(target, np.int32))
    now = placements.replicas.values.tolist()
    moved = [(a, b) for a, b in zip(now, target, strict=True) if a != b]
    circle = list(range(len(brokers)))
    for a, b in moved:
        circle = [circle[a] if each == circle[b] else each for each in circle]
    circles = len({circle[a] for a, _ in moved})
    goal, limits = Goal(racks="none"), BatchLimits()
    if circles and not room:
        with pytest.raises(Infeasible, match="no order of the moves keeps max_replicas"):
            in_batches(brokers, placements, replicas, limits, "none")
        return
    batches = in_batches(brokers, placements, replicas, limits, "none")
    assert (len(batches.detours), batches.cost("replicas")) == (circles, len(moved) + circles)
    check_every_boundary(brokers, placements, replicas, goal, limits, batches)
    moves = moves_of(brokers, placements, goal, replicas, batches)
    assert np.count_nonzero(moves.reasons == WAS_FULL) == circles
    rows = dict(enumerate(now))
    for i in np.lexsort((moves.partitions, moves.batches)).tolist():
        assert rows[moves.partitions[i]] == moves.sources[i]
        rows[moves.partitions[i]] = int(moves.targets[i])
    assert list(rows.values()) == list(target)


def test_the_throttle_for_a_time_is_the_least_that_suffices():
    traffic = Traffic(
        np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32), np.array([True, False, True]),
        np.array([1000, 500, 300], np.int64), np.array([5.0, 0.0, 0.0]),
    )  # fmt: skip
    pace = Pace(throttle_utilization=0.5, batch_seconds=3.0)
    throttle = traffic.throttle_for(10.0, 2, pace)
    assert traffic.seconds(throttle, 2, pace).sum() <= 10 < traffic.seconds(throttle - 1, 2, pace).sum()
    assert traffic.seconds(throttle, 2, pace)[0] == 3 + 1000 / (throttle / 2 - 5)
    assert traffic.seconds(10, 2, pace)[0] == np.inf
    with pytest.raises(InvalidQuestion, match=r"Must be more than 6: 2 batches of 3 s each beside the copying\."):
        traffic.throttle_for(6.0, 2, pace)


def test_a_partition_larger_than_a_batch_is_named():
    brokers = a_cluster(["a", "b", "c"], draining=[True, False, False])
    placements = some_placements([[0, 1]], sizes=[100])
    answer = plan(brokers, placements, Goal())
    with pytest.raises(InvalidQuestion, match="Must be at least 100: t-0") as raised:
        in_batches(brokers, placements, answer.replicas, BatchLimits(bytes_in_flight=99), "strict")
    assert raised.value.field == ("limits", "bytes_in_flight")


@pytest.mark.parametrize(
    ("limits", "batches"),
    [({"moves_per_broker": 1}, 20_000), ({"moves_per_batch": 3}, 13_334), ({"bytes_in_flight": 50}, 12_000)],
)
def test_more_batches_than_there_may_be_are_counted_before_they_are_filled(limits, batches):
    brokers = a_cluster([None] * 5, draining=[True, True, False, False, False])
    placements = some_placements([[i % 2] for i in range(40_000)], sizes=[15] * 40_000)
    answer = plan(brokers, placements, Goal())
    with pytest.raises(InvalidQuestion, match=rf"at least {batches:,} batches within these limits, 10,000 at most"):
        in_batches(brokers, placements, answer.replicas, BatchLimits(**limits), "strict")


def test_a_batch_ends_when_no_move_fits_and_leaders_change_in_the_first():
    """Broker 0 gives one replica away in each of 9,000 batches; a partition that copies nothing waits for none of them."""
    brokers = a_cluster([None] * 4, draining=[True, False, False, False])
    placements = some_placements([*([0] for _ in range(9_000)), [1, 2], [3]], factors=[1] * 9_000 + [2, 2])
    replicas = some_placements([*([1 + i % 3] for i in range(9_000)), [2, 1], [3, 1]]).replicas
    batches = in_batches(brokers, placements, replicas, BatchLimits(moves_per_broker=1), "strict")
    assert sorted(batches.batch_of[:-2].tolist()) == list(range(9_000))
    assert batches.batch_of[-2] == 0


def test_what_has_no_live_replica_cannot_be_copied():
    brokers = a_cluster(["a", "b"])
    brokers.cluster.fenced[0] = True
    placements = some_placements([[0]])
    with pytest.raises(Infeasible, match="cannot be copied"):
        in_batches(brokers, placements, plan(brokers, placements, Goal()).replicas, BatchLimits(), "strict")


@st.composite
def relabelled(draw):
    """Partitions with several replicas whose brokers change places, within racks; nearly all brokers are full."""
    count, spare = draw(st.integers(3, 6)), draw(st.integers(0, 2))
    racks = draw(st.lists(st.sampled_from("aabc"), min_size=count + spare, max_size=count + spare))
    to = np.arange(count)
    for rack in sorted(set(racks[:count])):
        mine = [b for b in range(count) if racks[b] == rack]
        to[mine] = draw(st.permutations(mine))
    rows = [list(draw(st.permutations(range(count))))[: draw(st.integers(1, 3))] for _ in range(draw(st.integers(1, 8)))]
    placements = some_placements(rows, sizes=draw(st.lists(st.integers(0, 9), min_size=len(rows), max_size=len(rows))))
    replicas = replace(placements.replicas, values=to[placements.replicas.values].astype(np.int32))
    brokers = a_cluster(racks)
    for name, sizes in (("max_replicas", np.ones(len(rows), np.int64)), ("capacity_bytes", placements.sizes)):
        each = sizes[replicas.row_of_each_value()]
        most = np.maximum(*(np.bincount(ends.values, each, count + spare) for ends in (placements.replicas, replicas)))
        room = draw(st.lists(st.sampled_from([0, 0, 0, 0, 1, 10]), min_size=count + spare, max_size=count + spare))
        if draw(st.booleans()):
            brokers = replace(brokers, **{name: most.astype(np.int64) + room})
    limits = BatchLimits(draw(st.sampled_from([None, 1, 2])), draw(st.sampled_from([None, 3])), draw(st.sampled_from([None, 40])))
    return brokers, placements, replicas, Goal(racks=draw(st.sampled_from(["strict", "spread", "none"]))), limits


@given(relabelled())
def test_detours_keep_the_rules(question):
    brokers, placements, replicas, goal, limits = question
    if goal.racks == "strict" and any(
        frozenset(row) not in allowed_sets(brokers, row, len(row), "strict") for row in lists_of(replicas)
    ):
        goal = replace(goal, racks="none")
    try:
        batches = in_batches(brokers, placements, replicas, limits, goal.racks)
    except NoPlan:
        return
    check_every_boundary(brokers, placements, replicas, goal, limits, batches)
    moves = moves_of(brokers, placements, goal, replicas, batches)
    copies = (moves.targets != NONE) & (moves.reasons != LEADER)
    assert np.count_nonzero(copies) == batches.cost("replicas")
    assert np.bincount(moves.batches[copies], minlength=len(batches)).tolist() == batches.moves.tolist()


def swapped(*limits, racks="abb", **given):
    brokers = a_cluster(list(racks), max_replicas=limits, **given)
    placements = some_placements([[0], [1]], sizes=[5, 7])
    return brokers, placements, replace(placements.replicas, values=placements.replicas.values[::-1].copy())


def test_full_brokers_that_swap_have_no_order_without_room_elsewhere():
    with pytest.raises(Infeasible) as raised:
        in_batches(*swapped(1, 1, 0), BatchLimits(), "none")
    assert str(raised.value) == (
        "Brokers 0, 1 are full and cannot exchange replicas: while a replica moves it is on both brokers, so no order of the "
        "moves keeps max_replicas. No other broker has room for a replica meanwhile."
    )
    assert [(each.rule, each.detail) for each in raised.value.clash] == [
        ("max_replicas", "max_replicas of broker 0 is 1, and it has 1.")
    ]
    assert raised.value.remedies == ("Raise max_replicas by 1 on broker 0.",)


def test_room_in_bytes_is_named_too():
    with pytest.raises(Infeasible) as raised:
        in_batches(*swapped(NO_LIMIT, NO_LIMIT, NO_LIMIT, capacity_bytes=[7, 7, 1]), BatchLimits(), "none")
    assert raised.value.remedies == ("Add room for 7 more bytes on broker 0.",)


def test_no_detour_leads_to_a_broker_that_is_to_be_left():
    question = swapped(1, 1, 1)
    assert len(in_batches(*question, BatchLimits(), "none").detours) == 1
    question[0].draining[2] = True
    with pytest.raises(Infeasible, match="Brokers 0, 1 are full"):
        in_batches(*question, BatchLimits(), "none")


def test_a_detour_keeps_the_rack_rule():
    """Only broker 2 has room, and all partitions have another replica on its rack."""
    brokers = a_cluster(list("bbaa"), max_replicas=[1, 1, 1, 2])
    placements = some_placements([[0, 3], [1, 3]])
    target = replace(placements.replicas, values=np.array([1, 3, 0, 3], np.int32))
    with pytest.raises(Infeasible) as raised:
        in_batches(brokers, placements, target, BatchLimits(), "strict")
    assert raised.value.remedies == ("Raise max_replicas by 1 on broker 0.", 'Set racks = "none".')
    assert len(in_batches(brokers, placements, target, BatchLimits(), "none").detours) == 1


def test_of_two_replicas_the_one_with_room_goes_first():
    """Partition 0 goes 0, 1 → 2, 3 and partition 1 goes 2 → 0: broker 2 has room once 0 has, and 3 has room now."""
    brokers = a_cluster(["a"] * 4, max_replicas=[1, 1, 1, 1])
    placements = some_placements([[0, 1], [2]])
    target = replace(placements.replicas, values=np.array([2, 3, 0], np.int32))
    batches = in_batches(brokers, placements, target, BatchLimits(), "none")
    assert (len(batches.detours), batches.cost("replicas"), len(batches)) == (1, 3, 3)


@pytest.mark.parametrize("objective", ["fewest-moves", "even"])
def test_a_partition_stays_where_its_detour_leads_if_that_is_as_good(objective):
    """The rack rule makes brokers 1 and 3 exchange a replica; broker 4 may as well keep the one that it takes."""
    brokers = a_cluster(list("aabbb"), max_replicas=[1] * 5)
    placements = some_placements([[0, 1], [2, 3]])
    answer, batches = plan_in_batches(brokers, placements, Goal(objective), BatchLimits())
    assert (len(batches.detours), batches.cost("replicas"), answer.gap) == (0, 2, 0)


def test_a_detour_is_worth_an_even_load():
    """The same, but broker 4 is to have little."""
    brokers = a_cluster(list("aabbb"), max_replicas=[1] * 5, weights=[1, 1, 1, 1, 0.5])
    placements = some_placements([[0, 1], [2, 3]])
    answer, batches = plan_in_batches(brokers, placements, Goal("even"), BatchLimits())
    assert (len(batches.detours), batches.cost("replicas"), answer.gap) == (1, 3, 0.5)
    assert plan_in_batches(brokers, placements, Goal(), BatchLimits())[1].cost("replicas") == 2


def test_partitions_that_lack_replicas_in_sync_come_first_then_by_size():
    """All leave broker 0. Partitions 3 and 4 (broker 5 is gone) have no replica in sync to spare, 2 has one."""
    brokers = a_cluster([None] * 6, draining=[True, *[False] * 5], listed=[True] * 5 + [False])
    rows = [[0, 1], [0, 2], [0, 1, 2], [0, 1], [0, 5]]
    placements = some_placements(rows, factors=[2, 2, 3, 2, 1], sizes=[30, 10, 5, 5, 20])
    in_sync = np.array([True] * 4 + [True, True, False] + [True, False] + [True, True])
    for order, expected in (("largest-first", [4, 3, 2, 0, 1]), ("smallest-first", [3, 4, 2, 1, 0])):
        asked = replace(placements, in_sync=in_sync, min_in_sync=np.array([1, 1, 1, 1, 1], np.int32))
        answer = plan(brokers, asked, Goal(racks="none"))
        batches = in_batches(brokers, asked, answer.replicas, BatchLimits(moves_per_batch=1, order=order), "none")
        assert np.argsort(batches.batch_of).tolist() == expected


def test_no_step_leaves_fewer_replicas_in_sync_than_a_topic_needs():
    """Broker 2 is behind and stays, broker 1 leaves: only broker 0 would be in sync."""
    brokers = a_cluster([None] * 4, draining=[False, True, False, False])
    placements = some_placements([[0, 1, 2]], factors=[2])
    asked = replace(placements, in_sync=np.array([True, True, False]), min_in_sync=np.array([2], np.int32))
    target = replace(placements.replicas, offsets=np.array([0, 2], np.int32), values=np.array([0, 2], np.int32))
    with pytest.raises(Infeasible, match="min_insync_replicas of t-0 is 2, and the step would leave it with 1 in sync"):
        in_batches(brokers, asked, target, BatchLimits(), "none")
    copied = replace(target, values=np.array([0, 3], np.int32))
    assert in_batches(brokers, asked, copied, BatchLimits(), "none").cost("replicas") == 1
    assert len(in_batches(brokers, replace(asked, min_in_sync=np.array([1], np.int32)), target, BatchLimits(), "none")) == 1


@pytest.mark.parametrize(
    ("racks", "rows", "most", "draining"),
    [
        ("abbab", [[3, 0], [2], [1, 3]], [1, 1, 1, 3, 0], None),
        ("bba", [[2], [1, 2], [0, 2], [0, 1]], [3, 2, 3], None),
        ("abbba", [[2, 1], [4, 0], [4, 1], [4]], [1, 2, 2, 0, 3], None),
        ("aaab", [[3], [2, 0]], [1, 1, 2, 1], [1]),
    ],
)
def test_of_plans_that_are_as_good_one_without_detours_is_taken(racks, rows, most, draining):
    """Each had one, by trying all placements, and the plan took a detour."""
    brokers = replace(
        a_cluster(list(racks), draining=[b in (draining or ()) for b in range(len(racks))]), max_replicas=np.array(most)
    )
    placements, goal = some_placements(rows), Goal("even")
    answer, batches = plan_in_batches(brokers, placements, goal, BatchLimits())
    after = lists_of(answer.replicas)
    assert not batches.detours
    assert judged(brokers, rows, [frozenset(row) for row in after], goal) == best(brokers, placements, goal)
    assert batches.cost("replicas") == sum(len(set(new) - set(old)) for old, new in zip(rows, after, strict=True))


def an_order_exists(brokers, rows, targets):
    """Is there an order, one partition after another, in which a copied replica always has room? By trying all of them."""
    seen, waiting = set(), [frozenset()]
    while waiting:
        done = waiting.pop()
        if len(done) == len(rows):
            return True
        counts = np.bincount(
            [b for i, row in enumerate(rows) for b in (targets[i] if i in done else row)], minlength=len(brokers)
        )
        for i in set(range(len(rows))) - done:
            fits = all(counts[b] < brokers.max_replicas[b] for b in set(targets[i]) - set(rows[i]))
            if fits and (following := done | {i}) not in seen:
                seen.add(following)
                waiting.append(following)
    return False


@given(relabelled())
def test_detours_come_only_where_no_order_of_all_orders_has_room(question):
    """If partitions move one replica each; of several, one may go first although there is an order without that."""
    brokers, placements, target = question[:3]
    brokers = replace(brokers, capacity_bytes=np.full(len(brokers), NO_LIMIT, np.int64))
    rows, targets = lists_of(placements.replicas), lists_of(target)
    try:
        detours = in_batches(brokers, placements, target, BatchLimits(), "none").detours
    except Infeasible:
        assert not an_order_exists(brokers, rows, targets)
        return
    exists = an_order_exists(brokers, rows, targets)
    assert detours or exists
    if all(len(set(target) - set(row)) <= 1 for row, target in zip(rows, targets, strict=True)):
        assert not (detours and exists)
