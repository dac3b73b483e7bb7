"""The time that an answer may take, on the clock and of the CPU, and its memory, for what no size limit bounds well.

They belong to the thread that answers (``limited``), so that no function has to be given them.

Some assignors take time that grows with the square of a group, or go on for as many passes as the group happens to need. Their
kernels look at the clock themselves, since nothing can stop a kernel from outside, and return ``OUT_OF_TIME``.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np
from numba import types

from service.core.kernels import inner_kernel

OUT_OF_TIME: Final = -1
"""How a kernel ends whose time is over; no status of an algorithm has this number."""

_MONOTONIC: Final = time.CLOCK_MONOTONIC
_OF_THREAD: Final = time.CLOCK_THREAD_CPUTIME_ID

_clock_gettime: Any = types.ExternalFunction(  # type: ignore[no-untyped-call]
    "clock_gettime", types.int32(types.int32, types.uintp)
)


class Deadline(NamedTuple):
    """When the time of an answer is over; infinity: never.

    at : seconds on CLOCK_MONOTONIC
    cpu : seconds of CPU that the thread which asks has taken, on CLOCK_THREAD_CPUTIME_ID
    """

    at: float
    cpu: float


NEVER: Final = Deadline(math.inf, math.inf)


class TimeLimit(Protocol):
    """The time of an answer; called, it raises what ends the work if that time is over.

    deadline : for ``is_over``
    """

    @property
    def deadline(self) -> Deadline:
        """See the class."""

    def __call__(self) -> None:
        """See the class."""


@dataclass(slots=True)
class _Limits:
    """What an answer may take. largest : bytes that works in turn have taken"""

    time: TimeLimit
    reserve: Callable[[int], None] | None
    largest: int = 0


_limits: ContextVar[_Limits | None] = ContextVar("limits", default=None)


@contextmanager
def limited(time_limit: TimeLimit, reserve: Callable[[int], None] | None = None) -> Iterator[None]:
    """What is done within, in this thread, takes no longer than the limit allows, nor memory that ``reserve`` refuses.

    reserve : is called with the bytes that are about to be allocated; raises if there are too few
    """
    before = _limits.set(_Limits(time_limit, reserve))
    try:
        yield
    finally:
        _limits.reset(before)


def check_time() -> None:
    """Raise what ends the work if its time is over. For loops in Python, every few milliseconds."""
    if (limits := _limits.get()) is not None:
        limits.time()


def current_deadline() -> Deadline:
    """When the time of the work is over, for the kernels of this thread."""
    limits = _limits.get()
    return NEVER if limits is None else limits.time.deadline


def seconds_left() -> float:
    """Until the time of the work is over, on the clock or of this thread's CPU; infinity: never."""
    deadline = current_deadline()
    return max(0.0, min(deadline.at - time.clock_gettime(_MONOTONIC), deadline.cpu - time.clock_gettime(_OF_THREAD)))


def reserve(size: int) -> None:
    """Take bytes that are about to be allocated. Raises if there are too few."""
    if (limits := _limits.get()) is not None and limits.reserve is not None:
        limits.reserve(size)


def reserve_in_turn(size: int) -> None:
    """Take bytes for a work that begins when the one before has released its own: an answer needs what the largest takes."""
    if (limits := _limits.get()) is not None and size > limits.largest:
        reserve(size - limits.largest)
        limits.largest = size


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
