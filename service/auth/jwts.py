"""JWTs of an OpenID Connect provider: of one issuer, for one audience, signed by a key of one JSON Web Key Set.

The token never chooses the algorithm: it must be that of the key which the token names, and one of those configured, all of which
have public keys. Sources: RFC 7519 (JWT), RFC 8725 (best current practices).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jwt

from service.auth.jwks import KeyFile, KeyProvider
from service.auth.principals import EVERYTHING, SCOPES, NotAuthenticated, Principal
from service.config import Settings

LEEWAY_SECONDS: Final = 10
"""How far the clocks of the issuer and of this machine may be apart."""


class Jwts:
    """The tokens of one issuer. Raises InvalidCredentials for a file without keys.

    fetch_failed : called when the keys cannot be fetched
    """

    def __init__(self, settings: Settings, fetch_failed: Callable[[], None]) -> None:
        self._audience, self._issuer, self._algorithms = settings.jwt_audience, settings.jwt_issuer, settings.algorithms()
        from_url = settings.jwks.startswith(("http://", "https://"))
        self._keys = KeyProvider(settings.jwks, fetch_failed) if from_url else KeyFile(Path(settings.jwks))

    def principal(self, token: str) -> Principal:
        """Whose token this is. Raises NotAuthenticated, CredentialsUnavailable."""
        try:
            key = self._keys.key(jwt.get_unverified_header(token).get("kid"))
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
