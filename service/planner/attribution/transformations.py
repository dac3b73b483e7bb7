"""Other bytes that serializers make of a key: people see ``acct-000``, the hash saw ``"acct-000"``, or it behind a schema id.

A transformation applies to a set of keys only if it does to each of them.

Every transformation is another hypothesis for each class and partition count, and all of them count in the probability of a
coincidence. A few pairs are enough to tell a transformation from chance, so each is tried with SAMPLE pairs only.
"""

import base64
import json
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np

from service.core.clock import check_time, reserve
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.model import Keys
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.murmur2 import MURMUR2
from service.planner.attribution.equivalents import PartitionerClasses, hash_all
from service.planner.attribution.growth import evidence_of
from service.planner.attribution.mixtures import SIGNIFICANCE
from service.planner.attribution.observations import NO_KEY, KeyObservations

SMALL_IDS: Final = range(101)
"""Schema ids that are tried unless the caller names some: registries count from 1."""

FRAMED: Final = "with magic byte and schema id"


class Transformation(NamedTuple):
    """What is done with a key's text: ``run(text)`` → bytes; ValueError if it does not apply.

    name : "as …" what keys are hashed
    is_one_of_many : does it differ from others by a number alone? Then only the commonest hashes are tried
    """

    name: str
    run: Callable[[str], bytes]
    is_one_of_many: bool = False


def texts_of(column: Column) -> list[str | None]:
    """The keys as people see them; empty if these are the bytes themselves, or neither text nor integers."""
    if isinstance(column, columns.Numbers) and column.values.dtype.kind == "i":
        texts, valid = [str(value) for value in column.values.tolist()], column.valid
    elif isinstance(column, columns.Text):
        data, valid = column.keys.data.tobytes(), column.keys.valid
        texts = [data[start:end].decode(errors="replace") for start, end in pairwise(column.keys.offsets.tolist())]
    else:
        return []
    return [*texts] if valid is None else [text if known else None for text, known in zip(texts, valid.tolist(), strict=True)]


def transformed(transformation: Transformation, texts: Sequence[str | None]) -> Keys | None:
    """The keys' other bytes; None if the transformation does not apply."""
    try:
        return columns.byte_strings([None if text is None else transformation.run(text) for text in texts])
    except (ValueError, OverflowError, struct.error):
        return None


def transformations(schema_ids: Iterable[int] | None) -> Iterator[Transformation]:
    """All of them, the commonest first. schema_ids : None: SMALL_IDS"""
    yield from _PLAIN
    yield from (Transformation(f"{name} without a schema id", run) for name, run in _PAYLOADS.items() if run is not _json)
    named = schema_ids is not None
    for schema_id in schema_ids if schema_ids is not None else SMALL_IDS:
        for name, run in _MESSAGES.items():
            label = f"{name} {FRAMED} {schema_id}"
            yield Transformation(label, _behind(struct.pack(">bI", 0, schema_id), run), is_one_of_many=not named)
            if named:
                header = struct.pack(">bQ", 0, schema_id)
                yield Transformation(f"{name} with magic byte and schema id {schema_id} in 8 bytes", _behind(header, run))
        for indices in _OTHER_MESSAGES if named else ():
            header, label = struct.pack(">bI", 0, schema_id) + indices, f"{FRAMED} {schema_id} and message {indices.hex()}"
            yield Transformation(f"the first field, a string, of Protobuf {label}", _behind(header, _field))
    for byte in range(256):
        yield Transformation(f"the text behind a byte {byte}", _behind(bytes([byte]), str.encode), is_one_of_many=True)


def _behind(prefix: bytes, run: Callable[[str], bytes]) -> Callable[[str], bytes]:
    return lambda text: prefix + run(text)


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*result, number])


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 ^ number >> 63)


def _number(text: str) -> int:
    number = int(text)
    if str(number) != text:
        raise ValueError(text)
    return number


def _packed(form: str) -> Callable[[str], bytes]:
    return lambda text: struct.pack(form, _number(text))


def _sized(form: str) -> Callable[[str], bytes]:
    return lambda text: struct.pack(form, len(text.encode())) + text.encode()


def _message_pack(text: str) -> bytes:
    length = len(text.encode())
    return bytes([0xA0 | length] if length < 2**5 else [0xD9, length]) + text.encode()


def _avro(text: str) -> bytes:
    return _zigzag(len(text.encode())) + text.encode()


def _field(text: str) -> bytes:
    return b"\x0a" + _varint(len(text.encode())) + text.encode()


_PAYLOADS: Final[dict[str, Callable[[str], bytes]]] = {
    "Avro's string": _avro,
    "Avro's optional string": _behind(b"\x02", _avro),
    "Avro's long": lambda text: _zigzag(_number(text)),
    "the first field of a Protobuf message, a string,": _field,
    "the first field of a Protobuf message, a number,": lambda text: b"\x08" + _varint(_number(text) % 2**64),
}
"""Without what a schema registry's serializer writes before them."""

_MESSAGES: Final[dict[str, Callable[[str], bytes]]] = {
    name: _behind(b"\x00", run) if "Protobuf" in name else run for name, run in _PAYLOADS.items()
} | {"Protobuf's StringValue": _behind(b"\x02\x0e", _field), "a JSON string": _json}
"""With the indices of the message in its Protobuf schema: 0 for the first, [7] for the StringValue of wrappers.proto."""

_OTHER_MESSAGES: Final = (b"\x02\x00", b"\x01\x00", *(bytes([2, 2 * index]) for index in range(1, 10)))
"""The indices of the first message as older serializers write them, and of the next messages of a schema."""

_PLAIN: Final = (
    Transformation("the text as decimal digits", lambda text: str(_number(text)).encode()),
    Transformation("JSON strings with their quotes", _json),
    Transformation("the text of the JSON strings, without quotes", lambda text: json.loads(text[text.index('"') :]).encode()),
    Transformation("the UUID's 16 bytes", lambda text: UUID(text).bytes),
    Transformation("the UUID's 16 bytes in .NET's order", lambda text: UUID(text).bytes_le),
    Transformation("lower-case text", lambda text: text.lower().encode()),
    Transformation("upper-case text", lambda text: text.upper().encode()),
    Transformation("the UUID without hyphens", lambda text: UUID(text).hex.encode()),
    Transformation("the UUID with hyphens", lambda text: str(UUID(text)).encode()),
    Transformation(r"the text with \r at its end", lambda text: f"{text}\r".encode()),
    Transformation(r"the text with \n at its end", lambda text: f"{text}\n".encode()),
    Transformation(r"the text with \r\n at its end", lambda text: f"{text}\r\n".encode()),
    Transformation("the text with a byte 0 at its end", lambda text: f"{text}\0".encode()),
    Transformation("the text with a space at its end", lambda text: f"{text} ".encode()),
    Transformation("the text without white space around it", lambda text: text.strip().encode()),
    Transformation("UTF-16, big-endian", lambda text: text.encode("utf-16-be")),
    Transformation("UTF-16, little-endian", lambda text: text.encode("utf-16-le")),
    Transformation("UTF-16, big-endian, with its byte order mark", lambda text: b"\xfe\xff" + text.encode("utf-16-be")),
    Transformation("UTF-16, little-endian, with its byte order mark", lambda text: b"\xff\xfe" + text.encode("utf-16-le")),
    Transformation("UTF-32, big-endian", lambda text: text.encode("utf-32-be")),
    Transformation("ISO 8859-1", lambda text: text.encode("latin-1")),
    Transformation("UTF-8 with its byte order mark", lambda text: b"\xef\xbb\xbf" + text.encode()),
    Transformation("the bytes of which the key is the base64 text", _from_base64),
    Transformation("the bytes of which the key is the hexadecimal text", lambda text: bytes.fromhex(text.removeprefix("0x"))),
    Transformation("base64 text", lambda text: base64.b64encode(text.encode())),
    Transformation("hexadecimal text", lambda text: text.encode().hex().encode()),
    Transformation("numbers of 4 bytes, little-endian", _packed("<i")),
    Transformation("numbers of 8 bytes, little-endian", _packed("<q")),
    Transformation("numbers of 2 bytes, little-endian", _packed("<h")),
    Transformation("numbers of 4 bytes, big-endian", _packed(">i")),
    Transformation("numbers of 8 bytes, big-endian", _packed(">q")),
    Transformation("numbers of 2 bytes, big-endian", _packed(">h")),
    Transformation("double numbers of 8 bytes, big-endian", _packed(">d")),
    Transformation('JSON objects {"id":…}', lambda text: json.dumps({"id": text}, separators=(",", ":")).encode()),
    Transformation('JSON objects {"id": …}', lambda text: json.dumps({"id": text}).encode()),
    Transformation('JSON objects {"id":…} of numbers', lambda text: f'{{"id":{_number(text)}}}'.encode()),
    Transformation("the text behind its length in 2 bytes", _sized(">H")),
    Transformation("the text behind its length in 4 bytes", _sized(">I")),
    Transformation("MessagePack's string", _message_pack),
    Transformation("a serialized Java object", _behind(b"\xac\xed\x00\x05t", _sized(">H"))),
    Transformation("what follows the first colon", lambda text: text[text.index(":") + 1 :].encode()),
    Transformation("what is between single quotes", lambda text: text[text.index("'") + 1 : text.rindex("'", 1)].encode()),
    *(
        Transformation(f"the text behind {prefix}", _behind(prefix.encode(), str.encode))
        for prefix in ("string:", "str:", "s:", "S:", "key:", "id:", "uuid:", "urn:uuid:")
    ),
)  # fmt: skip


SAMPLE: Final = 128
"""Pairs with which a transformation is tried."""

COUNTS: Final = (4096, 512)
"""Most partition counts that are tried, the smallest possible ones; with a transformation that is one of many, the second."""

COMMON: Final = (MURMUR2, CRC32, FNV1A)
"""The hashes of the clients whose serializers write schema ids."""


def find_serialization(
    classified: PartitionerClasses,
    observations: KeyObservations,
    partitions_counts: range,
    schema_ids: Sequence[int] | None,
    hypotheses: int,
) -> tuple[Transformation | None, int, int]:
    """The likeliest of all transformations that apply, if it explains more than chance; how many were tried; all hypotheses.

    classified : by what they do with bytes; hypotheses : the number of those tried before
    """
    rows = np.flatnonzero(observations.kinds != NO_KEY)[:SAMPLE]
    few, partitions = columns.rows_of(observations.column, rows), observations.partition_ids[rows]
    texts, plain = texts_of(few), columns.SERIALIZED.run(few, observations.key_format)
    all_counts = np.array(partitions_counts[: COUNTS[0]], np.int64)
    common = tuple(each for each in classified.classes if each.rule.hash in COMMON)
    best, likeliest, tried = 0.0, None, 0
    for transformation in transformations(schema_ids) if texts else ():
        check_time()
        column = transformed(transformation, texts)
        if column is None or (np.array_equal(column.offsets, plain.offsets) and np.array_equal(column.data, plain.data)):
            continue
        counts = all_counts[: COUNTS[transformation.is_one_of_many]]
        classes, tried = common if transformation.is_one_of_many else classified.classes, tried + 1
        hypotheses += len(classes) * len(counts)
        if classes:
            evidence = float(evidence_of(hash_all(classes, column, "bytes").dividends(), partitions, counts).min())
            best, likeliest = min((best, likeliest), (evidence, transformation), key=lambda each: each[0])
    return likeliest if best <= math.log(SIGNIFICANCE / hypotheses) else None, tried, hypotheses


TEXT_BYTES, DATA_BYTES = 160, 4
"""Memory for each pair, and for each byte of its key, while keys are transformed."""


def serialized(observations: KeyObservations, transformation: Transformation) -> KeyObservations | None:
    """The observations with the keys' other bytes; None if the transformation does not apply to each of them."""
    reserve(TEXT_BYTES * observations.pairs + DATA_BYTES * columns.data_bytes(observations.column))
    column = transformed(transformation, texts_of(observations.column))
    return None if column is None else replace(observations, column=column, key_format="bytes")
