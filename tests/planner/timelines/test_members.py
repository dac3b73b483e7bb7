"""Incarnations, their columns and their ids; and the members that a coordinator has."""

from __future__ import annotations

import numpy as np

from service.planner.timelines.members import Member, Members, Present
from service.planner.timelines.model import NEVER
from service.strategies import GROUP_PROTOCOLS

RANGE = (GROUP_PROTOCOLS["classic"]["range"],)
COOPERATIVE = (GROUP_PROTOCOLS["classic"]["cooperative-sticky"],)


def member(name: str, instance_id: str | None = None, assignors: tuple = RANGE) -> Member:
    return Member(name, name, instance_id, None, assignors, "classic")


def test_columns_grow_and_keep_what_they_have() -> None:
    members = Members()
    for i in range(200):
        one = member(f"c{i}", assignors=RANGE if i % 2 else COOPERATIVE)
        members.start(i, one, (i % 3,))
        assert one.number == i
        members.columns.generation[i] = 1_000 + i
    columns = members.columns
    assert columns.beat[:200].tolist() == list(range(200))
    assert columns.generation[:200].tolist() == list(range(1_000, 1_200))
    assert (columns.died[:200] == NEVER).all()
    assert columns.eager[:4].tolist() == [False, True, False, True]
    assert len(members.assignor_lists) == 2
    assert [members.topics_of(i) for i in range(4)] == [(0,), (1,), (2,), (0,)]
    assert members.joined_topics(np.array([0, 2, 3], np.int32)) == [0, 2]


def test_an_incarnation_has_what_the_former_had_but_its_id() -> None:
    """The id is drawn anew for each start, and is never one that another incarnation has."""
    members = Members()
    first = member("c1", instance_id="i1")
    members.start(5, first, (0,))
    again = members.successor(first, None, assignors=COOPERATIVE)
    members.start(9, again, (0,))
    third = members.successor(again, None)
    assert (again.name, again.instance_id, again.assignors, again.number, again.started_ms) == ("c1", "i1", COOPERATIVE, 1, 9)
    assert again.member_id.startswith("i1-")
    assert len({first.member_id, again.member_id, third.member_id}) == 3
    assert members.successor(first, "given").member_id == "given"
    assert members.derived == [(again.member_id, "c1"), (third.member_id, "c1")]
    assert Members().successor(first, None).member_id == again.member_id  # and the same for the same question


def test_the_members_that_a_coordinator_has_are_in_the_order_in_which_it_got_them() -> None:
    present = Present()
    for number, name in ((3, "a"), (1, "b"), (2, "c")):
        one = member(name, instance_id=name if name != "c" else None)
        one.number = number
        present[number] = one
    assert present.numbers().tolist() == [3, 1, 2]
    assert present.with_instance("b") is present[1]
    del present[1]
    assert present.numbers().tolist() == [3, 2]
    assert present.with_instance("b") is None
    assert present.with_instance(None) is None
