"""Tokens for OAUTHBEARER, by the properties and login options of Kafka's own client.

============================================== =========================================================================
``sasl.login.callback.handler.class``          token
============================================== =========================================================================
``OAuthBearerLoginCallbackHandler``            from ``sasl.oauthbearer.token.endpoint.url``: of a provider (client
                                               credentials), or of a file (``file:/…``)
none                                           unsecured, made of the options ``unsecuredLogin…``: for test clusters
============================================== =========================================================================

The first token is fetched at once, so that a wrong secret is a clear error; the next one when the last is about to expire.

Source: ClientCredentialsJwtRetriever, FileJwtRetriever, OAuthBearerUnsecuredLoginCallbackHandler in
org.apache.kafka.common.security.oauthbearer and below; RFC 6749, 4.4.
"""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import quote_plus, unquote, urlencode, urlsplit
from urllib.request import Request

from kafka.net.sasl.oauth import AbstractTokenProvider

from service.http.bounded import UnreadableFile, read_small_file, read_small_response
from service.http.json.codec import dumps, loads
from service.live.errors import Unreachable, WrongProperties
from service.live.security.key_stores import SSL_PROPERTIES, ssl_context

HANDLER: Final = "sasl.login.callback.handler.class"
URL: Final = "sasl.oauthbearer.token.endpoint.url"
URLENCODE: Final = "sasl.oauthbearer.header.urlencode"
TIMEOUTS: Final = ("sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms")
_CLIENT: Final = "sasl.oauthbearer.client.credentials.client"
CREDENTIALS: Final = {"clientId": f"{_CLIENT}.id", "clientSecret": f"{_CLIENT}.secret", "scope": "sasl.oauthbearer.scope"}
"""The login option of each credential, and the property that has had its place since Kafka 4.1."""
OAUTH_PROPERTIES: Final = (HANDLER, URL, URLENCODE, *TIMEOUTS, *CREDENTIALS.values())
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_HANDLERS: Final = (f"{_PACKAGE}.OAuthBearerLoginCallbackHandler", f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler")

TIMEOUT_SECONDS: Final = 10.0
LIFETIME_SHARE: Final = 0.8
"""The share of its lifetime after which a token is replaced (``sasl.login.refresh.window.factor``)."""
UNSECURED: Final = "unsecuredLogin"
_LIFETIME: Final = f"{UNSECURED}LifetimeSeconds"
_CLAIMS: Final[dict[str, Callable[[str], Any]]] = {
    f"{UNSECURED}StringClaim_": str,
    f"{UNSECURED}NumberClaim_": float,
    f"{UNSECURED}ListClaim_": lambda text: text[1:].split(text[0]) if text else [],  # the first character separates
}

Options = dict[str, str]


@dataclass
class OAuthTokens(AbstractTokenProvider):  # type: ignore[misc]  # the library has no types
    """What the client library asks for tokens.

    fetch : gives a token, and the seconds for which it may be used; raises Unreachable
    """

    fetch: Callable[[], tuple[str, float]]
    sasl_extensions: dict[str, str]
    _token: str = ""
    _renewed_at: float = field(default=0.0)

    def token(self) -> str:
        """The token, a new one if the last is about to expire."""
        if time.monotonic() >= self._renewed_at:
            self._token, seconds = self.fetch()
            self._renewed_at = time.monotonic() + LIFETIME_SHARE * seconds
        return self._token

    def extensions(self) -> dict[str, str]:
        """SASL extensions, which the broker may ask for."""
        return self.sasl_extensions


def token_provider(options: Options, properties: dict[str, str]) -> OAuthTokens:
    """The tokens of a login. Raises WrongProperties, and Unreachable if there is none."""
    handler = properties.get(HANDLER)
    if handler is None:
        prefix, fetch = f"{UNSECURED}Extension_", _unsecured(options)
    elif handler in _HANDLERS:
        prefix, fetch = "extension_", _from_endpoint(options, properties)
    else:
        raise WrongProperties(f"{HANDLER}: {handler!r} is not {_HANDLERS[0]}.")
    tokens = OAuthTokens(fetch, {name.removeprefix(prefix): options[name] for name in options if name.startswith(prefix)})
    tokens.token()
    return tokens


def _from_endpoint(options: Options, properties: dict[str, str]) -> Callable[[], tuple[str, float]]:
    for name in options:
        if name not in CREDENTIALS and name not in SSL_PROPERTIES and not name.startswith("extension_"):
            raise WrongProperties(f"sasl.jaas.config: the option {name} is not supported.")
    url = urlsplit(properties.get(URL, ""))
    if url.scheme == "file":
        return lambda: (_token_of(Path(unquote(url.path))), 0.0)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise WrongProperties(f"{URL}: {properties.get(URL, '')!r} is not an http, https or file URL.")
    chosen = {option: properties.get(name) or options.get(option, "").strip() for option, name in CREDENTIALS.items()}
    for option in ("clientId", "clientSecret"):
        if not chosen[option]:
            raise WrongProperties(f"{CREDENTIALS[option]}: missing, and so is {option} in sasl.jaas.config.")
    quoted = quote_plus if properties.get(URLENCODE, "").strip().lower() == "true" else str
    credentials = ":".join(quoted(chosen[option]) for option in ("clientId", "clientSecret"))
    form = {"grant_type": "client_credentials", **({"scope": chosen["scope"]} if chosen["scope"] else {})}
    headers = {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}", "Accept": "application/json"}
    request = Request(url.geturl(), urlencode(form).encode(), headers)  # noqa: S310 - http or https, see above
    context = ssl_context({name: options[name] for name in options if name in SSL_PROPERTIES}) if url.scheme == "https" else None
    return lambda: _post(request, _timeout(properties), context)


def _timeout(properties: dict[str, str]) -> float:
    for name in TIMEOUTS:
        if not properties.get(name, "0").strip().isdecimal():
            raise WrongProperties(f"{name}: {properties[name]!r} is not a number of milliseconds.")
    return max((int(properties[name]) / 1000 for name in TIMEOUTS if name in properties), default=TIMEOUT_SECONDS)


def _post(request: Request, timeout: float, context: SSLContext | None) -> tuple[str, float]:
    """A token of a provider. Raises Unreachable."""
    place = f"{URL}: {request.full_url}"
    try:
        answer = loads(read_small_response(request, timeout, context))
    except (OSError, HTTPException, ValueError) as error:
        raise Unreachable(f"{place}: {error}") from None
    token = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token:
        raise Unreachable(f"{place}: the answer has no access_token.")
    seconds = answer.get("expires_in")
    return token, float(seconds) if isinstance(seconds, int | float) else 0.0


def _token_of(path: Path) -> str:
    """The token in a file. Raises Unreachable."""
    try:
        token = read_small_file(path).decode().strip()
    except UnreadableFile as error:
        raise Unreachable(f"{URL}: {path}: {error}") from None
    except UnicodeDecodeError:
        raise Unreachable(f"{URL}: {path}: The file is not UTF-8 text.") from None
    if not token:
        raise Unreachable(f"{URL}: {path}: The file is empty.")
    return token


def _unsecured(options: Options) -> Callable[[], tuple[str, float]]:
    """Tokens without a signature, of the claims in the options."""
    known = (_LIFETIME, f"{UNSECURED}PrincipalClaimName", f"{UNSECURED}ScopeClaimName")
    claims: dict[str, Any] = {}
    try:
        lifetime = float(options.get(_LIFETIME, 3600))
        for name, value in options.items():
            prefix = next((prefix for prefix in _CLAIMS if name.startswith(prefix)), None)
            if prefix is not None:
                claims[name.removeprefix(prefix)] = _CLAIMS[prefix](value)
            elif name not in known and not name.startswith(f"{UNSECURED}Extension_"):
                raise WrongProperties(f"sasl.jaas.config: the option {name} needs {HANDLER}={_HANDLERS[0]}.")
    except ValueError as error:
        raise WrongProperties(f"sasl.jaas.config: {error}") from None
    principal = options.get(f"{UNSECURED}PrincipalClaimName", "sub")
    if not claims.get(principal):
        raise WrongProperties(f"sasl.jaas.config: {UNSECURED}StringClaim_{principal} is missing.")
    return lambda: (_unsigned({"iat": time.time(), "exp": time.time() + lifetime, **claims}), lifetime)


def _unsigned(claims: dict[str, Any]) -> str:
    parts = (base64.urlsafe_b64encode(dumps(part)).decode().rstrip("=") for part in ({"alg": "none"}, claims))
    return ".".join((*parts, ""))
