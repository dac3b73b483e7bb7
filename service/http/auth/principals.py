"""Who sends requests, what they may use, and the files that say so."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, Generic, TypeVar

from service.http.bounded.files import UnreadableFile, read_small_file

logger = logging.getLogger(__name__)

SCOPES: Final = ("partitions", "groups", "placements", "decodings")
"""What a token may grant: one family of endpoints each."""

EVERYTHING: Final = "*"
"""The scope that stands for all scopes."""

Parsed = TypeVar("Parsed")


class NotAuthenticated(Exception):
    """The request has no valid token; the text says why, without quoting the token."""


class CredentialsUnavailable(Exception):
    """No token can be checked at the moment; the text says what is missing."""


class InvalidCredentials(Exception):
    """A file of tokens or keys cannot be used; the text says where and why."""


@dataclass(frozen=True)
class Principal:
    """Who sent a request. name : from the tokens file or the JWT's ``sub``"""

    name: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Whether the token grants this scope."""
        return scope in self.scopes or EVERYTHING in self.scopes


class WatchedFile(Generic[Parsed]):
    """A file that is read again when it changes.

    One that cannot be read at the start raises InvalidCredentials. One that cannot be read later has no content until it can be:
    its last content might admit somebody whose token has just been removed.
    """

    def __init__(self, path: Path, parse: Callable[[bytes], Parsed]) -> None:
        self._path, self._parse = path, parse
        self._lock = Lock()
        self._version: tuple[int, ...] | None = None
        self._content: Parsed | None = None
        self._load(self._current_version())
        if self._content is None:
            raise InvalidCredentials(f"{path}: {self._fault}")

    def current(self) -> Parsed | None:
        """The file's content now; None while it cannot be read."""
        version = self._current_version()
        if version != self._version:
            with self._lock:
                if version != self._version:
                    self._load(version)
                    if self._content is None:
                        logger.error("credentials cannot be read", extra={"file": str(self._path), "fault": self._fault})
        return self._content

    def _current_version(self) -> tuple[int, ...]:
        """Differs when the file has been written, or replaced as Kubernetes replaces a mounted Secret."""
        try:
            status = self._path.stat()
        except OSError:
            return ()
        return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def _load(self, version: tuple[int, ...]) -> None:
        try:
            self._content, self._fault = self._parse(read_small_file(self._path)), ""
        except (UnreadableFile, InvalidCredentials) as error:
            self._content, self._fault = None, str(error)
        self._version = version
