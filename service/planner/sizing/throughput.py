"""The partition count that throughput needs: max(T ÷ p, T ÷ c), if keys spread evenly."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

from service.core.errors import InvalidQuestion

MOST_PROPOSED: Final = 10_000
"""Largest count that is proposed."""

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


LADDER: Final = (3, 6, 12, 24, 48, 96)
"""Counts that are proposed where nothing says how many a topic needs: their multiples divide many numbers of consumers."""


def proposed_counts(current: int | None, least: int | None) -> tuple[int, ...]:
    """Counts to compare if the caller gives none, ascending.

    current : the topic's, from which multiples are proposed, since Kafka cannot remove partitions and with a multiple no two of
        the partitions mix; None: a new topic
    least : what the rates need if keys spread evenly; None: not known
    """
    known = {current * factor for factor in (1, 2, 3, 4, 8)} if current else set(LADDER if least is None else ())
    if least is not None:
        known |= {-(-least * factor // 4) for factor in (4, 5, 6, 8, 12, 16, 32)}
    return tuple(sorted(count for count in known if (current or 1) <= count <= MOST_PROPOSED)) or (current or 1,)
