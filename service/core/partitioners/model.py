"""The question, the answer, and the record that describes a partitioner."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from service.core.errors import InvalidQuestion
from service.core.registry import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.errors import AllocatorError
    from service.core.keys.columns import Encoding
    from service.core.model import Bools, Int32s, Int64s, Keys


@dataclass(frozen=True)
class Question:
    """Records of one topic, of which a partitioner is to say where they go.

    partitions_count : 1 … 2147483647
    keys : each record's key in the bytes that the partitioner hashes (``Partitioner.encoding``)
    key_format : what the keys were before (``service.core.keys.columns.FORMATS``)
    explicit, explicit_given : int32[n] and bool[n], the partition that the caller named, and whether there is one

    The rest are options; a partitioner refuses those that mean nothing to it (``Partitioner.options``). None: not given.

    available_partitions : int32[...], ids that have a leader, in the metadata's order
    counter : the client's counter before the first record
    random_seed : of the java.util.Random that stands for the client's; default 0
    random_values : int32[...], what the client's random numbers were, instead of drawing them
    chunk_size : kafka-go's RoundRobin{ChunkSize}
    value_sizes : int64[n], bytes of each record's value
    clock_ms, partition_switch_ms : int64[n] and an int, the time of each record and Pulsar's batching boundary
    queue_sizes, partition_ids, length : KIP-794's load statistics, int32[...] twice and how many of them count
    sticky_batch_size, record_bytes, enable_switch : KIP-794's stickiness: int; int64[n]; bool[n]
    window : start and size of a Kafka Streams window, which moves nothing
    """

    partitions_count: int
    keys: Keys
    key_format: str = "base64"
    explicit: Int32s | None = None
    explicit_given: Bools | None = None
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
    record_bytes: Int64s | None = None
    enable_switch: Bools | None = None
    window: tuple[int, int] | None = None


OPTIONS = tuple(f.name for f in fields(Question))[5:]
"""The fields of a Question that only some partitioners understand."""


@dataclass(frozen=True)
class Answer:
    """Where the records go.

    partitions : int32[n]; int64[n] tokens from a partitioner of tokens
    hashes : int32[n], where the client shows them (Spark's ``hash(key)``)
    counter : the client's counter after the last record, where there is one
    random_values_used : how many of ``random_values`` were looked at, where they were given
    cumulative_frequency_table : KIP-794's, int32[...]; None where there is none or where it was dropped
    """

    partitions: Int32s | Int64s
    hashes: Int32s | None = None
    counter: int | None = None
    random_values_used: int | None = None
    cumulative_frequency_table: Int32s | None = None


@dataclass(frozen=True)
class Hash:
    """A hash function: ``run(keys, key_format)`` → int32[n] (int64[n] for Cassandra's tokens)."""

    name: str
    run: Callable[[Keys, str], Int32s]


@dataclass(frozen=True)
class Sign:
    """How a hash becomes a partition: ``run(hashes, partitions_count)`` → int32[n].

    ``before_modulo`` is its first step, for an int or an int64[n]: the partition is its result's mathematical modulo.
    """

    name: str
    rule: str
    run: Callable[[Int32s, int], Int32s]
    before_modulo: Callable[[Any], Any]


@dataclass(frozen=True)
class NullRule:
    """Where records go whose key is not hashed.

    rule : in words
    run : ``run(question, rows, partitions)`` fills ``partitions[rows]`` and returns the Answer; rows : int64[...]
    options : the options of the question that it looks at
    because : what decided about one of the rows, with ``{i}`` for its number among them and ``{counter}`` for the counter then
    counts_as : the hash that such a record counts as; None where not a hash, but a counter or chance decides
    """

    rule: str
    run: Callable[[Question, Int64s, Int32s], Answer]
    options: tuple[str, ...] = ()
    because: str = ""
    counts_as: Callable[[], int] | None = None


@dataclass(frozen=True)
class ExplicitRule:
    """What becomes of a partition that the caller names.

    rule : in words
    refusal : the error for a partition out of range; None: any number is taken as it is
    """

    rule: str
    refusal: Callable[[int, int], AllocatorError] | None


@dataclass(frozen=True)
class Partitioner(Strategy):
    """One line of the table.

    client, setting : whose it is, in which release, and what selects it there
    hash, sign : None where keys are not hashed; sign is None for tokens
    null : rule for a record without a key, or for every record where keys are not hashed
    empty_key : "hashed" or "as null"
    explicit : what becomes of a partition that the caller names
    encoding : how the client turns a key into what it hashes
    options : the options that mean something here
    """

    client: str
    setting: str
    hash: Hash | None
    sign: Sign | None
    null: NullRule
    empty_key: str
    explicit: ExplicitRule
    encoding: Encoding
    options: tuple[str, ...]

    @property
    def gives_tokens(self) -> bool:
        """Are its answers tokens, int64[n], instead of partitions?"""
        return self.hash is not None and self.sign is None


def check_options(partitioner: Partitioner, names: tuple[str, ...]) -> None:
    """Raise InvalidQuestion for the first of these options that means nothing to the partitioner."""
    for name in names:
        if name not in partitioner.options:
            known = ", ".join(partitioner.options) or "no options"
            raise InvalidQuestion(f"{name} means nothing to the partitioner {partitioner.name}, which takes {known}", name)
