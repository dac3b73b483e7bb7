"""``balanced`` is the best assignment, in all four aims, and says so."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from service.core.budget import limited
from service.core.errors import AllocatorError
from service.core.model import NONE, Group, Ragged, Topics
from service.core.ragged import transposed
from service.planner.balanced import balanced
from service.planner.rebalances import movement
from service.strategies import GROUP_PROTOCOLS, KAFKAS
from tests.reference.balanced_groups import best
from tests.reference.movement import no_less_even
from tests.support.groups import bodies, group_of, named
from tests.support.time_limits import Looks


def ragged(rows):
    """Rows as arrays."""
    return Ragged(np.cumsum([0, *map(len, rows)], dtype=np.int32), np.array([value for row in rows for value in row], np.int32))


def random_group(draw, members, sizes, racks, claim):
    """A group in which everything is drawn.

    sizes : partitions of each topic; racks : 0: none
    claim : how many members claim a partition, on average; some claim what they do not read, or twice
    """
    partitions = sum(sizes)
    alike = draw.random() < 0.2
    lists = [[topic for topic in range(len(sizes)) if alike or draw.random() < 0.6] for _ in range(members)]
    claims = [[p for p in range(partitions) if draw.random() < claim / members] for _ in range(members)]
    owned = [draw.sample(row, len(row)) + row[: draw.random() < 0.1] for row in claims]
    replicas = [[rack for rack in range(racks) if draw.random() < 0.5] for _ in range(partitions)]
    return Group(
        topics=Topics(
            names=tuple(f"t{topic}" for topic in range(len(sizes))),
            first=np.cumsum([0, *sizes], dtype=np.int32),
            racks=ragged(replicas) if racks else None,
            ids=(None,) * len(sizes),
        ),
        member_ids=tuple(f"m{i}" for i in draw.sample(range(100), members)),
        instance_ids=(None,) * members,
        rack_ids=tuple("abcdefgh"[:racks]),
        racks=np.array([draw.randrange(-1, racks) if racks else NONE for _ in range(members)], np.int32),
        subscriptions=ragged(lists),
        generations=np.ones(members, np.int32),
        owned=ragged(owned),
        unknown_topic_names=(),
        unknown_partitions=np.empty((0, 2), np.int32),
    )


def owned_unevenly(draw, group):
    """The same with members that subscribe alike, where most partitions have one owner: what a formula answers."""
    topics, count = len(group.topics), group.topics.partitions_count
    owners = [draw.choice([0, 0, 0, draw.randrange(len(group)), None]) for _ in range(count)]
    owned = [[p for p, owner in enumerate(owners) if owner == member] for member in range(len(group))]
    return replace(group, subscriptions=ragged([list(range(topics))] * len(group)), owned=ragged(owned))


def relations(group):
    """Of each partition that members read: these, those that claim it, those on its racks; and the partitions."""
    topics, _ = group.topic_partitions(np.arange(group.topics.partitions_count, dtype=np.int32))
    members = range(len(group))
    lists, owned = ([set(rows.row(m).tolist()) for m in members] for rows in (group.subscriptions, group.owned))
    readers = [{m for m in members if topic in lists[m]} for topic in topics.tolist()]
    claims = [{m for m in members if p in owned[m]} for p in range(len(topics))]
    racks = group.topics.racks
    near = [{m for m in members if racks is not None and group.racks[m] in racks.row(p)} for p in range(len(topics))]
    read = [p for p, some in enumerate(readers) if some]
    return [[each[p] for p in read] for each in (readers, claims, near)], read


def found(group, assignment):
    """The loads, most first, the moves and the partitions read nearby; each partition that is read has one reader."""
    (readers, _, near), read = relations(group)
    owners = transposed(assignment.rows, group.topics.partitions_count + len(group.unknown_partitions))
    assert np.flatnonzero(owners.lengths()).tolist() == read
    assert len(owners.values) == len(read)
    holders = [int(owners.row(p)[0]) for p in read]
    assert all(holder in some for holder, some in zip(holders, readers, strict=True))
    close = sum(holder in some for holder, some in zip(holders, near, strict=True))
    return tuple(sorted(assignment.rows.lengths().tolist(), reverse=True)), movement(group, owners).moved, close


def values(assignment):
    """The value and the bound of each objective that applies, by name."""
    return {name: (each.value, each.bound) for name, each in vars(assignment.certificate).items() if each is not None}


@pytest.mark.parametrize("seed", range(4))
def test_no_assignment_is_better_in_any_aim(seed):
    """800 small groups, against every assignment of each."""
    draw = random.Random(seed)
    for _ in range(200):
        sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 4))]
        group = random_group(draw, draw.randint(1, 4), sizes, draw.choice([0, 0, 2, 3]), draw.choice([0, 0.7, 1.5]))
        group = owned_unevenly(draw, group) if draw.random() < 0.3 else group
        (readers, claims, near), _ = relations(group)
        assignment = balanced.assign(group)
        even, moves, close = best(readers, claims, near, len(group))
        assert found(group, assignment) == (even, moves, close)
        expected = {"coverage": len(readers), "load": even[0], "evenness": sum(load**2 for load in even), "moves": moves}
        if group.topics.racks is not None and (group.racks != NONE).any():
            expected["rack_local"] = close
        assert values(assignment) == {name: (value, value) for name, value in expected.items()}


@given(bodies(), st.data())
@settings(max_examples=20)
def test_the_order_of_the_request_plays_no_part(body, data):
    group = group_of(body)
    members, topics = (data.draw(st.permutations(body[name])) for name in ("members", "topics"))
    again = group_of({"members": members, "topics": topics})
    assert named(group, balanced.assign(group).rows) == named(again, balanced.assign(again).rows)


KAFKAS_OWN = [(protocol, each.name) for protocol in ("classic", "consumer") for each in KAFKAS[protocol]]


@pytest.mark.parametrize(("protocol", "name"), KAFKAS_OWN)
@given(bodies(min_members=1, sound=True))
@settings(max_examples=20)
def test_no_assignor_of_kafkas_is_more_even_or_as_even_with_fewer_moves(protocol, name, body):
    group = group_of({**body, "topics": [{**topic, "partition_weights": None} for topic in body["topics"]]})
    try:
        theirs = GROUP_PROTOCOLS[protocol][name].run(group)
    except AllocatorError:
        return
    loads, moves, _ = found(group, balanced.assign(group))
    their_loads = theirs.final_loads().tolist()
    assert no_less_even(list(loads), their_loads)
    if theirs.withheld is None and sorted(their_loads, reverse=True) == list(loads):
        assert moves <= found(group, theirs)[1]


def by_integer_program(readers, claims, near, members, max_moves=None):
    """The largest load, the sum of squares, the moves, the partitions read nearby, each the best in turn: integer programmes.

    max_moves : at most so many; None: any number
    """
    pairs = [(p, m) for p, some in enumerate(readers) for m in sorted(some)]
    most = len(readers)
    steps = list(product(range(members), range(most)))  # a member's k-th partition costs 2k + 1 in squares
    width = len(pairs) + len(steps) + 1  # the last: the largest load
    rows, largest = np.zeros((len(readers) + members, width)), np.zeros((members, width))
    for column, (p, m) in enumerate(pairs):
        rows[p, column] = rows[len(readers) + m, column] = 1
    for column, (m, _) in enumerate(steps, len(pairs)):
        rows[len(readers) + m, column] = -1
        largest[m, column] = 1
    largest[:, -1] = -1
    sides = np.append(np.ones(len(readers)), np.zeros(members))
    zeros = np.zeros(len(steps) + 1)
    aims = [
        np.append(np.zeros(width - 1), 1),
        np.concatenate([np.zeros(len(pairs)), [2 * k + 1 for _, k in steps], [0]]),
        np.append([bool(claims[p]) and m not in claims[p] for p, m in pairs], zeros),
        np.append([m not in near[p] for p, m in pairs], zeros),
    ]
    limit = np.inf if max_moves is None else max_moves
    constraints = [
        LinearConstraint(rows, sides, sides),
        LinearConstraint(largest, -np.inf, 0),
        LinearConstraint(aims[2][None], 0, limit),
    ]
    upper = np.append(np.ones(width - 1), most)
    values = []
    for aim in aims:
        solved = milp(aim, integrality=np.ones(width), bounds=Bounds(0, upper), constraints=constraints)
        values.append(round(solved.fun))
        constraints.append(LinearConstraint(aim[None], -np.inf, values[-1] + 0.5))
    return *values[:3], len(readers) - values[3]


@pytest.mark.parametrize("seed", range(6))
def test_integer_programmes_find_the_same(seed):
    """Middling groups: HiGHS says what is best."""
    draw = random.Random(seed)
    group = random_group(draw, 8, [draw.randint(2, 8) for _ in range(8)], draw.choice([0, 3]), 1.2)
    relation, _ = relations(group)
    loads, moves, close = found(group, balanced.assign(group))
    assert (loads[0], sum(load**2 for load in loads), moves, close) == by_integer_program(*relation, len(group))


@pytest.mark.parametrize("alike", [True, False])
def test_partitions_of_a_topic_go_to_different_members_where_nothing_else_decides(alike):
    """By the formula, and by the flow, where one member reads nothing."""
    group = random_group(random.Random(1), 5, [4, 4], 0, 0)
    lists = [[0, 1]] * 4 + [[0, 1] if alike else []]
    group = replace(group, subscriptions=ragged(lists), owned=ragged([[]] * 5))
    rows = balanced.assign(group).rows
    of_each = [sorted((rows.row(member) // 4).tolist()) for member in range(4)]
    assert all(len(set(topics)) == len(topics) for topics in of_each)


def test_memory_is_reserved_before_kinds_and_networks_are_made():
    group = random_group(random.Random(2), 4, [3, 3, 3], 2, 1)
    weights = np.arange(9, dtype=np.float64)
    for each in (group, replace(group, topics=replace(group.topics, weights=weights))):
        reserved: list[int] = []
        with limited(Looks(lambda: None, reserved.append)):
            balanced.assign(each)
        (count,) = reserved
        assert count > balanced.SUBSCRIPTION_BYTES * len(group.subscriptions.values)


def test_time_is_looked_at_and_ends_the_search():
    group = random_group(random.Random(2), 4, [3, 3, 3], 0, 1)

    def over() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError), limited(Looks(over)):
        balanced.assign(group)
