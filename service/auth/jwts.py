"""JWTs of an OpenID Connect provider: made by one issuer, for one audience, signed by a key of one JSON Web Key Set.

The algorithm is never the token's to choose: it must be the one of the key that the token names, and among those configured, all
of which have public keys. Sources: RFC 7519 (JWT), RFC 7517 (keys), RFC 8725 (what to beware of).
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jwt

from service.auth.principals import EVERYTHING, SCOPES, Caller, NotAuthenticated, UnfitCredentials, Watched

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.config import Settings

logger = logging.getLogger(__name__)

LEEWAY_SECONDS: Final = 10
"""How far the clocks of the issuer and of this machine may be apart."""

FETCH_SECONDS: Final = 3
"""How long a request may wait for the provider's keys; others wait with it."""

RETRY_SECONDS: Final = 10
"""How soon a provider that did not answer is asked again."""


class Jwts:
    """The tokens of one issuer. Raises UnfitCredentials for a file without keys; a URL is asked when the first token comes."""

    def __init__(self, settings: Settings) -> None:
        self._audience, self._issuer, self._algorithms = settings.jwt_audience, settings.jwt_issuer, settings.algorithms()
        self._key: Callable[[str | None], jwt.PyJWK]
        if settings.jwks.startswith(("http://", "https://")):
            provider = Provider(settings.jwks)
            self._key = lambda kid: provider.get_signing_key(kid or "")
        else:
            file = Watched(Path(settings.jwks), _read)
            self._key = lambda kid: _named(file.current() or [], kid)

    def caller(self, token: str) -> Caller:
        """Whose token this is; raises NotAuthenticated."""
        try:
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            if key.algorithm_name not in self._algorithms:
                raise jwt.InvalidAlgorithmError
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "aud", "iss", "sub"]},
            )
        except jwt.PyJWKClientConnectionError as error:
            logger.warning("the JWKS cannot be fetched", extra={"fault": str(error)})
            raise NotAuthenticated("The token cannot be checked now.") from None
        except jwt.ExpiredSignatureError:
            raise NotAuthenticated("The token has expired.") from None
        except (jwt.PyJWTError, ValueError, RecursionError):
            # Which check failed helps nobody but those who try.
            raise NotAuthenticated("The token is not valid here.") from None
        return Caller(str(claims["sub"]), _scopes(claims))


class Provider(jwt.PyJWKClient):
    """The keys at a URL, fetched again every five minutes and, at most every 30 s, when a token names one that is not there.

    While the provider does not answer its last keys count, and it is not asked more often than every RETRY_SECONDS: requests
    must not queue up behind a host that is down.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, timeout=FETCH_SECONDS)
        self._last: dict[str, Any] | None = None
        self._silent_until = 0.0

    def fetch_data(self) -> Any:
        """See PyJWKClient; it is called under its lock."""
        if time.monotonic() >= self._silent_until:
            try:
                self._last = super().fetch_data()
            except jwt.PyJWKClientConnectionError:
                self._silent_until = time.monotonic() + RETRY_SECONDS
                if self._last is None:
                    raise
        if self._last is None:
            raise jwt.PyJWKClientConnectionError("the provider did not answer a moment ago")
        return self._last


def _read(text: bytes) -> list[jwt.PyJWK]:
    try:
        found = jwt.PyJWKSet.from_dict(json.loads(text))
    except (jwt.PyJWTError, TypeError, AttributeError) as error:
        raise UnfitCredentials(f"no JSON Web Key Set: {error}") from None
    return [key for key in found.keys if key.public_key_use in ("sig", None)]


def _named(keys: list[jwt.PyJWK], kid: str | None) -> jwt.PyJWK:
    """The key that a token names; it need not name one where there is only one."""
    named = [key for key in keys if (key.key_id == kid if kid is not None else len(keys) == 1)]
    if len(named) != 1:
        raise jwt.PyJWKSetError("no such key")
    return named[0]


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    """What a JWT grants: ``scope`` (RFC 8693: one text, with blanks), or ``scp``, which some providers make a list."""
    granted = claims.get("scope", claims.get("scp", ()))
    names = granted.split() if isinstance(granted, str) else granted if isinstance(granted, list) else ()
    return frozenset(name for name in names if isinstance(name, str) and name in {*SCOPES, EVERYTHING})
