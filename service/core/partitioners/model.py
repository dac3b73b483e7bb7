"""The question, the answer, and the description of a partitioner: its rules for null keys and explicit partitions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from service.core.errors import AllocatorError
from service.core.frozen import frozen
from service.core.keys.columns import Encoding
from service.core.model import Bools, Int32s, Int64s, Keys
from service.core.partitioners.hashing_rule import Hash, HashingRule, Sign
from service.core.registry import BrokenRule, Plugin, Strategy


@dataclass(frozen=True, kw_only=True)
class Options:
    """What only some partitioners use; one rejects what it does not use (``Partitioner.options``). None: absent.

    available_partitions : int32[...], ids that have a leader, in the metadata's order
    counter : the client's counter before the first record
    random_seed : of the java.util.Random that stands for the client's; default 0
    random_values : int32[...], the client's random numbers, instead of drawn ones
    chunk_size : kafka-go's RoundRobin{ChunkSize}
    value_sizes : int64[n], bytes of each record's value
    clock_ms, partition_switch_ms : int64[n] and an int, the time of each record and Pulsar's batching boundary
    queue_sizes, partition_ids, length : KIP-794's load statistics, int32[...] twice and how many of them count
    sticky_batch_size : KIP-794's stickiness
    """

    available_partitions: Int32s | None = None
    counter: int | None = None
    random_seed: int | None = None
    random_values: Int32s | None = None
    chunk_size: int | None = None
    value_sizes: Int64s | None = None
    clock_ms: Int64s | None = None
    partition_switch_ms: int | None = None
    queue_sizes: Int32s | None = None
    partition_ids: Int32s | None = None
    length: int | None = None
    sticky_batch_size: int | None = None


@frozen
class Question(Options):
    """Records of one topic that a partitioner is to place.

    partitions_count : 1 … 2147483647
    keys : each record's key in the bytes that the partitioner hashes (``Partitioner.encoding``)
    key_format : the format of the keys before (``service.core.keys.formats.FORMATS``)
    explicit, explicit_given : int32[n] and bool[n], the partition that the caller names, and whether it names one

    The rest are options, too.

    bytes, enable_switch : int64[n] and bool[n], for KIP-794's stickiness
    window : start and size of a Kafka Streams window, which does not change the partition
    """

    partitions_count: int
    keys: Keys
    key_format: str = "base64"
    explicit: Int32s | None = None
    explicit_given: Bools | None = None
    bytes: Int64s | None = None
    enable_switch: Bools | None = None
    window: tuple[int, int] | None = None


HASHED: Final = "hashed"
AS_NULL: Final = "as null"
"""What ``Partitioner.empty_key`` says where keys are hashed."""

HASH_BITS: Final = 32
"""Bits of the hashes that comparisons, fingerprints and plans work with."""


@frozen
class Answer:
    """Where the records go.

    partitions : int32[n]; int64[n] tokens from a partitioner of tokens
    hashes : int32[n], where the client shows them (Spark's ``hash(key)``)
    counter : the client's counter after the last record, where there is one
    random_values_used : how many of the question's ``random_values`` were used
    cumulative_frequency_table : KIP-794's, int32[...]; None if there is none
    """

    partitions: Int32s | Int64s
    hashes: Int32s | None = None
    counter: int | None = None
    random_values_used: int | None = None
    cumulative_frequency_table: Int32s | None = None


@dataclass(frozen=True)
class NullRule:
    """Where records go whose key is not hashed.

    rule : in words
    run : ``run(question, rows, partitions)`` fills ``partitions[rows]`` and returns the Answer; rows : int64[...].
        None where ``counts_as`` gives a hash, and where such a record is refused
    options : the options of the question that it uses
    because : why a record went where it did, with ``{i}`` for its number among the rows and ``{counter}`` for the counter then
    counts_as : gives the hash that stands for such a record; None where a counter or a random number decides
    has_state : is ``run`` called for no rows, too, since its answer has a counter or a table?
    """

    rule: str
    run: Callable[[Question, Int64s, Int32s], Answer] | None
    options: tuple[str, ...] = ()
    because: str = ""
    counts_as: Callable[[], int] | None = None
    has_state: bool = False


@dataclass(frozen=True)
class ExplicitRule:
    """What the client does with a partition that the caller names.

    rule : in words
    refusal : the error for a partition out of range; None: any number is accepted
    """

    rule: str
    refusal: Callable[[int, int], AllocatorError] | None


@dataclass(frozen=True)
class Partitioner(Strategy):
    """One line of the table.

    setting : the setting of the client that selects the partitioner
    hash, sign : None where keys are not hashed; sign is None for tokens
    null : rule for a record without a key, or for every record where keys are not hashed
    empty_key : HASHED or AS_NULL, or where keys are not hashed "as any record"
    explicit : what the client does with a partition that the caller names
    encoding : how the client turns a key into the bytes that it hashes
    options : the options that it uses
    used_by : the client in plain words, with the products that use it
    products : those that use the client with this partitioner, with the setting that decides
    notes : what else its users should know; may be empty
    in_use : False for clients that are no longer used
    writes_to_kafka : False for systems other than Kafka
    hashes_record_key : False for tools that hash a column or another field instead of the record's key
    """

    setting: str
    hash: Hash | None
    sign: Sign | None
    null: NullRule
    empty_key: str
    explicit: ExplicitRule
    encoding: Encoding
    options: tuple[str, ...]
    used_by: str = ""
    products: str = ""
    notes: str = ""
    in_use: bool = True
    writes_to_kafka: bool = True
    hashes_record_key: bool = True

    @property
    def described(self) -> str:
        """A client's default: by the word default, its hash, and the client's products and languages; others: by products."""
        is_default = self.setting.startswith(("default,", "default since")) or self.setting == "default"
        if not (is_default and self.in_use and self.writes_to_kafka):
            return self.products
        return f"default {self.hash.name if self.hash else ''} {self.used_by}"

    @cached_property
    def hashing_rule(self) -> HashingRule | None:
        """How keys become partitions by 32 bits; None if they do not: ``without_rule`` says why."""
        if self.hash is None or self.sign is None or self.hash.bits > HASH_BITS:
            return None
        null_hash = None if self.null.counts_as is None else self.null.counts_as()
        return HashingRule(self.encoding, self.hash, self.sign, null_hash, self.empty_key == AS_NULL)

    @cached_property
    def without_rule(self) -> str:
        """Why there is no hashing rule."""
        if self.hash is None:
            return "ignores keys"
        return "gives tokens, not partitions" if self.sign is None else f"decides by {self.hash.bits} bits, not by 32"

    @cached_property
    def gives_tokens(self) -> bool:
        """Are its answers tokens, int64[n], instead of partitions?"""
        return self.hash is not None and self.sign is None


# What a partitioner from a plug-in must obey: checked for each of its answers, for none of a built-in's.
#
# A plug-in's partitioner has one of two forms:
#
# - a *hash* of its own, with a built-in sign rule, null rule and run (``allocation.by_hash``), so that fingerprints,
#   comparisons and plans of partition counts know what it does with a key;
# - no hash, but a *run* of its own. To everything but ``/v1/partitions`` it is a partitioner that ignores keys.
#
# *Rules*: a hash function returns int32 (int64 if it gives tokens) for each key; ``run`` returns an Answer with a partition in
# ``[0, partitions_count)`` for each record for which the caller names none.


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
