"""Who sent a request, by a bearer token of a file or a JWT of an OpenID Connect provider (``jwts.py``), and what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flask import Response

from service.decisions.families import BY_PATH
from service.http.auth import SCOPES, UNKNOWN_TOKEN, NotAuthenticated, Principal, Tokens

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


DECISIONS: Final = "/v1/"
"""Prefix of the routes that need a caller and admission."""

REALM: Final = "partition-allocator"

CATALOGUE: Final = {"/v1/partitioners": "partitions", "/v1/assignors": "groups", "/v1/placers": "placements"}
"""The lists of strategies → the scope that each needs."""


def scope_of(rule: str) -> str | None:
    """The scope that a route needs: ``/v1/group-assignments`` → ``groups``; None for those that are open to everyone.

    Raises LookupError for a route that belongs to no family, so that none is ever open by oversight.
    """
    if not rule.startswith(DECISIONS):
        return None
    if rule in CATALOGUE:
        return CATALOGUE[rule]
    if rule in BY_PATH:
        return BY_PATH[rule].scope
    raise LookupError(f"no family of questions has {rule}")


def challenge(status: int, **parameters: str) -> Response:
    """An answer that asks for a bearer token."""
    challenge = ", ".join(f'{name}="{value}"' for name, value in {"realm": REALM, **parameters}.items())
    return Response(status=status, headers={"WWW-Authenticate": f"Bearer {challenge}"})


def security_scheme() -> dict[str, Any]:
    """The security scheme in the OpenAPI document."""
    scopes = ", ".join(f"`{scope}`" for scope in SCOPES)
    about = f"Required if authentication is on: a token from the operator's file, or a JWT of their issuer. Scopes: {scopes}."
    return {"type": "http", "scheme": "bearer", "description": about}
