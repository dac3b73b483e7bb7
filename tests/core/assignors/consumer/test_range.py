"""The range assignor of consumer groups is the group coordinator's RangeAssignor."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from service.core.assignors.consumer import range as consumer_range
from tests.reference import server_assignors as reference
from tests.support import golden
from tests.support.groups import bodies, flat, group_of, named
from tests.support.parity import group_coordinator
from tests.support.server_groups import coordinator_bodies

KAFKA = "org.apache.kafka.coordinator.group.assignor.RangeAssignor"


def assigned(body):
    group = group_of(body)
    return named(group, consumer_range.assign(group).rows)


@golden.each("groups/consumer-range", "groups/consumer-range-sequences", "groups/consumer-range-large")
def test_gives_what_kafka_was_recorded_to_give(case):
    assert assigned(case["request"]) == flat(case["expected"]["assignments"])


@given(coordinator_bodies() | bodies())
def test_agrees_with_its_plain_twin(body):
    try:
        expected = reference.range_(body)
    except reference.Tree:
        assume(False)
    assert {member: sorted(partitions) for member, partitions in assigned(body).items()} == {
        member: sorted(partitions) for member, partitions in expected.items()
    }


@pytest.mark.slow
@given(coordinator_bodies(ids=True))
def test_agrees_with_the_real_class(body):
    assert assigned(body) == flat(group_coordinator().assign(KAFKA, body)["assignments"])


def test_explains_the_order_and_each_topic_s_quota():
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 3}],
        "members": [{"member_id": "a"}, {"member_id": "b", "instance_id": "i"}],
    }
    group = group_of(body)
    told = consumer_range.explain(group, consumer_range.assign(group), 10)
    assert [(one["member_id"], one["because"]) for one in told["order"]] == [
        ("b", "static, by instance_id"),
        ("a", "dynamic, by member_id"),
    ]
    assert told["topics"] == [
        {
            "topic_name": "t",
            "partitions_count": 3,
            "subscribers_count": 2,
            "quota": 1,
            "extra_partitions": 1,
            "members_with_one_more": ["b"],
        }
    ]


def test_the_topics_of_an_explanation_name_as_many_members_as_its_limit_in_all():
    """A thousand names for each of a thousand topics took 6 GB."""
    body = {
        "topics": [{"topic_name": name, "partitions_count": 5} for name in "tuv"],
        "members": [{"member_id": name} for name in "abc"],
    }
    group = group_of(body)
    topics = consumer_range.explain(group, consumer_range.assign(group), 3)["topics"]
    assert [topic["members_with_one_more"] for topic in topics] == [["a", "b"], ["a"], []]
