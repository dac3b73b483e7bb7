"""Compressed records: those of every codec are read."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from kafka.protocol.consumer import FetchResponse
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from service.live.client import ClusterClient
from service.live.errors import ClusterError
from service.live.offsets_topic import TOPIC
from service.live.records import sample_keys
from tests.live.stub_cluster import StubCluster, stub_cluster

CODECS = {"gzip": 1, "snappy": 2, "xerial": 2, "lz4": 3, "zstd": 4}
RECORDS_COUNT = 5
"""As many as the partitions of a stub cluster have."""
KEYS = [b"key-%d" % i for i in range(RECORDS_COUNT)]


def _compressed(name: str, content: bytes) -> bytes:
    if name != "xerial":
        return bytes(pa.compress(content, codec=name, asbytes=True))
    blocks = [pa.compress(content[i : i + 2**25], codec="snappy", asbytes=True) for i in range(0, len(content), 2**25)]
    header = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return header + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def batch(name: str, value: bytes, change: bytes = b"") -> bytes:
    """A batch of five records. value : of each; change : what stands at the end of the compressed bytes instead"""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 2**31 - 1)
    for i, key in enumerate(KEYS):
        builder.append(i, 0, key, value, [])
    plain = bytes(builder.build())
    start = DefaultRecordBatch.HEADER_STRUCT.size
    content = _compressed(name, plain[start:])
    header = list(DefaultRecordBatch.HEADER_STRUCT.unpack(plain[:start]))
    header[1], header[5] = start - 12 + len(content), CODECS[name]
    content = content[: len(content) - len(change)] + change
    body = DefaultRecordBatch.HEADER_STRUCT.pack(*header)[DefaultRecordBatch.ATTRIBUTES_OFFSET :] + content
    header[4] = calc_crc32c(body)
    return DefaultRecordBatch.HEADER_STRUCT.pack(*header)[: DefaultRecordBatch.ATTRIBUTES_OFFSET] + body


@dataclass
class Written(StubCluster):
    """A cluster that has this batch in partition 0 of ``__consumer_offsets``, its one topic."""

    brokers_count: int = 1
    topics_count: int = 1
    partitions_count: int = 1
    groups_count: int = 1
    records: bytes = b""

    def topic(self, i: int) -> str:
        """Its name."""
        return TOPIC

    def _MetadataRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802 - as the request
        request.topics = None
        return super()._MetadataRequest(broker_id, request)

    def _FetchRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        one_topic = FetchResponse.FetchableTopicResponse
        parts = [
            one_topic.PartitionData(
                partition_index=partition.partition,
                error_code=0,
                high_watermark=RECORDS_COUNT,
                last_stable_offset=RECORDS_COUNT,
                log_start_offset=0,
                aborted_transactions=[],
                preferred_read_replica=-1,
                records=self.records if partition.fetch_offset == 0 else b"",
            )
            for topic in request.topics
            for partition in topic.partitions
        ]
        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[one_topic(topic=TOPIC, partitions=parts)])


SAMPLED = {"topic_name": TOPIC, "log_start_offsets": [0], "log_end_offsets": [RECORDS_COUNT]}


def _sample(records: bytes) -> list[tuple[bytes, int]]:
    with stub_cluster(Written(records=records)) as cluster, ClusterClient(cluster.bootstrap, {}, 20.0) as client:
        return sample_keys(client, SAMPLED, 100)


@pytest.mark.parametrize("name", CODECS)
def test_records_of_every_codec(name: str) -> None:
    """Records are read without further packages, in whatever way they are compressed."""
    assert _sample(batch(name, b"value" * 10_000)) == [(key, 0) for key in KEYS]


@pytest.mark.parametrize("name", CODECS)
def test_bytes_of_no_codec(name: str) -> None:
    """A batch that cannot be decompressed is an error of this client, with the reason."""
    with pytest.raises(ClusterError, match=f"{TOPIC}: CORRUPT_MESSAGE: "):
        _sample(batch(name, bytes(1000), change=b"\xff" * 12))
