"""The least that an assignment must move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import KafkaAssignorFails
from service.core.ragged import transposed
from service.planner import rebalances
from service.planner.kinds import split_kinds
from service.planner.rebalances import fewest_possible_moves, movement
from service.strategies import GROUP_PROTOCOLS
from tests.reference.movement import fewest_possible_moves as fewest_by_trial
from tests.support.groups import bodies, group_of

MEMBERS = ("a", "b", "c")
TOPICS = {"t": 3, "u": 2, "v": 1}


def tiny(draw_topics, draw_claims):
    """A group of three members and three topics, six partitions in all."""
    return {
        "topics": [{"topic_name": name, "partitions_count": count} for name, count in TOPICS.items()],
        "members": [
            {
                "member_id": member,
                "topic_names": sorted(topics),
                "generation_id": 1,
                "owned_partitions": [{"topic_name": name, "partition_ids": [i]} for name, i in claims],
            }
            for member, topics, claims in zip(MEMBERS, draw_topics, draw_claims, strict=True)
        ],
    }


SUBSCRIPTIONS = st.one_of(
    st.lists(st.sets(st.sampled_from([*TOPICS, "unknown"])), min_size=3, max_size=3),
    st.just([{*TOPICS}] * 3),
)
CLAIMS = st.lists(
    st.lists(st.sampled_from([(name, i) for name, count in TOPICS.items() for i in range(count + 1)]), max_size=7),
    min_size=3,
    max_size=3,
)


def by_trial(body, loads):
    """The plain twin's answer."""
    members = {one["member_id"]: one for one in body["members"]}
    partitions = [(name, i) for name, count in TOPICS.items() for i in range(count)]
    claims = {m: {(own["topic_name"], *own["partition_ids"]) for own in one["owned_partitions"]} for m, one in members.items()}
    readers = [{m for m, one in members.items() if name in one["topic_names"]} for name, _ in partitions]
    return fewest_by_trial(
        [{m for m in members if partition in claims[m]} for partition, some in zip(partitions, readers, strict=True) if some],
        [some for some in readers if some],
        list(MEMBERS),
        loads,
    )


@given(SUBSCRIPTIONS, CLAIMS, st.sampled_from(["range", "roundrobin", "sticky"]))
def test_no_assignment_as_balanced_moves_fewer(subscriptions, claims, assignor):
    """Subscriptions differ, partitions are claimed twice, or by those who may not have them: every assignment is tried."""
    body = tiny(subscriptions, claims)
    group = group_of(body)
    try:
        loads = GROUP_PROTOCOLS["classic"][assignor].run(group).rows.lengths()
    except KafkaAssignorFails:
        return
    if loads.sum() == sum(TOPICS[name] for name in TOPICS if any(name in topics for topics in subscriptions)):
        assert fewest_possible_moves(group, loads) == by_trial(body, loads.tolist())


@given(bodies(min_members=1, sound=True), st.sampled_from(["range", "roundrobin", "sticky"]))
def test_what_an_assignor_moves_is_never_less(body, assignor):
    group = group_of(body)
    assignment = GROUP_PROTOCOLS["classic"][assignor].run(group)
    moves = movement(group, transposed(assignment.rows, group.topics.partitions_count + len(group.unknown_partitions)))
    fewest = fewest_possible_moves(group, assignment.rows.lengths())
    assert fewest is not None
    assert fewest <= moves.moved


def test_sticky_moves_no_more_than_it_must_where_all_subscribe_alike():
    owned = [[("t", 0), ("t", 1), ("t", 2), ("u", 0)], [("u", 1)], [("v", 0)]]
    group = group_of(tiny([{*TOPICS}] * 3, owned))
    assert fewest_possible_moves(group, np.array([2, 2, 2], np.int32)) == 2


def test_partitions_that_no_owner_may_keep_must_move():
    """Who owns all of t does not subscribe to it any more."""
    group = group_of(tiny([{"u"}, {"t"}, {"t", "v"}], [[("t", 0), ("t", 1), ("t", 2)], [], []]))
    assert fewest_possible_moves(group, np.array([2, 2, 2], np.int32)) == 3


@pytest.mark.parametrize(("contested", "fewest"), [(False, 1), (True, 0)])
def test_a_contested_partition_stays_with_any_of_its_claimants(contested, fewest):
    owned = [[("t", 0), ("t", 1), ("t", 2)], [("u", 0), ("u", 1)], [("t", 2)] if contested else []]
    group = group_of(tiny([{"t", "u"}] * 3, owned))
    assert fewest_possible_moves(group, np.array([2, 2, 1], np.int32)) == fewest


def test_partitions_with_several_members_have_no_such_number():
    group = group_of(tiny([{*TOPICS}] * 3, [[], [], []]))
    assert fewest_possible_moves(group, np.array([6, 6, 6], np.int32)) is None


def test_a_network_that_would_hold_up_the_answer_is_left_alone(monkeypatch):
    group = group_of(tiny([{"t"}, {"u"}, {"v"}], [[], [], []]))
    loads = np.array([3, 2, 1], np.int32)
    assert fewest_possible_moves(group, loads) == 0
    monkeypatch.setattr(rebalances, "LARGEST_NETWORK", 20)
    assert fewest_possible_moves(group, loads) is None


@given(st.lists(st.sets(st.integers(0, 9)), max_size=6), st.lists(st.integers(-1, 2), min_size=10, max_size=10))
def test_what_is_split_kinds_differs_in_kind_or_in_a_row(rows, kinds):
    offsets = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int32)
    values = np.array([value for row in rows for value in sorted(row)], np.int32)
    apart = split_kinds(np.array(kinds, np.int32), offsets, values)
    seen = [(kind, *(value in row for row in rows)) if kind >= 0 else None for value, kind in enumerate(kinds)]
    for one in range(10):
        assert (apart[one] == -1) == (kinds[one] == -1)
        for other in range(10):
            assert (apart[one] == apart[other]) == (seen[one] == seen[other])
