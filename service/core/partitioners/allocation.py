"""How a question is answered: what the caller named, what the key's hash says, and the null rule for the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.partitioners import explicit, murmur3, nulls, signs
from service.core.partitioners.model import Answer

if TYPE_CHECKING:
    from service.core.model import Int64s
    from service.core.partitioners.model import Hash, Partitioner, Question

HASHED: Final = "hashed"
AS_NULL: Final = "as null"


def allocate(partitioner: Partitioner, question: Question) -> Answer:
    """Where ``partitioner`` sends the records of ``question``.

    Raises InvalidQuestion, and what the client itself throws (``service.core.partitioners.explicit``).
    """
    _check(question)
    explicit.check(partitioner.explicit, question)
    answer: Answer = partitioner.run(question, partitioner)
    if question.explicit is None or question.explicit_given is None:
        return answer
    return replace(answer, partitions=np.where(question.explicit_given, question.explicit, answer.partitions))


def _check(question: Question) -> None:
    """Raise InvalidQuestion for an option of another length than the keys, or that names partitions there are not."""
    for name in ("value_sizes", "clock_ms", "record_bytes", "enable_switch"):
        values = getattr(question, name)
        if values is not None and len(values) != len(question.keys):
            raise InvalidQuestion(f"{len(values)} {name} for {len(question.keys)} records", name)
    for name in ("available_partitions", "partition_ids"):
        ids = getattr(question, name)
        if ids is not None and ((ids < 0) | (ids >= question.partitions_count)).any():
            i = int(np.argmax((ids < 0) | (ids >= question.partitions_count)))
            raise InvalidQuestion(f"partition {ids[i]} is not in [0, {question.partitions_count})", name, i)


def _rows(question: Question) -> Int64s:
    """The records that the partitioner is asked about."""
    given = question.explicit_given
    return np.arange(len(question.keys)) if given is None else np.flatnonzero(~given)


def unhashed_rows(question: Question, partitioner: Partitioner) -> Int64s:
    """int64[...]: the records whose partition the null rule decides."""
    if partitioner.hash is None:
        return _rows(question)
    valid = question.keys.valid
    unhashed = np.zeros(len(question.keys), np.bool_) if valid is None else ~valid
    if partitioner.empty_key == AS_NULL:
        unhashed = unhashed | (np.diff(question.keys.offsets) == 0)
    if question.explicit_given is not None:
        unhashed = unhashed & ~question.explicit_given
    return np.flatnonzero(unhashed)


def by_hash(question: Question, partitioner: Partitioner) -> Answer:
    """Hash, sign rule, and the null rule for the rest."""
    hashes = cast("Hash", partitioner.hash).run(question.keys, question.key_format)
    partitions = partitioner.sign.run(hashes, question.partitions_count) if partitioner.sign is not None else hashes
    # The common case, every record with a key, is not to pay for looking at each.
    if question.keys.valid is None and partitioner.empty_key != AS_NULL:
        rows = np.empty(0, np.int64)
    else:
        rows = unhashed_rows(question, partitioner)
    if len(rows) and partitioner.null is nulls.NO_NULL:
        raise InvalidQuestion(f"the partitioner {partitioner.name} knows no record without a key", "keys", int(rows[0]))
    return partitioner.null.run(question, rows, partitions)


def by_spark_hash(question: Question, _partitioner: Partitioner) -> Answer:
    """Spark shows the hashes too; that of null is the seed."""
    hashes = murmur3.spark_murmur3(question.keys)
    if question.keys.valid is not None:
        hashes = np.where(question.keys.valid, hashes, np.int32(murmur3.SPARK_SEED))
    return Answer(signs.PMOD.run(hashes, question.partitions_count), hashes=hashes)


def ignoring_keys(question: Question, partitioner: Partitioner) -> Answer:
    """The null rule for every record."""
    return partitioner.null.run(question, _rows(question), np.empty(len(question.keys), np.int32))
