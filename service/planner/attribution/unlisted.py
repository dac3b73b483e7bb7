"""Partitioners that no client in the list has: every hash with every sign rule, and numbers that people take modulo themselves.

They are considered only if the partitioners of the list leave records unexplained, and only if the caller names none.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from service.core.keys import columns
from service.core.keys.columns import Column, Encoding
from service.core.model import Keys
from service.core.partitioners import hashing_rule
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.hash_codes import ARRAY, OBJECT
from service.core.partitioners.hashing_rule import Hash, HashingRule, Sign
from service.core.partitioners.kafkajs_legacy import LEGACY
from service.core.partitioners.murmur2 import MURMUR2, MURMUR2_SEED_0
from service.core.partitioners.murmur3 import MURMUR3
from service.planner.attribution.equivalents import PROBES, PartitionerClass

HASHES: Final = (MURMUR2, CRC32, FNV1A, MURMUR3, OBJECT, MURMUR2_SEED_0, ARRAY, LEGACY)
SIGNS: Final = (hashing_rule.MASK, hashing_rule.UNSIGNED, hashing_rule.REM_NEG, hashing_rule.PMOD)

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
            is_known = sign in of_hash or (sign is hashing_rule.REM_NEG and hashing_rule.ABS0 in of_hash)
            if not is_known and key_format in encoding.formats:
                classes.append(PartitionerClass((), HashingRule(encoding, hash_keys, sign, None, empty_as_null=False)))
    return tuple(classes[:most])


def whole_numbers(column: Column, key_format: str) -> npt.NDArray[np.int64] | None:
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


def _parsed(keys: Keys) -> npt.NDArray[np.int64]:
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
