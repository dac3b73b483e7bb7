"""Records of a topic.

kafka-python needs a further package for each codec but gzip. ``install`` puts Arrow's decompressors in their place.

Source: org.apache.kafka.common.compress, and org.xerial.snappy.SnappyInputStream for the blocks of Snappy.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from kafka import KafkaConsumer, codec
from kafka import errors as kafka_errors
from kafka.record import default_records, legacy_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.live.client import ClusterClient

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_UNREADABLE: Final = (AssertionError, IndexError, OSError, RuntimeError, ValueError, struct.error)


@contextmanager
def open_consumer(client: ClusterClient) -> Iterator[KafkaConsumer]:
    """A consumer without a group. Within the block, KafkaError is raised for records that cannot be read."""
    consumer = KafkaConsumer(**client.consumer_settings(), enable_auto_commit=False, group_id=None, exclude_internal_topics=False)
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
