"""The order of a group's members and the assignor that they choose, against Java's own classes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from service.planner.timelines.classic.coordinator import hash_order, is_supported, selected
from service.planner.timelines.members import Member, Members, Present
from service.strategies import GROUP_PROTOCOLS
from tests.support.jvm import COMPARED, kafka_jvm

ASSIGNORS = GROUP_PROTOCOLS["classic"]
NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
PARTS = ("group-coordinator", "group-coordinator-api", "coordinator-common", "clients", "server-common", "metadata")


def group(lists: list[tuple[str, ...]], ids: list[str] | None = None) -> tuple[Members, Present]:
    """Members with these assignors, by name."""
    members, present = Members(), Present()
    for i, names in enumerate(lists):
        member_id = f"c{i}" if ids is None else ids[i]
        one = Member(member_id, member_id, None, None, tuple(ASSIGNORS[name] for name in names), "classic")
        members.start(0, one, (0,))
        present[one.number] = one
    return members, present


@pytest.mark.parametrize("seed", range(20))
def test_members_are_in_the_order_of_a_hash_map(seed: int) -> None:
    """Also if it has had more of them, and if their ids have the same hash."""
    chance = random.Random(seed)
    ids = [f"member-{chance.randrange(10**6)}-{i}" for i in range(chance.choice((3, 12, 13, 200)))]
    ids += ["AaAa", "BBBB", "AaBB", "BBAa"][: chance.randrange(5)]
    chance.shuffle(ids)
    java = kafka_jvm(*(f"org.apache.kafka:kafka-{part}:{COMPARED[0]}" for part in PARTS)).java.util.HashMap()
    for member_id in ids:
        java.put(member_id, member_id)
    gone = chance.sample(ids, len(ids) // 3)
    members, present = group([("range",)] * len(ids), ids)
    for member_id in gone:
        java.remove(member_id)
        del present[ids.index(member_id)]
    assert [ids[number] for number in hash_order(members, present, len(ids)).tolist()] == list(java.keySet())


@pytest.fixture(scope="module", params=COMPARED)
def kafka(request: pytest.FixtureRequest) -> Any:
    return kafka_jvm(*(f"org.apache.kafka:kafka-{part}:{request.param}" for part in PARTS))


def classic_group(jvm: Any, lists: list[tuple[str, ...]]) -> Any:
    """Kafka's ClassicGroup with these members."""
    package, utils = jvm.org.apache.kafka.coordinator.group.classic, jvm.org.apache.kafka.common.utils
    log_context = getattr(utils, "LogContext", None)
    try:
        context = log_context()
    except TypeError:
        context = utils.internals.LogContext()
    real = package.ClassicGroup(context, "g", package.ClassicGroupState.EMPTY, utils.Time.SYSTEM)
    protocols = getattr(jvm.org.apache.kafka.common.message, "JoinGroupRequestData$JoinGroupRequestProtocolCollection")
    protocol = getattr(jvm.org.apache.kafka.common.message, "JoinGroupRequestData$JoinGroupRequestProtocol")
    for i, names in enumerate(lists):
        supported = protocols()
        for name in names:
            supported.add(protocol().setName(name).setMetadata(b""))
        empty = jvm.java.util.Optional.empty()
        real.add(package.ClassicGroupMember(f"c{i}", empty, "", "", 300_000, 45_000, "consumer", supported))
    real.transitionTo(package.ClassicGroupState.PREPARING_REBALANCE)
    return real


def test_the_assignor_with_the_most_votes(kafka: Any) -> None:
    chance = random.Random(1)
    for _ in range(60):
        common = chance.choice(NAMES)
        lists = []
        for _ in range(chance.randrange(1, 7)):
            names = [name for name in NAMES if name == common or chance.random() < 0.6]
            chance.shuffle(names)
            lists.append(tuple(names))
        real = classic_group(kafka, lists)
        members, present = group(lists)
        assert selected(members, present) == real.selectProtocol(), lists


def test_what_all_members_support(kafka: Any) -> None:
    chance = random.Random(2)
    for _ in range(40):
        lists = [tuple(chance.sample(NAMES, chance.randrange(1, 4))) for _ in range(chance.randrange(1, 4))]
        real = classic_group(kafka, lists)
        own = tuple(chance.sample(NAMES, chance.randrange(1, 3)))
        members, present = group([*lists, own])
        del present[len(lists)]
        names = kafka.java.util.HashSet()
        for name in own:
            names.add(name)
        common = set.intersection(*map(set, lists))
        if common:  # others could not have joined
            assert is_supported(members, present, members.all[-1]) == real.supportsProtocols("consumer", names), (lists, own)
