"""JSON Web Key Sets (RFC 7517): the public keys that sign JWTs, from a file or from a provider's URL."""

import io
import json
import logging
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from socket import socket
from threading import Lock
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import jwt

from service.auth.principals import InvalidCredentials, NotAuthenticated, WatchedFile

logger = logging.getLogger(__name__)

FETCH_SECONDS: Final = 3.0
"""How long connecting to the provider may take, and then its whole answer."""

RETRY_SECONDS: Final = 10.0
"""How long after a failed fetch the next one begins."""

REFRESH_SECONDS: Final = 30.0
"""How long after a fetch a token that names an unknown key causes another one."""

LIFETIME_SECONDS: Final = 300.0
"""How long fetched keys count before they are fetched again."""

MAX_BYTES: Final = 2**20
"""The largest key set that is read."""


class KeyFile:
    """The keys of a file, read again when it changes. Raises InvalidCredentials for a file without keys."""

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path, _parse)

    def key(self, key_id: str | None) -> jwt.PyJWK:
        """The key of that name. Raises jwt.PyJWKSetError."""
        return _select(self._file.current() or [], key_id)


class KeyProvider:
    """The keys of a URL, fetched at once, and again by a request when they have expired or its token names an unknown key.

    One request at a time fetches. Meanwhile, and while the provider fails, the others use the last keys.
    """

    def __init__(self, url: str, fetch_failed: Callable[[], None]) -> None:
        self._url, self._fetch_failed = url, fetch_failed
        self._keys: list[jwt.PyJWK] = []
        self._expires_at = self._next_fetch_at = 0.0
        self._fetching = Lock()
        self._opener = build_opener(_Handler, _NoRedirects)
        self.fetch()

    def key(self, key_id: str | None) -> jwt.PyJWK:
        """The key of that name. Raises jwt.PyJWKSetError, or NotAuthenticated while there are no keys."""
        if time.monotonic() >= self._expires_at or all(key.key_id != key_id for key in self._keys):
            self.fetch()
        if not self._keys:
            raise NotAuthenticated("The token cannot be checked now.")
        return _select(self._keys, key_id)

    def fetch(self) -> None:
        """Fetch the keys, unless another request is doing so or it was done a moment ago."""
        if time.monotonic() < self._next_fetch_at or not self._fetching.acquire(blocking=False):
            return
        try:
            self._keys = _parse(self._get())
            self._expires_at = time.monotonic() + LIFETIME_SECONDS
            self._next_fetch_at = time.monotonic() + REFRESH_SECONDS
        except (OSError, HTTPException, ValueError, InvalidCredentials) as error:
            self._next_fetch_at = time.monotonic() + RETRY_SECONDS
            self._fetch_failed()
            logger.warning("the JWKS cannot be fetched", extra={"fault": str(error)})
        finally:
            self._fetching.release()

    def _get(self) -> bytes:
        """The provider's answer. Raises OSError, HTTPException."""
        try:
            with self._opener.open(Request(self._url), timeout=FETCH_SECONDS) as response:  # noqa: S310 - http or https
                text: bytes = response.read(MAX_BYTES + 1)
        except HTTPError as error:
            error.close()
            raise
        if len(text) > MAX_BYTES:
            raise InvalidCredentials(f"longer than {MAX_BYTES} bytes")
        return text


class _TimedReader(io.RawIOBase):
    """What a socket receives until a deadline: a timeout of the socket itself starts again with every byte."""

    def __init__(self, sock: socket, raw: Any) -> None:
        self._sock, self._raw = sock, raw
        self._deadline = time.monotonic() + FETCH_SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """See io.RawIOBase. Raises TimeoutError."""
        self._sock.settimeout(max(self._deadline - time.monotonic(), 0.001))
        read: int | None = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp: Any = io.BufferedReader(_TimedReader(sock, self.fp.detach()))


class _Http(HTTPConnection):
    response_class = _Response


class _Https(HTTPSConnection):
    response_class = _Response


class _Handler(HTTPHandler, HTTPSHandler):
    """Answers with a deadline."""

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Http, req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Https, req)


class _NoRedirects(HTTPRedirectHandler):
    """The keys are where the configuration says and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _parse(text: bytes) -> list[jwt.PyJWK]:
    """The keys for signatures. Raises InvalidCredentials."""
    try:
        key_set = jwt.PyJWKSet.from_dict(json.loads(text))
    except (jwt.PyJWTError, TypeError, AttributeError) as error:
        raise InvalidCredentials(f"not a JSON Web Key Set: {error}") from None
    return [key for key in key_set.keys if key.public_key_use in ("sig", None)]


def _select(keys: list[jwt.PyJWK], key_id: str | None) -> jwt.PyJWK:
    """The key that a token names; it need not name one where there is only one. Raises jwt.PyJWKSetError."""
    matching = [key for key in keys if (key.key_id == key_id if key_id is not None else len(keys) == 1)]
    if len(matching) != 1:
        raise jwt.PyJWKSetError("unknown key")
    return matching[0]
