"""The classic roundrobin assignor is Kafka's RoundRobinAssignor."""

from __future__ import annotations

import pytest
from hypothesis import given

from service.core.assignors.classic import roundrobin
from service.core.errors import KafkaAssignorFails
from tests.reference import assignors as reference
from tests.support import golden
from tests.support.groups import bodies, flat, group_of, named
from tests.support.parity import group_leader

KAFKA = "org.apache.kafka.clients.consumer.RoundRobinAssignor"


def assigned(body):
    group = group_of(body)
    return named(group, roundrobin.assign(group).rows)


@golden.each("groups/classic-roundrobin", "groups/classic-roundrobin-sequences", "groups/classic-roundrobin-large")
def test_gives_what_kafka_was_recorded_to_give(case):
    assert assigned(case["request"]) == flat(case["expected"]["assignments"])


@pytest.mark.parametrize("case", [c for c in golden.lines("groups/errors") if c["request"]["assignor"] == "roundrobin"])
def test_fails_where_kafka_fails(case):
    with pytest.raises(KafkaAssignorFails) as failure:
        assigned(case["request"])
    assert {"exception": failure.value.exception, "message": failure.value.message} == case["expected"]["error"]


@given(bodies(min_members=1))
def test_agrees_with_its_plain_twin(body):
    assert assigned(body) == reference.roundrobin(body)


@pytest.mark.slow
@given(bodies())
def test_agrees_with_the_real_class(body):
    real = group_leader().assign(KAFKA, body)
    if "error" in real:
        with pytest.raises(KafkaAssignorFails) as failure:
            assigned(body)
        assert {"exception": failure.value.exception, "message": failure.value.message} == real["error"]
    else:
        assert assigned(body) == flat(real["assignments"])


def test_explains_the_circle_and_who_has_more():
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 3}],
        "members": [{"member_id": "b"}, {"member_id": "a"}, {"member_id": "c", "instance_id": "z"}, {"member_id": "d"}],
    }
    group = group_of(body)
    circle = roundrobin.explain(group, roundrobin.assign(group), 4)["circle"]
    assert [(one["member_id"], one["more_than_least"]) for one in circle] == [("c", 1), ("a", 1), ("b", 1), ("d", 0)]
    assert len(roundrobin.explain(group, roundrobin.assign(group), 2)["circle"]) == 2
