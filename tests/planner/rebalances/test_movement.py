"""What an assignment moves."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given

from service.core.ragged import transposed
from service.planner.rebalances import movement
from service.strategies import GROUP_PROTOCOLS
from tests.reference.movement import movement as plain
from tests.support.groups import bodies, group_of, named


def moved(body, assignor="range"):
    group = group_of(body)
    assignment = GROUP_PROTOCOLS["classic"][assignor].run(group)
    holders = transposed(assignment.rows, group.topics.partitions_count + len(group.unknown_partitions))
    return group, assignment, movement(group, holders)


@given(bodies())
def test_agrees_with_its_plain_twin(body):
    group, assignment, moves = moved(body)
    assert astuple(moves) == plain(named(group, group.owned), named(group, assignment.rows))


@given(bodies(min_members=1))
def test_what_is_held_and_what_was_owned_add_up(body):
    _, assignment, moves = moved(body, "roundrobin")
    assert moves.retained + moves.moved + moves.added == len(assignment.rows.values)
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
