"""Records without a key that are placed by no counting and no drawing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from service.core.keys import columns
from service.core.partitioners.model import Answer, Hash, NullRule, Sign
from service.core.partitioners.murmur3 import SPARK_SEED

if TYPE_CHECKING:
    from service.core.model import Int32s, Int64s
    from service.core.partitioners.model import Question


def _keep(_question: Question, _rows: Int64s, partitions: Int32s) -> Answer:
    return Answer(partitions)


def _as_empty(question: Question, rows: Int64s, partitions: Int32s, *, hash_keys: Hash, sign: Sign) -> Answer:
    """Arrow may leave anything under a null, so that its hash is not that of an empty key by itself."""
    if len(rows):
        partitions[rows] = sign.run(_empty_hash(hash_keys), question.partitions_count)
    return Answer(partitions)


def _empty_hash(hash_keys: Hash) -> Int32s:
    return hash_keys.run(columns.byte_strings([b""]), "base64")


def _first(_question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    partitions[rows] = 0
    return Answer(partitions)


NO_NULL = NullRule("refused: there is always a key", _keep)
SPARK_NULL = NullRule("the hash is 42, the seed", _keep, because="the hash of null is 42", counts_as=lambda: SPARK_SEED)
ZERO = NullRule("0", _first, because="null is 0", counts_as=lambda: 0)


def as_empty(hash_keys: Hash, sign: Sign) -> NullRule:
    """A record without a key is hashed as one with an empty key."""
    return NullRule(
        "as an empty key",
        partial(_as_empty, hash_keys=hash_keys, sign=sign),
        because="as an empty key",
        counts_as=lambda: int(_empty_hash(hash_keys)[0]),
    )
