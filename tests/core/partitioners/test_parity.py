"""The real clients, live: the JVM's classes, librdkafka's mock cluster, kafka-python and aiokafka in process."""

from __future__ import annotations

import base64
import random
import warnings
from functools import cache

import pytest
from aiokafka.partitioner import DefaultPartitioner as AiokafkaPartitioner
from confluent_kafka import Producer

from service.core.jvm import hashing
from service.core.keys import columns
from service.core.partitioners.murmur2 import murmur2
from tests.support.jvm import kafka_jvm
from tests.support.questions import ask, keys_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python's, when it is imported
    from kafka.partitioner.default import DefaultPartitioner as KafkaPythonPartitioner

RANDOM = random.Random(20_261_121)
BYTES = [RANDOM.randbytes(RANDOM.randrange(41)) for _ in range(500)]
TEXTS = [
    "".join(chr(RANDOM.choice((*range(1, 0x250), *range(0x1F600, 0x1F640)))) for _ in range(RANDOM.randrange(20)))
    for _ in range(200)
]


def base64s(values: list[bytes]) -> list[str]:
    return [base64.b64encode(value).decode() for value in values]


def partitions(partitioner: str, values: list[bytes], n: int) -> list[int]:
    request = {"partitioner": partitioner, "partitions_count": n, "key_format": "base64", "keys": base64s(values)}
    return ask(request).partitions.tolist()


@pytest.mark.parametrize("n", [1, 12, 2**31 - 1])
def test_java_places_a_key_as_the_real_class(n):
    java = kafka_jvm().org.apache.kafka
    partitioner = java.clients.producer.internals.BuiltInPartitioner
    assert partitions("java", BYTES, n) == [partitioner.partitionForKey(key, n) for key in BYTES]
    assert murmur2(keys_of(BYTES)).tolist() == [java.common.utils.Utils.murmur2(key) for key in BYTES]


def test_string_hash_codes_are_the_jvms():
    string = kafka_jvm().java.util.Objects
    assert hashing.java_hash_codes(TEXTS).tolist() == [string.hashCode(text) for text in TEXTS]


@pytest.mark.parametrize(
    ("key_format", "serializer", "values"),
    [
        ("string", "StringSerializer", TEXTS),
        ("double", "DoubleSerializer", [RANDOM.uniform(-1e9, 1e9) for _ in range(50)]),
        ("boolean", "BooleanSerializer", [True, False]),
    ],
)
def test_keys_are_serialised_as_by_the_real_serializer(key_format, serializer, values):
    real = getattr(kafka_jvm().org.apache.kafka.common.serialization, serializer)()
    from tests.core.keys.test_columns import column, pieces  # noqa: PLC0415 - only the helpers

    assert pieces(columns.SERIALIZED.run(column(values, key_format), key_format)) == [
        bytes(real.serialize("t", v)) for v in values
    ]


class OneTopic:
    """What kafka-python's partitioner asks its cluster metadata."""

    def __init__(self, partitions: list[int], available: list[int]) -> None:
        self.topics = lambda: {"t"}
        self.partitions_for_topic = lambda _: set(partitions)
        self.available_partitions_for_topic = lambda _: set(available)


def test_kafka_python_places_a_key_as_we_do():
    real, cluster = KafkaPythonPartitioner(), OneTopic(list(range(12)), [0])
    assert partitions("kafka-python", BYTES, 12) == [real.partition("t", None, key, None, None, cluster) for key in BYTES]


def test_aiokafka_places_a_key_as_we_do():
    assert partitions("aiokafka", BYTES, 12) == [AiokafkaPartitioner()(key, list(range(12)), [0]) for key in BYTES]


@cache
def delivered(partitioner: str) -> list[int]:
    """The partition of each of BYTES, as librdkafka's delivery reports give it: a mock topic has 4."""
    producer = Producer(
        {
            "bootstrap.servers": "unused",
            "test.mock.num.brokers": 1,
            "partitioner": partitioner,
            "log_level": 0,
        }
    )
    partitions: dict[int, int] = {}

    def report(i):
        def delivered_to(error, message):
            assert error is None
            partitions[i] = message.partition()

        return delivered_to

    for i, key in enumerate(BYTES):
        producer.produce("t", key=key, value=b"", on_delivery=report(i))
    assert producer.flush(20) == 0
    return [partitions[i] for i in range(len(BYTES))]


@pytest.mark.parametrize("name", ["consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"])
def test_librdkafka_delivers_a_key_where_we_say(name):
    ours = partitions(f"librdkafka:{name}", BYTES, 4)
    for key, mine, real in zip(BYTES, ours, delivered(name), strict=True):
        assert mine == real or (name == "consistent_random" and not key)


@pytest.mark.parametrize("name", ["random", "consistent_random", "murmur2_random", "fnv1a_random"])
def test_librdkafka_keeps_records_without_a_key_on_one_partition_while_it_lingers(name):
    producer = Producer(
        {
            "bootstrap.servers": "unused",
            "test.mock.num.brokers": 1,
            "partitioner": name,
            "log_level": 0,
            "sticky.partitioning.linger.ms": 60_000,
        }
    )
    producer.produce("t", key=b"first", value=b"")
    assert producer.flush(20) == 0
    partitions = []
    for _ in range(100):
        producer.produce("t", value=b"", on_delivery=lambda _, message: partitions.append(message.partition()))
    assert producer.flush(20) == 0
    assert (len(partitions), len(set(partitions))) == (100, 1)
    ours = ask({"partitioner": f"librdkafka:{name}", "partitions_count": 4, "keys": [None] * 100})
    assert len(set(ours.partitions.tolist())) == 1


def test_librdkafkas_random_partitioner_draws_for_each_record_with_a_key():
    assert len(set(delivered("random"))) == 4
