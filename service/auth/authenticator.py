"""What a caller may show: a bearer token of a file (``tokens.py``), or a JWT of an OpenID Connect provider (``jwts.py``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from service.auth.principals import Caller, NotAuthenticated
from service.auth.tokens import Tokens

if TYPE_CHECKING:
    from service.config import Settings


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
            from service.auth.jwts import Jwts  # noqa: PLC0415

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
