"""Records placed at random.

The client's own random numbers are unknown. A seeded java.util.Random replaces them (``random_seed``, default 0), so that the
same question has the same answer. What is drawn, and when:

- *sticky*: ``nextInt(size)`` once, for all records of the question (a client stays until its batch is full or a time has passed);
- *each*: ``nextInt(size)`` for each record, in order;
- KIP-794: ``nextInt() & 0x7fffffff``, BuiltInPartitioner's randomPartition(); ``random_values`` replace it.

size is the number of available partitions, or of all partitions if none is available.
"""

from functools import partial

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.jvm.random import RandomState, next_int, next_int_below, seeded
from service.core.kernels import kernel
from service.core.model import Bools, Int32s, Int64s
from service.core.partitioners.counting import among_available
from service.core.partitioners.model import Answer, NullRule, Question


def _drawn(question: Question, rows: Int64s, partitions: Int32s, *, sticky: bool, all_partitions: bool = False) -> Answer:
    """``nextInt(size)`` for each row, or once for all.

    all_partitions : the client ignores which partitions are available
    """
    available = None if all_partitions else question.available_partitions
    size = question.partitions_count if available is None or not len(available) else len(available)
    alone = np.ones(1 if sticky else len(rows), np.bool_)
    draws = _ints_below(seeded(question.random_seed or 0), alone, size, np.empty(0, np.int32), False)
    partitions[rows] = among_available(question, draws)
    return Answer(partitions)


def _librdkafka(question: Question, rows: Int64s, partitions: Int32s, *, sticky_keys: bool = True) -> Answer:
    """rd_kafka_msg_partitioner_random: any partition; if it has no leader, any partition again, whether or not that one has.

    sticky_keys : False in librdkafka:random, where each record with a key draws its own
    """
    available = question.available_partitions
    leaders = np.arange(0, dtype=np.int32) if available is None else np.sort(available)
    valid = question.keys.valid
    alone = np.zeros(len(rows), np.bool_)
    if not sticky_keys:
        alone = np.ones(len(rows), np.bool_) if valid is None else valid[rows]
    random = seeded(question.random_seed or 0)
    partitions[rows] = _ints_below(random, alone, question.partitions_count, leaders, available is not None)
    return Answer(partitions)


@kernel
def _ints_below(random: RandomState, alone: Bools, bound: int, leaders: Int32s, some_lack: bool) -> Int32s:  # noqa: FBT001
    """``nextInt(bound)`` for each record, and if ``some_lack`` a leader, once more for one that is not among ``leaders``.

    alone : bool[n], False for records that share one draw; leaders : int32[...], ascending. Returns int32[n].
    """
    drawn = np.empty(len(alone), np.int32)
    shared = np.int32(-1)
    for i in range(len(alone)):
        if not alone[i] and shared >= 0:
            drawn[i] = shared
            continue
        partition = next_int_below(random, bound)
        if some_lack:
            at = np.searchsorted(leaders, partition)
            if at == len(leaders) or leaders[at] != partition:
                partition = next_int_below(random, bound)
        if not alone[i]:
            shared = partition
        drawn[i] = partition
    return drawn


@kernel
def _positive_ints(random: RandomState, n: int) -> Int64s:
    """``nextInt() & 0x7fffffff``, n times: int64[n]."""
    drawn = np.empty(n, np.int64)
    for i in range(n):
        drawn[i] = next_int(random) & 0x7FFFFFFF
    return drawn


def _random_values(question: Question, n: int) -> Int64s:
    """The first n values of randomPartition(), from the question or drawn: int64[n]."""
    if question.random_values is None:
        return _positive_ints(seeded(question.random_seed or 0), n)
    if question.random_seed is not None:
        raise InvalidQuestion("random_seed has no effect together with random_values.", "random_seed")
    return question.random_values[:n].astype(np.int64)


def _used_up(question: Question, needed: int) -> None:
    """Raise InvalidQuestion if the question has fewer random values than are needed."""
    if question.random_values is not None and len(question.random_values) < needed:
        raise InvalidQuestion(f"random_values needs {needed} values, not {len(question.random_values)}.", "random_values")


def _kip_794(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """One random partition for all: KIP-794 with a batch that never fills."""
    partitions[rows] = among_available(question, _positive_ints(seeded(question.random_seed or 0), 1))
    return Answer(partitions)


def _adaptive(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """BuiltInPartitioner.nextPartition for each row, by the load statistics of updatePartitionLoadStats."""
    _used_up(question, len(rows))
    values = _random_values(question, len(rows))
    table = cumulative_frequency_table(question)
    if table is None:
        partitions[rows] = among_available(question, values)
    else:
        ids = np.arange(len(table), dtype=np.int32) if question.partition_ids is None else question.partition_ids
        partitions[rows] = ids[np.searchsorted(table, values % table[-1], side="right")]
    return Answer(partitions, cumulative_frequency_table=table, random_values_used=_used(question, len(rows)))


def cumulative_frequency_table(question: Question) -> Int32s | None:
    """KIP-794's table: each partition weighs ``longest queue + 1 - its queue``, summed up; None where Kafka drops the table.

    Kafka drops it with fewer than two partitions, and when all queues are equal and the table has all partitions.
    """
    sizes = question.queue_sizes
    if sizes is None:
        return None
    length = len(sizes) if question.length is None else question.length
    if question.partition_ids is not None and len(question.partition_ids) != len(sizes):
        raise InvalidQuestion(f"{len(question.partition_ids)} partition ids for {len(sizes)} queue sizes.", "partition_ids")
    if length > len(sizes):
        raise InvalidQuestion(f"Length is {length}, but there are {len(sizes)} queue sizes.", "length")
    if length < 1 or len(sizes) < 2:
        return None
    counted = sizes[:length].astype(np.int64)
    if length == len(sizes) and (counted == counted[0]).all():
        return None
    table = np.cumsum(counted.max() + 1 - counted)
    if table[-1] > np.iinfo(np.int32).max:
        raise InvalidQuestion("The queue sizes add up to more than Kafka's int table can hold.", "queue_sizes")
    return table.astype(np.int32)


def _sticky(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """BuiltInPartitioner's sticky partition, which changes after a number of bytes."""
    if question.sticky_batch_size is None and not len(rows):
        return Answer(partitions, random_values_used=_used(question, 0))
    if question.sticky_batch_size is None:
        raise InvalidQuestion("sticky_batch_size is required: it decides when the partition changes.", "sticky_batch_size")
    if question.bytes is None:
        raise InvalidQuestion("The records must have bytes: their sizes decide when the partition changes.", "records")
    n = len(rows)
    switch = np.ones(n, np.bool_) if question.enable_switch is None else question.enable_switch[rows]
    turns, used = _sticky_turns(question.bytes[rows], switch, question.sticky_batch_size)
    _used_up(question, used)
    if n:
        partitions[rows] = among_available(question, _random_values(question, used))[turns]
    return Answer(partitions, random_values_used=_used(question, used))


@kernel
def _sticky_turns(added: Int64s, switch: Bools, batch_size: int) -> tuple[Int32s, int]:
    """BuiltInPartitioner.updatePartitionInfo, whose ints overflow.

    added : int64[n], each record's bytes; switch : bool[n]. Returns int32[n], the number of the draw whose partition each record
    gets, and the number of draws: one more than changes, because the next partition is drawn at once.
    """
    turns = np.empty(len(added), np.int32)
    twice = np.int32(np.int64(2) * batch_size)
    turn, produced = 0, np.int32(0)
    for i in range(len(added)):
        turns[i] = turn
        produced = np.int32(produced + added[i])
        if (produced >= batch_size and switch[i]) or produced >= twice:
            turn += 1
            produced = np.int32(0)
    return turns, turn + 1 if len(added) else 0


def _used(question: Question, used: int) -> int | None:
    return None if question.random_values is None else used


_SEEDED = ("random_seed", "available_partitions")
_STUCK = "the one draw for all"
_EACH = "draw {i}"
RANDOM = NullRule("random available partition, drawn for each record", partial(_drawn, sticky=False), _SEEDED, _EACH)
RANDOM_OF_ALL = NullRule(
    "random partition, drawn for each record", partial(_drawn, sticky=False, all_partitions=True), ("random_seed",), _EACH
)
STICKY_RANDOM = NullRule("sticky: one random available partition", partial(_drawn, sticky=True), _SEEDED, _STUCK)
LIBRDKAFKA_STICKY = NullRule("sticky: one random partition, drawn again if it has no leader", _librdkafka, _SEEDED, _STUCK)
LIBRDKAFKA_RANDOM = NullRule(
    "keyed records: a random partition each; without a key: one for all; drawn again if it has no leader",
    partial(_librdkafka, sticky_keys=False),
    _SEEDED,
    "java.util.Random",
)
KIP_794 = NullRule("sticky (KIP-794): one random available partition", _kip_794, _SEEDED, _STUCK)
KIP_794_ADAPTIVE = NullRule(
    "the next partition by queue sizes (KIP-794)",
    _adaptive,
    (*_SEEDED, "random_values", "queue_sizes", "partition_ids", "length"),
    "random value {i}",
    has_state=True,
)
KIP_794_STICKY = NullRule(
    "sticky until enough bytes were added (KIP-794)",
    _sticky,
    (*_SEEDED, "random_values", "sticky_batch_size", "bytes", "enable_switch"),
    "the sticky partition",
    has_state=True,
)
