"""What happens next: calls in the order of their times, and at the same time in the order in which they were entered."""

import heapq
from collections.abc import Callable
from typing import Any, Final

from service.planner.timelines.model import NEVER, Tick

EVENTS, TIMERS = 0, 1
"""At the same time, the events of the timeline come before what follows from others."""


STEP_CELLS: Final = 400
"""The cells (see ``Clock``) of a step for one member: some 20 µs."""


class Clock:
    """An agenda of calls.

    spent : what the simulation has cost, in cells. A cell is what a rebalance does with one partition, some 50 ns
    """

    def __init__(self) -> None:
        self.now = 0
        self.spent = 0
        self._tick: Tick | None = None
        self._calls: list[tuple[int, int, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._entered = 0

    def at(self, at_ms: int, call: Callable[..., Any], *values: Any, rank: int = TIMERS) -> None:
        """Have ``call(*values)`` called then; never if the time is NEVER."""
        if at_ms < NEVER:
            self._entered += 1
            heapq.heappush(self._calls, (max(at_ms, self.now), rank, self._entered, call, values))

    def run(self, tick: Tick, until_ms: int = NEVER) -> None:
        """Call everything that comes before ``until_ms``, in order."""
        self._tick = tick
        while self._calls and self._calls[0][0] < until_ms:
            self.spend(STEP_CELLS)
            self.now, _, _, call, values = heapq.heappop(self._calls)
            call(*values)
        self._tick = None

    def spend(self, cells: int) -> None:
        """Note work that is about to be done."""
        self.spent += cells
        if self._tick is not None:
            self._tick(self.spent)
