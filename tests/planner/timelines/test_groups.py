"""The group as an assignor sees it, against rows that are put together member by member."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import NONE
from service.planner.timelines.course import Course
from service.planner.timelines.members import Member
from service.strategies import GROUP_PROTOCOLS
from tests.support.simulations import simulation

RANGE = (GROUP_PROTOCOLS["classic"]["range"],)
TOPICS = {"a": 3, "b": 2, "gone": 4}


@given(data=st.data())
def test_a_group_has_what_its_members_claim(data: st.DataObject) -> None:
    topics = [
        {"topic_name": name, "partitions_count": count, "partition_racks": [["r"]] * count} for name, count in TOPICS.items()
    ]
    course = Course(simulation("classic", topics=topics, members=[{"member_id": "c", "rack_id": "r"}]).course.timeline)
    world, names = course.timeline.world, list(course.timeline.world.names)
    subscriptions = data.draw(st.lists(st.lists(st.sampled_from(names), unique=True), min_size=1, max_size=5))
    for i, subscribed in enumerate(subscriptions):
        one = Member(f"c{i}", f"c{i}", None, "r" if i % 2 else None, RANGE, "classic")
        course.start(one, tuple(names.index(name) for name in subscribed))
    course.topology.change(0, names.index("gone"), 0)
    version = data.draw(st.integers(0, 1))
    numbers = np.array(data.draw(st.permutations(range(len(subscriptions)))), np.int32)
    owner = np.array(data.draw(st.lists(st.integers(NONE, len(numbers) - 1), min_size=9, max_size=9)), np.int32)

    group = course.groups.claiming(numbers, course.topology.view(version), owner)
    existing = [name for name in names if version == 0 or name != "gone"]
    assert list(group.topics.names) == existing
    assert list(group.unknown_topic_names) == [name for name in names if name not in existing]
    assert list(group.member_ids) == [f"c{number}" for number in numbers]
    assert [group.rack_ids[rack] if rack != NONE else None for rack in group.racks] == ["r" if n % 2 else None for n in numbers]
    every = [*group.topics.names, *group.unknown_topic_names]
    pairs = [(name, i) for name in existing for i in range(TOPICS[name])]
    unknown = [(every[topic], i) for topic, i in group.unknown_partitions.tolist()]
    for slot, number in enumerate(numbers.tolist()):
        assert [every[topic] for topic in group.subscriptions.row(slot)] == subscriptions[number]
        owned = [(pairs + unknown)[partition] for partition in group.owned.row(slot)]
        partitions = np.flatnonzero(owner == number).tolist()
        topic_of = [names[course.topology.topic_of[partition]] for partition in partitions]
        claimed = [(name, p - int(world.first[names.index(name)])) for name, p in zip(topic_of, partitions, strict=True)]
        assert sorted(owned) == sorted(claimed)
    assert unknown == sorted(unknown)


def test_a_group_that_is_larger_costs_more() -> None:
    course = simulation("classic").course
    spent = course.clock.spent
    course.groups.claiming(course.present.numbers()[:1], course.topology.view(0), np.full(6, NONE, np.int32))
    one = course.clock.spent - spent
    course.groups.claiming(course.present.numbers(), course.topology.view(0), np.full(6, NONE, np.int32))
    assert course.clock.spent - spent - one > one
