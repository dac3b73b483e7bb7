"""The formulas of Flink, Beam and Druid: Group → Assignment, Ragged member → partitions, ascending.

Source: org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumerator.getSplitOwner,
org.apache.beam.sdk.io.kafka.KafkaUnboundedSource.split,
org.apache.druid.indexing.kafka.supervisor.KafkaSupervisor.getTaskGroupIdForPartition.
"""

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.jvm.hashing import java_hash_codes
from service.core.model import Assignment, Group, Int32s, Int64s
from service.core.ragged import grouped

MOST = 0x7FFFFFFF


def flink(group: Group) -> Assignment:
    """The hash code of the topic's name, times 31 and without its sign, says who gets partition 0."""
    topics, ids, hashes = partitions_of(group)
    starts = (hashes.astype(np.int64) * 31) & MOST
    return dealt((starts[topics] % max(len(group), 1) + ids), group)


def beam(group: Group) -> Assignment:
    """In turn over all partitions, sorted by topic and number; splits beyond the number of partitions do not exist.

    Beam makes more splits than are wanted until all have equally many partitions. Raises InvalidQuestion for fewer members.
    """
    partitions_of(group)
    partitions = group.topics.partitions_count
    wanted = min(len(group), partitions)
    splits = next((count for count in range(wanted, partitions) if wanted and partitions % count == 0), partitions)
    if splits > len(group) > 0:
        detail = (
            f"Beam makes {splits} splits where {wanted} are wanted, so that each has equally many of the {partitions} partitions."
        )
        raise InvalidQuestion(f"{detail} Give one member for each.", "members")
    return dealt(np.arange(partitions), group)


def druid(group: Group) -> Assignment:
    """``partition % taskCount``; of several topics ``Math.abs(31 * topic.hashCode() + partition) % taskCount``."""
    topics, ids, hashes = partitions_of(group)
    if len(group.topics) <= 1:
        return dealt(ids.astype(np.int64), group)
    mixed = np.abs((hashes[topics].astype(np.int64) * 31 + ids).astype(np.int32))
    # Math.abs of the least integer is negative, and so is its remainder, unless it is 0.
    if len(group) and (np.fmod(mixed, len(group)) < 0).any():
        detail = "Druid gives a partition of these topics a task group with a negative number, beside those of taskCount."
        raise InvalidQuestion(detail, "topics")
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
    topics = group.topics.topic_of
    ids = (np.arange(len(topics)) - np.repeat(group.topics.first[:-1], counts)).astype(np.int32)
    return topics, ids, java_hash_codes(group.topics.names)


def dealt(numbers: Int32s | Int64s, group: Group) -> Assignment:
    """Each partition to the member that is its number modulo the members; to no member if there are none."""
    members = len(group)
    owners = np.mod(numbers, members) if members else np.full(len(numbers), -1)
    return Assignment(grouped(owners.astype(np.int32), members))
