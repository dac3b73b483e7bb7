"""Records placed by counting: the round robins, each with its own counter, and kafka-go's LeastBytes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.kernels import kernel
from service.core.partitioners.model import Answer, NullRule, Question

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from service.core.model import Int32s, Int64s

    UInt64s = npt.NDArray[np.uint64]

_INT32 = (-(2**31), 2**31 - 1)
_UINT32 = (0, 2**32 - 1)
_JAVASCRIPT = (0, 2**53 - 1)


def _start(question: Question, bounds: tuple[int, int]) -> int:
    """The client's counter before the first record."""
    counter = 0 if question.counter is None else question.counter
    if not bounds[0] <= counter <= bounds[1]:
        raise InvalidQuestion(f"This client's counter is between {bounds[0]} and {bounds[1]}, not {counter}.", "counter")
    return counter


def _as_int32(value: int) -> int:
    """Java's int overflow."""
    return (value + 2**31) % 2**32 - 2**31


def among_available(question: Question, turns: Int32s | Int64s) -> Int32s:
    """The partition of each turn, among the available ones in the metadata's order, or among all if none is available."""
    available = question.available_partitions
    if available is None or not len(available):
        return (turns % question.partitions_count).astype(np.int32)
    return available[turns % len(available)]


def _java(question: Question, rows: Int64s, partitions: Int32s, *, first: int) -> Answer:
    """toPositive(counter) in turn. first : 1 if the client increments first (KafkaJS)."""
    counter = _start(question, _JAVASCRIPT if first else _INT32)
    turns = (counter + first + np.arange(len(rows), dtype=np.int64)) & 0x7FFFFFFF
    partitions[rows] = among_available(question, turns)
    after = counter + len(rows)
    return Answer(partitions, counter=after if first else _as_int32(after))


def _go_restarting(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """Sarama's and franz-go's: start again at 0 when the counter reaches the number of (writable) partitions."""
    available = question.available_partitions
    n = question.partitions_count if available is None or not len(available) else len(available)
    counter = _start(question, _INT32)
    if counter < 0:
        raise InvalidQuestion("This client's counter is never negative.", "counter")
    start = 0 if counter >= n else counter
    partitions[rows] = among_available(question, (start + np.arange(len(rows), dtype=np.int64)) % n)
    return Answer(partitions, counter=(start + len(rows) - 1) % n + 1 if len(rows) else counter)


def _kafka_go(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """kafka-go's RoundRobin: a uint32 counter, ``ChunkSize`` records at a time."""
    counter = _start(question, _UINT32)
    turns = (counter + np.arange(len(rows), dtype=np.int64)) % 2**32 // (question.chunk_size or 1)
    partitions[rows] = turns % question.partitions_count
    return Answer(partitions, counter=(counter + len(rows)) % 2**32)


def _pulsar(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """Pulsar's signSafeMod of an int counter that wraps."""
    counter = _start(question, _INT32)
    turns = (counter + np.arange(len(rows), dtype=np.int64)).astype(np.int32).astype(np.int64)
    partitions[rows] = turns % question.partitions_count
    return Answer(partitions, counter=_as_int32(counter + len(rows)))


def _pulsar_batched(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """Pulsar with batching: the partition changes with the clock; the counter only says where that starts."""
    counter = _start(question, _INT32)
    if len(rows):
        if question.clock_ms is None:
            raise InvalidQuestion("The clock decides where records without a key go: each record needs a time.", "clock_ms")
        # Pulsar's own boundary is 1 ms if batching has no delay.
        turns = question.clock_ms[rows] // (question.partition_switch_ms or 1) + counter
        partitions[rows] = turns % question.partitions_count
    return Answer(partitions, counter=counter)


def _least_bytes(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    """kafka-go's LeastBytes, whose counters are uint64."""
    sizes = np.diff(question.keys.offsets)[rows].astype(np.uint64)
    if question.keys.valid is not None:
        sizes[~question.keys.valid[rows]] = 0
    if question.value_sizes is not None:
        sizes += question.value_sizes[rows].astype(np.uint64)
    # Empty partitions come first, the lowest one first, so no others than these can get a record.
    partitions[rows] = _emptiest(sizes, min(question.partitions_count, len(rows) + 1))
    return Answer(partitions)


@kernel
def _emptiest(sizes: UInt64s, n: int) -> Int32s:
    """The loop. sizes : uint64[records]. Returns int32[records], each time the emptiest partition, the lowest on a tie.

    A heap of (bytes, partition) whose root grows and sinks.
    """
    chosen = np.empty(len(sizes), np.int32)
    held = np.zeros(n, np.uint64)
    heap = np.arange(n).astype(np.int32)
    for record in range(len(sizes)):
        partition = heap[0]
        chosen[record] = partition
        held[partition] += sizes[record]
        at = 0
        while 2 * at + 1 < n:
            child = 2 * at + 1
            right = child + 1
            if right < n and (held[heap[right]], heap[right]) < (held[heap[child]], heap[child]):
                child = right
            if (held[partition], partition) < (held[heap[child]], heap[child]):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = partition
    return chosen


def _rule(rule: str, run: Callable[..., Answer], *options: str, because: str = "counter {counter}", **fixed: Any) -> NullRule:
    return NullRule(rule, partial(run, **fixed) if fixed else run, options, because, has_state=True)


JAVA_ROUND_ROBIN = _rule(
    "round robin over available partitions: toPositive(counter++)", _java, "counter", "available_partitions", first=0
)
KAFKAJS_ROUND_ROBIN = _rule(
    "round robin over available partitions: toPositive(++counter)",
    _java,
    "counter",
    "available_partitions",
    because="the counter after {counter}",
    first=1,
)
GO_ROUND_ROBIN = _rule(
    "round robin over writable partitions, from 0 again after the last", _go_restarting, "counter", "available_partitions"
)
EVENT_HUBS_ROUND_ROBIN = _rule("round robin: counter++, from 0 again after the largest int", _java, "counter", first=0)
KAFKA_GO_ROUND_ROBIN = _rule("round robin: counter++ / chunk_size", _kafka_go, "counter", "chunk_size")
KAFKA_GO_NULL_ROUND_ROBIN = _rule("round robin: counter++", _kafka_go, "counter")
PULSAR_ROUND_ROBIN = _rule("round robin: the modulo of counter++, which may be negative", _pulsar, "counter")
PULSAR_BATCHED_ROUND_ROBIN = _rule(
    "(clock_ms / partition_switch_ms + counter) mod n",
    _pulsar_batched,
    "counter",
    "clock_ms",
    "partition_switch_ms",
    because="the clock",
)
LEAST_BYTES = _rule("the partition with the fewest bytes so far", _least_bytes, "value_sizes", because="fewest bytes so far")
