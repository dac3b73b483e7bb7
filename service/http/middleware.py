"""What happens to every request before and after its view, and how many are admitted.

Before: the request gets an id, is counted, authenticated and admitted. After: it is timed and logged, and its headers tell
browsers what not to do with the answer.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from dataclasses import dataclass
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from flask import Flask, Request, Response, request
from werkzeug.exceptions import Forbidden, NotFound, RequestEntityTooLarge, ServiceUnavailable, Unauthorized
from werkzeug.wsgi import ClosingIterator

from service.config import Settings, environment_name
from service.decisions.families import BY_PATH
from service.http.auth import SCOPES, CredentialsUnavailable, NotAuthenticated
from service.http.authenticator import Authenticator
from service.http.telemetry import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    from service.http.telemetry.metrics import Metrics
    from service.http.telemetry.tracing import RequestSpan, Tracing


# Admission control of one worker process: a few decisions at the same time, a short queue, and no more.
#
# A request that finds the queue full is turned away at once, so that its caller can go elsewhere and nothing piles up. Requests
# that need no decision (health, metrics, the contract) are not counted, and the worker has threads left for them.

QUEUE_SECONDS: Final = 10
"""How long a request waits in the queue before it is turned away."""

RETRY_SECONDS: Final = 1
"""Seconds after which a rejected request may be sent again (Retry-After)."""

SMALL_SHARE: Final = 8
"""One of this number of places is kept from long requests; at least one is, unless there is only one."""

SMALL_BYTES: Final = 4 * 2**20
"""A request that needs no more memory than this does not have to reserve it."""

RESERVED: Final = "allocator.reserved_bytes"
"""Key of the WSGI environment: the bytes that the request has reserved, and after the app has run, those of its response."""

CONNECTION_CHECK_SECONDS: Final = 0.5
"""Seconds between two checks whether the client of a queued request is still there."""

BUDGET: Final = "memory_budget"
"""Key of the app's extensions: its MemoryBudget."""

IS_CONNECTED: Final = "allocator.is_connected"
"""Key of the WSGI environment: a function that returns whether the client is still connected; our server alone sets it."""


class Overloaded(Exception):
    """The request is turned away; the text says why."""


class AdmissionControl:
    """Admits ``concurrent`` requests at the same time, and queues ``queued`` more in order. Threads share it.

    A request that turns out to be a long one says so (``lengthen``). Long ones do not get every place, so that small ones are
    answered meanwhile.
    """

    def __init__(self, concurrent: int, queued: int, seconds: float = QUEUE_SECONDS) -> None:
        self._free = concurrent
        self._free_for_long = max(1, concurrent - max(1, concurrent // SMALL_SHARE))
        self._max_queued = queued
        self._seconds = seconds
        self._lock = Lock()
        self._queue: deque[Lock] = deque()
        self._long_queue: deque[Lock] = deque()

    def enter(self, on_queue: Callable[[int], object] = int, is_connected: Callable[[], bool] | None = None) -> None:
        """Admit a request, after it has waited in the queue if necessary; raises Overloaded. ``leave`` ends every ``enter``.

        on_queue : called with 1 when the request is queued, and with -1 when it no longer is
        is_connected : whether its client is still there; a queued request whose client is gone makes room
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = self._join(self._queue)
        self._wait(turn, self._queue, self.leave, on_queue, is_connected)

    def lengthen(self, on_queue: Callable[[int], object] = int, is_connected: Callable[[], bool] | None = None) -> None:
        """Have an admitted request go on as a long one, after it has waited without a place if necessary.

        Raises Overloaded; the request then has no place any more, and nothing to leave. Otherwise ``leave(long=True)`` ends it.
        """
        with self._lock:
            if self._free_for_long:
                self._free_for_long -= 1
                return
            self._free_place()
            turn = self._join(self._long_queue)
        self._wait(turn, self._long_queue, lambda: self.leave(long=True), on_queue, is_connected)

    def _join(self, queue: deque[Lock]) -> Lock:
        if len(self._queue) + len(self._long_queue) >= self._max_queued:
            raise Overloaded("The service is at its concurrency limit and the queue is full.")
        turn = Lock()
        turn.acquire()
        queue.append(turn)
        return turn

    def _wait(
        self,
        turn: Lock,
        queue: deque[Lock],
        leave: Callable[[], None],
        on_queue: Callable[[int], object],
        is_connected: Callable[[], bool] | None,
    ) -> None:
        """Wait for a turn in a queue; raises Overloaded. leave : undoes an admission"""
        on_queue(1)
        deadline = time.monotonic() + self._seconds
        admitted = gone = False
        while not (admitted or gone) and (left := deadline - time.monotonic()) > 0:
            admitted = turn.acquire(timeout=min(left, CONNECTION_CHECK_SECONDS))
            gone = is_connected is not None and not is_connected()
        on_queue(-1)
        with self._lock:
            admitted = turn not in queue  # perhaps just now
            if not admitted:
                queue.remove(turn)
        if gone:
            if admitted:
                leave()
            raise Overloaded("The client disconnected while its request was queued.")
        if not admitted:
            raise Overloaded(f"The request waited {self._seconds:g} s in the queue.")

    def leave(self, *, long: bool = False) -> None:
        """Admit the request that has waited longest; after a long one, the long one that has."""
        with self._lock:
            if long and self._long_queue:
                self._long_queue.popleft().release()
                return
            self._free_for_long += long
            self._free_place()

    def _free_place(self) -> None:
        if self._queue:
            self._queue.popleft().release()
        else:
            self._free += 1


class MemoryBudget:
    """The bytes that the decisions of one worker process may hold together. Threads share it."""

    def __init__(self, size: int, seconds: float = QUEUE_SECONDS) -> None:
        self.size = size
        self._free = size
        self._seconds = seconds
        self._changed = Condition()
        self._waited_for = 0
        self._holder_waits = False

    def reserve(self, size: int, held: int = 0) -> None:
        """Reserve bytes, after others have released theirs if necessary; raises Overloaded. ``release`` ends every ``reserve``.

        held : bytes that the same request has reserved before. Of such requests one at a time may wait, since two could wait for
            each other.
        """
        with self._changed:
            if size > self._free and held:
                if self._holder_waits:
                    raise Overloaded("The service is at its memory limit.")
                self._holder_waits = True
            self._waited_for += size
            fits = self._changed.wait_for(lambda: size <= self._free, self._seconds)
            self._waited_for -= size
            if held:
                self._holder_waits = False
            if not fits:
                raise Overloaded(f"The request waited {self._seconds:g} s for memory.")
            self._free -= size

    def fits(self, size: int) -> bool:
        """Whether a request for these bytes need not wait."""
        return size <= self._free

    def release(self, size: int) -> None:
        """Release bytes."""
        with self._changed:
            self._free += size
            self._changed.notify_all()

    def shortage(self) -> int:
        """The bytes to be released before every request that waits can go on."""
        with self._changed:
            return max(0, self._waited_for - self._free)


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
