"""The uniform assignor of consumer groups is Kafka's UniformAssignor, of each release."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.conformance.groups import change_of_coordinator
from service.core.assignors.consumer.uniform import uniform
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.kafka_versions import LATEST
from tests.reference import server_assignors as reference
from tests.support import golden
from tests.support.groups import flat, group_of, named
from tests.support.parity import group_coordinator
from tests.support.server_groups import coordinator_bodies

KAFKA = "org.apache.kafka.coordinator.group.assignor.UniformAssignor"

UNTIL_4_0_0 = partial(uniform.assign, extra_stays=False)


def assigned(body, assign=uniform.assign):
    group = group_of(body)
    return in_order(named(group, assign(group).rows))


def in_order(given_to):
    return {member: sorted(partitions) for member, partitions in given_to.items()}


def twin(body, **options):
    """The plain twin's answer; it knows no trees."""
    try:
        return in_order(reference.uniform(body, **options))
    except reference.Tree:
        return assume(False)


@golden.each("groups/consumer-uniform", "groups/consumer-uniform-sequences", "groups/consumer-uniform-large")
def test_gives_what_kafka_was_recorded_to_give(case):
    assert assigned(case["request"]) == in_order(flat(case["expected"]["assignments"]))


@golden.each("groups/consumer-uniform-4.0.0")
def test_gives_what_kafka_4_0_0_was_recorded_to_give(case):
    assert assigned(case["request"], UNTIL_4_0_0) == in_order(flat(case["expected"]["assignments"]))


@given(coordinator_bodies())
def test_agrees_with_its_plain_twin(body):
    expected = twin(body)
    assert assigned(body) == expected


@given(coordinator_bodies())
def test_agrees_with_its_plain_twin_of_4_0_0(body):
    expected = twin(body, extra_stays=False)
    assert assigned(body, UNTIL_4_0_0) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("release", "assign"), [(LATEST, uniform.assign), ("4.0.0", UNTIL_4_0_0)])
@given(body=coordinator_bodies(ids=True), random=st.randoms(use_true_random=False))
def test_agrees_with_the_real_class_on_groups_that_live_on(release, assign, body, random):
    for _ in range(4):
        answer = group_coordinator(release).assign(KAFKA, body)["assignments"]
        assert assigned(body, assign) == in_order(flat(answer))
        body = change_of_coordinator(random, body, answer)


def example(*members):
    """Topics t and u of three partitions; a member is (member_id, topic_names, {topic_name: partition_ids})."""
    return {
        "topics": [{"topic_name": name, "partitions_count": 3} for name in ("t", "u")],
        "members": [
            {
                "member_id": member_id,
                "topic_names": names,
                "owned_partitions": [{"topic_name": name, "partition_ids": ids} for name, ids in owned.items()],
            }
            for member_id, names, owned in members
        ],
    }


@pytest.mark.parametrize(
    "body",
    [
        example(("a", ["t", "u"], {"t": [0, 1]}), ("b", ["t", "u"], {"t": [1, 2]})),
        example(("a", ["t", "u"], {"t": [0, 7]}), ("b", ["t", "u"], {"u": [1, 2]})),
    ],
)
def test_a_partition_of_two_members_or_of_none_makes_kafka_fail(body):
    """The real class throws; with equal subscriptions."""
    with pytest.raises(KafkaAssignorFails, match="Partitions were left unassigned") as failure:
        assigned(body)
    assert failure.value.exception == "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException"


def test_a_partition_beyond_the_end_makes_kafka_fail_where_subscriptions_differ():
    with pytest.raises(KafkaAssignorFails, match=r"Index 7 out of bounds for length 3.*'a' owns partition 7 of 't'") as failure:
        assigned(example(("a", ["t", "u"], {"t": [0, 7]}), ("b", ["t"], {"t": [1]})))
    assert failure.value.exception == "java.lang.ArrayIndexOutOfBoundsException"


def test_a_partition_of_two_members_is_refused_where_subscriptions_differ():
    """Kafka assigns it to both."""
    with pytest.raises(InvalidQuestion, match="More than one member owns partition 1 of 't'") as refusal:
        assigned(example(("a", ["t", "u"], {"t": [0, 1]}), ("b", ["t"], {"t": [1, 2]})))
    assert refusal.value.field == ("members",)


def test_what_is_no_longer_subscribed_may_be_anything():
    assert assigned(example(("a", ["t"], {"u": [1]}), ("b", ["t"], {"u": [1, 9], "t": [0]})))["b"][0] == ("t", 0)


@pytest.mark.slow
def test_kafka_fails_just_so():
    """The exceptions, and their messages, are the real class's."""
    bodies = (
        example(("a", ["t", "u"], {"t": [0, 1]}), ("b", ["t", "u"], {"t": [1, 2]})),
        example(("a", ["t", "u"], {"t": [7, 0]}), ("b", ["t", "u"], {})),
        example(("a", ["t", "u"], {"u": [4], "t": [9, 7]}), ("b", ["t"], {"t": [8]})),
        example(("a", ["t", "u"], {"u": [23, 7], "t": [0]}), ("b", ["t"], {"t": [1]})),
        example(("a", ["t", "u"], {"t": [300000000, 2147483646, 2147483647]}), ("b", ["t"], {})),
        example(("a", ["t", "u"], {"t": [300000000, 2147483646], "u": [2147483647]}), ("b", ["t"], {})),
    )
    for body in bodies:
        for topic in body["topics"]:
            topic["topic_id"] = "A" * 20 + topic["topic_name"] + "A"
        error = group_coordinator().assign(KAFKA, body)["error"]
        with pytest.raises(KafkaAssignorFails) as failure:
            assigned(body)
        assert (failure.value.exception, failure.value.message) == (error["exception"], error["message"])


def explained(body, run=uniform):
    group = group_of(body)
    return run.explain(group, run.assign(group), 10)


def test_explains_quotas_and_who_gets_one_more():
    told = explained(example(*((member, ["t"], {"t": [0, 2]} if member == "b" else {}) for member in "ab")))
    assert (told["algorithm"], told["quota"], told["members_with_one_more"]) == ("homogeneous", 1, 1)
    assert {one["member_id"]: (one["kept"], one["revoked"], one["assigned"]) for one in told["order"]} == {
        "a": (0, 0, 1),
        "b": (2, 0, 0),
    }
    assert [one.get("one_more_because") for one in told["order"] if one["member_id"] == "b"] == [
        "it had more than the quota already, and keeps one"
    ]


def test_explains_what_each_phase_moved_where_subscriptions_differ():
    told = explained(example(("a", ["t", "u"], {"t": [0, 1, 2], "u": [0, 1, 2]}), ("b", ["t"], {"u": [9]})))
    assert told["algorithm"] == "heterogeneous"
    assert told["phases"][0]["kept"] == 6
    assert sum(told["phases"][2]["moved_in_round"]) == 3
    assert {one["member_id"]: one["partitions"] for one in told["order"]} == {"a": 3, "b": 3}


@given(coordinator_bodies(), st.integers(1, 3))
def test_an_explanation_adds_up(body, limit):
    group = group_of(body)
    assignment = uniform.assign(group)
    told = uniform.explain(group, assignment, limit)
    assert len(told["order"]) <= limit
    if told["algorithm"] == "homogeneous":
        everybody = uniform.explain(group, assignment, 100)["order"]
        assert sum(one["revoked"] for one in everybody) == told["phases"][0]["revoked"]
        assert sum(one["assigned"] for one in everybody) == told["phases"][1]["assigned"]
    else:
        assert told["phases"][0]["kept"] + told["phases"][1]["assigned"] == len(assignment.rows.values)
