"""The formulas of Flink, Spark, Beam and Druid: Group → Assignment, Ragged member → partitions, ascending.

Source: org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumerator.getSplitOwner,
org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator.getLocation,
org.apache.beam.sdk.io.kafka.KafkaUnboundedSource.split,
org.apache.druid.indexing.kafka.supervisor.KafkaSupervisor.getTaskGroupIdForPartition.
"""

from __future__ import annotations

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.jvm.hashing import java_hash_codes, topic_partition_hash_codes
from service.core.model import Assignment, Group, Int32s, Int64s
from service.core.ragged import grouped

MOST = 0x7FFFFFFF


def flink(group: Group) -> Assignment:
    """The hash code of the topic's name, times 31 and without its sign, says who gets partition 0."""
    topics, ids, hashes = partitions_of(group)
    starts = (hashes.astype(np.int64) * 31) & MOST
    return dealt((starts[topics] % max(len(group), 1) + ids), group)


def spark(group: Group) -> Assignment:
    """Math.floorMod of TopicPartition.hashCode. Members are the executors in Spark's order: host, then id, both descending."""
    topics, ids, hashes = partitions_of(group)
    return dealt(topic_partition_hash_codes(hashes[topics], ids).astype(np.int64), group)


def spark_warnings(_: Group) -> list[str]:
    """What Spark does beside it."""
    sentence = (
        "Spark's scheduler runs a task elsewhere if the preferred executor is busy for longer than spark.locality.wait. Where "
        "minPartitions is above the number of partitions, ranges of offsets prefer no executor."
    )
    return [sentence]


def beam(group: Group) -> Assignment:
    """In turn over all partitions, sorted by topic and number; splits beyond the number of partitions do not exist."""
    partitions_of(group)
    return dealt(np.arange(group.topics.partitions_count), group)


def druid(group: Group) -> Assignment:
    """``partition % taskCount``; of several topics ``Math.abs(31 * topic.hashCode() + partition) % taskCount``."""
    topics, ids, hashes = partitions_of(group)
    if len(group.topics) <= 1:
        return dealt(ids.astype(np.int64), group)
    mixed = np.abs((hashes[topics].astype(np.int64) * 31 + ids).astype(np.int32))
    if (mixed < 0).any():  # Math.abs of the least integer is negative, and so is the task group
        raise InvalidQuestion("Druid gives a partition of these topics a negative task group, which no task has.", "topics")
    return dealt(mixed.astype(np.int64), group)


def partitions_of(group: Group) -> tuple[Int32s, Int32s, Int32s]:
    """The topic and the number of each partition, and the hash code of each topic's name; all int32.

    Raises InvalidQuestion for readers of some topics only.
    """
    subscriptions = group.subscriptions
    partial = np.flatnonzero(subscriptions.lengths() != len(group.topics))
    if len(partial) or (subscriptions.values >= len(group.topics)).any():
        detail = "All readers of a source read all of its topics: leave out topic_names."
        raise InvalidQuestion(detail, "members", int(partial[0]) if len(partial) else 0, "topic_names")
    counts = group.topics.partitions_counts()
    topics = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    ids = (np.arange(len(topics)) - np.repeat(group.topics.first[:-1], counts)).astype(np.int32)
    return topics, ids, java_hash_codes(group.topics.names)


def dealt(numbers: Int64s, group: Group) -> Assignment:
    """Each partition to the member that is its number modulo the members; to nobody if there are none."""
    members = len(group)
    owners = np.mod(numbers, members) if members else np.full(len(numbers), -1)
    return Assignment(grouped(owners.astype(np.int32), members))
