"""Records of a topic, for brokers and producers that are not trusted.

kafka-python decompresses a batch whatever its size becomes: a batch of a megabyte can become gigabytes. ``install`` puts Arrow's
decompressors in the place of the library's, which need no further packages and stop at a limit:

=================== ==============================================================================================================
a batch             at most MOST_BATCH_BYTES once it is decompressed
all batches         take from the ``Allowance`` of the client
=================== ==============================================================================================================

Source: org.apache.kafka.common.compress, and org.xerial.snappy.SnappyInputStream for the blocks of Snappy.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from kafka import KafkaConsumer, codec
from kafka import errors as kafka_errors
from kafka.record import default_records, legacy_records

from service.live.bounded.decoding import read_varint, take, taking_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.live.client import ClusterClient

MOST_BATCH_BYTES: Final = 100 * 2**20
"""As many bytes as a response may have."""
_PIECE_BYTES: Final = 2**20
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_UNREADABLE: Final = (AssertionError, IndexError, OSError, RuntimeError, ValueError, struct.error)


class TooManyBytes(kafka_errors.KafkaError):  # type: ignore[misc]  # the library has no types
    """Decompressed records exceed a limit."""


@contextmanager
def open_consumer(client: ClusterClient) -> Iterator[KafkaConsumer]:
    """A consumer without a group. Within the block, KafkaError is raised for records that cannot be read or exceed a limit."""
    consumer = KafkaConsumer(**client.consumer_settings(), enable_auto_commit=False, group_id=None, exclude_internal_topics=False)
    try:
        with taking_from(client.records_allowance):
            yield consumer
    except TimeoutError:
        raise
    except _UNREADABLE as error:
        raise kafka_errors.CorruptRecordError(str(error)) from None
    finally:
        consumer.close(autocommit=False)


def decompress(name: str, data: bytes | memoryview) -> bytes:
    """The records of a batch. name : of Arrow's codec. Raises TooManyBytes, and OSError or ValueError for other bytes."""
    pieces, size = [], 0
    for expected, piece in _snappy_blocks(memoryview(data)) if name == "snappy" else _pieces(name, data):
        size += expected
        if size > MOST_BATCH_BYTES:
            raise TooManyBytes(f"A batch has more than {MOST_BATCH_BYTES // 2**20} MiB of {name} records once decompressed.")
        try:
            take(expected)
        except ValueError as error:
            raise TooManyBytes(str(error)) from None
        pieces.append(piece())
    return b"".join(pieces)


def _pieces(name: str, data: bytes | memoryview) -> Iterator[tuple[int, Any]]:
    with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
        while piece := stream.read(_PIECE_BYTES):
            yield len(piece), partial(bytes, piece)


def _snappy_blocks(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Each block by its decompressed size, which it begins with, and a function that decompresses it."""
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        yield _snappy_block(data)
        return
    pos = _XERIAL_HEADER_BYTES
    while pos < len(data):
        (size,) = struct.unpack_from(">I", data, pos)
        yield _snappy_block(data[pos + 4 : pos + 4 + size])
        pos += 4 + size


def _snappy_block(data: memoryview) -> tuple[int, Any]:
    size, _ = read_varint(data, 0)
    return size, partial(pa.decompress, data, decompressed_size=size, codec="snappy", asbytes=True)


def _legacy_headers(self: Any) -> list[tuple[Any, int]]:
    """The header of each record of a compressed batch, and where it begins. Raises ValueError for a negative length."""
    headers, pos = [], 0
    while pos < len(self._buffer):
        header = self._read_header(pos)
        if header[1] < 0:
            raise ValueError("a record has a negative length")
        headers.append((header, pos))
        pos += self.LOG_OVERHEAD + header[1]
    return headers


def install() -> None:
    """Have the library decompress so from now on."""
    for name in ("gzip", "snappy", "lz4", "zstd"):
        for module in (codec, default_records, legacy_records):
            setattr(module, f"{name}_decode", partial(decompress, name))
        setattr(codec, f"has_{name}", lambda: True)
    legacy_records.LegacyRecordBatch._read_all_headers = _legacy_headers  # noqa: SLF001 - there is no other place


install()
