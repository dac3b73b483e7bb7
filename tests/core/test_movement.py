"""What an assignment moves."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.assignors import GROUP_PROTOCOLS
from service.core.grouping import transposed
from service.core.movement import fewest_possible_moves, movement
from tests.groups import bodies, group_of, named
from tests.reference.movement import fewest_possible_moves as fewest_by_trial
from tests.reference.movement import movement as plain


def moved(body, assignor="range"):
    group = group_of(body)
    assignment = GROUP_PROTOCOLS["classic"][assignor].run(group)
    holders = transposed(assignment, group.topics.partitions_count + len(group.unknown_partitions))
    return group, assignment, movement(group, holders)


@given(bodies())
@settings(max_examples=500, deadline=None)
def test_agrees_with_its_plain_twin(body):
    group, assignment, moves = moved(body)
    assert astuple(moves) == plain(named(group, group.owned), named(group, assignment))


@given(bodies(min_members=1))
@settings(max_examples=200, deadline=None)
def test_what_is_held_and_what_was_owned_add_up(body):
    _, assignment, moves = moved(body, "roundrobin")
    assert moves.retained + moves.moved + moves.added == len(assignment.values)
    owned = {(m["member_id"], p["topic_name"], i) for m in body["members"] for p in m.get("owned_partitions", ())
             for i in p["partition_ids"]}  # fmt: skip
    assert moves.retained + moves.revoked == len(owned)


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        ({}, (0, 0, 3, 0)),
        ({"a": [0, 1], "b": [2]}, (3, 0, 0, 0)),
        ({"a": [0], "b": [1, 2]}, (2, 1, 0, 1)),
        ({"a": [0, 0, 1], "b": [1]}, (2, 0, 1, 1)),  # named twice; claimed by both
        ({"b": [0, 7]}, (0, 1, 2, 2)),  # and a partition that does not exist
    ],
)
def test_counts_each_member_and_partition(owned, expected):
    members = [
        {"member_id": member, "owned_partitions": [{"topic_name": "t", "partition_ids": owned.get(member, [])}]}
        for member in "ab"
    ]
    assert astuple(moved({"topics": [{"topic_name": "t", "partitions_count": 3}], "members": members})[2]) == expected


@given(
    st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=6), st.sampled_from(["range", "roundrobin", "sticky"])
)
@settings(max_examples=200, deadline=None)
def test_no_assignment_with_the_same_loads_moves_fewer(owner_of, assignor):
    group = group_of(
        {
            "topics": [{"topic_name": "t", "partitions_count": len(owner_of)}],
            "members": [
                {
                    "member_id": member,
                    "generation_id": 1,
                    "owned_partitions": [
                        {"topic_name": "t", "partition_ids": [i for i, o in enumerate(owner_of) if o == member]}
                    ],
                }
                for member in "abc"
            ],
        }
    )
    loads = GROUP_PROTOCOLS["classic"][assignor].run(group).lengths()
    assert fewest_possible_moves(group, loads) == fewest_by_trial(owner_of, list("abc"), loads.tolist())


@given(bodies(min_members=1, sound=True))
@settings(max_examples=300, deadline=None)
def test_nothing_that_is_assigned_moves_fewer_than_the_fewest(body):
    group, assignment, moves = moved(body, "roundrobin")
    fewest = fewest_possible_moves(group, assignment.lengths())
    assert fewest is None or fewest <= moves.moved


def test_what_differing_members_or_a_contested_partition_must_move_is_not_said():
    topics = [{"topic_name": name, "partitions_count": 2} for name in "tu"]
    differing = [{"member_id": "a", "topic_names": ["t"]}, {"member_id": "b"}]
    owning = [{"topic_name": "t", "partition_ids": [0]}]
    contested = [{"member_id": member, "owned_partitions": owning} for member in "ab"]
    for members in (differing, contested):
        group, assignment, _ = moved({"topics": topics, "members": members})
        assert fewest_possible_moves(group, assignment.lengths()) is None
