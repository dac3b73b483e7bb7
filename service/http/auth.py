"""Who sends requests, what they may use, and the files that say so."""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, Generic, TypeVar

from service.core.printable import printable
from service.http.bounded import UnreadableFile, read_small_file

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


UNKNOWN_TOKEN = "The token is unknown."  # noqa: S105 - an error text


def new_token(name: str, scopes: tuple[str, ...]) -> tuple[str, str]:
    """A random token, and its line for the tokens file."""
    if not re.fullmatch(r"[^\s#]\S*", name) or printable(name) != name:
        raise ValueError(f"The name {name!r} must not contain blanks or control characters, or begin with #.")
    token = secrets.token_urlsafe(32)
    return token, f"{name} {','.join(scopes)} {_hash(token).hex()}"


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _parse_line(line: str) -> tuple[bytes, Principal]:
    """The hash and the principal of a line. Raises ValueError."""
    words = line.split()
    if len(words) != 3:
        raise ValueError(f"must have three words (name, scopes, hash), has {len(words)}")
    name, scope_list, digest = words
    scopes = frozenset(scope_list.split(","))
    unknown = sorted(scopes - {*SCOPES, EVERYTHING})
    if unknown:
        raise ValueError(f"unknown scope {unknown[0]!r}; must be one of {', '.join((*SCOPES, EVERYTHING))}")
    if not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
        raise ValueError("the hash is not 64 hexadecimal digits")
    return bytes.fromhex(digest), Principal(name, scopes)


def _parse(text: bytes) -> list[tuple[bytes, Principal]]:
    """The lines of a tokens file. Raises InvalidCredentials."""
    principals = []
    try:
        lines = text.decode("utf-8-sig").splitlines()  # editors put a byte order mark in front
    except UnicodeDecodeError:
        raise InvalidCredentials("The file is not UTF-8 text.") from None
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                principals.append(_parse_line(line))
            except ValueError as error:
                raise InvalidCredentials(f"line {number}: {error}") from None
    return principals


class Tokens:
    """The tokens of a file. Raises InvalidCredentials.

    Each line is ``name scopes hash``, such as ``ci partitions,groups 3b7e…``; empty lines and lines that begin with ``#`` are
    ignored. The hash is the token's SHA-256 in hexadecimal digits. A slow hash, as for passwords, would protect nothing: a token
    is 256 random bits, made by ``partition-allocator token``, and cannot be guessed; but each request would wait for it.
    """

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path, _parse)

    def principal(self, token: str) -> Principal:
        """Whose token this is. Raises NotAuthenticated, and CredentialsUnavailable while the file cannot be read."""
        digest, owner, tokens = _hash(token), None, self._file.current()
        if tokens is None:
            raise CredentialsUnavailable("The tokens are unavailable; try again later.")
        # Every line is compared, to its last byte, so that the time taken reveals nothing.
        for known, principal in tokens:
            if hmac.compare_digest(known, digest):
                owner = principal
        if owner is None:
            raise NotAuthenticated(UNKNOWN_TOKEN)
        return owner
