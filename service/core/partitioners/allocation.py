"""How a question is answered: explicit partitions, keys' hashes, and the null rule for the other records; and why so."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.model import Bools, Int32s, Int64s
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
    return _rows(question, None if rule is None else rule.unhashed(question.keys))


def by_hash(question: Question, partitioner: Partitioner) -> Answer:
    """Hash, sign rule, and the null rule for records that have no hash."""
    rule = cast("HashingRule", partitioner.hashing_rule)
    hashes, undecided = rule.settle(rule.hash.run(question.keys, question.key_format), question.keys)
    partitions = rule.sign.run(hashes, question.partitions_count)
    if undecided is None and not partitioner.null.has_state:
        return Answer(partitions)
    return _by_null_rule(question, partitioner, _rows(question, undecided), partitions)


def by_wide_hash(question: Question, partitioner: Partitioner) -> Answer:
    """The sign rule for hashes of more than 32 bits; there is always a key."""
    _check_null_rule(partitioner, _rows(question, None if question.keys.valid is None else ~question.keys.valid))
    hashes = cast("Hash", partitioner.hash).run(question.keys, question.key_format)
    return Answer(cast("Sign", partitioner.sign).run(hashes, question.partitions_count))


def by_spark_hash(question: Question, partitioner: Partitioner) -> Answer:
    """Spark shows the hashes too; that of null is the seed."""
    rule = cast("HashingRule", partitioner.hashing_rule)
    hashes, _ = rule.settle(rule.hash.run(question.keys, question.key_format), question.keys)
    return Answer(rule.sign.run(hashes, question.partitions_count), hashes=hashes)


def by_token(question: Question, partitioner: Partitioner) -> Answer:
    """The hashes themselves."""
    _check_null_rule(partitioner, _rows(question, None if question.keys.valid is None else ~question.keys.valid))
    return Answer(cast("Hash", partitioner.hash).run(question.keys, question.key_format))


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
