"""Who asks, what a caller may, and the files that say so."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

SCOPES: Final = ("partitions", "groups", "placements", "decodings")
"""What a caller may be allowed: a family of endpoints each."""

EVERYTHING: Final = "*"
"""The scope that stands for all of them."""

Parsed = TypeVar("Parsed")


class NotAuthenticated(Exception):
    """The credentials do not say who asks; the text says why, without quoting them."""


class UnfitCredentials(Exception):
    """A file of credentials, or what is configured around it, cannot be used; the text says where and why."""


@dataclass(frozen=True)
class Caller:
    """Who asks. name : as the file of tokens or the JWT's ``sub`` says"""

    name: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Is this family of endpoints among what the caller may use?"""
        return scope in self.scopes or EVERYTHING in self.scopes


class Watched(Generic[Parsed]):
    """A file that is read again when it has changed.

    What cannot be read at the start raises UnfitCredentials. What cannot be read later admits nobody until it can be: to go on
    with what was there before might let in somebody who has just been shut out.
    """

    def __init__(self, path: Path, read: Callable[[bytes], Parsed]) -> None:
        self._path, self._read = path, read
        self._lock = Lock()
        self._stamp: tuple[int, ...] | None = None
        self._value: Parsed | None = None
        self._reload(self._stamped())
        if self._value is None:
            raise UnfitCredentials(f"{path}: {self._fault}")

    def current(self) -> Parsed | None:
        """What the file says now; None while it cannot be read."""
        stamp = self._stamped()
        if stamp != self._stamp:
            with self._lock:
                if stamp != self._stamp:
                    self._reload(stamp)
                    if self._value is None:
                        logger.error("credentials cannot be read", extra={"file": str(self._path), "fault": self._fault})
        return self._value

    def _stamped(self) -> tuple[int, ...]:
        """What differs when the file has been written or replaced, as Kubernetes replaces a mounted Secret."""
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def _reload(self, stamp: tuple[int, ...]) -> None:
        try:
            self._value, self._fault = self._read(self._path.read_bytes()), ""
        except (OSError, ValueError, UnfitCredentials) as error:
            self._value, self._fault = None, str(error)
        self._stamp = stamp
