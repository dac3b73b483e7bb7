"""What an answer may take: sizes, memory, and time, on the clock and of the CPU.

Only the door knows whose machine it is: it passes a ``Budget`` to ``answer``. Its time and memory also belong to the thread that
answers (``limited``), so that no function below has to be given them.

Some assignors take time that grows with the square of a group, or go on for as many passes as the group happens to need. Their
kernels look at the clock themselves, since nothing can stop a kernel from outside, and return ``OUT_OF_TIME``.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numba import types

from service.core.errors import AllocatorError, LimitExceeded
from service.core.kernels import inner_kernel

OUT_OF_TIME: Final = -1
"""How a kernel ends whose time is over; no status of an algorithm has this number."""

PREFIX: Final = "ALLOCATOR_"

CPU_LIMIT: Final = "max_cpu_seconds_per_kb"
"""The setting that limits the CPU which an answer takes, by the size of what was sent."""

_MONOTONIC: Final = time.CLOCK_MONOTONIC
_OF_THREAD: Final = time.CLOCK_THREAD_CPUTIME_ID

_clock_gettime: Any = types.ExternalFunction(  # type: ignore[no-untyped-call]
    "clock_gettime", types.int32(types.int32, types.uintp)
)


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


def limit_name(setting: str) -> str:
    """The environment variable of a limit, a setting of the service: ``max_keys`` → ``ALLOCATOR_MAX_KEYS``."""
    return PREFIX + setting.upper()


class OutOfTime(AllocatorError):
    """The answer takes longer than it may. allowed : seconds"""

    def __init__(self, taken: float, allowed: float) -> None:
        limit = limit_name("max_request_seconds")
        super().__init__(f"The request took {taken:.1f} s and was aborted: the limit {limit} is {allowed:g} s.")
        self.allowed = allowed


class Deadline(NamedTuple):
    """When the time of an answer is over; infinity: never.

    at : seconds on CLOCK_MONOTONIC
    cpu : seconds of CPU that the thread which asks has taken, on CLOCK_THREAD_CPUTIME_ID
    """

    at: float
    cpu: float


NEVER: Final = Deadline(math.inf, math.inf)


def _nothing(*_: Any) -> None:
    pass


@dataclass(slots=True)
class Budget:
    """Limits, memory and time. ``Budget()`` limits nothing.

    limits : setting → the most that is allowed ("max_partitions"); one that is absent does not limit
    reserve : takes the bytes that are about to be allocated; raises what the door answers if there are too few
    lengthen : called before a long computation, so that the door can keep places for short ones
    explained : most entries of a list in an explanation
    started, seconds : when the question came, by time.perf_counter, and how long its answer may take
    cpu_started : when it came, by time.thread_time of the thread that answers
    kilobytes : how many it was sent in, at least one: the CPU that it may take is in proportion to them
    in_turn : bytes that works which follow each other have taken (``reserve_in_turn``)
    """

    limits: Mapping[str, int] = field(default_factory=dict)
    reserve: Callable[[int], None] = _nothing
    lengthen: Callable[[], None] = _nothing
    explained: int = 1_000
    started: float = 0.0
    seconds: float = math.inf
    cpu_started: float = 0.0
    kilobytes: float = 1.0
    in_turn: int = 0

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
    def deadline(self) -> Deadline:
        """For the kernels of this thread."""
        now = time.clock_gettime(_MONOTONIC) - time.perf_counter()
        cpu_seconds = self.limits.get(CPU_LIMIT, math.inf) * self.kilobytes
        return Deadline(now + self.started + self.seconds, self.cpu_started + cpu_seconds)

    def check_time(self) -> None:
        """Raise OutOfTime if the answer takes longer than it may, LimitExceeded if it takes more of the CPU.

        For loops in Python, every few milliseconds.
        """
        taken = time.perf_counter() - self.started
        if taken > self.seconds:
            raise OutOfTime(taken, self.seconds)
        allowed = self.limits.get(CPU_LIMIT, math.inf)
        if taken <= allowed * self.kilobytes:  # no thread takes more of the CPU than time; to ask for its CPU takes 6 µs
            return
        each = (time.thread_time() - self.cpu_started) / self.kilobytes
        if each > allowed:
            raise LimitExceeded(limit_name(CPU_LIMIT), int(allowed), math.ceil(each), "seconds of CPU for each KB of the request")


NO_LIMITS: Final = Budget()

_budget: ContextVar[Budget] = ContextVar("budget", default=NO_LIMITS)


class limited:  # noqa: N801 - used as a function; as a generator it would take 2 µs of each request
    """A context in which this thread takes no more time and memory than a budget allows."""

    def __init__(self, budget: Budget) -> None:
        self._of_thread = budget

    def __enter__(self) -> None:
        self._before = _budget.set(self._of_thread)

    def __exit__(self, *_: object) -> None:
        _budget.reset(self._before)


def current() -> Budget:
    """What the work of this thread may take."""
    return _budget.get()


def check_time() -> None:
    """Raise what ends the work if its time is over. For loops in Python, every few milliseconds."""
    _budget.get().check_time()


def current_deadline() -> Deadline:
    """When the time of the work is over, for the kernels of this thread."""
    return _budget.get().deadline


def seconds_left() -> float:
    """Until the time of the work is over, on the clock or of this thread's CPU; infinity: never."""
    deadline = current_deadline()
    return max(0.0, min(deadline.at - time.clock_gettime(_MONOTONIC), deadline.cpu - time.clock_gettime(_OF_THREAD)))


def reserve(size: int) -> None:
    """Take bytes that are about to be allocated. Raises if there are too few."""
    _budget.get().reserve(size)


def reserve_in_turn(size: int) -> None:
    """Take bytes for a work that begins when the one before has released its own: an answer needs what the largest takes."""
    budget = _budget.get()
    if size > budget.in_turn:
        budget.reserve(size - budget.in_turn)
        budget.in_turn = size


_T = TypeVar("_T")


def looking(items: Iterable[_T], every: int) -> Iterator[_T]:
    """The items, with a look at the time before the first and then before each ``every``-th."""
    for i, item in enumerate(items):
        if i % every == 0:
            check_time()
        yield item


def in_time(status: int) -> int:
    """The status with which a kernel ended; raises what the time limit raises if that is OUT_OF_TIME."""
    if status == OUT_OF_TIME:
        check_time()
        message = "a kernel was out of time before its limit was"
        raise AssertionError(message)
    return status


@inner_kernel
def is_over(deadline: Deadline) -> bool:
    """Has the deadline passed? Takes half a microsecond, and nothing where there is none (infinity)."""
    return _is_past(_MONOTONIC, deadline.at) or _is_past(_OF_THREAD, deadline.cpu)


@inner_kernel
def _is_past(clock: int, seconds: float) -> bool:
    if seconds == np.inf:
        return False
    now = np.zeros(2, np.int64)  # a timespec: seconds, nanoseconds
    _clock_gettime(np.int32(clock), now.ctypes.data)
    return bool(now[0] + now[1] * 1e-9 > seconds)
