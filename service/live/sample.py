"""A sample of a topic's newest records: each key, and the partition that it was written to."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafka import TopicPartition
from kafka import errors as kafka_errors

from service.live.client import ClusterClient, reason
from service.live.errors import ClusterError
from service.live.records import open_consumer

SECONDS: Final = 10.0
"""The longest time for one topic."""


def sample_keys(client: ClusterClient, topic: Mapping[str, Any], count: int) -> list[tuple[bytes, int]]:
    """About ``count`` records with a key, equally many of each partition: the key and the partition.

    topic : of a snapshot
    Raises ClusterError if the topic cannot be read, or the client has no time left.
    """
    if not client.seconds_left:
        raise ClusterError(f"{topic['topic_name']}: the time limit has expired.")
    begins: Sequence[int | None] = topic.get("log_start_offsets", ())
    ends: Sequence[int | None] = topic.get("log_end_offsets", ())
    share = -(-count // max(1, len(ends)))
    ranges = {
        TopicPartition(topic["topic_name"], i): (max(begin, end - share), end)
        for i, (begin, end) in enumerate(zip(begins, ends, strict=False))
        if begin is not None and end is not None and begin < end
    }
    if not ranges:
        return []
    try:
        return list(_records(client, ranges))
    except kafka_errors.KafkaError as error:
        raise ClusterError(f"{topic['topic_name']}: {reason(error)}") from None


def _records(client: ClusterClient, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[tuple[bytes, int]]:
    """The records with a key. ranges : the first offset of each partition, and the one after the last"""
    with open_consumer(client) as consumer:
        consumer.assign(list(ranges))
        for partition, (begin, _) in ranges.items():
            consumer.seek(partition, begin)
        until = time.monotonic() + min(SECONDS, client.seconds_left)
        left = set(ranges)
        while left and time.monotonic() < until:
            for records in consumer.poll(500).values():
                yield from ((record.key, record.partition) for record in records if record.key is not None)
            left = {partition for partition in left if consumer.position(partition) < ranges[partition][1]}
