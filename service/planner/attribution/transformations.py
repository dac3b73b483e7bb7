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

from service.core.budget import check_time, reserve
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.model import Bools, Float64s, Int32s, Int64s, Keys
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.hashing_rule import Sign
from service.core.partitioners.murmur2 import MURMUR2
from service.planner.attribution.equivalents import PartitionerClass, PartitionerClasses, hash_all
from service.planner.attribution.mixtures import SIGNIFICANCE
from service.planner.attribution.observations import NO_KEY, KeyObservations, matches

# Earlier partition counts of a topic that grew.
#
# Kafka moves no record when partitions are added, so a record is where its writer's hash modulo the count *of its time* put it.
# A class at an earlier count explains a pair on one of its m partitions by chance with the probability 1/m. Growth is by far
# the commonest reason why a writer explains most pairs but not all, and a hash modulo one count agrees with the same hash by
# other sign rules modulo another far more often than unrelated hashes do. So earlier counts are considered before further
# writers.
#
# For each class greedily, as in ``mixtures``: the count that explains most beyond chance, then the one that explains most of
# the rest. Counts of one class are no independent hypotheses, so only what the chosen counts leave is evidence of another.

MOST_CLASSES: Final = 8
"""Classes whose counts are looked for: those with the strongest evidence."""

MOST_TRIED: Final = 100_001
"""Counts of more partitions than any topic has are not tried: each takes memory and time for every class."""

MOST_COUNTS: Final = 5
"""Counts of one class: a topic that grew four times."""


STEP: Final = 1 << 25
"""Pairs × classes × partition counts that are tried between two looks at the time."""


class Growth(NamedTuple):
    """The partition counts, ascending, at which a class explains more pairs than chance does.

    log_chance : the sum of the logarithms of what chance gives each of them
    """

    class_index: int
    counts: tuple[int, ...]
    log_chance: float


def find_growth(dividends: Float64s, partitions: Int32s, counts: range, hypotheses: int) -> list[Growth]:
    """The classes that may have written pairs, each with all counts that it needs to explain them; the likeliest first.

    dividends : float64[classes, n], as ``Hashes.dividends``; partitions : int32[n], where the keys were seen
    counts : those that the topic may have now
    """
    if counts.stop > MOST_TRIED:
        return []
    tried = np.arange(1, counts.stop, dtype=np.int64)
    allowed = math.log(SIGNIFICANCE / (hypotheses + len(dividends) * counts.start))
    strongest, at_once = np.zeros(len(dividends)), max(1, STEP // max(1, dividends.size))
    for start in range(0, len(tried), at_once):
        check_time()
        for some in (partitions >= 0, partitions > 0):
            evidence = evidence_of(dividends[:, some], partitions[some], tried[start : start + at_once])
            strongest = np.minimum(strongest, evidence.min(axis=1))
    found = []
    for k in np.argsort(strongest, kind="stable")[:MOST_CLASSES].tolist():
        decided = ~np.isnan(dividends[k])
        of_class = dividends[k, decided], partitions[decided], tried, allowed
        counts_of, log_chance, left = _cover(*of_class)
        if left:
            from_one = _cover(*of_class, from_one=True)
            counts_of, log_chance, left = from_one if not from_one[2] else (counts_of, log_chance, left)
        if counts_of:
            found.append(Growth(k, tuple(counts_of), log_chance))
    return sorted(found, key=lambda each: (each.log_chance, each.class_index))


def before_growth(each: PartitionerClass, partitions_count: int) -> PartitionerClass:
    """What the class did while the topic had that count."""
    sign = each.rule.sign
    earlier = Sign(
        sign.name,
        f"{sign.rule}, n being {partitions_count}",
        lambda hashes, _: sign.run(hashes, partitions_count),
        lambda value: sign.before_modulo(value) % partitions_count,
    )
    return PartitionerClass(each.names, replace(each.rule, sign=earlier), partitions_count)


def _cover(
    dividends: Float64s, partitions: Int32s, tried: Int64s, allowed: float, *, from_one: bool = False
) -> tuple[list[int], float, int]:
    """The counts of a class, ascending, their log_chance, and how many pairs they leave. from_one : was the first count 1?

    At that count, partition 0 says nothing about keys; so the others are covered first, and all that is left must be on it.
    """
    left = partitions >= from_one
    chosen: list[int] = []
    log_chance = 0.0
    while len(chosen) < MOST_COUNTS and left.any() and (rest := 1 - sum(1 / count for count in chosen)) > 0:
        check_time()
        evidence = evidence_of(dividends[left][None], partitions[left], tried, rest)[0]
        best = int(evidence.argmin())
        if evidence[best] > allowed:
            break
        chosen.append(int(tried[best]))
        log_chance += float(evidence[best])
        left &= ~_explained(dividends, partitions, chosen[-1])
    if not chosen:
        return [], 0.0, len(partitions)
    left = np.logical_and.reduce([~_explained(dividends, partitions, count) for count in chosen])
    if from_one:
        of_first = -math.log(max(chosen)) * np.count_nonzero(left)
        if (partitions[left] > 0).any() or of_first > allowed:
            return [], 0.0, len(partitions)
        return [1, *sorted(chosen)], log_chance + of_first, 0
    return sorted(chosen), log_chance, int(np.count_nonzero(left))


def _explained(dividends: Float64s, partitions: Int32s, count: int) -> Bools:
    explained: Bools = dividends % count == partitions
    return explained


def evidence_of(dividends: Float64s, partitions: Int32s, counts: Int64s, rest: float = 1.0) -> Float64s:
    """float64[classes, counts], Chernoff's upper bound of the log of the probability that chance explains as many pairs.

    rest : the share of its partitions at which chance may put a key that earlier choices do not explain
    """
    explained = matches(np.ascontiguousarray(dividends), partitions, counts, np.ones((len(dividends), len(counts)), np.bool_))
    # Only pairs on partitions below a count can be evidence of it.
    pairs = np.array([np.searchsorted(np.sort(partitions[~np.isnan(row)]), counts) for row in dividends])
    chance = np.minimum(1 / (counts * rest), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = explained / pairs
        hits = np.where(share > 0, share * np.log(share / chance), 0)
        misses = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chance)), 0)
        bounds: Float64s = np.where(share > chance, -pairs * (hits + misses), 0.0)
    return bounds


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
