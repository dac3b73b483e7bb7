"""The memory of one worker process that requests share: how much of it their questions and answers take."""

from threading import Condition
from typing import Final

QUEUE_SECONDS: Final = 10
"""How long a request waits for a place or for memory before it is turned away."""

SMALL_BYTES: Final = 4 * 2**20
"""A request that needs no more memory than this does not have to reserve it."""

RESERVED: Final = "allocator.reserved_bytes"
"""Key of the WSGI environment: the bytes that the request has reserved, and after the app has run, those of its response."""

UNRESERVED: Final = "allocator.unreserved_bytes"
"""Key of the WSGI environment: the bytes that the request has asked for, while they are too few to be reserved."""


class Overloaded(Exception):
    """The request is turned away; the text says why."""


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
