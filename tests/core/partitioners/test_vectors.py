"""Every golden vector of key → partition, straight through the core."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.errors import KafkaError
from tests.support import golden
from tests.support.questions import ask

FILES = (
    "debezium", "erlang", "event-hubs", "kinesis", "maxwell", "pinot", "platformatic", "spring-cloud-stream", "ticdc",
    "adaptive",
    "aiokafka", "cassandra-tokens", "explicit", "franz-go", "java", "java-0.8", "java-2.3", "java-formats", "kafka-go",
    "kafka-python", "kafkajs", "librdkafka", "pulsar", "round-robin", "sarama", "scala-0.8", "sinek", "spark", "streams",
)  # fmt: skip


@golden.each(*(f"partitions/{name}" for name in FILES))
def test_a_partitioner_answers_as_the_client_it_is_named_after(case):
    expected = dict(case["expected"])
    if "error" in expected:
        with pytest.raises(KafkaError) as refused:
            ask(case["request"])
        assert type(refused.value).__name__ == expected["error"]
        assert str(refused.value) == expected["message"]
        return
    answer = ask(case["request"])
    results = {"partitions": answer.partitions, "tokens": answer.partitions}
    for name, value in expected.items():
        given = results[name] if name in results else getattr(answer, name)
        assert (given.tolist() if isinstance(given, np.ndarray) else given) == value, name
