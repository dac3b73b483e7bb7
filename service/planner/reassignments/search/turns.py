"""Kernels that run in turns of some ten milliseconds, between which the time of a request is checked.

A kernel adds what it looks at (replicas, brokers, entries of a matrix) to ``work``, and returns MORE once that
exceeds TURN.
"""

from collections.abc import Callable
from typing import Final, Protocol

from service.core.model import Int64s

DONE, MORE, STUCK = 0, 1, 2
"""What a kernel returns: nothing is left to do; its turn is over; the rules forbid what is left."""

TURN: Final = 5_000_000

UNBOUNDED: Final = 2**62


class Working(Protocol):
    """What kernels search, such as ``ReplicaSets``. work : int64[1], what the kernel has looked at"""

    @property
    def work(self) -> Int64s: ...  # noqa: D102


def in_turns(s: Working, kernel: Callable[[], int], check: Callable[[], None], most: int = UNBOUNDED) -> int:
    """Call the kernel until it is DONE or STUCK; MORE if it has looked at ``most`` before."""
    looked_at = 0
    while looked_at < most:
        s.work[0] = 0
        result = kernel()
        if result != MORE:
            return result
        looked_at += 1 + int(s.work[0])
        check()
    return MORE
