"""The time that an answer may take, on the clock and of the CPU, for kernels that no size limit bounds well.

Some assignors take time that grows with the square of a group, or go on for as many passes as the group happens to need. Their
kernels look at the clock themselves, since nothing can stop a kernel from outside, and return ``OUT_OF_TIME``.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
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


def seconds_left(check: Callable[[], None]) -> float:
    """Until ``check`` raises, if it is a TimeLimit, on the clock or of this thread's CPU; infinity: never."""
    deadline: Deadline = getattr(check, "deadline", NEVER)
    return max(0.0, min(deadline.at - time.clock_gettime(_MONOTONIC), deadline.cpu - time.clock_gettime(_OF_THREAD)))


class _Unlimited:
    deadline = NEVER

    def __call__(self) -> None:
        pass


UNLIMITED: Final[TimeLimit] = _Unlimited()


_T = TypeVar("_T")


def looking(items: Iterable[_T], check_time: Callable[[], None], every: int) -> Iterator[_T]:
    """The items, with a look at the time before the first and then before each ``every``-th."""
    for i, item in enumerate(items):
        if i % every == 0:
            check_time()
        yield item


def unmetered(_size: int) -> None:
    """``reserve`` of a work whose memory is not limited, as UNLIMITED is for its time."""


def in_time(status: int, time_limit: TimeLimit) -> int:
    """The status with which a kernel ended; raises what the limit raises if that is OUT_OF_TIME."""
    if status == OUT_OF_TIME:
        time_limit()
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
