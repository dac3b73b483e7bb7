"""sarama's assignors answer as the Go library does, as far as it always answers the same."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.assignors import GROUP_PROTOCOLS
from service.core.errors import KafkaAssignorFails
from tests.core.assignors.clients.harness import assert_all_agree, certain
from tests.reference.clients import sarama as reference
from tests.support.groups import bodies, group_of, named

CLASSIC = GROUP_PROTOCOLS["classic"]
ALL = ("sarama:range", "sarama:roundrobin", "sarama:sticky", "sarama:cooperative-sticky")


@pytest.mark.parametrize("name", ALL)
def test_gives_what_the_library_was_recorded_to_give(name):
    assert_all_agree(name)


@pytest.mark.parametrize(("name", "share"), [("sarama:sticky", 0.6), ("sarama:cooperative-sticky", 0.6)])
def test_most_of_what_ten_runs_had_in_common_is_known_to_be_certain(name, share):
    ours, theirs = certain(name)
    assert ours >= share * theirs


def in_order(answer):
    return {member: sorted(partitions) for member, partitions in answer.items()}


@given(bodies(min_members=1))
def test_range_agrees_with_its_plain_twin(body):
    group = group_of(body)
    assert in_order(named(group, CLASSIC["sarama:range"].run(group).rows)) == in_order(reference.range_(body))


@given(bodies(min_members=1))
def test_roundrobin_agrees_with_its_plain_twin(body):
    group = group_of(body)
    if any(body["topics"] if member.get("topic_names") is None else member["topic_names"] for member in body["members"]):
        assert in_order(named(group, CLASSIC["sarama:roundrobin"].run(group).rows)) == in_order(reference.roundrobin(body))
    else:
        with pytest.raises(KafkaAssignorFails, match="sarama's assignor throws error"):
            CLASSIC["sarama:roundrobin"].run(group)


@pytest.mark.parametrize("cooperative", [False, True])
@given(body=st.one_of(bodies(min_members=1, sound=True), bodies(min_members=1)), seed=st.integers(0, 2**32))
def test_every_run_has_the_certain_assignments(cooperative, body, seed):
    group = group_of(body)
    assignment = CLASSIC["sarama:cooperative-sticky" if cooperative else "sarama:sticky"].run(group)
    ours = named(group, assignment.rows)
    runs = [reference.Sticky(body, Random(seed + i)) for i in range(5)]
    for run in runs:
        theirs = run.cooperative() if cooperative else run.plan()
        if assignment.left_open is None:
            assert in_order(ours) == in_order(theirs)
        for member, partitions in ours.items():
            assert set(partitions) <= set(theirs[member])


OWNING = {
    "topics": [{"topic_name": "t", "partitions_count": 4}],
    "members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]}, {"member_id": "b"}],
}


def test_the_service_tells_what_is_left_to_chance(client):
    """Member a gives up two of its four partitions; which ones, Go draws."""
    answer = client.post("/v1/group-assignments", json={**OWNING, "client": "sarama", "assignor": "sticky"}).json
    assert [one["partitions"] for one in answer["assignments"]] == [[], []]
    assert answer["left_open"] == [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]
    assert answer["unassigned"] == []
    assert answer["movement"]["fewest_possible_moves"] is None
    (warning,) = answer["warnings"]
    assert warning.startswith("The library leaves to chance who gets 4 partitions: Go iterates over the maps")
    answer = client.post("/v1/group-assignments", json={**OWNING, "client": "sarama", "assignor": "cooperative-sticky"}).json
    assert "follow_up_rebalance" not in answer
    kept = {**OWNING, "members": OWNING["members"][:1]}
    answer = client.post("/v1/group-assignments", json={**kept, "client": "sarama", "assignor": "cooperative-sticky"}).json
    assert answer["follow_up_rebalance"] is False
    assert "left_open" not in answer
