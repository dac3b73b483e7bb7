"""JWTs of an OpenID Connect provider: of one issuer, for one audience, signed by a key of one JSON Web Key Set.

The token never chooses the algorithm: it must be that of the key which the token names, and one of those configured, all of which
have public keys. Sources: RFC 7519 (JWT), RFC 8725 (best current practices).
"""

import json
import logging
import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.request import Request

import jwt

from service.config import Settings
from service.http.auth import (
    EVERYTHING,
    SCOPES,
    CredentialsUnavailable,
    InvalidCredentials,
    NotAuthenticated,
    Principal,
    WatchedFile,
)
from service.http.bounded import read_small_response

logger = logging.getLogger(__name__)

FETCH_SECONDS: Final = 3.0
"""How long connecting to the provider may take, and then its whole answer."""

RETRY_SECONDS: Final = 10.0
"""How long after a failed fetch the next one begins."""

REFRESH_SECONDS: Final = 30.0
"""How long after a fetch a token that names an unknown key causes another one."""

LIFETIME_SECONDS: Final = 300.0
"""How long fetched keys count before they are fetched again."""


class KeyProvider:
    """The keys of a URL, fetched at once, and again by a request when they have expired or its token names an unknown key.

    One request at a time fetches. Meanwhile, and while the provider fails, the others use the last keys.
    """

    def __init__(self, url: str, fetch_failed: Callable[[], None]) -> None:
        self._url, self._fetch_failed = url, fetch_failed
        self._keys: list[jwt.PyJWK] = []
        self._expires_at = self._next_fetch_at = 0.0
        self._fetching = Lock()
        self.fetch()

    def key(self, key_id: str | None) -> jwt.PyJWK:
        """The key of that name. Raises jwt.PyJWKSetError, or CredentialsUnavailable while there are no keys."""
        if time.monotonic() >= self._expires_at or all(key.key_id != key_id for key in self._keys):
            self.fetch()
        return _select(self._keys, key_id)

    def fetch(self) -> None:
        """Fetch the keys, unless another request is doing so or it was done a moment ago."""
        if time.monotonic() < self._next_fetch_at or not self._fetching.acquire(blocking=False):
            return
        try:
            self._keys = _parse(read_small_response(Request(self._url), FETCH_SECONDS))  # noqa: S310 - http or https
            self._expires_at = time.monotonic() + LIFETIME_SECONDS
            self._next_fetch_at = time.monotonic() + REFRESH_SECONDS
        except (OSError, HTTPException, ValueError, InvalidCredentials) as error:
            self._next_fetch_at = time.monotonic() + RETRY_SECONDS
            self._fetch_failed()
            logger.warning("the JWKS cannot be fetched", extra={"fault": str(error)})
        finally:
            self._fetching.release()


def _parse(text: bytes) -> list[jwt.PyJWK]:
    """The keys for signatures. Raises InvalidCredentials."""
    try:
        key_set = jwt.PyJWKSet.from_dict(json.loads(text))
    except (jwt.PyJWTError, LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidCredentials(f"This is not a JSON Web Key Set: {error}.") from None
    return [key for key in key_set.keys if key.public_key_use in ("sig", None)]


def _select(keys: list[jwt.PyJWK], key_id: str | None) -> jwt.PyJWK:
    """The key that a token names; it need not name one if there is only one. Raises jwt.PyJWKSetError, CredentialsUnavailable."""
    if not keys:
        raise CredentialsUnavailable("The signing keys are unavailable; try again later.")
    matching = [key for key in keys if (key.key_id == key_id if key_id is not None else len(keys) == 1)]
    if len(matching) != 1:
        raise jwt.PyJWKSetError("unknown key")
    return matching[0]


LEEWAY_SECONDS: Final = 10
"""How far the clocks of the issuer and of this machine may be apart."""


class Jwts:
    """The tokens of one issuer. Raises InvalidCredentials for a file without keys.

    fetch_failed : called when the keys cannot be fetched
    """

    def __init__(self, settings: Settings, fetch_failed: Callable[[], None]) -> None:
        self._audience, self._issuer, self._algorithms = settings.jwt_audience, settings.jwt_issuer, settings.algorithms()
        if settings.jwks.startswith(("http://", "https://")):
            self._key = KeyProvider(settings.jwks, fetch_failed).key
        else:
            file = WatchedFile(Path(settings.jwks), _parse)
            self._key = lambda key_id: _select(file.current() or [], key_id)

    def principal(self, token: str) -> Principal:
        """Whose token this is. Raises NotAuthenticated, CredentialsUnavailable."""
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
        except jwt.ExpiredSignatureError:
            raise NotAuthenticated("The token has expired.") from None
        except (jwt.PyJWTError, ValueError, RecursionError):
            # Which check failed helps only those who forge tokens.
            raise NotAuthenticated("The token is not valid for this service.") from None
        return Principal(str(claims["sub"]), _scopes(claims))


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    """What a JWT grants: ``scope`` (RFC 8693: one text, with blanks), or ``scp``, which some providers make a list."""
    granted = claims.get("scope", claims.get("scp", ()))
    names = granted.split() if isinstance(granted, str) else granted if isinstance(granted, list) else ()
    return frozenset(name for name in names if isinstance(name, str) and name in {*SCOPES, EVERYTHING})
