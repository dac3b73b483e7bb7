"""The gate in front of the decisions of one worker process: so many at the same time, a short queue, and no more.

What it turns away it turns away at once, so that a caller can go elsewhere and nothing piles up. What needs no decision (health,
metrics, the contract) does not pass it; there are more threads than places in it, so those are answered meanwhile.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

QUEUE_SECONDS: Final = 10
"""How long a request waits for its turn before it is turned away after all."""

RETRY_SECONDS: Final = 1
"""How soon one that was turned away may try again."""

LARGE_BYTES: Final = 16 * 2**20
"""A body above this is large. One at a time is in memory, for what is parsed of it takes several times its size."""


class Overloaded(Exception):
    """There is no room; the text says for what."""


class AdmissionControl:
    """Places for ``concurrent`` requests, and ``queued`` more that wait in order. Threads share it."""

    def __init__(self, concurrent: int, queued: int, seconds: float = QUEUE_SECONDS) -> None:
        self._free = concurrent
        self._max_queued = queued
        self._seconds = seconds
        self._lock = Lock()
        self._queue: deque[Lock] = deque()
        self._large = Lock()
        self._large_waits = False

    def enter(self, queued: Callable[[int], object] = int) -> None:
        """Take a place, waiting for it in the queue if need be; raises Overloaded. Every ``enter`` has its ``leave``.

        queued : told of one more that waits (1), and when it waits no longer (-1)
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return
            if len(self._queue) >= self._max_queued:
                raise Overloaded(
                    "As many decisions are being taken as the service takes at the same time, and the queue is full."
                )
            turn = Lock()
            turn.acquire()
            self._queue.append(turn)
        queued(1)
        its_turn = turn.acquire(timeout=self._seconds)
        queued(-1)
        if its_turn:
            return
        with self._lock:
            if turn in self._queue:
                self._queue.remove(turn)
                raise Overloaded(f"The request waited {self._seconds:g} s for its turn.")
        # Its turn came between the two.

    def leave(self) -> None:
        """Give the place to who has waited longest."""
        with self._lock:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._free += 1

    def enter_large(self) -> None:
        """Be the one request with a large body; raises Overloaded. ``leave_large`` ends it.

        One more may wait for that; others would only hold the places that they have.
        """
        with self._lock:
            if self._large.acquire(blocking=False):
                return
            if self._large_waits:
                raise Overloaded("Requests with large bodies are answered one at a time, and the next one is waiting.")
            self._large_waits = True
        entered = self._large.acquire(timeout=self._seconds)
        self._large_waits = False
        if not entered:
            raise Overloaded(f"The request waited {self._seconds:g} s for another one with a large body.")

    def leave_large(self) -> None:
        """Let the next large body in."""
        self._large.release()
