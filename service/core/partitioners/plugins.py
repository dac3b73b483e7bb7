"""What a partitioner from a plug-in must obey: checked for each of its answers, for none of a built-in's.

A plug-in's partitioner has one of two forms:

- a *hash* of its own, with a built-in sign rule, null rule and run (``allocation.by_hash``), so that fingerprints, comparisons
  and plans of partition counts know what it does with a key;
- no hash, but a *run* of its own. To everything but ``/v1/partitions`` it is a partitioner that ignores keys.

*Rules*: a hash function returns int32 (int64 if it gives tokens) for each key; ``run`` returns an Answer with a partition in
``[0, partitions_count)`` for each record for which the caller names none.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from service.core.model import Int32s, Keys
from service.core.partitioners.model import Answer, NullRule, Partitioner, Question
from service.core.registry import BrokenRule, Plugin


def guard(partitioner: Partitioner, plugin: Plugin, *, builtins: tuple[Partitioner, ...]) -> Partitioner:
    """The partitioner, its functions guarded; raises ValueError for one that has neither form."""
    for part in ("encoding", "explicit", "sign", *(() if partitioner.hash is None else ("run", "null"))):
        if getattr(partitioner, part) not in [getattr(builtin, part) for builtin in builtins]:
            raise ValueError(f"{part} must be that of a built-in partitioner")
    hash_keys, null = partitioner.hash, partitioner.null
    if not isinstance(null, NullRule) or not isinstance(null.rule, str):
        raise TypeError("null must be a NullRule")
    if hash_keys is None:
        return replace(partitioner, run=plugin.guarded(partitioner.run, checked))
    if hash_keys in [builtin.hash for builtin in builtins]:  # and so in one class with those partitioners
        return partitioner
    dtype = np.int64 if partitioner.sign is None else np.int32

    def check(hashes: Any, keys: Keys, _key_format: str) -> Int32s:
        if not isinstance(hashes, np.ndarray) or hashes.dtype != dtype or hashes.shape != (len(keys),):
            raise BrokenRule(f"the hash function must return an array of {len(keys)} {dtype.__name__}")
        return hashes

    if not isinstance(hash_keys.name, str):
        raise TypeError("a hash must have a name")
    return replace(partitioner, hash=replace(hash_keys, run=plugin.guarded(hash_keys.run, check)))


def checked(answer: Any, question: Question, *_: Any) -> Answer:
    """The answer, with partitions of int32; raises BrokenRule, which names the first offending record."""
    if not isinstance(answer, Answer):
        raise BrokenRule(f"it returned a {type(answer).__name__}, not an Answer")
    partitions, n = answer.partitions, len(question.keys)
    if not isinstance(partitions, np.ndarray) or partitions.dtype.kind not in "iu" or partitions.shape != (n,):
        raise BrokenRule(f"partitions must be an array of {n} integers")
    outside = (partitions < 0) | (partitions >= question.partitions_count)
    if question.explicit_given is not None:
        outside &= ~question.explicit_given
    if outside.any():
        at = int(np.argmax(outside))
        raise BrokenRule(f"partition {partitions[at]} of record {at} is not in [0, {question.partitions_count})")
    return replace(answer, partitions=partitions.astype(np.int32))
