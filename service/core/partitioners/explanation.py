"""Why each record went to its partition, in the terms of the partitioners' table."""

from typing import Any

import numpy as np

from service.core.partitioners.allocation import unhashed_rows
from service.core.partitioners.model import HASH_BITS, Answer, Partitioner, Question


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
