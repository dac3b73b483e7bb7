"""Who leads a classic group: what each library writes, and what its client ids tell."""

from __future__ import annotations

from typing import Any

import pytest

from service.descriptions.leaders import clients_of, leader_of

Json = dict[str, Any]

WRITES: list[tuple[Json, str, tuple[str, ...]]] = [
    ({"assignment_version": 3}, "range", ("java",)),
    ({"assignment_version": 4}, "range", ("java",)),
    ({"assignment_version": 1, "assignment_user_data": "none"}, "range", ("java", "kafka-go")),
    ({"assignment_version": 1, "assignment_user_data": "none"}, "sticky", ("java",)),
    ({"assignment_version": 1, "assignment_user_data": "empty"}, "cooperative-sticky", ("kafka-python",)),
    ({"assignment_version": 1, "assignment_user_data": "empty"}, "RoundRobinAssigner", ("kafkajs",)),
    ({"assignment_version": 0, "assignment_user_data": "bytes"}, "sticky", ("sarama",)),
    ({"assignment_version": 0, "assignment_user_data": "empty"}, "sticky", ("kafka-python", "aiokafka")),
    ({"assignment_version": 0, "assignment_user_data": "empty"}, "cooperative-sticky", ("librdkafka",)),
    (
        {"assignment_version": 0, "assignment_user_data": "none", "assignment_echoes_subscription": False},
        "range",
        ("java", "sarama", "franz-go"),
    ),
    ({"assignment_version": 0, "assignment_user_data": "mixed", "assignment_echoes_subscription": False}, "range", ("java",)),
    ({}, "RoundRobinAssigner", ("kafkajs",)),
    ({}, "rack-affinity", ("kafka-go",)),
    ({}, "house-rules", ("java",)),
]


@pytest.mark.parametrize(("wrote", "assignor", "candidates"), WRITES)
def test_what_the_leader_wrote(wrote: Json, assignor: str, candidates: tuple[str, ...]) -> None:
    """Only libraries that have the assignor and write so; if none does, Kafka's own."""
    leader = leader_of({"assignor": assignor, **wrote})
    assert leader is not None
    assert leader.candidates == candidates
    assert ("assumed" in leader.sentence) == (len(candidates) > 1)


@pytest.mark.parametrize(
    ("client_id", "client"),
    [
        ("consumer-billing-1", "java"),
        ("rdkafka", "librdkafka"),
        ("kgo", "franz-go"),
        ("sarama", "sarama"),
        ("kafka-python-3.0.12", "kafka-python"),
        ("aiokafka-0.14.0", "aiokafka"),
        ("app@host (github.com/segmentio/kafka-go)", "kafka-go"),
    ],
)
def test_client_ids(client_id: str, client: str) -> None:
    """If all members' ids name one library it leads; if others' do not tell, it is taken first; the leader's own id decides."""
    known, other = {"member_id": "a", "client_id": client_id}, {"member_id": "b", "client_id": "payments"}
    group = {"assignor": "range", "members": [known, other]}
    assumed, led = leader_of(group), leader_of(group | {"leader": "a"})
    alone = leader_of(group | {"members": [known]})
    assert assumed is not None
    assert led is not None
    assert alone is not None
    assert assumed.client == client
    assert len(assumed.candidates) > 1
    assert alone.candidates == led.candidates == (client,)
    assert clients_of(group) == {client: 1}


def test_bytes_weigh_more_than_client_ids() -> None:
    """A member of librdkafka does not lead a group whose assignments only Java's client writes."""
    leader = leader_of({"assignor": "range", "assignment_version": 3, "members": [{"member_id": "a", "client_id": "rdkafka"}]})
    assert leader is not None
    assert leader.candidates == ("java",)


def test_releases() -> None:
    """Old versions of what a library writes mean old releases of it."""
    members = [{"member_id": "a", "client_id": "rdkafka", "subscription": {"version": 1}}]
    old = leader_of({"assignor": "range", "assignment_version": 0, "members": members})
    java = leader_of({"assignor": "sticky", "assignment_version": 1, "assignment_user_data": "none"})
    assert old is not None
    assert java is not None
    assert old.fields == {"client": "librdkafka", "client_version": "2.1"}
    assert java.fields == {"client": "java", "client_version": "2.8.2"}


@pytest.mark.parametrize(
    ("assignor", "ids", "release"),
    [
        ("roundrobin", ["kafka-python-2.0.2"], "2.0.2"),
        ("sticky", ["kafka-python-2.2.15"], "2.2.15"),
        ("roundrobin", ["kafka-python-3.0.12"], None),
        ("roundrobin", ["kafka-python-2.0.2", "kafka-python-3.0.12"], None),  # either may lead
        ("sticky", ["kafka-python-1.4.7"], None),  # had no sticky
        ("range", ["kafka-python-1.0.2"], None),  # was not compared
    ],
)
def test_client_ids_tell_releases(assignor: str, ids: list[str], release: str | None) -> None:
    """Those of Python's libraries, if nothing else is configured."""
    members = [{"member_id": str(i), "client_id": client_id} for i, client_id in enumerate(ids)]
    leader = leader_of({"assignor": assignor, "assignment_version": 0, "assignment_user_data": "empty", "members": members})
    assert leader is not None
    assert (leader.client, leader.release) == ("kafka-python", release)
    assert ("was not compared" in leader.sentence) == (ids[0] in ("kafka-python-1.4.7", "kafka-python-1.0.2"))


def test_groups_that_no_member_assigns() -> None:
    """The broker does, or the assignor's name says whose it is."""
    assert leader_of({"group_protocol": "consumer", "assignor": "range"}) is None
    assert leader_of({"assignor": "librdkafka:range"}) is None


@pytest.mark.parametrize("assignor", ["balanced", "partition-allocator", "partitionallocator.clients.RemoteAssignor"])
def test_balanced_is_no_clients_whatever_the_leader_wrote(assignor: str) -> None:
    """It does not depend on a release either, which the version of the assignment might tell."""
    assert leader_of({"assignor": assignor, "assignment_version": 0, "assignment_user_data": "bytes"}) is None
