"""What holds for every assignor on offer."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.errors import KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.support.groups import bodies, group_of, named
from tests.support.server_groups import coordinator_bodies

EVERY = [
    pytest.param(assignor, id=f"{protocol}-{assignor.name}")
    for protocol, assignors in GROUP_PROTOCOLS.items()
    for assignor in assignors
]


EXCLUSIVE = [param for param in EVERY if not (param.id.startswith("share-") or ":" in param.id)]
"""Members of a share group share partitions; some clients forget partitions, or give them to members that do not subscribe."""


def groups_for(assignor):
    """Kafka's sticky assignors may give partitions twice, to anybody or never return if members claim odd things.

    A coordinator does not hold such groups.
    """
    if assignor.name in {"uniform", "simple"}:
        return coordinator_bodies(shared=assignor.name == "simple")
    any_group = bodies(min_members=1, sound="sticky" in assignor.name)
    if assignor in GROUP_PROTOCOLS["splits"].builtins:  # whose readers read all topics
        most = 1 if assignor.name == "beam:kafka-io" else None  # more splits may not divide the partitions
        return any_group.map(lambda body: {**body, "members": [{"member_id": m["member_id"]} for m in body["members"][:most]]})
    return any_group


@pytest.mark.parametrize("assignor", EXCLUSIVE)
@given(data=st.data())
def test_every_partition_goes_once_and_only_to_a_subscriber(assignor, data):
    body = data.draw(groups_for(assignor))
    group = group_of(body)
    assigned = assignor.run(group)
    assignment = named(group, assigned.rows)
    if assignor.name == "cooperative-sticky":
        for member_id, partitions in named(group, assigned.withheld).items():
            assignment[member_id] += partitions
    given_away = [partition for partitions in assignment.values() for partition in partitions]
    topics = {t["topic_name"]: t["partitions_count"] for t in body["topics"]}
    subscriptions = {m["member_id"]: set(m.get("topic_names", topics)) for m in body["members"]}
    subscribed = set().union(*subscriptions.values())
    assert sorted(given_away) == sorted((name, i) for name, count in topics.items() for i in range(count) if name in subscribed)
    assert all(name in subscriptions[member] for member, partitions in assignment.items() for name, _ in partitions)


@pytest.mark.parametrize("assignor", EVERY)
@given(data=st.data())
@settings(max_examples=10)
def test_the_same_group_is_assigned_alike_again_and_told_of(assignor, data):
    body = data.draw(groups_for(assignor))
    group, again = group_of(body), group_of(body)
    try:
        assignment = assignor.run(group)
    except KafkaAssignorFails:
        assert ":" in assignor.name
        return
    assert named(group, assignment.rows) == named(again, assignor.run(again).rows)
    if assignor.explain:
        assert orjson.dumps(assignor.explain(group, assignment, 10)) == orjson.dumps(assignor.explain(again, assignment, 10))


@pytest.mark.parametrize("assignor", EVERY)
def test_says_what_it_reproduces(assignor):
    assert (assignor.implementation is None) == (assignor.name == "balanced")
    assert assignor.summary.endswith(".")
