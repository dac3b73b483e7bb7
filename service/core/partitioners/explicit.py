"""Explicit partitions: the partitioner is not used, and its counter and random numbers do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.core.errors import InvalidQuestion, KafkaError
from service.core.partitioners.model import ExplicitRule

if TYPE_CHECKING:
    from service.core.partitioners.model import Question


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
    return InvalidQuestion(f"partition {partition} is not in [0, {partitions_count})")


JAVA = ExplicitRule(
    "taken if in range; negative: IllegalArgumentException; too large: TimeoutException after max.block.ms", _java
)
JAVA_0_8 = ExplicitRule("taken if in range; else IllegalArgumentException", _java_0_8)
UNCHECKED = ExplicitRule("taken, in range or not", None)
CHECKED = ExplicitRule("taken if in range; else this service refuses", _checked)


def check(rule: ExplicitRule, question: Question, at: str) -> None:
    """Raise the client's error for the first explicit partition that is out of range.

    at : JSON pointer to an explicit partition, with {} for the record's index
    """
    if question.explicit is None or question.explicit_given is None or rule.refusal is None:
        return
    outside = question.explicit_given & ((question.explicit < 0) | (question.explicit >= question.partitions_count))
    if outside.any():
        i = int(np.argmax(outside))
        error = rule.refusal(int(question.explicit[i]), question.partitions_count)
        if isinstance(error, InvalidQuestion):
            error.pointer = at.format(i)
        raise error
