"""Explicit partitions: the partitioner is not used, and its counter and random numbers do not change."""

import numpy as np

from service.core.errors import InvalidQuestion, KafkaError
from service.core.model import Bools, Int32s
from service.core.partitioners.model import ExplicitRule


class IllegalArgumentException(KafkaError):
    """A Java client rejects the partition."""

    exception = "java.lang.IllegalArgumentException"


class TimeoutException(KafkaError):
    """A Java producer waits in vain for a partition that the topic does not have."""

    exception = "org.apache.kafka.common.errors.TimeoutException"


def _java(partition: int, partitions_count: int) -> KafkaError:
    """KafkaProducer 4.3.1, with max.block.ms at its default."""
    if partition < 0:
        return IllegalArgumentException(
            f"Invalid partition: {partition}. Partition number should always be non-negative or null."
        )
    return TimeoutException(
        f"Partition {partition} of topic with partition count {partitions_count} is not present in metadata after 60000 ms."
    )


def _java_0_8(partition: int, partitions_count: int) -> KafkaError:
    """kafka-clients 0.8.2.2 internals.Partitioner."""
    return IllegalArgumentException(
        f"Invalid partition given with record: {partition} is not in the range [0...{partitions_count}]."
    )


def _checked(partition: int, partitions_count: int) -> InvalidQuestion:
    """The service's own rule, for clients that leave it to an assertion or to the broker, or cannot name a partition."""
    return InvalidQuestion(f"Partition {partition} is not in [0, {partitions_count}).")


JAVA = ExplicitRule(
    "taken if in range; negative: IllegalArgumentException; too large: TimeoutException after max.block.ms", _java
)
JAVA_0_8 = ExplicitRule("taken if in range; else IllegalArgumentException", _java_0_8)
UNCHECKED = ExplicitRule("taken, in range or not", None)
CHECKED = ExplicitRule("taken if in range; else this service refuses", _checked)


def check(rule: ExplicitRule, partitions: Int32s, named: Bools, partitions_count: int) -> None:
    """Raise the client's error for the first explicit partition that is out of range.

    partitions : int32[n], of the records for which ``named``, bool[n], is true
    """
    outside = named & ((partitions < 0) | (partitions >= partitions_count))
    if rule.refusal is not None and outside.any():
        i = int(np.argmax(outside))
        error = rule.refusal(int(partitions[i]), partitions_count)
        if isinstance(error, InvalidQuestion):
            error.field = ("explicit", i)
        raise error
