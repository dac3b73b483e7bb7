"""Limits of time for tests."""

import math
from collections.abc import Callable

from service.core.budget import Budget, Deadline


class Over(Budget):
    """A time limit that is over once a kernel has been given its deadline."""

    given = False

    def __init__(self, *, on_clock: bool) -> None:
        super().__init__()
        self.on_clock = on_clock

    @property
    def deadline(self) -> Deadline:
        """Long ago."""
        self.given = True
        return Deadline(0.0, math.inf) if self.on_clock else Deadline(math.inf, 0.0)

    def check_time(self) -> None:
        """Raise TimeoutError if a kernel had a deadline."""
        if self.given:
            raise TimeoutError


OVER = Budget(seconds=0)
"""The budget of an answer that comes too late: ``limited(OVER)``."""


class Looks(Budget):
    """A budget that calls a function at each look at the time, and ends no kernel."""

    def __init__(self, look: Callable[[], object], reserve: Callable[[int], None] = lambda _: None) -> None:
        super().__init__(reserve=reserve)
        self.look = look

    def check_time(self) -> None:
        """Call it."""
        self.look()
