"""How groups go from one assignor to another by rolling restarts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import KafkaConfigurationError

from service.core.assignors import GROUP_PROTOCOLS
from service.core.assignors.changes import restarts
from service.core.assignors.clients.kafka_python.strategies import check_list
from service.core.errors import InvalidQuestion


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
        ("range", "librdkafka:cooperative-sticky", "must have the same protocol type"),
        ("kafka-python:range", "kafka-python:cooperative-sticky", "do not support a common RebalanceProtocol"),
        ("kafka-python:range", "kafka-python:sticky", [["kafka-python:sticky", "kafka-python:range"], ["kafka-python:sticky"]]),
        (
            "sarama:range",
            "sarama:cooperative-sticky",
            [["sarama:cooperative-sticky", "sarama:range"], ["sarama:cooperative-sticky"]],
        ),
        ("cooperative-sticky", "aiokafka:range", "Clients of aiokafka have no assignor 'cooperative-sticky'"),
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
    classes = {
        "range": RangePartitionAssignor,
        "sticky": StickyPartitionAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }
    coordinator = SimpleNamespace(_assignors={name: classes[name]() for name in names})
    if len({assignor.is_cooperative for assignor in assignors}) == 1:
        check_list(assignors)
        ConsumerCoordinator._validate_rebalance_protocol(coordinator)
        return
    with pytest.raises(KafkaConfigurationError) as theirs:
        ConsumerCoordinator._validate_rebalance_protocol(coordinator)
    with pytest.raises(InvalidQuestion) as ours:
        check_list(assignors)
    assert ours.value.detail == theirs.value.args[0]
