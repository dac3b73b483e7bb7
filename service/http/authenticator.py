"""Who sent a request: by a bearer token of a file, or by a JWT of an OpenID Connect provider (``jwts.py``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from service.http.auth import UNKNOWN_TOKEN, NotAuthenticated, Principal, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.config import Settings
    from service.http.jwts import Jwts


class Authenticator:
    """Every kind of token that is configured. Raises InvalidCredentials for files that cannot be read.

    fetch_failed : called when the keys for JWTs cannot be fetched
    """

    def __init__(self, settings: Settings, fetch_failed: Callable[[], None]) -> None:
        self._tokens: Tokens | None = Tokens(Path(settings.tokens_file)) if settings.tokens_file else None
        self._jwts: Jwts | None = None
        if settings.jwks:
            # Imported only where it is configured: it brings cryptography's libraries with it.
            from service.http.jwts import Jwts  # noqa: PLC0415

            self._jwts = Jwts(settings, fetch_failed)

    def principal(self, authorization: str | None) -> Principal:
        """Who sent this ``Authorization`` header. Raises NotAuthenticated, CredentialsUnavailable."""
        if authorization is None:
            raise NotAuthenticated("A bearer token is required.")
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise NotAuthenticated("The Authorization header is not of the form: Bearer <token>.")
        if "," in token:  # as headers of one name are joined
            raise NotAuthenticated("There is more than one Authorization header, or a comma in its token.")
        # A token of a file has no dot, and every JWT has two.
        kind = self._jwts if self._jwts is not None and token.count(".") == 2 else self._tokens
        if kind is None:
            raise NotAuthenticated(UNKNOWN_TOKEN)
        return kind.principal(token)
