"""How readers that form no consumer group divide partitions: Flink, Spark, Beam, Druid, MirrorMaker 2. A formula each.

The members of such a "group" are the source's readers (subtasks, executors, splits, tasks), in the order of their numbers. All of
them read all topics, and nothing depends on what they had before.
"""

from typing import Final

import numpy as np

from service.core.assignors.model import Assignor
from service.core.budget import check_time, reserve_in_turn
from service.core.errors import InvalidQuestion
from service.core.jvm.hashing import java_hash_codes, topic_partition_hash_codes
from service.core.jvm.ordering import iteration_order
from service.core.model import NONE, Assignment, Float64s, Group, Int32s, Int64s, LeftOpen, OffsetRanges, distinct, ranks_of
from service.core.ragged import grouped
from service.core.registry import Implementation

# The formulas of Flink, Beam and Druid: Group → Assignment, Ragged member → partitions, ascending.
#
# Source: org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumerator.getSplitOwner,
# org.apache.beam.sdk.io.kafka.KafkaUnboundedSource.split,
# org.apache.druid.indexing.kafka.supervisor.KafkaSupervisor.getTaskGroupIdForPartition.

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


# MirrorMaker 2: the tasks of its source connector.
#
# The connector describes the topics that it replicates, and goes through them as a HashMap gives them; the partitions of each
# follow one another, and all are dealt to the tasks in turn. Connect then assigns the tasks to its workers.
#
# Source: org.apache.kafka.connect.mirror.MirrorSourceConnector.findSourceTopicPartitions and taskConfigs;
# org.apache.kafka.clients.admin.DescribeTopicsResult.allTopicNames.


def mirror_maker(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    topics, ids, hashes = partitions_of(group)
    places = ranks_of(iteration_order(hashes, capacity=len(hashes)))
    return dealt(ranks_of(np.lexsort((ids, places[topics]))), group)


def mirror_maker_warnings(group: Group) -> list[str]:
    """Topics in one slot of the HashMap: their order there is that in which they came, which is taken for that of their names."""
    hashes = java_hash_codes(group.topics.names)
    length = 1 << max(len(hashes) - 1, 0).bit_length()
    length *= 2 if len(hashes) > length * 3 // 4 else 1
    slots = (hashes ^ (hashes.view(np.uint32) >> np.uint32(16)).view(np.int32)) & np.int32(length - 1)
    if len(np.unique(slots)) == len(slots):
        return []
    return ["Some topics share a slot of MirrorMaker's HashMap. Their order there is assumed to be by name, a guess."]


# Spark's Kafka source: the ranges of offsets that its tasks read, and the executor that each prefers.
#
# A batch reads what came since the last. Each partition with new records is one task, which prefers the executor that the hash
# of topic and partition chooses, so that consumers are used again. ``minPartitions`` above the number of such partitions and
# ``maxRecordsPerPartition`` divide partitions into several tasks, and then no task of the batch prefers an executor:
#
#     max_records    a partition of n records → ⌈n ÷ max_records⌉ ranges min_partitions, if there are fewer ranges: each range
# is to have round(n ÷ all records × min_partitions); those that come to 1 stay whole, and the others share what is left, in
# proportion n records in k ranges:  the first k - n mod k have ⌊n ÷ k⌋, the others one more; empty ones are left out
#
# Source: org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator.

MOST_RANGES: Final = 1_000_000
RANGE_BYTES: Final = 150
"""Memory of a range while ranges are divided, and its text in an answer."""

LARGEST_LONG: Final = 2**63 - 1
LARGEST_INT: Final = 2**31 - 1


def spark(group: Group, *, min_partitions: int | None = None, max_records: int | None = None) -> Assignment:
    """Members are the executors in Spark's order: host, then id, both descending. With offsets, also the ranges of the batch.

    Raises InvalidQuestion where an offset is not known, and for more than MOST_RANGES.
    """
    topics, ids, hashes = partitions_of(group)
    preferred = np.mod(topic_partition_hash_codes(hashes[topics], ids).astype(np.int64), max(len(group), 1))
    if group.topics.offsets is None:
        if min_partitions is not None or max_records is not None:
            raise InvalidQuestion(
                "min_partitions and max_records_per_partition need topics[].lag, the offsets of the batch.", "topics"
            )
        return dealt(preferred, group)
    ranges = _whole(group, group.topics.offsets)
    located = max_records is None and len(ranges) >= (min_partitions or 0)
    if max_records is not None:
        parts = np.ceil((ranges.ends - ranges.starts).astype(np.float64) / max_records)  # of at most so many records
        ranges = _divided(ranges, np.minimum(parts, LARGEST_INT).astype(np.int64))
    if min_partitions is not None and min_partitions > len(ranges):
        ranges = _divided(ranges, _shares(ranges, min_partitions))
    check_time()
    read = distinct(ranges.partitions)
    owners = np.full(len(topics), NONE, np.int32)
    if located and len(group):
        owners[read] = preferred[read]
    because = "Spark runs the tasks of divided partitions on any executor that is free"
    left_open = None if located or not len(read) else LeftOpen(read, because)
    return Assignment(grouped(owners, len(group)), left_open=left_open, ranges=ranges)


def _whole(group: Group, offsets: Int64s) -> OffsetRanges:
    """A range for each partition that has records. offsets : see ``Topics``"""
    starts, ends, _ = offsets
    unknown = np.flatnonzero((starts == NONE) | (ends == NONE))
    if len(unknown):
        topic = int(np.searchsorted(group.topics.first, unknown[0], "right")) - 1
        row = topic if group.topics.listed is None else int(np.flatnonzero(group.topics.listed == topic)[0])
        partition_id = int(unknown[0] - group.topics.first[topic])
        raise InvalidQuestion(f"Spark needs both offsets of partition {partition_id}.", "topics", row, "lag")
    read = np.flatnonzero(ends > starts).astype(np.int32)
    return OffsetRanges(read, starts[read], ends[read])


def _shares(ranges: OffsetRanges, min_partitions: int) -> Int64s:
    """int64[ranges], into how many ranges each is divided, so that there are about ``min_partitions``."""
    sizes = ranges.ends - ranges.starts
    parts = _rounded(sizes, _total(sizes), min_partitions)
    small = parts == 1
    left = max(min_partitions - int(small.sum()), 1)
    if not small.all():
        parts = _rounded(sizes, _total(sizes[~small]), left)
    parts[np.isin(ranges.partitions, ranges.partitions[small])] = 1
    return parts


def _total(sizes: Int64s) -> int:
    """The sum. Raises InvalidQuestion if a long cannot hold it."""
    total = (int((sizes >> 32).sum()) << 32) + int((sizes & 0xFFFFFFFF).sum())
    if total > LARGEST_LONG:
        raise InvalidQuestion("There are more records than Spark can count (2⁶³ - 1).", "topics")
    return total


def _rounded(sizes: Int64s, total: int, count: int) -> Int64s:
    """``max(Math.round(size ÷ total × count), 1)``, int64[ranges]."""
    shares: Float64s = sizes.astype(np.float64) / float(total) * count
    whole = np.floor(shares)
    parts: Int64s = np.maximum(whole + (shares - whole >= 0.5), 1).astype(np.int64)
    return parts


def _divided(ranges: OffsetRanges, parts: Int64s) -> OffsetRanges:
    """Each range in its number of parts, int64[ranges], without those that are empty. Raises InvalidQuestion for too many."""
    sizes = ranges.ends - ranges.starts
    kept = np.minimum(parts, sizes)
    count = int(np.minimum(kept, MOST_RANGES + 1).sum())
    if count > MOST_RANGES:
        raise InvalidQuestion(f"This divides the records into more than {MOST_RANGES} tasks, the most that are listed.")
    reserve_in_turn(RANGE_BYTES * count)
    of: Int32s = np.repeat(np.arange(len(ranges), dtype=np.int32), kept)
    # The number of each part of its range, counting those that are empty, which come first.
    part = np.arange(count) - np.repeat(np.cumsum(kept) - kept, kept) + (parts - kept)[of]
    least, more = np.divmod(sizes, parts)
    starts = ranges.starts[of] + part * least[of] + np.maximum(part - (parts - more)[of], 0)
    ends = starts + least[of] + (part >= (parts - more)[of])
    return OffsetRanges(ranges.partitions[of], starts, ends)


SPLITS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="flink:kafka-source",
        run=flink,
        implementation=Implementation("flink", "3.4.0-1.20", "KafkaSourceEnumerator.getSplitOwner"),
        summary="Subtask i gets partition 0 of a topic by the topic's hash, and its successors the next partitions in turn.",
        is_default=True,
    ),
    Assignor(
        name="spark:kafka-source",
        run=spark,
        implementation=Implementation("spark", "4.2.0", "KafkaOffsetRangeCalculator.getRanges"),
        summary=(
            "The executor that a partition prefers, by the hash of topic and partition, if it is free within "
            "spark.locality.wait; with `lag` the ranges of offsets that tasks read, divided by `min_partitions` and "
            "`max_records_per_partition`."
        ),
        divides=True,
    ),
    Assignor(
        name="beam:kafka-io",
        run=beam,
        implementation=Implementation("beam", "2.69.0", "KafkaUnboundedSource.split"),
        summary="All partitions, by topic and number, are dealt to the splits in turn.",
    ),
    Assignor(
        name="druid:kafka",
        run=druid,
        implementation=Implementation("druid", "33.0.0", "KafkaSupervisor.getTaskGroupIdForPartition"),
        summary="Partition i of one topic goes to task i mod n; of several topics, each by the hash of topic and partition.",
    ),
    Assignor(
        name="mirror-maker:source",
        run=mirror_maker,
        implementation=Implementation("mirror-maker", "4.3.1", "MirrorSourceConnector.taskConfigs"),
        summary="All partitions, topic by topic in the order of a HashMap, are dealt to the tasks in turn.",
        warnings=mirror_maker_warnings,
    ),
)
"""Those of the protocol ``splits``."""
