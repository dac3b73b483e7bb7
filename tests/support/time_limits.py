"""Limits of time for tests."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from service.core.clock import NEVER, Deadline
from service.decisions.budget import Budget


class Over:
    """A time limit that is over once a kernel has been given its deadline."""

    given = False

    def __init__(self, *, on_clock: bool) -> None:
        self.on_clock = on_clock

    @property
    def deadline(self) -> Deadline:
        """Long ago."""
        self.given = True
        return Deadline(0.0, math.inf) if self.on_clock else Deadline(math.inf, 0.0)

    def __call__(self) -> None:
        """Raise TimeoutError if a kernel had a deadline."""
        if self.given:
            raise TimeoutError


OVER = Budget(seconds=0)
"""The budget of an answer that comes too late: ``limited(OVER.check_time)``."""


@dataclass(frozen=True)
class Looks:
    """A time limit that calls a function at each look, and ends no kernel."""

    look: Callable[[], object]
    deadline: Deadline = NEVER

    def __call__(self) -> None:
        """Call it."""
        self.look()
