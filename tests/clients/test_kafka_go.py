"""kafka-go's balancers answer as the library does."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.strategies import GROUP_PROTOCOLS
from tests.clients.harness import assert_all_agree, certain
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


@given(body=bodies(racks=True), seed=st.integers(0, 99))
def test_a_run_by_a_seed_is_one_of_the_librarys(body, seed):
    group = group_of(body)
    assignment = CLASSIC["kafka-go:rack-affinity"].run(group)
    assume(assignment.left_open is not None)
    run = named(group, assignment.of_run(seed).rows)
    for topic in body["topics"]:
        members = {m["member_id"]: m.get("rack_id") or "" for m in body["members"] if reference.subscribes(m, topic)}
        leaders = [(replicas or [""])[0] for replicas in topic.get("partition_racks") or [[]] * topic["partitions_count"]]
        racks = sorted(set(leaders))
        ours = {member: sorted(i for name, i in run[member] if name == topic["topic_name"]) for member in members}
        orders = product(permutations(racks), permutations(racks)) if members else ()
        runs = [reference.one_topic(members, leaders, *both) for both in orders]
        assert not members or ours in [{member: sorted(ids) for member, ids in one.items()} for one in runs]


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
    assert answer["member_load"]["counts"] == [2, 1]
    assert 0 in answer["assignments"][0]["partitions"][0]["partition_ids"]
    assert answer["left_open"] == [{"topic_name": "t", "partition_ids": [1, 2]}]
    assert "Go iterates over the racks in a random order" in answer["warnings"][0]
