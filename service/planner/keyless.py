"""Where records without a key go in the long run: each partition's expected share.

============== ======================================================== ====================================
rule           the next partition                                       when it changes
============== ======================================================== ====================================
round-robin    in turn (Kafka up to 2.3; RoundRobinPartitioner)         with every record
sticky         at random, not the same again (KIP-480, 2.4 – 3.2)      when a batch is complete
uniform-sticky at random (KIP-794, adaptive partitioning off)           after batch.size bytes
adaptive       at random, likelier the shorter its queue is             after batch.size bytes
               (KIP-794, default since 3.3)
============== ======================================================== ====================================

All rules choose among the partitions that have a leader, or among all partitions if none has one. The draws themselves are in
``service.core.partitioners.drawing``. With partitioner.rack.aware (KIP-1123, Kafka 4.4), a producer chooses among the partitions
whose leader is in its own rack, if there are any.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.errors import InvalidQuestion, KafkaError
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s

_, STICKY, UNIFORM_STICKY, ADAPTIVE = RULES = ("round-robin", "sticky", "uniform-sticky", "adaptive")
RACK_AWARE: Final = (UNIFORM_STICKY, ADAPTIVE)
"""The rules of the built-in partitioner, the only ones with partitioner.rack.aware."""

DRAWS: Final = 2**31
"""The number of values of toPositive(nextInt())."""


class ConfigException(KafkaError):
    """The producer does not start."""

    exception = "org.apache.kafka.common.config.ConfigException"


@dataclass(frozen=True)
class Keyless:
    """The question: a topic, and the producers that write to it.

    rule : one of RULES
    racks : int32[partitions]            the rack of each partition's leader, or NONE
    led : bool[partitions]               does the partition have a leader?
    queue_sizes : int64[partitions]      ADAPTIVE: batches queued in the producer
    slow : bool[partitions]              ADAPTIVE: the leader has accepted no batch for partitioner.availability.timeout.ms
    batch_records : float64[partitions]  STICKY: records per batch
    rack_aware : partitioner.rack.aware
    producer_racks : int32[groups]       client.rack of each group of producers, or NONE
    producer_weights : float64[groups]   each group's relative share of the records
    """

    rule: str
    racks: Int32s
    led: Bools
    queue_sizes: Int64s
    slow: Bools
    batch_records: Float64s
    rack_aware: bool
    producer_racks: Int32s
    producer_weights: Float64s


@dataclass(frozen=True)
class Producers:
    """Where one group of producers sends its records.

    shares : float64[partitions]
    frequency_table : int64[...] and partition_ids : int32[...], KIP-794's cumulative frequencies; None if Kafka uses none
    same_rack : the share of the records that stay in the producers' rack
    """

    shares: Float64s
    frequency_table: Int64s | None
    partition_ids: Int32s | None
    same_rack: float


@dataclass(frozen=True)
class Distribution:
    """The answer. shares : float64[partitions], those of all producers together."""

    shares: Float64s
    producers: list[Producers]

    @property
    def skew(self) -> float:
        """Max ÷ mean of the shares."""
        return float(self.shares.max() * len(self.shares))


def distribution(question: Keyless) -> Distribution:
    """Each partition's expected share of the records.

    Raises ConfigException for a rack-aware producer without a rack, InvalidQuestion for a rule that ignores racks.
    """
    if question.rack_aware and question.rule not in RACK_AWARE:
        raise InvalidQuestion(f"{question.rule} ignores racks; {' and '.join(RACK_AWARE)} do not.", "rack_aware")
    if question.rack_aware and (question.producer_racks == NONE).any():
        raise ConfigException("client.rack must be provided if partitioner.rack.aware is enabled")
    producers = [_of_producers(question, int(rack)) for rack in question.producer_racks]
    weights = question.producer_weights / question.producer_weights.sum()
    return Distribution(np.array([of.shares for of in producers]).T @ weights, producers)


def _of_producers(question: Keyless, rack: int) -> Producers:
    """BuiltInPartitioner.nextPartition for producers of one rack."""
    among = table = None
    if question.rule == ADAPTIVE:
        among, table = _frequencies(question, rack)
    if among is None or table is None:
        among = _near(question, np.flatnonzero(question.led), rack)
        if not len(among):
            among = np.arange(len(question.led))
        table = None
    shares = np.zeros(len(question.led))
    upto = np.arange(1, len(among) + 1) if table is None else table
    whole, rest = divmod(DRAWS, int(upto[-1]))  # of the remainders of a draw, how many fall between each entry and the one before
    shares[among] = np.diff(upto * whole + np.minimum(upto, rest), prepend=0) / DRAWS
    if question.rule == STICKY:
        shares *= question.batch_records
        shares /= shares.sum()
    same = float(shares[question.racks == rack].sum()) if rack != NONE else 0.0
    return Producers(shares, table, None if table is None else among.astype(np.int32), same)


def _near(question: Keyless, partitions: Int64s, rack: int) -> Int64s:
    """The partitions whose leader is in this rack, if the producers are rack-aware and there are any; else all of them."""
    near = partitions[question.racks[partitions] == rack] if question.rack_aware else partitions
    return near if len(near) else partitions


def _frequencies(question: Keyless, rack: int) -> tuple[Int64s, Int64s] | tuple[None, None]:
    """RecordAccumulator.partitionReady and BuiltInPartitioner.updatePartitionLoadStats: the partitions and their table.

    A partition without a leader is left out, and one with a slow leader if any batch waits for it. Kafka uses no table if there
    are fewer than two partitions, or if none is left out and all queues are equal.
    """
    led = np.flatnonzero(question.led)
    waiting = question.queue_sizes[led]
    left_out = question.slow[led] & (waiting > 0)
    # Kafka writes a size only for a nonempty queue, and the next partition takes the place of one that is left out: if its own
    # queue is empty, it inherits the size of the other's.
    inherited = np.where(left_out, waiting, 0)[:-1]
    waiting = np.where(waiting > 0, waiting, np.concatenate([np.zeros(min(1, len(led)), np.int64), inherited]))
    sizes, listed = waiting[~left_out], led[~left_out]
    if not len(listed) or len(question.led) < 2 or (len(listed) == len(question.led) and (sizes == sizes[0]).all()):
        return None, None
    near = np.isin(listed, _near(question, listed, rack))
    listed, sizes = listed[near], sizes[near]
    table = np.cumsum(sizes.max() + 1 - sizes)
    if table[-1] >= DRAWS:
        raise InvalidQuestion("The queue sizes add up to more than Kafka's int table can hold.", "partitions")
    return listed, table
