"""Bearer tokens from a file.

It has a line for each: ``name scopes hash``, such as ``ci partitions,groups 3b7e…``. Empty lines and those that begin with ``#``
mean nothing. The hash is the SHA-256 of the token in hexadecimal digits. A slow hash, which passwords need, would protect nothing
here: a token is 256 random bits, made by ``partition-allocator token``, and nobody guesses it however fast the hash is; but each
request would wait for it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING

from service.auth.principals import EVERYTHING, SCOPES, Caller, NotAuthenticated, UnfitCredentials, Watched

if TYPE_CHECKING:
    from pathlib import Path


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
