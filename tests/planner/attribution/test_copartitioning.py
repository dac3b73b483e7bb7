"""What keeps equal keys apart is what does so when keys are placed; Kafka Streams itself looks at the counts."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from service.core.errors import InvalidQuestion
from service.core.partitioners import PARTITIONERS
from service.planner.attribution.copartitioning import Topic, check, copartitioning
from tests.support.jvm import kafka_jvm
from tests.support.questions import ask

KEYS = [f"{i * 2654435761 % 2**32:x}-customer-{i}" for i in range(3000)]
ALIKE = {"event-hubs:java-sdk", "event-hubs:python-sdk", "pinot:hash-code"}
"""Their hash is another's for keys of ASCII, or of strings."""

ASKABLE = [
    one.name
    for one in PARTITIONERS
    if one.hashing_rule is not None
    and one.hashes_record_key
    and "string" in one.encoding.formats
    and one.name not in {"java:sticky", *ALIKE}
]


def topic(name: str, n: int = 12, partitioner: str = "java", key_format: str = "string") -> Topic:
    return Topic(name, n, PARTITIONERS[partitioner], key_format)


@cache
def placed(partitioner: str, partitions_count: int) -> np.ndarray:
    return np.asarray(ask({"partitioner": partitioner, "partitions_count": partitions_count, "keys": KEYS}).partitions)


@pytest.mark.parametrize("first", ASKABLE)
def test_two_topics_can_be_joined_when_all_keys_meet(first):
    """Every two partitioners, with equal and with other counts: beside where 3000 keys go."""
    one = topic("one", partitioner=first)
    mine = placed(first, one.partitions_count)
    for second, n in product(ASKABLE, (12, 24)):
        other = topic("two", n, second)
        meeting = float((mine == placed(second, n)).mean())
        result = copartitioning(one, other)
        assert result.joinable == (meeting == 1.0), (first, second, n)
        if {difference.what for difference in result.differences} <= {"partitions_count", "sign_rule"}:
            assert result.meeting == pytest.approx(meeting, abs=0.05), (first, second, n)


def whats(first: Topic, second: Topic) -> list[str]:
    return [difference.what for difference in copartitioning(first, second).differences]


def test_each_part_of_the_way_from_key_to_partition_is_named():
    java = topic("one")
    assert whats(java, topic("two")) == []
    assert whats(java, topic("two", 18)) == ["partitions_count"]
    assert whats(java, topic("two", partitioner="librdkafka:consistent_random")) == ["hash"]
    assert whats(topic("one", partitioner="sarama"), topic("two", partitioner="sarama:reference")) == ["sign_rule"]
    assert whats(java, topic("two", key_format="long")) == ["key_bytes"]
    assert whats(java, topic("two", partitioner="java:round-robin")) == ["partitioner_ignores_keys"]
    assert whats(topic("one", 12, "sarama", "int"), topic("two", 8, key_format="long")) == [
        "partitions_count",
        "hash",
        "key_bytes",
    ]


def test_bytes_that_may_be_the_same_are_a_condition():
    assert copartitioning(topic("one"), topic("two", key_format="bytes")).notes == (
        "the bytes of one topic's keys have to be the UTF-8 of the other's",
    )
    uuids = copartitioning(topic("one"), topic("two", key_format="uuid"))
    assert uuids.joinable
    assert "lower case" in uuids.notes[0]
    rdkafka = copartitioning(
        topic("one", partitioner="librdkafka:consistent"), topic("two", partitioner="librdkafka:consistent_random")
    )
    assert rdkafka.joinable
    assert "empty key need not meet" in rdkafka.notes[0]


def test_a_number_is_no_empty_key_and_one_partition_has_every_record():
    for n, key_format in ((12, "long"), (1, "string")):
        writers = [topic(name, n, name, key_format) for name in ("librdkafka:consistent", "librdkafka:consistent_random")]
        assert "empty key" not in " ".join(copartitioning(*writers).notes)


@pytest.mark.parametrize(
    ("client", "other", "setting"),
    [
        ("librdkafka:consistent_random", "java", "partitioner=murmur2_random"),
        ("librdkafka:consistent", "java", "partitioner=murmur2"),
        ("sarama", "java", "Producer.Partitioner"),
        ("kafka-go:crc32-consistent", "java", "Writer.Balancer"),
    ],
)
def test_the_clients_setting_that_fixes_it_is_named(client, other, setting):
    """One under which records without a key go where they went; and it does mend it."""
    (difference,) = copartitioning(topic("one", partitioner=client), topic("two", partitioner=other)).differences
    mend = next(one for one in difference.settings if one.topic_name == "one")
    assert mend.setting == setting
    assert copartitioning(topic("one", partitioner=mend.partitioner), topic("two", partitioner=other)).joinable
    if PARTITIONERS[client].null.rule != "as an empty key":
        assert PARTITIONERS[mend.partitioner].null.rule == PARTITIONERS[client].null.rule


def test_where_a_count_is_a_multiple_its_partitions_belong_to_one_each():
    (difference,) = copartitioning(topic("one", 12), topic("two", 36)).differences
    assert "partition p of two belongs to partition p mod 12" in difference.detail
    assert (placed("java", 36) % 12 == placed("java", 12)).all()


def test_with_one_partition_each_all_keys_meet():
    result = copartitioning(topic("one", 1, "java"), topic("two", 1, "librdkafka:random"))
    assert result.joinable
    assert result.meeting == 1.0


@pytest.mark.parametrize(
    ("one", "field"),
    [
        (topic("t", partitioner="cassandra:murmur3"), "partitioner"),
        (topic("t", 1, "pulsar", "int"), "key_format"),
    ],
)
def test_a_topic_that_cannot_be_is_refused(one, field):
    with pytest.raises(InvalidQuestion) as refused:
        check(one)
    assert refused.value.field == (field,)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(12, 12), (12, 18), (3, 6)])
def test_kafka_streams_starts_or_refuses_in_these_words(counts):
    """Beside its own CopartitionedTopicsEnforcer, which knows nothing of partitioners."""
    jvm = kafka_jvm()
    util, common = jvm.java.util, jvm.org.apache.kafka.common
    names = ("orders", "customers")
    partitions = util.ArrayList()
    node = common.Node(0, "localhost", 9092)
    for name, count in zip(names, counts, strict=True):
        for i in range(count):
            partitions.add(common.PartitionInfo(name, i, node, None, None))
    cluster = common.Cluster("c", util.List.of(node), partitions, util.Set.of(), util.Set.of())
    enforcer = jvm.org.apache.kafka.streams.processor.internals.assignment.CopartitionedTopicsEnforcer("")
    result = copartitioning(topic("orders", counts[0]), topic("customers", counts[1], "sarama"))
    try:
        enforcer.enforce(util.Set.of(*names), util.HashMap(), cluster)
        said = None
    except Exception as error:  # noqa: BLE001 - py4j's, with Java's inside
        said = error.java_exception.getMessage()
    assert result.streams_message == said


def test_sign_rules_may_agree_at_a_count():
    """Of one hash, platformatic takes the hash as unsigned, Java without its sign bit: alike with any power of two."""

    def of(n, m=None):
        topics = (Topic("a", n, PARTITIONERS["java"], "string"), Topic("b", m or n, PARTITIONERS["platformatic"], "string"))
        return copartitioning(*topics)

    assert of(8).joinable
    assert of(8).meeting == 1
    assert any("the sign rules agree" in note for note in of(8).notes)
    assert [each.what for each in of(12).differences] == ["sign_rule"]
    assert of(12).meeting < 1
    (of_counts, of_signs) = of(6, 12).differences
    assert "belongs to partition" not in of_counts.detail, "only of the same hash and sign rule"
    assert of_signs.what == "sign_rule"


def test_what_belongs_together_is_said_of_equal_hashes_only():
    different = copartitioning(
        Topic("a", 6, PARTITIONERS["java"], "string"), Topic("b", 12, PARTITIONERS["librdkafka:consistent"], "string")
    )
    assert "belongs to partition" not in different.differences[0].detail
