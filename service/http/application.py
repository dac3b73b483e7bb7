"""The Flask app that answers every request, and what happens to each before and after its view; how many are admitted.

Before: the request gets an id, is counted, authenticated and admitted. After: it is timed and logged, and its headers tell
browsers what not to do with the answer.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from random import getrandbits
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from flask import Flask, Request, Response, request
from flask.ctx import RequestContext
from flask.sessions import NullSession
from werkzeug.exceptions import Forbidden, NotFound, RequestEntityTooLarge, ServiceUnavailable, Unauthorized
from werkzeug.routing import MapAdapter, Rule
from werkzeug.wsgi import ClosingIterator

from service.config import Settings, environment_name
from service.http.auth import CredentialsUnavailable, NotAuthenticated
from service.http.authenticator import Authenticator, challenge, scope_of
from service.http.memory import QUEUE_SECONDS, RESERVED, SMALL_BYTES, UNRESERVED, MemoryBudget, Overloaded
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

RETRY_SECONDS: Final = 1
"""Seconds after which a rejected request may be sent again (Retry-After)."""

SMALL_SHARE: Final = 8
"""One of this number of places is kept from long requests; at least one is, unless there is only one."""

CONNECTION_CHECK_SECONDS: Final = 0.5
"""Seconds between two checks whether the client of a queued request is still there."""

IS_CONNECTED: Final = "allocator.is_connected"
"""Key of the WSGI environment: a function that returns whether the client is still connected; our server alone sets it."""


class AdmissionControl:
    """Admits ``concurrent`` requests at the same time, and queues ``queued`` more in order. Threads share it.

    on_queue : called with 1 when a request is queued, and with -1 when it no longer is

    A request that turns out to be a long one says so (``lengthen``). Long ones do not get every place, so that small ones are
    answered meanwhile.
    """

    def __init__(
        self, concurrent: int, queued: int, on_queue: Callable[[int], object] = int, seconds: float = QUEUE_SECONDS
    ) -> None:
        self._free = concurrent
        self._free_for_long = max(1, concurrent - max(1, concurrent // SMALL_SHARE))
        self._max_queued, self._on_queue, self._seconds = queued, on_queue, seconds
        self._lock = Lock()
        self._queue: deque[Lock] = deque()
        self._long_queue: deque[Lock] = deque()

    def enter(self, is_connected: Callable[[], bool] | None = None) -> None:
        """Admit a request, after it has waited in the queue if necessary; raises Overloaded. ``leave`` ends every ``enter``.

        is_connected : whether its client is still there; a queued request whose client is gone makes room
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = self._join(self._queue)
        self._wait(turn, self._queue, is_connected)

    def lengthen(self, is_connected: Callable[[], bool] | None = None) -> None:
        """Have an admitted request go on as a long one, after it has waited without a place if necessary.

        Raises Overloaded; the request then has no place any more, and nothing to leave. Otherwise ``leave(long=True)`` ends it.
        """
        with self._lock:
            if self._free_for_long:
                self._free_for_long -= 1
                return
            self._free_place()
            turn = self._join(self._long_queue)
        self._wait(turn, self._long_queue, is_connected)

    def _join(self, queue: deque[Lock]) -> Lock:
        if len(self._queue) + len(self._long_queue) >= self._max_queued:
            raise Overloaded("The service is at its concurrency limit and the queue is full.")
        turn = Lock()
        turn.acquire()
        queue.append(turn)
        return turn

    def _wait(self, turn: Lock, queue: deque[Lock], is_connected: Callable[[], bool] | None) -> None:
        """Wait for a turn in a queue; raises Overloaded."""
        self._on_queue(1)
        deadline = time.monotonic() + self._seconds
        admitted = gone = False
        while not (admitted or gone) and (left := deadline - time.monotonic()) > 0:
            admitted = turn.acquire(timeout=min(left, CONNECTION_CHECK_SECONDS))
            gone = is_connected is not None and not is_connected()
        self._on_queue(-1)
        with self._lock:
            admitted = turn not in queue  # perhaps just now
            if not admitted:
                queue.remove(turn)
        if gone:
            if admitted:
                self.leave(long=queue is self._long_queue)
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


SANE_ID: Final = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
"""A valid X-Request-ID of a caller; any other is replaced, because it goes into logs and headers."""

POLICY: Final = "Content-Security-Policy"

HEADERS: Final = (("X-Content-Type-Options", "nosniff"),)
"""Headers of every response. No CORS header is ever sent, so browsers keep pages of other origins from reading any."""

DATA_POLICY: Final = (POLICY, "default-src 'none'; frame-ancestors 'none'")
"""The policy of every response that sets none: it is data, not a page."""

PROGRESS: Final = "allocator.progress"
"""Where the WSGI environment has the request's Progress."""


current_request: Final[Callable[[], Request]] = request._get_current_object  # type: ignore[attr-defined]  # noqa: SLF001 - documented
"""Flask's ``request`` without its proxy, which Python asks in vain for each attribute before it asks the request."""


@dataclass(slots=True)
class Progress:
    """What is known of a request that is being answered.

    app : that answers it
    request_id : the caller's X-Request-ID, or one of ours
    started : by time.perf_counter; cpu_started : by time.thread_time
    sent_bytes : of its body as it came, as far as that has been read
    rule : its URL rule; empty if no route matches
    admitted : must it leave the admission control? long : as a long one?
    caller : who sent it, where callers are known
    span : its span, where requests are traced
    end_body : reads what has not been read of its body; None: nothing is to be done
    """

    app: App
    request_id: str
    started: float
    cpu_started: float
    sent_bytes: int = 0
    rule: str = ""
    admitted: bool = False
    long: bool = False
    caller: str | None = None
    span: RequestSpan | None = None
    end_body: Callable[[], None] | None = None


def _is_written_as(environ: WSGIEnvironment, rule: str) -> bool:
    """Is the path of the request written as its URL rule is?

    //metrics, /%6detrics and /metrics/ are matched by the rule /metrics. A proxy that refuses /metrics by its text would let them
    through. A client may encode the colon of /v1/reassignments:lint.
    """
    target: str = environ.get("RAW_URI") or environ["PATH_INFO"]
    path = target.partition("?")[0]
    if path == rule:
        return True
    if not path.startswith("/"):
        path = urlsplit(path).path  # of an absolute URL
    if "%" in path:
        path = path.replace("%3A", ":").replace("%3a", ":")
    if "<" in rule:  # files
        return "%" not in path and not path.startswith("//")
    return path in (rule, rule.rstrip("/"))


NO_SESSION: Final = NullSession()


class _Request(Request):
    """Flask's, which would look for files of a form."""

    def close(self) -> None:
        """Nothing is open: the server closes the body."""


class App(Flask):
    """Flask, without what no route of this service has, and with what every request has.

    That is done around Flask, where it costs nothing (by hooks and headers 25 µs), but for ``enter``, which needs the route.

    scopes : route → the scope that it needs
    credentials : of the callers who are answered; None: everyone is
    transit_bytes : of bodies and responses, for the server
    """

    request_class = _Request

    def __init__(self, settings: Settings, metrics: Metrics, tracing: Tracing | None, *, log_requests: bool) -> None:
        """Raises InvalidCredentials. log_requests : a line for each on standard output"""
        super().__init__("service", static_folder=None)
        self.scopes: dict[str, str | None] = {}
        self.url_map.strict_slashes = False
        self.url_map.merge_slashes = False  # /v1//x is a path that nothing has, and no redirect as HTML
        self.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
        self.metrics, self._tracing = metrics, tracing
        checked = settings.auth != "off" and settings.has_credentials()
        self.credentials = Authenticator(settings, metrics.jwks_failures.inc) if checked else None
        self._admission = AdmissionControl(settings.max_concurrent, settings.max_queued, metrics.queued.inc)
        self.memory = MemoryBudget(settings.decision_bytes())
        self.limits = {name: value for name, value in vars(settings).items() if name.startswith("max_")}
        self.transit_bytes = settings.transit_bytes
        self.extensions["warm"] = threading.Event()
        self._logs_requests = log_requests
        self._headers = [*HEADERS, ("Strict-Transport-Security", "max-age=31536000")] if settings.tls_cert else [*HEADERS]

    def add_url_rule(self, rule: str, *args: Any, **kwargs: Any) -> None:
        """See Flask. Raises LookupError for a route that belongs to no family."""
        self.scopes[rule] = scope_of(rule)
        super().add_url_rule(rule, *args, **kwargs)

    @cached_property
    def plain_rules(self) -> dict[tuple[str, str], Rule]:
        """The routes without arguments, by method and path."""
        rules = (rule for rule in self.url_map.iter_rules() if not rule.arguments)
        return {(method, rule.rule): rule for rule in rules for method in (rule.methods or set()) - {"OPTIONS"}}

    def request_context(self, environ: WSGIEnvironment) -> RequestContext:
        """See Flask, which would open a session."""
        return RequestContext(self, environ, session=NO_SESSION)

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """See Flask. Werkzeug would take a path apart also where it is written as its route is.

        Routes depend on the path alone, and none redirects, so nothing is made of the request's host and query.
        """
        if request is None:
            return None
        request.url_rule = self.plain_rules.get((request.method, request.path))
        if request.url_rule is None:
            return MapAdapter(self.url_map, "", "/", "", "http", request.path, request.method)
        request.view_args = {}
        return None

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is: no view and no hook is ``async``, which Flask looks up for each of them in every request."""
        return func

    def full_dispatch_request(self) -> Response:
        """See Flask. Nothing hears its signals, and no function but ``enter`` runs before or after a view."""
        try:
            self.enter()
            answer = self.dispatch_request()
        except Exception as error:  # noqa: BLE001 - as Flask
            answer = self.handle_user_exception(error)
        if (end_body := current_request().environ[PROGRESS].end_body) is not None:
            end_body()
        return self.make_response(answer)

    def handle_user_exception(self, e: Exception) -> Any:
        """See Flask. Then nothing of the error holds the request any more."""
        try:
            return super().handle_user_exception(e)
        finally:
            release_frames(e)

    def do_teardown_request(self, exc: BaseException | None = None) -> None:
        """See Flask. Nothing is to be torn down."""

    def do_teardown_appcontext(self, exc: BaseException | None = None) -> None:
        """See Flask. Nothing is to be torn down."""

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """See Flask."""
        sent_id = environ.get("HTTP_X_REQUEST_ID")
        request_id = sent_id if sent_id is not None and SANE_ID.fullmatch(sent_id) else f"{getrandbits(128):032x}"
        environ[PROGRESS] = progress = Progress(self, request_id, time.perf_counter(), time.thread_time())
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
            response = super().wsgi_app(environ, start)
            self._answered(progress, environ, code, length)
        finally:
            if progress.admitted:
                self._admission.leave(long=progress.long)
            self.metrics.in_flight.dec()
        if held := environ.get(RESERVED, 0):  # from here on, of the response alone
            environ[RESERVED] = kept = min(held, length)
            self.memory.release(held - kept)
            return ClosingIterator(response, lambda: self.memory.release(kept))
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
        scope = self.scopes.get(rule)
        if scope is None:
            return
        if self.credentials is not None:
            self._admit(self.credentials, scope, progress)
        self._admission.enter(environ.get(IS_CONNECTED))
        progress.admitted = True

    def lengthen(self, environ: WSGIEnvironment) -> None:
        """Let small requests have places beside this one and others as long. Raises Overloaded."""
        progress = environ[PROGRESS]
        if not progress.admitted or progress.long:
            return
        progress.admitted = False
        self._admission.lengthen(environ.get(IS_CONNECTED))
        progress.admitted = progress.long = True

    def _admit(self, credentials: Authenticator, scope: str, progress: Progress) -> None:
        """Admit only callers who may use this family of endpoints (RFC 6750)."""
        authorization = request.environ.get("HTTP_AUTHORIZATION")
        try:
            caller = credentials.principal(authorization)
        except NotAuthenticated as error:
            self.metrics.rejected.labels("unauthenticated").inc()
            parameters = {} if authorization is None else {"error": "invalid_token", "error_description": str(error)}
            raise Unauthorized(str(error), response=challenge(401, **parameters)) from None
        except CredentialsUnavailable as error:
            self.metrics.rejected.labels("unavailable").inc()
            raise ServiceUnavailable(str(error), retry_after=RETRY_SECONDS) from None
        progress.caller = caller.name
        if not caller.may(scope):
            self.metrics.rejected.labels("forbidden").inc()
            response = challenge(403, error="insufficient_scope", scope=scope)
            raise Forbidden(f"This token does not have the scope {scope}.", response=response)

    def reserve(self, environ: WSGIEnvironment, size: int) -> None:
        """Reserve bytes of memory until the response has been sent. Raises RequestEntityTooLarge, Overloaded."""
        held = environ.get(RESERVED, 0)
        size += environ.pop(UNRESERVED, 0)
        if held + size <= SMALL_BYTES:
            environ[UNRESERVED] = size
            return
        if held + size > self.memory.size:
            limit = environment_name("max_decision_bytes")
            raise RequestEntityTooLarge(
                f"The request would take {held + size} bytes of memory; at most {limit} = {self.memory.size} are allowed."
            )
        if not self.memory.fits(size):  # the wait must not take a small request's place
            self.lengthen(environ)
        self.memory.reserve(size, held)
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


def release_frames(error: BaseException) -> None:
    """Let go of the frames that an error passed, and of those of the errors that it comes from or has beside it.

    A frame may hold both its error and the values of a large body. Such a circle is memory that nobody has reserved, until the
    cyclic collector finds it, which may be a hundred bodies later.
    """
    errors: list[BaseException | None] = [error]
    while errors:
        each = errors.pop()
        if each is not None and each.__traceback__ is not None:
            each.__traceback__ = None
            errors += (each.__cause__, each.__context__, *getattr(each, "others", ()))
