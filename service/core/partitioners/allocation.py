"""How a question is answered: explicit partitions, keys' hashes, and the null rule for the other records; and why so.

Each client deals with the sign of a 32-bit hash in its own way. A sign rule makes the hash a number that is not negative, and
takes it modulo the partition count; only Spark's takes the mathematical modulo of the signed hash. With h = -5 and 3 partitions:
mask 2147483643 % 3 = 0, unsigned 4294967291 % 3 = 2, rem-neg 5 % 3 = 2, abs0 5 % 3 = 2, pmod 1.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.kernels import brief_kernel
from service.core.model import Bools, Int32s, Int64s, Keys
from service.core.partitioners import explicit, hash_codes
from service.core.partitioners.hashing_rule import Hash, HashingRule, Sign
from service.core.partitioners.model import HASH_BITS, Answer, Partitioner, Question
from service.core.printable import counted


def allocate(partitioner: Partitioner, question: Question) -> Answer:
    """Where ``partitioner`` sends the records of ``question``.

    Raises InvalidQuestion, and the client's own errors (``service.core.partitioners.explicit``).
    """
    _check(question)
    partitions, named = question.explicit, question.explicit_given
    if partitions is not None and named is not None:
        explicit.check(partitioner.explicit, partitions, named, question.partitions_count)
    answer: Answer = partitioner.run(question, partitioner)
    if partitions is None or named is None:
        return answer
    return replace(answer, partitions=np.where(named, partitions, answer.partitions))


# From a hash to a partition.

_ALL_BITS, _WITHOUT_SIGN = np.int32(-1), np.int32(0x7FFFFFFF)


def _modulo(hashes: Int32s, n: int, bits: np.int32 = _ALL_BITS, plus: int = 2**32, *, absolute: bool = False) -> Int32s:
    """int32[...], ``value % n``, value being ``hash & bits``, or that of the absolute hash in Java, with ``plus`` if negative.

    n : 1 … 2147483647; plus : 2³¹ … 2³²
    """
    remainders = np.empty(len(hashes), np.int32)  # here, as in murmur2.py
    if n == 1:
        remainders[:] = 0
    else:
        _take_modulo(hashes, n, bits, plus, absolute, remainders)
    return remainders


def _debezium(hashes: Int32s, n: int) -> Int32s:
    masked = hashes & np.int32(0x7FFFFFFF)
    return _modulo(np.where(masked == 0x7FFFFFFF, np.int32(0), masked), n)


def _pmod(hashes: Int32s, n: int) -> Int32s:
    return _modulo(hashes, n, plus=-(-(2**31) // n) * n)  # the least multiple of n with which no hash is negative


MASK = Sign("mask", "(h & 0x7fffffff) % n", partial(_modulo, bits=_WITHOUT_SIGN), lambda h: h & 0x7FFFFFFF)
UNSIGNED = Sign("unsigned", "(h as uint32) % n", _modulo, lambda h: h % 2**32)
REM_NEG = Sign("rem-neg", "|h % n|, the remainder having the sign of h", partial(_modulo, absolute=True), abs)
ABS0 = Sign(
    "abs0",
    "abs(h) % n, where abs(-2147483648) is 0",
    partial(_modulo, bits=_WITHOUT_SIGN, absolute=True),
    lambda h: abs(h) & 0x7FFFFFFF,
)
PMOD = Sign("pmod", "the mathematical modulo of the signed h", _pmod, lambda h: h)
DEBEZIUM = Sign("debezium", "(h & 0x7fffffff) % n, 2147483647 being 0", _debezium, lambda h: (h & 0x7FFFFFFF) % 0x7FFFFFFF)
WIDE_PMOD = Sign("modulo", "the mathematical modulo of h", lambda h, n: (h % n).astype(np.int32), lambda h: h)


@brief_kernel
def _take_modulo(hashes: Int32s, n: int, bits: np.int32, plus: int, absolute: bool, remainders: Int32s) -> None:  # noqa: FBT001
    """The loop, by a float64 reciprocal, which vectorises where a division does not: the quotient is right or one too small.

    n : 2 or more, so that quotients are int32. Processors without AVX-512 convert no vectors between float64 and int64.
    """
    reciprocal, divisor = 1.0 / n, np.float64(n)
    for i in range(len(hashes)):
        h = hashes[i]
        if absolute and h < 0:
            h = np.int32(-h)
        value = np.float64(np.int32(h & bits))
        if value < 0:
            value += plus
        # r >= 0: a quotient below an integer is at least 1 / n below it, and the error is less than value / n / 2⁵¹ < 1 / n.
        r = value - np.int32(value * reciprocal) * divisor
        if r >= divisor:
            r -= divisor
        remainders[i] = np.int32(r)


def unhashed(rule: HashingRule, keys: Keys) -> Bools | None:
    """bool[n], the records whose key is not hashed; None if there are none."""
    without_key = None if keys.valid is None else ~keys.valid
    if rule.empty_as_null:
        empty = keys.offsets[1:] == keys.offsets[:-1]
        if empty.any():
            without_key = empty if without_key is None else without_key | empty
    return without_key


def settle(rule: HashingRule, hashes: Int32s, keys: Keys) -> tuple[Int32s, Bools | None]:
    """The hashes, int32[n], with ``null_hash`` where the key is not hashed; and the records without a hash, as ``unhashed``.

    hashes : int32[n], of all keys; those of keys that are not hashed may have any value
    """
    without_hash = unhashed(rule, keys)
    if without_hash is None or rule.null_hash is None:
        return hashes, without_hash
    return np.where(without_hash, np.int32(rule.null_hash), hashes), None


# The parts of a partitioner, one after the other.


def check_options(partitioner: Partitioner, names: Iterable[str], place: Callable[[str], Sequence[str | int]]) -> None:
    """Raise InvalidQuestion for those of these options that the partitioner does not use. place : where the question has one"""
    unused = [name for name in names if name not in partitioner.options]
    if unused:
        known = ", ".join(partitioner.options) or "no options"
        detail = f"The partitioner {partitioner.name} has no option {{}}; it has {known}."
        fault, *fault.others = (InvalidQuestion(detail.format(name), *place(name)) for name in unused)
        raise fault


def _check(question: Question) -> None:
    """Raise InvalidQuestion for an option whose length is not that of the keys, or that names partitions that do not exist."""
    given = vars(question)
    for name in ("value_sizes", "clock_ms", "bytes", "enable_switch"):
        values = given[name]
        if values is not None and len(values) != len(question.keys):
            raise InvalidQuestion(f"{len(values)} {name} for {counted(len(question.keys), 'record')}.", name)
    for name in ("available_partitions", "partition_ids"):
        ids = given[name]
        if ids is not None and ((ids < 0) | (ids >= question.partitions_count)).any():
            i = int(np.argmax((ids < 0) | (ids >= question.partitions_count)))
            raise InvalidQuestion(f"Partition {ids[i]} is not in [0, {question.partitions_count}).", name, i)


def _rows(question: Question, chosen: Bools | None) -> Int64s:
    """int64[...], those of the chosen records (None: no record) for which the caller names no partition."""
    if chosen is None:
        return np.empty(0, np.int64)
    return np.flatnonzero(chosen if question.explicit_given is None else chosen & ~question.explicit_given)


def unhashed_rows(question: Question, partitioner: Partitioner) -> Int64s:
    """int64[...], the records whose partition the null rule decides."""
    if partitioner.hash is None:
        return _rows(question, np.ones(len(question.keys), np.bool_))
    rule = partitioner.hashing_rule
    return _rows(question, None if rule is None else unhashed(rule, question.keys))


def by_hash(question: Question, partitioner: Partitioner) -> Answer:
    """Hash, sign rule, and the null rule for records that have no hash."""
    rule = cast("HashingRule", partitioner.hashing_rule)
    hashes, undecided = settle(rule, rule.hash.run(question.keys, question.key_format), question.keys)
    partitions = rule.sign.run(hashes, question.partitions_count)
    if undecided is None and not partitioner.null.has_state:
        return Answer(partitions)
    return _by_null_rule(question, partitioner, _rows(question, undecided), partitions)


def by_wide_hash(question: Question, partitioner: Partitioner) -> Answer:
    """The sign rule for hashes of more than 32 bits, or the hashes themselves, which are tokens; there is always a key."""
    _check_null_rule(partitioner, _rows(question, None if question.keys.valid is None else ~question.keys.valid))
    hashes = cast("Hash", partitioner.hash).run(question.keys, question.key_format)
    return Answer(hashes if partitioner.sign is None else partitioner.sign.run(hashes, question.partitions_count))


def by_spark_hash(question: Question, partitioner: Partitioner) -> Answer:
    """Spark shows the hashes too; that of null is the seed."""
    rule = cast("HashingRule", partitioner.hashing_rule)
    hashes, _ = settle(rule, rule.hash.run(question.keys, question.key_format), question.keys)
    return Answer(rule.sign.run(hashes, question.partitions_count), hashes=hashes)


def ignoring_keys(question: Question, partitioner: Partitioner) -> Answer:
    """The null rule for every record."""
    return _by_null_rule(question, partitioner, unhashed_rows(question, partitioner), np.empty(len(question.keys), np.int32))


def _by_null_rule(question: Question, partitioner: Partitioner, rows: Int64s, partitions: Int32s) -> Answer:
    """The partitions, those of some rows by the null rule. rows : int64[...]; partitions : int32[n]"""
    _check_null_rule(partitioner, rows)
    null = partitioner.null
    if null.run is None or not (len(rows) or null.has_state):
        return Answer(partitions)
    return null.run(question, rows, partitions)


def _check_null_rule(partitioner: Partitioner, rows: Int64s) -> None:
    """Raise InvalidQuestion if a record has no key and the partitioner has no rule for it. rows : int64[...], these records"""
    if len(rows) and partitioner.null is hash_codes.NO_NULL:
        raise InvalidQuestion(f"The partitioner {partitioner.name} accepts no record without a key.", "keys", int(rows[0]))


# Why each record went to its partition, in the terms of the partitioners' table.


def explain(partitioner: Partitioner, question: Question, answer: Answer) -> list[dict[str, Any]]:
    """For each record the rule that applied, and for a hashed key its bytes, its hash and the steps from there to the partition.

    The hashes are computed again: an answer does not keep what only an explanation needs.
    """
    undecided = {int(row): i for i, row in enumerate(unhashed_rows(question, partitioner))}
    hashes = None if partitioner.hash is None else partitioner.hash.run(question.keys, question.key_format)
    return [
        _explain(partitioner, question, answer, row=row, turn=undecided.get(row), hashes=hashes)
        for row in range(len(question.keys))
    ]


def _explain(
    partitioner: Partitioner, question: Question, answer: Answer, *, row: int, turn: int | None, hashes: Any
) -> dict[str, Any]:
    keys, n = question.keys, question.partitions_count
    partition = int(answer.partitions[row])
    present = keys.valid is None or bool(keys.valid[row])
    data = np.asarray(keys.data[keys.offsets[row] : keys.offsets[row + 1]]).tobytes().hex() if present else None
    steps: dict[str, Any] = {"key_bytes_hex": data}
    if question.explicit_given is not None and question.explicit_given[row]:
        return steps | {"rule": "explicit partition", "result": partition}
    which = "every record" if partitioner.hash is None else "empty key" if present else "null key"
    null_hash = None if turn is None or partitioner.hashing_rule is None else partitioner.hashing_rule.null_hash
    if hashes is not None and (turn is None or null_hash is not None):
        subject = f"key: {partitioner.hash.name}" if turn is None and partitioner.hash else f"{which}: {partitioner.null.because}"
        hash_ = _number(hashes[row]) if null_hash is None else null_hash
        if partitioner.sign is None:
            return steps | {
                "rule": subject,
                "hash": hash_,
                "result": partition,
            }
        if partitioner.hash is not None and partitioner.hash.bits > HASH_BITS:
            return steps | {
                "rule": f"{subject}, {partitioner.sign.name}: {partitioner.sign.rule}",
                "hash_hex": f"{hash_ % 2**partitioner.hash.bits:0{partitioner.hash.bits // 4}x}",
                "result": partition,
            }
        return steps | {
            "rule": f"{subject}, {partitioner.sign.name}: {partitioner.sign.rule}",
            "hash": hash_,
            "hash_hex": f"{hash_ % 2**32:08x}",
            "after_sign_rule": partitioner.sign.before_modulo(hash_),
            "modulo": n,
            "result": partition,
        }
    counter = (question.counter or 0) + (turn or 0)
    because = partitioner.null.because.format(i=turn, counter=counter)
    return steps | {"rule": f"{which}: {partitioner.null.rule}; {because}", "result": partition}


def _number(hash_: Any) -> int:
    """A hash as one number; an MD5 has two halves."""
    return int(hash_) if np.ndim(hash_) == 0 else int(hash_[0]) << 64 | int(hash_[1])
