"""Bearer tokens from a file.

Each line is ``name scopes hash``, such as ``ci partitions,groups 3b7e…``; empty lines and lines that begin with ``#`` are
ignored. The hash is the token's SHA-256 in hexadecimal digits. A slow hash, as for passwords, would protect nothing: a token is
256 random bits, made by ``partition-allocator token``, and cannot be guessed; but each request would wait for it.
"""

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from service.core.printable import printable
from service.http.auth.principals import (
    EVERYTHING,
    SCOPES,
    CredentialsUnavailable,
    InvalidCredentials,
    NotAuthenticated,
    Principal,
    WatchedFile,
)

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
    """The tokens of a file. Raises InvalidCredentials."""

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
