"""librdkafka's assignors answer as the C library does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.clients import librdkafka
from service.core.errors import KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.clients.harness import assert_all_agree
from tests.reference.clients import librdkafka as reference
from tests.reference.clients.librdkafka_sticky import Ends, Group
from tests.support.groups import bodies, group_of, named

CLASSIC = GROUP_PROTOCOLS["classic"]


@pytest.mark.parametrize("name", ["librdkafka:range", "librdkafka:roundrobin", "librdkafka:cooperative-sticky"])
def test_gives_what_the_library_was_recorded_to_give(name):
    assert_all_agree(name)


def assigned(name, body):
    group = group_of(body)
    return {member: sorted(partitions) for member, partitions in named(group, CLASSIC[name].run(group).rows).items()}


def in_order(answer):
    return {member: sorted(partitions) for member, partitions in answer.items()}


@given(st.one_of(bodies(), bodies(racks=True)))
def test_range_agrees_with_its_plain_twin(body):
    assert assigned("librdkafka:range", body) == in_order(reference.range_(body))


@given(bodies())
def test_roundrobin_agrees_with_its_plain_twin(body):
    assert assigned("librdkafka:roundrobin", body) == in_order(reference.roundrobin(body))


@given(bodies(racks=True))
def test_racks_do_not_count_before_2_2_0(body):
    group = group_of(body)
    rows = CLASSIC["librdkafka:range"].of_client("2.1.1").run(group).rows
    assert in_order(named(group, rows)) == in_order(reference.range_(body, racks=False))


MEMBERS = st.lists(
    st.builds(
        lambda member_id, instance_id: {"member_id": member_id, **({"instance_id": instance_id} if instance_id else {})},
        st.text("ab\uffee\U0001f418", min_size=1, max_size=3),
        st.none() | st.text("ab\uffee\U0001f418", min_size=1, max_size=3),
    ),
    max_size=12,
    unique_by=(lambda member: member["member_id"], lambda member: member.get("instance_id", member["member_id"] + "dynamic")),
)


@given(MEMBERS)
def test_members_are_sorted_as_glibc_sorts_them(members):
    group = group_of({"topics": [], "members": members})
    ids = [group.member_ids[member] for member in librdkafka.members_in_order(group)]
    assert ids == [member["member_id"] for member in reference.qsort(members)]


@given(MEMBERS)
def test_warns_where_the_comparison_of_members_is_no_order(members):
    group = group_of({"topics": [], "members": members})
    assert bool(CLASSIC["librdkafka:range"].warnings(group)) == (not reference.comparison_is_order(members))


CIRCLE = {
    "client": "librdkafka",
    "topics": [{"topic_name": "t", "partitions_count": 3}],
    "members": [{"member_id": "a", "instance_id": "y"}, {"member_id": "b"}, {"member_id": "c", "instance_id": "x"}],
}


def test_the_service_tells_of_it(client):
    answer = client.post("/v1/group-assignments", json=CIRCLE).json
    assert answer["assignor"] == "librdkafka:range"
    assert answer["implementation"]["client"] == "librdkafka"
    assert [warning for warning in answer["warnings"] if "glibc" in warning]
    assert "warnings" not in client.post("/v1/group-assignments", json={**CIRCLE, "members": CIRCLE["members"][1:]}).json
    refused = client.post("/v1/group-assignments", json={**CIRCLE, "client_version": "1.0"}).json
    assert refused["errors"][0]["pointer"] == "/client_version"


RELEASES = {
    "2.15.1": {},
    "2.6.0": {"clobbered": True},
    "2.1.1": {"clobbered": True, "generations": False, "racks": False},
    "1.6.1": {"clobbered": True, "generations": False, "racks": False, "blind": True},
}


@pytest.mark.parametrize("release", RELEASES)
@given(body=st.one_of(bodies(min_members=1), bodies(min_members=1, racks=True, sound=True)))
def test_cooperative_sticky_agrees_with_its_plain_twin(release, body):
    assignor = CLASSIC["librdkafka:cooperative-sticky"].of_client(release)
    group = group_of(body)
    try:
        expected = in_order(Group(body, **RELEASES[release]).assign())
    except Ends:
        with pytest.raises(KafkaAssignorFails, match=r"librdkafka's assignor (ends its own process|never returns)"):
            assignor.run(group)
        return
    assert in_order(named(group, assignor.run(group).rows)) == expected


def test_what_is_withheld_is_what_its_owner_must_revoke():
    members = [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]}, {"member_id": "b"}]
    group = group_of({"topics": [{"topic_name": "t", "partitions_count": 4}], "members": members})
    assignment = CLASSIC["librdkafka:cooperative-sticky"].run(group)
    assert named(group, assignment.rows) == {"a": [("t", 2), ("t", 3)], "b": []}
    assert named(group, assignment.withheld) == {"a": [], "b": [("t", 0), ("t", 1)]}
    assert assignment.follow_up_rebalance
