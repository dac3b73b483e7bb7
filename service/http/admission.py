"""Admission control of one worker process: a few decisions at the same time, a short queue, and no more.

A request that finds the queue full is turned away at once, so that its caller can go elsewhere and nothing piles up. Requests
that need no decision (health, metrics, the contract) are not counted, and the worker has threads left for them.
"""

import time
from collections import deque
from collections.abc import Callable
from threading import Condition, Lock
from typing import Final

QUEUE_SECONDS: Final = 10
"""How long a request waits in the queue before it is turned away."""

RETRY_SECONDS: Final = 1
"""Seconds after which a rejected request may be sent again (Retry-After)."""

SMALL_SHARE: Final = 8
"""One of this number of places is kept from long requests; at least one is, unless there is only one."""

SMALL_BYTES: Final = 4 * 2**20
"""A request that needs no more memory than this does not have to reserve it."""

RESERVED: Final = "allocator.reserved_bytes"
"""Key of the WSGI environment: the bytes that the request has reserved, and after the app has run, those of its response."""

CONNECTION_CHECK_SECONDS: Final = 0.5
"""Seconds between two checks whether the client of a queued request is still there."""

BUDGET: Final = "memory_budget"
"""Key of the app's extensions: its MemoryBudget."""

IS_CONNECTED: Final = "allocator.is_connected"
"""Key of the WSGI environment: a function that returns whether the client is still connected; our server alone sets it."""


class Overloaded(Exception):
    """The request is turned away; the text says why."""


class AdmissionControl:
    """Admits ``concurrent`` requests at the same time, and queues ``queued`` more in order. Threads share it.

    A request that turns out to be a long one says so (``lengthen``). Long ones do not get every place, so that small ones are
    answered meanwhile.
    """

    def __init__(self, concurrent: int, queued: int, seconds: float = QUEUE_SECONDS) -> None:
        self._free = concurrent
        self._free_for_long = max(1, concurrent - max(1, concurrent // SMALL_SHARE))
        self._max_queued = queued
        self._seconds = seconds
        self._lock = Lock()
        self._queue: deque[Lock] = deque()
        self._long_queue: deque[Lock] = deque()

    def enter(self, on_queue: Callable[[int], object] = int, is_connected: Callable[[], bool] | None = None) -> None:
        """Admit a request, after it has waited in the queue if necessary; raises Overloaded. ``leave`` ends every ``enter``.

        on_queue : called with 1 when the request is queued, and with -1 when it no longer is
        is_connected : whether its client is still there; a queued request whose client is gone makes room
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = self._join(self._queue)
        self._wait(turn, self._queue, self.leave, on_queue, is_connected)

    def lengthen(self, on_queue: Callable[[int], object] = int, is_connected: Callable[[], bool] | None = None) -> None:
        """Have an admitted request go on as a long one, after it has waited without a place if necessary.

        Raises Overloaded; the request then has no place any more, and nothing to leave. Otherwise ``leave(long=True)`` ends it.
        """
        with self._lock:
            if self._free_for_long:
                self._free_for_long -= 1
                return
            self._free_place()
            turn = self._join(self._long_queue)
        self._wait(turn, self._long_queue, lambda: self.leave(long=True), on_queue, is_connected)

    def _join(self, queue: deque[Lock]) -> Lock:
        if len(self._queue) + len(self._long_queue) >= self._max_queued:
            raise Overloaded("The service is at its concurrency limit and the queue is full.")
        turn = Lock()
        turn.acquire()
        queue.append(turn)
        return turn

    def _wait(
        self,
        turn: Lock,
        queue: deque[Lock],
        leave: Callable[[], None],
        on_queue: Callable[[int], object],
        is_connected: Callable[[], bool] | None,
    ) -> None:
        """Wait for a turn in a queue; raises Overloaded. leave : undoes an admission"""
        on_queue(1)
        deadline = time.monotonic() + self._seconds
        admitted = gone = False
        while not (admitted or gone) and (left := deadline - time.monotonic()) > 0:
            admitted = turn.acquire(timeout=min(left, CONNECTION_CHECK_SECONDS))
            gone = is_connected is not None and not is_connected()
        on_queue(-1)
        with self._lock:
            admitted = turn not in queue  # perhaps just now
            if not admitted:
                queue.remove(turn)
        if gone:
            if admitted:
                leave()
            raise Overloaded("The client disconnected while its request was queued.")
        if not admitted:
            raise Overloaded(f"The request waited {self._seconds:g} s in the queue.")

    def leave(self, *, long: bool = False) -> None:
        """Admit the request that has waited longest; after a long one, the long one that has."""
        with self._lock:
            if long and self._long_queue:
                self._long_queue.popleft().release()
                return
            self._free_for_long += long
            self._free_place()

    def _free_place(self) -> None:
        if self._queue:
            self._queue.popleft().release()
        else:
            self._free += 1


class MemoryBudget:
    """The bytes that the decisions of one worker process may hold together. Threads share it."""

    def __init__(self, size: int, seconds: float = QUEUE_SECONDS) -> None:
        self.size = size
        self._free = size
        self._seconds = seconds
        self._changed = Condition()
        self._waited_for = 0
        self._holder_waits = False

    def reserve(self, size: int, held: int = 0) -> None:
        """Reserve bytes, after others have released theirs if necessary; raises Overloaded. ``release`` ends every ``reserve``.

        held : bytes that the same request has reserved before. Of such requests one at a time may wait, since two could wait for
            each other.
        """
        with self._changed:
            if size > self._free and held:
                if self._holder_waits:
                    raise Overloaded("The service is at its memory limit.")
                self._holder_waits = True
            self._waited_for += size
            fits = self._changed.wait_for(lambda: size <= self._free, self._seconds)
            self._waited_for -= size
            if held:
                self._holder_waits = False
            if not fits:
                raise Overloaded(f"The request waited {self._seconds:g} s for memory.")
            self._free -= size

    def fits(self, size: int) -> bool:
        """Whether a request for these bytes need not wait."""
        return size <= self._free

    def release(self, size: int) -> None:
        """Release bytes."""
        with self._changed:
            self._free += size
            self._changed.notify_all()

    def shortage(self) -> int:
        """The bytes to be released before every request that waits can go on."""
        with self._changed:
            return max(0, self._waited_for - self._free)
