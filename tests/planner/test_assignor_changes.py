"""How groups go from one assignor to another by rolling restarts."""

from __future__ import annotations

import struct
from functools import cache
from itertools import pairwise, permutations
from types import SimpleNamespace

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocol
from confluent_kafka import Consumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import KafkaConfigurationError
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from service.clients.kafka_python import check_list
from service.core.errors import InvalidQuestion
from service.planner.assignor_changes import restarts
from service.strategies import GROUP_PROTOCOLS

CLASSES = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
"""kafka-python's."""


@pytest.mark.parametrize(
    ("old", "new", "lists"),
    [
        ("range", "cooperative-sticky", [["cooperative-sticky", "range"], ["cooperative-sticky"]]),
        ("range", "librdkafka:range", [["librdkafka:range"]]),
        ("cooperative-sticky", "balanced", [["balanced", "cooperative-sticky"]]),
        ("balanced", "cooperative-sticky", [["cooperative-sticky"]]),
        ("balanced", "librdkafka:cooperative-sticky", [["librdkafka:cooperative-sticky"]]),
        ("range", "balanced", [["balanced", "cooperative-sticky", "range"], ["balanced", "cooperative-sticky"]]),
        ("balanced", "range", [["range", "balanced", "cooperative-sticky"], ["range"]]),
        ("roundrobin", "librdkafka:range", [["librdkafka:range", "librdkafka:roundrobin"], ["librdkafka:range"]]),
        ("librdkafka:range", "cooperative-sticky", [["cooperative-sticky", "range"], ["cooperative-sticky"]]),
        ("librdkafka:cooperative-sticky", "librdkafka:range", "must have the same protocol type"),
        ("range", "librdkafka:cooperative-sticky", [["cooperative-sticky", "range"], ["librdkafka:cooperative-sticky"]]),
        ("aiokafka:range", "librdkafka:cooperative-sticky", "must have the same protocol type"),
        ("kafka-python:sticky", "librdkafka:range", [["kafka-python:range", "kafka-python:sticky"], ["librdkafka:range"]]),
        ("kafka-python:range", "kafka-python:cooperative-sticky", "do not support a common RebalanceProtocol"),
        ("kafka-python:range", "kafka-python:sticky", [["kafka-python:sticky", "kafka-python:range"], ["kafka-python:sticky"]]),
        (
            "sarama:range",
            "sarama:cooperative-sticky",
            [["sarama:cooperative-sticky", "sarama:range"], ["sarama:cooperative-sticky"]],
        ),
        ("cooperative-sticky", "aiokafka:range", [["range", "cooperative-sticky"], ["aiokafka:range"]]),
        ("kafka-python:cooperative-sticky", "aiokafka:range", "Clients of aiokafka have no assignor 'cooperative-sticky'"),
        ("range", "kafkajs:RoundRobinAssigner", "Clients of kafkajs have no assignor 'range'"),
        ("range", "kafka-go:range", "a leader of Java's client does not read the subscriptions of kafka-go"),
        ("franz-go:range", "kafka-go:range", "a leader of kafka-go reads no subscription that says what its member owns"),
        ("kafka-go:range", "aiokafka:range", [["aiokafka:range"]]),
    ],
)
def test_restarts(old: str, new: str, lists: list[list[str]] | str) -> None:
    """One if members of one list the other, else two; librdkafka and kafka-python take no part in a change of protocol."""
    classic = GROUP_PROTOCOLS["classic"]
    if isinstance(lists, str):
        with pytest.raises(InvalidQuestion, match=lists):
            restarts(classic[old], classic[new])
    else:
        assert [[assignor.name for assignor in each] for each in restarts(classic[old], classic[new])] == lists


@pytest.mark.parametrize("names", [("cooperative-sticky", "range"), ("sticky", "range"), ("cooperative-sticky",)])
def test_kafka_python_refuses_what_we_say_it_refuses(names: tuple[str, ...]) -> None:
    """In the same words."""
    assignors = tuple(GROUP_PROTOCOLS["classic"][f"kafka-python:{name}"] for name in names)
    coordinator = SimpleNamespace(_assignors={name: CLASSES[name]() for name in names})
    if len({assignor.is_cooperative for assignor in assignors}) == 1:
        check_list(assignors)
        ConsumerCoordinator._validate_rebalance_protocol(coordinator)
        return
    with pytest.raises(KafkaConfigurationError) as theirs:
        ConsumerCoordinator._validate_rebalance_protocol(coordinator)
    with pytest.raises(InvalidQuestion) as ours:
        check_list(assignors)
    assert ours.value.detail == theirs.value.args[0]


def test_every_pair_has_restarts_that_its_libraries_accept() -> None:
    """Members before and after each restart have an assignor in common, and each list is one that its library accepts."""
    assignors = GROUP_PROTOCOLS["classic"].builtins
    refused = set()
    for old, new in permutations(assignors, 2):
        try:
            lists = restarts(old, new)
        except InvalidQuestion:
            refused.add((old.name, new.name))
            continue
        assert lists[-1] == new.listed
        for before, after in pairwise((old.listed, *lists)):
            assert {each.protocol_name for each in before} & {each.protocol_name for each in after}
            accepts(tuple(each.name for each in after))
    assert len(refused) < len(assignors) ** 2 / 3


@cache
def accepts(assignors: tuple[str, ...]) -> None:
    """Raises if the real library refuses the list; Java's, franz-go's and sarama's accept any."""
    (client,) = {each.rpartition(":")[0] for each in assignors}
    names = [each.rpartition(":")[2] for each in assignors]
    if client == "librdkafka":
        Consumer({"group.id": "g", "partition.assignment.strategy": ",".join(names)}).close()
    elif client == "kafka-python":
        ConsumerCoordinator._validate_rebalance_protocol(SimpleNamespace(_assignors={name: CLASSES[name]() for name in names}))


def test_leaders_refuse_what_we_say_they_refuse() -> None:
    """kafka-go's subscription has version 1, and ends as one of version 0."""
    subscription = b"\0\1" + b"\0\0\0\1" + b"\0\1t" + b"\xff\xff\xff\xff"
    with pytest.raises(struct.error):
        ConsumerProtocolSubscription.decode(subscription)
    assert ConsumerProtocol.METADATA.decode(subscription).subscription == ["t"]
