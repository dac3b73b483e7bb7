"""What batches are made of."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.model import Bools, Float64s, Int32s, Int64s, Ragged
from service.planner.reassignments import BATCH_ORDERS, BATCH_SECONDS, THROTTLE_UTILIZATION
from service.planner.reassignments.model import or_no_limit

MAX_BATCHES: Final = 10_000
MAX_DETOURS: Final = 10_000


@dataclass(frozen=True)
class BatchLimits:
    """What one batch may do; None is no limit.

    moves_per_broker : replicas that a broker receives, and replicas that it gives away
    moves_per_batch : replicas copied
    bytes_in_flight : bytes copied
    order : of the partitions: "largest-first" or "smallest-first", by bytes copied; those that lack replicas in sync are before
        the others
    """

    moves_per_broker: int | None = None
    moves_per_batch: int | None = None
    bytes_in_flight: int | None = None
    order: str = BATCH_ORDERS[0]

    def numbers(self) -> tuple[int, int, int]:
        """The three limits, NO_LIMIT for none."""
        return or_no_limit(self.moves_per_broker), or_no_limit(self.moves_per_batch), or_no_limit(self.bytes_in_flight)


@dataclass(frozen=True)
class Pace:
    """How fast Kafka executes batches: what real brokers needed, see docs/reassignments.md.

    throttle_utilization : the share of the throttle that copying reaches
    batch_seconds : the time that each batch takes besides copying
    """

    throttle_utilization: float = THROTTLE_UTILIZATION
    batch_seconds: float = BATCH_SECONDS


@dataclass(frozen=True)
class BatchTiming:
    """How long batches take.

    throttle : bytes per second: the one asked for, or the one needed if that takes longer than the time asked for
    seconds : float64[batches] at the throttle, inf for one that never ends; None without a throttle
    throttle_needed : bytes per second with which all batches take at most the time asked for; None if none was
    throttle_that_ends : the least with which every batch ends
    """

    throttle: int | None
    seconds: Float64s | None
    throttle_needed: int | None
    throttle_that_ends: int

    @property
    def total(self) -> float | None:
        """Seconds of all batches; None if that is unknown, or one never ends."""
        return None if self.seconds is None or np.inf in self.seconds else float(self.seconds.sum())


@dataclass(frozen=True)
class Traffic:
    """What each broker sends or receives in each batch; only where it is more than nothing.

    batches, brokers : int32[...]; incoming : bool[...]; amounts : int64[...] bytes; rates : float64[...] bytes per second that
    producers write meanwhile to what is copied
    """

    batches: Int32s
    brokers: Int32s
    incoming: Bools
    amounts: Int64s
    rates: Float64s

    def seconds(self, throttle: float, batches: int, pace: Pace) -> Float64s:
        """float64[batches], the time that each batch takes at a throttle in bytes per second; inf if it never ends."""
        left = throttle * pace.throttle_utilization - self.rates
        each = np.where(left > 0, self.amounts / np.where(left > 0, left, 1.0), np.inf)
        longest = np.zeros(batches, np.float64)
        np.maximum.at(longest, self.batches, each)
        return longest + pace.batch_seconds

    def throttle_for(self, seconds: float, batches: int, pace: Pace) -> int:
        """The least throttle in bytes per second with which all batches take at most this time. Raises InvalidQuestion."""
        besides = batches * pace.batch_seconds
        if besides >= seconds and batches:
            of_each = f"batch{'es' * (batches != 1)} of {pace.batch_seconds:g} s each"
            detail = f"Must be more than {besides:g}: {batches} {of_each} beside the copying."
            raise InvalidQuestion(detail, "limits", "duration_seconds")
        low, high = 0, 1
        while self.seconds(high, batches, pace).sum() > seconds and high < 2**62:
            low, high = high, 2 * high
        enough = range(low + 1, high)
        return low + 1 + bisect_left(enough, True, key=lambda throttle: self.seconds(throttle, batches, pace).sum() <= seconds)

    def timing(self, batches: int, pace: Pace, throttle: int | None, seconds: int | None) -> BatchTiming:
        """How long a number of batches takes at a throttle, and the throttle for a time. Raises InvalidQuestion."""
        needed = self.throttle_for(seconds, batches, pace) if seconds else None
        used = max(throttle or 0, needed or 0) or None
        ends = int(self.rates.max(initial=0.0) / pace.throttle_utilization) + 1
        return BatchTiming(used, self.seconds(used, batches, pace) if used else None, needed, ends)


@dataclass(frozen=True)
class Detour:
    """A partition that goes elsewhere first, because a broker of the plan has no room for it yet.

    replicas : int32[...]   where it goes in this batch: the plan's list with other brokers instead of the full ones
    """

    batch: int
    partition: int
    replicas: Int32s


@dataclass(frozen=True)
class Steps:
    """What each batch changes: batch by batch, in each the partitions in their order.

    partitions, batches : int32[steps]
    before, after : Ragged step → brokers
    sources : int32[steps], the broker that each copies from: its leader, or the first live one; NONE if none is
    """

    partitions: Int32s
    batches: Int32s
    before: Ragged
    after: Ragged
    sources: Int32s


@dataclass(frozen=True)
class Batches:
    """The batches of a plan.

    batch_of : int32[partitions]   the batch in which each partition gets its last replicas, or NONE if it does not change
    detours : those of other batches
    moves, amounts : int64[batches]   replicas and bytes that each copies
    """

    batch_of: Int32s
    detours: tuple[Detour, ...]
    steps: Steps
    moves: Int64s
    amounts: Int64s
    traffic: Traffic

    def __len__(self) -> int:
        return len(self.moves)

    def timing(self, pace: Pace, throttle: int | None, seconds: int | None = None) -> BatchTiming:
        """How long they take at a throttle in bytes per second, and the throttle for a time. Raises InvalidQuestion."""
        return self.traffic.timing(len(self), pace, throttle, seconds)

    def cost(self, balance: str) -> int:
        """What is copied in all. balance : as in Goal"""
        return int((self.amounts if balance == "bytes" else self.moves).sum())
