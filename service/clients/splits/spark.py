"""Spark's Kafka source: the ranges of offsets that its tasks read, and the executor that each prefers.

A batch reads what came since the last. Each partition with new records is one task, which prefers the executor that the hash of
topic and partition chooses, so that consumers are used again. ``minPartitions`` above the number of such partitions and
``maxRecordsPerPartition`` divide partitions into several tasks, and then no task of the batch prefers an executor:

    max_records    a partition of n records → ⌈n ÷ max_records⌉ ranges
    min_partitions, if there are fewer ranges:
                   each range is to have round(n ÷ all records × min_partitions); those that come to 1 stay whole, and the others
                   share what is left, in proportion
    n records in k ranges:  the first k - n mod k have ⌊n ÷ k⌋, the others one more; empty ones are left out

Source: org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator.
"""

from typing import Final

import numpy as np

from service.clients.splits.readers import dealt, partitions_of
from service.core.clock import check_time, reserve_in_turn
from service.core.errors import InvalidQuestion
from service.core.jvm.hashing import topic_partition_hash_codes
from service.core.model import NONE, Assignment, Float64s, Group, Int32s, Int64s, LeftOpen, OffsetRanges, distinct
from service.core.ragged import grouped

MOST_RANGES: Final = 1_000_000
RANGE_BYTES: Final = 150
"""Memory of a range while ranges are divided, and its text in an answer."""

LARGEST_LONG: Final = 2**63 - 1
LARGEST_INT: Final = 2**31 - 1


def assign(group: Group, *, min_partitions: int | None = None, max_records: int | None = None) -> Assignment:
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
        ranges = _divided(ranges, _parts_of(ranges, max_records))
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


def _parts_of(ranges: OffsetRanges, max_records: int) -> Int64s:
    """int64[ranges], into how many ranges, of at most a number of records, each is divided."""
    parts = np.ceil((ranges.ends - ranges.starts).astype(np.float64) / max_records)
    return np.minimum(parts, LARGEST_INT).astype(np.int64)


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
