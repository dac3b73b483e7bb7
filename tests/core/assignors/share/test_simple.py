"""The simple assignor of share groups is the group coordinator's SimpleAssignor."""

from __future__ import annotations

import base64

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.conformance.groups import change_of_coordinator
from service.core.assignors.share import simple
from service.core.errors import InvalidQuestion
from tests.reference import server_assignors as reference
from tests.support import golden
from tests.support.groups import flat, group_of, named
from tests.support.parity import group_coordinator
from tests.support.server_groups import coordinator_bodies

KAFKA = "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"


def assigned(body):
    group = group_of(body)
    return in_order(named(group, simple.assign(group).rows))


def in_order(given_to):
    return {member: sorted(partitions) for member, partitions in given_to.items()}


@golden.each("groups/share-simple", "groups/share-simple-sequences", "groups/share-simple-large")
def test_gives_what_kafka_was_recorded_to_give(case):
    assert assigned(case["request"]) == in_order(flat(case["expected"]["assignments"]))


@given(coordinator_bodies(shared=True))
def test_agrees_with_its_plain_twin(body):
    try:
        expected = reference.simple(body)
    except reference.Tree:
        assume(False)
    assert assigned(body) == in_order(expected)


@pytest.mark.slow
@given(coordinator_bodies(shared=True, ids=True), st.randoms(use_true_random=False))
def test_agrees_with_the_real_class_on_groups_that_live_on(body, random):
    for _ in range(4):
        answer = group_coordinator().assign(KAFKA, body)["assignments"]
        assert assigned(body) == in_order(flat(answer))
        body = change_of_coordinator(random, body, answer)


@pytest.mark.slow
def test_more_members_than_65536_are_taken_in_the_order_of_their_spread():
    """From there on a HashSet does not give Integers in ascending order."""
    body = {
        "topics": [{"topic_name": "t", "topic_id": "A" * 22, "partitions_count": 5}],
        "members": [{"member_id": f"m{i}"} for i in range(66_000)],
    }
    assert assigned(body) == in_order(flat(group_coordinator().assign(KAFKA, body)["assignments"]))


@pytest.mark.parametrize(("subscribed", "kept"), [("unknown", []), ("u", [("t", 1)])])
def test_a_topic_without_subscribers_stays_only_if_another_topic_is_subscribed_to(subscribed, kept):
    """Checked with the real class: without any subscribed topic that exists, its heterogeneous builder answers with nothing."""
    body = {
        "topics": [{"topic_name": name, "topic_id": name * 22, "partitions_count": 2} for name in ("t", "u")],
        "members": [
            {"member_id": "a", "topic_names": [], "owned_partitions": [{"topic_name": "t", "partition_ids": [1]}]},
            {"member_id": "b", "topic_names": [subscribed]},
        ],
    }
    assert assigned(body)["a"] == kept


def test_a_partition_beyond_the_end_is_refused():
    """No share group's target holds one; Kafka would leave it assigned."""
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 2}],
        "members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 5]}]}],
    }
    with pytest.raises(InvalidQuestion, match="'a' owns partition 5 of 't', which has 2") as refusal:
        assigned(body)
    assert refusal.value.field == ("members", 0, "owned_partitions")


def alike(topics):
    """Topics of one partition each, whose ids have equal hash codes."""
    raw = [i.to_bytes(8, "big") + i.to_bytes(8, "big") for i in range(1, topics + 1)]
    return {
        "topics": [
            {
                "topic_name": f"t{i}",
                "topic_id": base64.urlsafe_b64encode(one).decode().rstrip("="),
                "partitions_count": 1,
            }
            for i, one in enumerate(raw)
        ],
        "members": [{"member_id": "a"}, {"member_id": "b"}],
    }


def test_warns_where_java_goes_by_memory_addresses():
    assert simple.warnings(group_of(alike(60))) == [simple.UNDEFINED_ORDER]


@given(coordinator_bodies(shared=True))
def test_ordinary_groups_are_certain(body):
    assert simple.warnings(group_of(body)) == []


def test_seven_alike_are_still_a_chain():
    body = alike(7)
    assert simple.warnings(group_of(body)) == []
    assert assigned(body) == in_order(reference.simple(body))


@given(coordinator_bodies(shared=True), st.integers(1, 3))
def test_an_explanation_adds_up(body, limit):
    group = group_of(body)
    assignment = simple.assign(group)
    told = simple.explain(group, assignment, limit)
    assert len(told["order"]) <= limit
    everybody = simple.explain(group, assignment, 100)["order"]
    assert sum(one["kept"] for one in everybody) + told["phases"][1]["assigned"] == len(assignment.rows.values)


def test_explains_how_many_members_share_a_partition():
    body = {"topics": [{"topic_name": "t", "partitions_count": 2}], "members": [{"member_id": m} for m in "abc"]}
    group = group_of(body)
    told = simple.explain(group, simple.assign(group), 10)
    assert (told["algorithm"], told["members_per_partition"]) == ("homogeneous", 2)
    assert told["partitions_per_member"] == pytest.approx(4 / 3)
