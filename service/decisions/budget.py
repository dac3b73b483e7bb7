"""What a question may take: a value that the door passes to ``answer``, since only the door knows whose machine it is."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from service.core.errors import AllocatorError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX: Final = "ALLOCATOR_"


def limit_name(setting: str) -> str:
    """The environment variable of a limit, a setting of the service: ``max_keys`` → ``ALLOCATOR_MAX_KEYS``."""
    return PREFIX + setting.upper()


class OutOfTime(AllocatorError):
    """The answer takes longer than it may. allowed : seconds"""

    def __init__(self, taken: float, allowed: float) -> None:
        limit = limit_name("max_request_seconds")
        super().__init__(f"The request took {taken:.1f} s and was aborted: the limit {limit} is {allowed:g} s.")
        self.allowed = allowed


def _nothing(*_: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class RequestTime:
    """The time of an answer, a ``core.clock.TimeLimit``. started, seconds : as in ``Budget``"""

    started: float
    seconds: float

    @property
    def deadline(self) -> float:
        """Seconds on CLOCK_MONOTONIC."""
        return time.clock_gettime(time.CLOCK_MONOTONIC) + self.started + self.seconds - time.perf_counter()

    def __call__(self) -> None:
        """Raise OutOfTime if the answer takes longer than it may."""
        taken = time.perf_counter() - self.started
        if taken > self.seconds:
            raise OutOfTime(taken, self.seconds)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits, memory and time. ``Budget()`` limits nothing.

    limits : setting → the most that is allowed ("max_partitions"); one that is absent does not limit
    reserve : takes the bytes that are about to be allocated; raises what the door answers if there are too few
    lengthen : called before a long computation, so that the door can keep places for short ones
    explained : most entries of a list in an explanation
    started, seconds : when the question came, by time.perf_counter, and how long its answer may take
    """

    limits: Mapping[str, int] = field(default_factory=dict)
    reserve: Callable[[int], None] = _nothing
    lengthen: Callable[[], None] = _nothing
    explained: int = 1_000
    started: float = 0.0
    seconds: float = math.inf

    def check(self, setting: str, count: int, what: str, *place: str | int) -> None:
        """Raise LimitExceeded if ``count`` is above a limit. what : is counted, in the plural; place : path to its field"""
        allowed = self.limits.get(setting, count)
        if count > allowed:
            raise LimitExceeded(limit_name(setting), allowed, count, what, *place)

    @property
    def check_time(self) -> RequestTime:
        """Raises OutOfTime, called, if the answer takes longer than it may. For loops in Python, every few milliseconds."""
        return RequestTime(self.started, self.seconds)
