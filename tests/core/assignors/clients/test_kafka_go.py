"""kafka-go's balancers answer as the library does."""

from __future__ import annotations

import pytest
from hypothesis import given

from service.core.assignors import GROUP_PROTOCOLS
from tests.core.assignors.clients.harness import assert_all_agree, certain
from tests.reference.clients import kafka_go as reference
from tests.support.groups import bodies, group_of, named

CLASSIC = GROUP_PROTOCOLS["classic"]
TWINS = {
    "kafka-go:range": reference.range_,
    "kafka-go:roundrobin": reference.roundrobin,
    "kafka-go:rack-affinity": reference.rack_affinity,
}


def in_order(answer):
    return {member: sorted(partitions) for member, partitions in answer.items()}


@pytest.mark.parametrize("name", TWINS)
def test_gives_what_the_library_was_recorded_to_give(name):
    assert_all_agree(name)


@pytest.mark.parametrize("name", TWINS)
@given(body=bodies(racks=True))
def test_agrees_with_its_plain_twin(name, body):
    group = group_of(body)
    assert in_order(named(group, CLASSIC[name].run(group).rows)) == in_order(TWINS[name](body))


def test_most_of_what_all_recorded_runs_agree_on_is_certain():
    ours, theirs = certain("kafka-go:rack-affinity")
    assert ours > 0.95 * theirs


def test_says_what_go_leaves_to_chance(client):
    body = {
        "client": "kafka-go",
        "assignor": "rack-affinity",
        "topics": [{"topic_name": "t", "partitions_count": 3, "partition_racks": [["a", "b"], ["a"], ["b"]]}],
        "members": [{"member_id": "A"}, {"member_id": "B"}],
    }
    answer = client.post("/v1/group-assignments", json=body).json
    assert [one["partitions"] for one in answer["assignments"]] == [[{"topic_name": "t", "partition_ids": [0]}], []]
    assert answer["left_open"] == [{"topic_name": "t", "partition_ids": [1, 2]}]
    assert "Go iterates over the racks in a random order" in answer["warnings"][-1]
