"""The classic range assignor is Kafka's RangeAssignor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.assignors.classic import range as classic_range
from tests.reference import assignors as reference
from tests.support import golden
from tests.support.groups import bodies, flat, group_of, named
from tests.support.parity import group_leader

KAFKA = "org.apache.kafka.clients.consumer.RangeAssignor"


def assigned(body):
    group = group_of(body)
    return named(group, classic_range.assign(group).rows)


@golden.each("groups/classic-range", "groups/classic-range-sequences", "groups/classic-range-large")
def test_gives_what_kafka_was_recorded_to_give(case):
    assert assigned(case["request"]) == flat(case["expected"]["assignments"])


@given(bodies())
def test_agrees_with_its_plain_twin(body):
    assert assigned(body) == {member: in_order(parts) for member, parts in reference.range_(body).items()}


@given(bodies(min_members=1, racks=True))
def test_agrees_with_its_plain_twin_on_racks(body):
    assert assigned(body) == {member: in_order(parts) for member, parts in reference.range_(body).items()}


@pytest.mark.slow
@given(st.one_of(bodies(), bodies(min_members=1, racks=True)))
def test_agrees_with_the_real_class(body):
    assert assigned(body) == flat(group_leader().assign(KAFKA, body)["assignments"])


def in_order(partitions):
    """By topic name as Java sorts, then by id."""
    return sorted(partitions, key=lambda partition: (reference.utf16(partition[0]), partition[1]))


def example(**members):
    """Two topics of three partitions, the second's on one rack each."""
    return {
        "topics": [
            {"topic_name": "t", "partitions_count": 3},
            {"topic_name": "u", "partitions_count": 3, "partition_racks": [["a"], ["b"], ["c"]]},
        ],
        "members": [{"member_id": member_id, **member} for member_id, member in members.items()],
    }


def test_explains_quota_racks_and_who_gets_one_more():
    body = example(A={"rack_id": "b"}, B={"instance_id": "i"})
    group = group_of(body)
    told = classic_range.explain(group, classic_range.assign(group), 100)["co_partitioned"]
    assert [one["topics"][0]["topic_name"] for one in told] == ["t"]
    assert [topic["racks"].split(":")[0] for topic in told[0]["topics"]] == ["do not matter", "matter"]
    assert (told[0]["quota"], told[0]["subscribers_with_one_more"]) == (1, 1)
    assert told[0]["step_1"] == "racks matched for all these topics together, partition by partition"
    assert [(one["member_id"], one["one_more"]) for one in told[0]["subscribers"]] == [("B", True), ("A", False)]


@given(bodies(), st.integers(1, 3))
def test_an_explanation_stays_within_its_limit(body, limit):
    group = group_of(body)
    told = classic_range.explain(group, classic_range.assign(group), limit)["co_partitioned"]
    assert sum(len(one["topics"]) for one in told) <= limit
    assert sum(len(one["subscribers"]) for one in told) <= limit
