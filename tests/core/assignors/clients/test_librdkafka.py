"""librdkafka's assignors answer as the C library does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.assignors import GROUP_PROTOCOLS
from service.core.assignors.clients.librdkafka import order
from tests.core.assignors.clients.harness import assert_agrees, recorded
from tests.reference.clients import librdkafka as reference
from tests.support.groups import bodies, group_of, named

CLASSIC = GROUP_PROTOCOLS["classic"]


@pytest.mark.parametrize(("name", "case"), recorded("librdkafka:range", "librdkafka:roundrobin"))
def test_gives_what_the_library_was_recorded_to_give(name, case):
    assert_agrees(name, case)


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
def test_racks_do_not_count_before_2_3_0(body):
    group = group_of(body)
    rows = CLASSIC["librdkafka:range"].of_client("2.2.0").run(group).rows
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
    ids = [group.member_ids[member] for member in order.members_in_order(group)]
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
