"""Who may ask, and what: bearer tokens from a file, and JWTs of an OpenID Connect provider (``service/jwts.py``).

A file of tokens has a line for each: ``name scopes hash``, such as ``ci partitions,groups 3b7e…``. Empty lines and those that
begin with ``#`` mean nothing. The hash is the SHA-256 of the token in hexadecimal digits. A slow hash, which passwords need,
would protect nothing here: a token is 256 random bits, made by ``partition-allocator token``, and nobody guesses it however
fast the hash is; but each request would wait for it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.config import Settings

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


class Source(Protocol):
    """Tokens of one kind."""

    def caller(self, token: str) -> Caller:
        """Whose token this is; raises NotAuthenticated."""


class Credentials:
    """All that a caller may show. Raises UnfitCredentials for files that cannot be read."""

    def __init__(self, settings: Settings) -> None:
        self._tokens: Source | None = Tokens(Path(settings.tokens_file)) if settings.tokens_file else None
        self._jwts: Source | None = None
        if settings.jwks:
            # Imported only where it is configured: it brings cryptography's libraries with it.
            from service.jwts import Jwts  # noqa: PLC0415

            self._jwts = Jwts(settings)

    def caller(self, authorization: str | None) -> Caller:
        """Who sent this ``Authorization`` header; raises NotAuthenticated."""
        if authorization is None:
            raise NotAuthenticated("A bearer token is needed.")
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise NotAuthenticated("The Authorization header is not of the form: Bearer <token>.")
        # No token of ours has a dot in it, and every JWT has two.
        source = self._jwts if self._jwts is not None and token.count(".") == 2 else self._tokens
        if source is None:
            raise NotAuthenticated("The token is not one of those that are known here.")
        return source.caller(token)


# ---- a file of tokens ------------------------------------------------------------------------------------------------


def new_token(name: str, scopes: tuple[str, ...]) -> tuple[str, str]:
    """A token that nobody can guess, and the line that admits it."""
    if not re.fullmatch(r"[^\s#]\S*", name):
        raise ValueError(f"The name {name!r} must have no blanks, and not begin with #.")
    token = secrets.token_urlsafe(32)
    return token, f"{name} {','.join(scopes)} {_hashed(token).hex()}"


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _read_line(line: str) -> tuple[bytes, Caller]:
    """The hash and the caller of a line; raises ValueError."""
    parts = line.split()
    if len(parts) != 3:
        raise ValueError(f"{len(parts)} words; wanted are three: name, scopes, hash")
    name, listed, digest = parts
    scopes = frozenset(listed.split(","))
    unknown = sorted(scopes - {*SCOPES, EVERYTHING})
    if unknown:
        raise ValueError(f"unknown scope {unknown[0]!r}; known are {', '.join((*SCOPES, EVERYTHING))}")
    if not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
        raise ValueError("the hash is not 64 hexadecimal digits")
    return bytes.fromhex(digest), Caller(name, scopes)


class Tokens:
    """The tokens of a file."""

    def __init__(self, path: Path) -> None:
        self._file = Watched(path, self._read)

    @staticmethod
    def _read(text: bytes) -> list[tuple[bytes, Caller]]:
        found = []
        for number, line in enumerate(text.decode().splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                try:
                    found.append(_read_line(line))
                except ValueError as error:
                    raise UnfitCredentials(f"line {number}: {error}") from None
        return found

    def caller(self, token: str) -> Caller:
        """Whose token this is; raises NotAuthenticated."""
        hashed, found = _hashed(token), None
        # Every line is compared, to its last byte, so that the time taken tells nothing.
        for digest, caller in self._file.current() or ():
            if hmac.compare_digest(digest, hashed):
                found = caller
        if found is None:
            raise NotAuthenticated("The token is not one of those that are known here.")
        return found


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
