"""Records of a topic, and a sample of its newest ones.

kafka-python needs a further package for each codec but gzip. ``install`` puts Arrow's decompressors in their place.

Source: org.apache.kafka.common.compress, and org.xerial.snappy.SnappyInputStream for the blocks of Snappy.
"""

import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import pyarrow as pa
from kafka import KafkaConsumer, TopicPartition, codec
from kafka import errors as kafka_errors
from kafka.record import default_records, legacy_records

from service.live.client import ClusterClient, reason
from service.live.errors import ClusterError

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_UNREADABLE: Final = (AssertionError, IndexError, OSError, RuntimeError, ValueError, struct.error)


@contextmanager
def open_consumer(client: ClusterClient) -> Iterator[KafkaConsumer]:
    """A consumer without a group. Within the block, KafkaError is raised for records that cannot be read."""
    consumer = KafkaConsumer(**client.settings, enable_auto_commit=False, group_id=None, exclude_internal_topics=False)
    try:
        yield consumer
    except TimeoutError:
        raise
    except _UNREADABLE as error:
        raise kafka_errors.CorruptRecordError(str(error)) from None
    finally:
        consumer.close(autocommit=False)


def decompress(name: str, data: bytes | memoryview) -> bytes:
    """The records of a batch. name : of Arrow's codec. Raises OSError or ValueError for other bytes."""
    if name == "snappy":
        return b"".join(map(_snappy_block, _snappy_blocks(memoryview(data))))
    with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
        return bytes(stream.read())


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        yield data
        return
    pos = _XERIAL_HEADER_BYTES
    while pos < len(data):
        (size,) = struct.unpack_from(">I", data, pos)
        yield data[pos + 4 : pos + 4 + size]
        pos += 4 + size


def _snappy_block(data: memoryview) -> bytes:
    """A block begins with its decompressed size, seven bits a byte, the lowest first."""
    last = next(i for i, byte in enumerate(data) if byte < 0x80)
    size = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(data[: last + 1]))
    return bytes(pa.decompress(data, decompressed_size=size, codec="snappy", asbytes=True))


def install() -> None:
    """Have the library decompress so from now on."""
    for name in ("gzip", "snappy", "lz4", "zstd"):
        for module in (codec, default_records, legacy_records):
            setattr(module, f"{name}_decode", partial(decompress, name))
        setattr(codec, f"has_{name}", lambda: True)


install()


# A sample of a topic's newest records: each key, and the partition that it was written to.

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
