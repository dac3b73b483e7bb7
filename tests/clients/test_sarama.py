"""sarama's assignors answer as the Go library does, as far as it always answers the same."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from service.core.errors import KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.clients.harness import assert_all_agree, certain
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


def flat(answer):
    return tuple(sorted((member, tuple(sorted(partitions))) for member, partitions in answer.items()))


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


@settings(max_examples=60)
@given(body=bodies(min_members=1, sound=True), cooperative=st.booleans(), seed=st.integers(0, 2**32))
def test_a_run_by_a_seed_is_one_of_the_librarys(body, cooperative, seed):
    """Where the plain twin has few different runs, ours are among them, and several if it has several."""
    group = group_of(body)
    assignment = CLASSIC["sarama:cooperative-sticky" if cooperative else "sarama:sticky"].run(group)
    assume(assignment.left_open is not None)

    def theirs(i):
        twin = reference.Sticky(body, Random(seed + i))
        return flat(twin.cooperative() if cooperative else twin.plan())

    runs = [named(group, assignment.of_run(i).rows) for i in range(30)]
    for run in runs:
        assert all(set(partitions) <= set(run[member]) for member, partitions in named(group, assignment.rows).items())
    seen, answered = {theirs(i) for i in range(100)}, set(map(flat, runs))
    several = len(seen) > 1
    if len(seen) < 6:
        for i in range(100, 3_000):  # rare ones are missed by a hundred draws
            if answered <= seen:
                break
            seen.add(theirs(i))
        assert answered <= seen
    if several:
        more = (flat(named(group, assignment.of_run(i).rows)) for i in range(30, 1_000))
        assert len(answered) > 1 or any(run not in answered for run in more)


OWNING = {
    "topics": [{"topic_name": "t", "partitions_count": 4}],
    "members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]}, {"member_id": "b"}],
}


def test_the_service_tells_what_is_left_to_chance(client):
    """Member a gives up two of its four partitions; which ones, Go draws."""
    answer = client.post("/v1/group-assignments", json={**OWNING, "client": "sarama", "assignor": "sticky"}).json
    assert answer["member_load"]["counts"] == [2, 2]
    assert answer["movement"] == {"retained": 2, "moved": 2, "added": 0, "revoked": 2, "fewest_possible_moves": 2}
    assert answer["outcomes"]["runs"] == 32
    assert answer["outcomes"]["movement"]["moved"] == {"least": 2, "mean": 2, "most": 2}
    assert answer["left_open"] == [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]
    assert answer["unassigned"] == []
    warning, ranges = answer["warnings"]
    assert warning.startswith("The library leaves to chance who gets 4 partitions: Go iterates over the maps")
    assert ranges == "Over 32 runs, the fullest member gets 2 partitions, and partitions that move to another member: 2."
    body = {**OWNING, "client": "sarama", "assignor": "cooperative-sticky"}
    seeds = [client.post("/v1/group-assignments", json={**body, "random_seed": seed}).json for seed in range(12)]
    assert all(answer["follow_up_rebalance"] for answer in seeds)
    assert len({str(answer["follow_up"]["assignments"]) for answer in seeds}) > 1
    assert seeds[0] == client.post("/v1/group-assignments", json=body).json
    kept = {**OWNING, "members": OWNING["members"][:1]}
    answer = client.post("/v1/group-assignments", json={**kept, "client": "sarama", "assignor": "cooperative-sticky"}).json
    assert answer["follow_up_rebalance"] is False
    assert "left_open" not in answer
