"""What a question may take, a value that the door passes to ``answer``, and what the answer was about, in figures.

Only the door knows whose machine it is.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from service.core.clock import Deadline
from service.core.errors import AllocatorError, LimitExceeded


class Figures(NamedTuple):
    """What an answer was about, in numbers: for metrics, logs and the terminal's last line.

    strategy : the partitioner, assignor or placer that gave it
    items : how large the question was: keys, partitions, members, brokers
    skew : of the answer (maximum ÷ mean); None if it has none
    subject : the topic or group that the caller named
    moved : partitions that change owner; None where nothing can
    tag : identifies the answer: equal questions have equal ones
    """

    strategy: str
    items: Mapping[str, int]
    skew: float | None = None
    subject: str | None = None
    moved: int | None = None
    tag: str | None = None


PREFIX: Final = "ALLOCATOR_"

CPU_LIMIT: Final = "max_cpu_seconds_per_kb"
"""The setting that limits the CPU which an answer takes, by the size of what was sent."""


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


@dataclass(slots=True)
class RequestTime:
    """The time of an answer, a ``core.clock.TimeLimit``.

    started, seconds, cpu_started, kilobytes : as in ``Budget``
    cpu_seconds : how many seconds of CPU it may take for each of these KB
    """

    started: float
    seconds: float
    cpu_started: float
    kilobytes: float
    cpu_seconds: float

    @property
    def deadline(self) -> Deadline:
        """For the kernels of this thread."""
        now = time.clock_gettime(time.CLOCK_MONOTONIC) - time.perf_counter()
        return Deadline(now + self.started + self.seconds, self.cpu_started + self.cpu_seconds * self.kilobytes)

    def __call__(self) -> None:
        """Raise OutOfTime if the answer takes longer than it may, LimitExceeded if it takes more of the CPU."""
        taken = time.perf_counter() - self.started
        if taken > self.seconds:
            raise OutOfTime(taken, self.seconds)
        if taken <= self.cpu_seconds * self.kilobytes:  # no thread takes more of the CPU than time; to ask for its CPU takes 6 µs
            return
        each = (time.thread_time() - self.cpu_started) / self.kilobytes
        if each > self.cpu_seconds:
            raise LimitExceeded(
                limit_name(CPU_LIMIT), int(self.cpu_seconds), math.ceil(each), "seconds of CPU for each KB of the request"
            )


class Budget(NamedTuple):
    """Limits, memory and time. ``Budget()`` limits nothing.

    limits : setting → the most that is allowed ("max_partitions"); one that is absent does not limit
    reserve : takes the bytes that are about to be allocated; raises what the door answers if there are too few
    lengthen : called before a long computation, so that the door can keep places for short ones
    explained : most entries of a list in an explanation
    started, seconds : when the question came, by time.perf_counter, and how long its answer may take
    cpu_started : when it came, by time.thread_time of the thread that answers
    kilobytes : how many it was sent in, at least one: the CPU that it may take is in proportion to them
    """

    limits: Mapping[str, int] = MappingProxyType({})
    reserve: Callable[[int], None] = _nothing
    lengthen: Callable[[], None] = _nothing
    explained: int = 1_000
    started: float = 0.0
    seconds: float = math.inf
    cpu_started: float = 0.0
    kilobytes: float = 1.0

    def check(self, setting: str, count: int, what: str, *place: str | int) -> None:
        """Raise LimitExceeded if ``count`` is above a limit. what : is counted, in the plural; place : path to its field"""
        allowed = self.limits.get(setting, count)
        if count > allowed:
            raise LimitExceeded(limit_name(setting), allowed, count, what, *place)

    def reserve_largest(self) -> Callable[[int], None]:
        """A ``reserve`` for works that are done one after the other: it takes what the largest of them needs."""
        taken = 0

        def reserve(size: int) -> None:
            nonlocal taken
            if size > taken:
                self.reserve(size - taken)
                taken = size

        return reserve

    @property
    def check_time(self) -> RequestTime:
        """Raises OutOfTime or LimitExceeded, called, if the answer takes longer, or more of the CPU, than it may. For loops in
        Python, every few milliseconds.
        """
        cpu_seconds = self.limits.get(CPU_LIMIT, math.inf)
        return RequestTime(self.started, self.seconds, self.cpu_started, self.kilobytes, cpu_seconds)
