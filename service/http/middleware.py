"""What happens to every request before and after its view.

Before: the request gets an id, is counted, authenticated and admitted. After: it is timed and logged, and its headers tell
browsers what not to do with the answer.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from flask import Response, request
from werkzeug.exceptions import Forbidden, NotFound, RequestEntityTooLarge, ServiceUnavailable, Unauthorized
from werkzeug.wsgi import ClosingIterator

from service.config import environment_name
from service.decisions.families import BY_PATH
from service.http.admission import (
    BUDGET,
    IS_CONNECTED,
    RESERVED,
    RETRY_SECONDS,
    SMALL_BYTES,
    AdmissionControl,
    MemoryBudget,
    Overloaded,
)
from service.http.auth.authenticator import Authenticator
from service.http.auth.principals import SCOPES, CredentialsUnavailable, NotAuthenticated
from service.http.telemetry import logs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    from flask import Flask, Request

    from service.config import Settings
    from service.http.telemetry.metrics import Metrics
    from service.http.telemetry.tracing import RequestSpan, Tracing

DECISIONS: Final = "/v1/"
"""Prefix of the routes that need a caller and admission."""

REALM: Final = "partition-allocator"

CATALOGUE: Final = {"/v1/partitioners": "partitions", "/v1/assignors": "groups", "/v1/placers": "placements"}
"""The lists of strategies → the scope that each needs."""

SANE_ID: Final = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
"""A valid X-Request-ID of a caller; any other is replaced, because it goes into logs and headers."""

POLICY: Final = "Content-Security-Policy"

HEADERS: Final = (("X-Content-Type-Options", "nosniff"),)
"""Headers of every response. No CORS header is ever sent, so browsers keep pages of other origins from reading any."""

DATA_POLICY: Final = (POLICY, "default-src 'none'; frame-ancestors 'none'")
"""The policy of every response that sets none: it is data, not a page."""

UNRESERVED: Final = "allocator.unreserved_bytes"
"""Key of the WSGI environment: the bytes that the request has asked for, while they are too few to be reserved."""

PROGRESS: Final = "allocator.progress"
"""Where the WSGI environment has the request's Progress."""

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The policy of an HTML page: scripts of this service only, requests to it only. Swagger UI sets styles by script."""


def current_request() -> Request:
    """Flask's ``request`` without its proxy, which Python asks in vain for each attribute before it asks the request."""
    return request._get_current_object()  # type: ignore[attr-defined,no-any-return]  # noqa: SLF001 - documented


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


@dataclass(slots=True)
class Progress:
    """What is known of a request that is being answered.

    hooks : those of its app
    request_id : the caller's X-Request-ID, or one of ours
    started, deadline : by time.perf_counter; cpu_started : by time.thread_time
    sent_bytes : of its body as it came, as far as that has been read
    rule : its URL rule; empty if no route matches
    admitted : must it leave the admission control? long : as a long one?
    caller : who sent it, where callers are known
    span : its span, where requests are traced
    """

    hooks: RequestHooks
    request_id: str
    started: float
    deadline: float
    cpu_started: float
    sent_bytes: int = 0
    rule: str = ""
    admitted: bool = False
    long: bool = False
    caller: str | None = None
    span: RequestSpan | None = None


def _is_written_as(environ: WSGIEnvironment, rule: str) -> bool:
    """Is the path of the request written as its URL rule is?

    //metrics, /%6detrics and /metrics/ are matched by the rule /metrics. A proxy that refuses /metrics by its text would let them
    through. A client may encode the colon of /v1/reassignments:lint.
    """
    target: str = environ.get("RAW_URI") or environ["PATH_INFO"]
    path = target.partition("?")[0]
    if not path.startswith("/"):
        path = urlsplit(path).path  # of an absolute URL
    if "%" in path:
        path = path.replace("%3A", ":").replace("%3a", ":")
    if "<" in rule:  # files
        return "%" not in path and not path.startswith("//")
    return path == rule or path == rule.rstrip("/")


class RequestHooks:
    """The hooks of one app: ``enter`` before the view, when Flask knows the route; all else around Flask."""

    def __init__(self, app: Flask, settings: Settings, metrics: Metrics, tracing: Tracing | None, *, log_requests: bool) -> None:
        """Raises InvalidCredentials. log_requests : a line for each on standard output"""
        self.metrics, self._tracing = metrics, tracing
        checked = settings.auth != "off" and settings.has_credentials()
        self._credentials = Authenticator(settings, metrics.jwks_failures.inc) if checked else None
        self._admission = AdmissionControl(settings.max_concurrent, settings.max_queued)
        self.extensions = app.extensions
        self._memory = app.extensions[BUDGET] = MemoryBudget(settings.decision_bytes())
        self._seconds = settings.max_request_seconds
        self._logs_requests = log_requests
        self._scopes = {rule.rule: scope_of(rule.rule) for rule in app.url_map.iter_rules()}
        self._headers = [*HEADERS, ("Strict-Transport-Security", "max-age=31536000")] if settings.tls_cert else [*HEADERS]
        self._wsgi_app = app.wsgi_app
        app.wsgi_app = self  # type: ignore[method-assign]  # as Flask would have it
        app.before_request(self.enter)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The app, and what every answer has: added here it costs nothing, and by Flask's hooks and headers 25 µs."""
        sent_id = environ.get("HTTP_X_REQUEST_ID")
        request_id = sent_id if sent_id is not None and SANE_ID.fullmatch(sent_id) else os.urandom(16).hex()
        started = time.perf_counter()
        environ[PROGRESS] = progress = Progress(self, request_id, started, started + self._seconds, time.thread_time())
        code, length = 0, 0

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            nonlocal code, length
            code, has_policy = int(status[:3]), False
            for name, value in headers:
                if name == "Content-Length":
                    length = int(value)
                elif name == POLICY:
                    has_policy = True
            headers += (("X-Request-ID", request_id), *self._headers)
            if not has_policy:
                headers.append(DATA_POLICY)
            return start_response(status, headers, *exc_info)

        self.metrics.in_flight.inc()
        try:
            response = self._wsgi_app(environ, start)
            self._answered(progress, environ, code, length)
        finally:
            if progress.admitted:
                self._admission.leave(long=progress.long)
            self.metrics.in_flight.dec()
        if held := environ.get(RESERVED, 0):  # from here on, of the response alone
            environ[RESERVED] = kept = min(held, length)
            self._memory.release(held - kept)
            return ClosingIterator(response, lambda: self._memory.release(kept))
        return response

    def enter(self) -> None:
        """Before the view."""
        request = current_request()
        environ, url_rule = request.environ, request.url_rule
        progress = environ[PROGRESS]
        if url_rule is not None and not _is_written_as(environ, url_rule.rule):
            raise NotFound
        progress.rule = rule = url_rule.rule if url_rule else ""
        if self._tracing is not None:
            progress.span = self._tracing.request(request.method, rule, request.headers, progress.request_id, progress.started)
        scope = self._scopes.get(rule)
        if scope is None:
            return
        if self._credentials is not None:
            self._admit(self._credentials, scope, progress)
        try:
            self._admission.enter(self.metrics.queued.inc, environ.get(IS_CONNECTED))
        except Overloaded as overloaded:
            self._turn_away(overloaded)
        progress.admitted = True

    def lengthen(self, environ: WSGIEnvironment) -> None:
        """Let small requests have places beside this one and others as long. Raises ServiceUnavailable."""
        progress = environ[PROGRESS]
        if not progress.admitted or progress.long:
            return
        progress.admitted = False
        try:
            self._admission.lengthen(self.metrics.queued.inc, environ.get(IS_CONNECTED))
        except Overloaded as overloaded:
            self._turn_away(overloaded)
        progress.admitted = progress.long = True

    def checks_callers(self) -> bool:
        """Whether only callers with a valid token are answered."""
        return self._credentials is not None

    def knows_caller(self, authorization: str | None) -> bool:
        """Whether an Authorization header is valid, for a server that asks before it receives a body."""
        try:
            return self._credentials is None or bool(self._credentials.principal(authorization))
        except (NotAuthenticated, CredentialsUnavailable):
            return False

    def _admit(self, credentials: Authenticator, scope: str, progress: Progress) -> None:
        """Admit only callers who may use this family of endpoints (RFC 6750)."""
        authorization = request.environ.get("HTTP_AUTHORIZATION")
        try:
            caller = credentials.principal(authorization)
        except NotAuthenticated as error:
            self.metrics.rejected.labels("unauthenticated").inc()
            parameters = {} if authorization is None else {"error": "invalid_token", "error_description": str(error)}
            raise Unauthorized(str(error), response=_challenge(401, **parameters)) from None
        except CredentialsUnavailable as error:
            self.metrics.rejected.labels("unavailable").inc()
            raise ServiceUnavailable(str(error), retry_after=RETRY_SECONDS) from None
        progress.caller = caller.name
        if not caller.may(scope):
            self.metrics.rejected.labels("forbidden").inc()
            challenge = _challenge(403, error="insufficient_scope", scope=scope)
            raise Forbidden(f"This token does not have the scope {scope}.", response=challenge)

    def _turn_away(self, overloaded: Overloaded) -> None:
        self.metrics.rejected.labels("full").inc()
        raise ServiceUnavailable(str(overloaded), retry_after=RETRY_SECONDS) from None

    def reserve(self, environ: WSGIEnvironment, size: int) -> None:
        """Reserve bytes of memory until the response has been sent. Raises RequestEntityTooLarge, ServiceUnavailable."""
        held = environ.get(RESERVED, 0)
        size += environ.pop(UNRESERVED, 0)
        if held + size <= SMALL_BYTES:
            environ[UNRESERVED] = size
            return
        if held + size > self._memory.size:
            limit = environment_name("max_decision_bytes")
            raise RequestEntityTooLarge(
                f"The request would take {held + size} bytes of memory; at most {limit} = {self._memory.size} are allowed."
            )
        if not self._memory.fits(size):  # the wait must not take a small request's place
            self.lengthen(environ)
        try:
            self._memory.reserve(size, held)
        except Overloaded as overloaded:
            self._turn_away(overloaded)
        environ[RESERVED] = held + size

    def _answered(self, progress: Progress, environ: WSGIEnvironment, status: int, length: int) -> None:
        """Record an answer of ``length`` bytes."""
        seconds = time.perf_counter() - progress.started
        method, route = environ["REQUEST_METHOD"], progress.rule or "unmatched"
        self.metrics.observe_http(method, route, status, seconds)
        if progress.span is not None:
            progress.span.answered(status)
        if self._logs_requests:
            logs.write_line(
                "request",
                request_id=progress.request_id,
                method=method,
                route=route,
                status=status,
                seconds=round(seconds, 6),
                bytes=length,
                remote=environ.get("REMOTE_ADDR"),
                caller=progress.caller,
                **({} if progress.span is None else {"trace_id": progress.span.trace_id}),
            )


def _challenge(status: int, **parameters: str) -> Response:
    """An answer that asks for a bearer token."""
    challenge = ", ".join(f'{name}="{value}"' for name, value in {"realm": REALM, **parameters}.items())
    return Response(status=status, headers={"WWW-Authenticate": f"Bearer {challenge}"})


def security_scheme() -> dict[str, Any]:
    """The security scheme in the OpenAPI document."""
    scopes = ", ".join(f"`{scope}`" for scope in SCOPES)
    about = f"Required if authentication is on: a token from the operator's file, or a JWT of their issuer. Scopes: {scopes}."
    return {"type": "http", "scheme": "bearer", "description": about}
