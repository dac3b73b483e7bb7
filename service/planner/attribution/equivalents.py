"""Partitioners that no key can tell apart, as one class: those with the same encoding, hash and sign rule.

A topic's records show which *class* of partitioners placed them; only the producer's configuration says which partitioner of the
class it was. The partitioners of a class may still differ in where they put a record with no key or an empty one. If the keys at
hand include such records, these partitioners are in different classes: ``librdkafka:consistent`` and
``librdkafka:consistent_random``, for example.

Of long keys that repeat, what is costly happens once for each distinct key: rows of an Arrow dictionary may share one key, and a
kilobyte then names hundreds of megabytes of keys.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from service.core.kernels import kernel
from service.core.keys import columns
from service.core.keys.columns import BYTES, FLOATS, INTEGERS, Column, Encoding, Numbers, byte_strings, strings
from service.core.model import Bools, Bytes, Float64s, Int32s, Int64s, Keys
from service.core.partitioners import allocation
from service.core.partitioners.allocation import settle
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.hash_codes import ARRAY, OBJECT
from service.core.partitioners.hashing_rule import Hash, HashingRule, Sign
from service.core.partitioners.kafkajs_legacy import LEGACY
from service.core.partitioners.model import Partitioner
from service.core.partitioners.murmur2 import MURMUR2, MURMUR2_SEED_0
from service.core.partitioners.murmur3 import MURMUR3, cassandra_tokens
from service.core.partitioners.parts import SEPARATOR
from service.core.printable import counted

UNDECIDED: Final = -1
"""The partition of a record whose partition depends on a counter or a random number, not on its key."""

BLOCK: Final = 1 << 16
"""Keys per block, so that their hashes stay in the processor's cache."""


ENCODED_BYTES, ENCODED_TEXT_BYTES, PART_BYTES = 4, 2, 17
"""Memory for each byte of keys while they are hashed, and for each separator of their parts. Measured: for bytes 4, of which
Pulsar hashes the base64; for text 2; for separators 16."""


@dataclass(frozen=True)
class PartitionerClass:
    """Partitioners that put each of the keys on the same partition.

    names : of the partitioners, those in use first, and of these a client's default ones; empty if no client in the list does so
    rule : what they do with a key
    partitions_count : the topic's before it grew, if that is the count they were given; None: the topic's
    """

    names: tuple[str, ...]
    rule: HashingRule
    partitions_count: int | None = None

    @property
    def label(self) -> str:
        """The first name, or what is done with a key."""
        label = self.names[0] if self.names else f"{self.rule.hash.name}, {self.rule.sign.name} (no client in the list)"
        return f"{label} with {counted(self.partitions_count, 'partition')}" if self.partitions_count else label


@dataclass(frozen=True)
class PartitionerClasses:
    """Partitioners by what they do with keys.

    classes : those that hash keys
    ignoring_keys : the names of those that ignore keys, so that any partition may be theirs
    excluded : (name, reason) of each that cannot place keys of this format
    """

    classes: tuple[PartitionerClass, ...]
    ignoring_keys: tuple[str, ...]
    excluded: tuple[tuple[str, str], ...]


def classify(
    partitioners: Iterable[Partitioner], key_format: str, *, has_null: bool, has_empty: bool, only_kafka: bool = False
) -> PartitionerClasses:
    """The partitioners by what they do with keys of that format.

    has_null, has_empty : do any records have no key, or an empty one? Partitioners may differ in what they do with these.
    only_kafka : exclude those of systems other than Kafka, and those that do not hash the record's key
    """
    groups: dict[tuple[Any, ...], tuple[HashingRule, list[Partitioner]]] = {}
    ignoring, excluded = [], []
    for partitioner in partitioners:
        rule = partitioner.hashing_rule
        if only_kafka and not partitioner.writes_to_kafka:
            excluded.append((partitioner.name, "does not write to Kafka"))
        elif only_kafka and not partitioner.hashes_record_key:
            excluded.append((partitioner.name, "does not hash the record's key"))
        elif partitioner.hash is None:
            ignoring.append(partitioner.name)
        elif rule is None:
            excluded.append((partitioner.name, partitioner.without_rule))
        elif key_format not in rule.encoding.formats:
            excluded.append((partitioner.name, f"does not accept {key_format} keys"))
        else:
            of_null = rule.null_hash if has_null else None
            of_empty = (rule.empty_as_null, rule.null_hash if rule.empty_as_null else None) if has_empty else None
            does = (rule.encoding.run, rule.hash, rule.sign, of_null, of_empty)
            groups.setdefault(does, (rule, []))[1].append(partitioner)
    classes = [PartitionerClass(tuple(each.name for each in sorted(group, key=rank)), rule) for rule, group in groups.values()]
    return PartitionerClasses(tuple(classes), tuple(ignoring), tuple(excluded))


def rank(partitioner: Partitioner) -> tuple[bool, bool]:
    """The order in which partitioners are named: those in use first, and of these a client's default ones."""
    return not partitioner.in_use, not partitioner.setting.startswith("default")


@dataclass(frozen=True)
class Hashes:
    """The hashes of some keys in each of some classes, which serve any partition count.

    hashes : for each class int32[n]
    undecided : for each class bool[n], the records whose partition does not depend on the key; None if there are none
    """

    classes: tuple[PartitionerClass, ...]
    hashes: tuple[Int32s, ...]
    undecided: tuple[Bools | None, ...]

    def partitions(self, partitions_count: int) -> Int32s:
        """int32[classes, n], where each class puts each key, or UNDECIDED."""
        result = np.empty((len(self.classes), len(self.hashes[0]) if self.hashes else 0), np.int32)
        for row, each, hashes, undecided in zip(result, self.classes, self.hashes, self.undecided, strict=True):
            row[:] = each.rule.sign.run(hashes, partitions_count)
            if undecided is not None:
                row[undecided] = UNDECIDED
        return result

    def dividends(self) -> Float64s:
        """float64[classes, n], what each class takes modulo the partition count: whole numbers; NaN where UNDECIDED."""
        result = np.empty((len(self.classes), len(self.hashes[0]) if self.hashes else 0), np.float64)
        for row, each, hashes, undecided in zip(result, self.classes, self.hashes, self.undecided, strict=True):
            row[:] = each.rule.sign.before_modulo(hashes.astype(np.int64))
            if undecided is not None:
                row[undecided] = np.nan
        return result


def hash_all(classes: tuple[PartitionerClass, ...], column: Column, key_format: str) -> Hashes:
    """The hashes of every class. Each encoding and each hash function runs once, and once for a long key that repeats."""
    if repeated := distinct(column):
        keys, index = repeated
        few = _hash_all(classes, keys, key_format)
        undecided = tuple(None if without_hash is None else without_hash[index] for without_hash in few.undecided)
        return Hashes(classes, tuple(values[index] for values in few.hashes), undecided)
    return _hash_all(classes, column, key_format)


def _hash_all(classes: tuple[PartitionerClass, ...], column: Column, key_format: str) -> Hashes:
    encoded: dict[Any, Any] = {}
    hashed: dict[Any, Int32s] = {}
    hashes, undecided = [], []
    for each in classes:
        run, hash_keys = each.rule.encoding.run, each.rule.hash
        if run not in encoded:
            encoded[run] = run(column, key_format)
        if (run, hash_keys) not in hashed:
            hashed[run, hash_keys] = hash_keys.run(encoded[run], key_format)
        values, without_hash = settle(each.rule, hashed[run, hash_keys], encoded[run])
        hashes.append(values)
        undecided.append(without_hash)
    return Hashes(classes, tuple(hashes), tuple(undecided))


def blocks(column: Column) -> Iterator[tuple[int, Column]]:
    """The column in blocks of BLOCK keys, each with its first row."""
    n = columns.length(column)
    for start in range(0, n, BLOCK):
        yield start, columns.rows_of(column, slice(start, min(start + BLOCK, n)))


def most_hashing_bytes(column: Column) -> int:
    """``hashing_bytes`` of the block that takes most."""
    return max((hashing_bytes(block) for _, block in blocks(column)), default=0)


def hashing_bytes(column: Column) -> int:
    """The memory that hashing takes beside the hashes: the keys in other encodings, and the parts of keys."""
    if not isinstance(column, columns.Text):
        return ENCODED_BYTES * columns.data_bytes(column)
    keys = column.keys
    separators = np.count_nonzero(keys.data[keys.offsets[0] : keys.offsets[-1]] == SEPARATOR)
    return ENCODED_TEXT_BYTES * columns.data_bytes(column) + PART_BYTES * int(separators)


def has_null_and_empty(column: Column) -> tuple[bool, bool]:
    """Does any record have no key, and does any have an empty one?"""
    if isinstance(column, columns.Numbers):
        return column.valid is not None and not column.valid.all(), False
    keys = column.keys if isinstance(column, columns.Text) else column
    empty = np.diff(keys.offsets) == 0
    if keys.valid is None:
        return False, bool(empty.any())
    return not keys.valid.all(), bool((empty & keys.valid).any())


PROBES: Final = 4096

_LETTERS: Final = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789-"))


@cache
def probe_keys(key_format: str) -> Column:
    """PROBES distinct keys of the format: text of 4 to 40 characters, 4 to 40 bytes, any numbers."""
    draw = np.random.default_rng(0)
    lengths = draw.integers(4, 41, PROBES)
    if key_format == "uuid":
        digits = [bytes(row).hex() for row in draw.integers(0, 256, (PROBES, 16), np.uint8)]
        return strings([f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}" for d in digits])
    if key_format in BYTES:
        return byte_strings([draw.bytes(int(length)) for length in lengths])
    if key_format in INTEGERS:
        bounds = np.iinfo(INTEGERS[key_format])
        return Numbers(draw.integers(bounds.min, bounds.max, PROBES, INTEGERS[key_format], endpoint=True))
    if key_format in FLOATS:
        return Numbers(draw.normal(0, 1e6, PROBES).astype(FLOATS[key_format]))
    if key_format == "boolean":
        return Numbers(np.arange(PROBES) % 2 == 0)
    ends = np.cumsum(lengths).tolist()
    text = "".join(_LETTERS[draw.integers(0, len(_LETTERS), ends[-1])].tolist())
    return strings([text[start:end] for start, end in pairwise([0, *ends])])


LONG: Final = 64
"""Bytes from which on the mean key is long. Looking for repeats takes about as long as one of the twenty hashes of a key."""

MAX_TRIES: Final = 16
"""Most keys that a key is compared with, lest keys made to collide be compared with all others."""


def distinct(column: Column) -> tuple[Column, Int32s] | None:
    """The distinct keys of a column of long ones, and for each row which it has; None if the keys are short or do not repeat."""
    if isinstance(column, columns.Numbers) or columns.data_bytes(column) < LONG * columns.length(column):
        return None
    keys = column.keys if isinstance(column, columns.Text) else column
    rows, index = first_rows(*keys.arrays(), np.asarray(cassandra_tokens(keys), np.int64))
    if 2 * len(rows) > len(keys):
        return None
    return columns.rows_of(column, rows), index


@kernel
def first_rows(offsets: Int32s, data: Bytes, valid: Bools, tokens: Int64s) -> tuple[Int64s, Int32s]:
    """The first row of each distinct key, ascending, and for each row the number of its key among them.

    Keys that collide may be more than once among the distinct ones.

    offsets : int32[n + 1]; data : uint8[...]; valid : bool[n], as KeyArrays; n > 0
    tokens : int64[n], the same for equal keys
    Returns int64[distinct] and int32[n]. Plain-Python twin: tests/reference/repeats.py.
    """
    n = len(tokens)
    slots = 1
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    rows = np.empty(n, np.int64)
    index = np.empty(n, np.int32)
    known = 0
    for i in range(n):
        slot = tokens[i] & (slots - 1)
        index[i] = -1
        for _ in range(MAX_TRIES):
            number = table[slot]
            if number < 0:
                table[slot] = known
                break
            row = rows[number]
            length = offsets[i + 1] - offsets[i]
            if tokens[row] == tokens[i] and valid[row] == valid[i] and offsets[row + 1] - offsets[row] == length:
                differing = 0  # without a way out of the loop, 32 bytes are compared at once
                for at in range(length):
                    differing |= data[offsets[row] + at] ^ data[offsets[i] + at]
                if not differing:
                    index[i] = number
                    break
            slot = (slot + 1) & (slots - 1)
        if index[i] < 0:
            rows[known] = i
            index[i] = known
            known += 1
    return rows[:known].copy(), index


# Partitioners that no client in the list has: every hash with every sign rule, and numbers that people take modulo themselves.
#
# They are considered only if the partitioners of the list leave records unexplained, and only if the caller names none.

HASHES: Final = (MURMUR2, CRC32, FNV1A, MURMUR3, OBJECT, MURMUR2_SEED_0, ARRAY, LEGACY)
SIGNS: Final = (allocation.MASK, allocation.UNSIGNED, allocation.REM_NEG, allocation.PMOD)

LARGEST_NUMBER: Final = 2**33
"""Whole numbers from here on have no exact remainder in ``observations.matches``."""

DIGITS: Final = 10
"""Most digits of a whole number below LARGEST_NUMBER."""

MODULO: Final = Sign("modulo", "k % n", lambda k, n: (k % n).astype(np.int32), lambda k: k)


def unlisted(known: Iterable[PartitionerClass], column: Column, key_format: str, most: int) -> tuple[PartitionerClass, ...]:
    """At most ``most`` classes that none of the known ones is, without names; the likeliest first."""
    rules = [each.rule for each in known]
    classes = [PartitionerClass((), rule) for rule in _of_whole_numbers(column, key_format)]
    for hash_keys in HASHES:
        encoding = columns.OBJECT if hash_keys is OBJECT else columns.SERIALIZED
        of_hash = [rule.sign for rule in rules if rule.hash is hash_keys and rule.encoding is encoding]
        for sign in SIGNS:
            # abs0 and rem-neg differ for one hash of 4 billion.
            is_known = sign in of_hash or (sign is allocation.REM_NEG and allocation.ABS0 in of_hash)
            if not is_known and key_format in encoding.formats:
                classes.append(PartitionerClass((), HashingRule(encoding, hash_keys, sign, None, empty_as_null=False)))
    return tuple(classes[:most])


def whole_numbers(column: Column, key_format: str) -> Int64s | None:
    """int64[n], the keys as whole numbers below LARGEST_NUMBER, 0 where there is none; None if any key is something else."""
    if isinstance(column, columns.Numbers) and key_format in columns.INTEGERS:
        values = column.values.astype(np.int64)
    elif isinstance(column, columns.Text) and key_format == "string" and _are_digits(column.keys):
        values = _parsed(column.keys)
    else:
        return None
    return values if ((values >= 0) & (values < LARGEST_NUMBER)).all() else None


def _are_digits(keys: Keys) -> bool:
    lengths = np.diff(keys.offsets)
    if keys.valid is not None:
        lengths = lengths[keys.valid]
    data = keys.data[keys.offsets[0] : keys.offsets[-1]]
    return bool(((lengths >= 1) & (lengths <= DIGITS)).all() and ((data >= ord("0")) & (data <= ord("9"))).all())


def _parsed(keys: Keys) -> Int64s:
    starts, lengths = keys.offsets[:-1], np.diff(keys.offsets)
    values = np.zeros(len(keys), np.int64)
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        values[rows] = 10 * values[rows] + keys.data[starts[rows] + place] - ord("0")
    return values


def _of_whole_numbers(column: Column, key_format: str) -> list[HashingRule]:
    """The number modulo the partition count, if the keys are whole numbers."""
    if whole_numbers(column, key_format) is None:
        return []
    identity = Hash("the number itself", lambda encoded, _: encoded.data.view(">i8").astype(np.int64))  # type: ignore[arg-type,return-value]
    return [HashingRule(Encoding("the number", (key_format,), _longs), identity, MODULO, None, empty_as_null=False)]


def _longs(column: Column, key_format: str) -> Keys:
    """Whole numbers in eight bytes each."""
    valid = column.keys.valid if isinstance(column, columns.Text) else column.valid
    numbers = whole_numbers(column, key_format)
    assert numbers is not None  # noqa: S101 - the caller has checked
    return columns.SERIALIZED.run(columns.Numbers(numbers, valid), "long")


def probe_numbers(key_format: str) -> Column:
    """PROBES whole numbers of the format, the same on every call."""
    numbers = np.random.default_rng(0).integers(0, 2**15 if key_format == "short" else 2**31, PROBES)
    if key_format == "string":
        return columns.strings([str(number) for number in numbers.tolist()])
    return columns.Numbers(numbers.astype(columns.INTEGERS[key_format]))
