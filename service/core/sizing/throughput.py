"""The partition count that throughput needs: max(T ÷ p, T ÷ c), if keys spread evenly."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

from service.core.errors import InvalidQuestion

MOST: Final = 2**31 - 1
"""Kafka's largest partition count."""


@dataclass(frozen=True)
class Throughput:
    """What producers and consumers need, as partition counts.

    producers, consumers : None if their rate is not known
    partitions_count : the larger of both
    """

    producers: int | None
    consumers: int | None
    partitions_count: int


def throughput(target: float, producer: float | None, consumer: float | None) -> Throughput:
    """The partitions that a topic needs to reach a throughput.

    target : T, of the whole topic; producer : p, what producers write to one partition at most; consumer : c, what one consumer
        reads from one partition at most; all positive, in one unit. None: no limit
    Raises InvalidQuestion for more than MOST partitions.
    """
    # As fractions of the numbers as they are written: 0.3 ÷ 0.1 is 3, not 2.9999999999999996.
    producers, consumers = (
        None if rate is None else ceil(Fraction(str(target)) / Fraction(str(rate))) for rate in (producer, consumer)
    )
    needed = max(producers or 1, consumers or 1)
    if needed > MOST:
        raise InvalidQuestion(f"The throughput needs more partitions than Kafka allows ({MOST}).", "target_mb_per_second")
    return Throughput(producers, consumers, needed)
