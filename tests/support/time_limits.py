"""Limits of time for tests."""

import math

from service.core.clock import Deadline


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
