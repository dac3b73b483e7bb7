"""Gunicorn's threaded worker with all network I/O in its event loop, so that threads only compute.

The loop receives a request, head and body, and gives it to a thread when it is complete. The thread runs the app, sends what
the socket takes at once, and leaves the rest of the response to the loop. So a client that sends or reads slowly costs a socket
and the bytes in transit, never a thread. Every stage has a deadline, and connections and bytes in transit are limited: beyond the
limit, the connection that has been waiting longest is dropped.

Malformed, oversized and late requests are answered by the loop and never reach the app. A body that has not come with its head is
received only from a caller with a valid token, where callers are checked, and if its length is within the limit.
"""

import atexit
import errno
import logging
import os
import re
import ssl
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from socket import IPPROTO_IP, IPPROTO_IPV6, socket
from typing import Any, Final, NoReturn

from gunicorn.arbiter import Arbiter
from gunicorn.asgi import parser as http
from gunicorn.http.wsgi import Response, create
from gunicorn.util import close as close_socket
from gunicorn.workers.gthread import ThreadWorker

from service.http.application import IS_CONNECTED
from service.http.error_handlers import MEDIA_TYPE
from service.http.json.codec import dumps
from service.http.memory import RESERVED
from service.http.problems import kebab, problem
from service.server import heaps
from service.server.connection import HEAD_SECONDS, IO_BYTES, STALL_SECONDS, Connection, nothing

_LEAST_HOPS: Final = ((IPPROTO_IP, 21), (IPPROTO_IPV6, 73))
"""IP_MINTTL of linux/in.h and IPV6_MINHOPCOUNT of linux/in6.h; a socket for IPv6 may have connections of both."""


def establish_no_more(listener: socket) -> None:
    """Have the kernel drop what arrives at this listening socket, whichever processes share it.

    What has been established stays in its queue. Nothing more enters it between the last ``accept`` and ``close``, which would
    reset that, but for handshakes that are under way. A client that connects meanwhile is refused when it tries again, a second
    later. Only Linux can do so; elsewhere nothing happens.
    """
    _drop_below(listener, 255)  # a packet starts with at most 255 hops, of nearly all systems with 64 or 128


def hear_again(connection: socket) -> None:
    """Let the packets of a connection pass whose handshake was under way, so that it has what its listening socket has."""
    _drop_below(connection, 0)


def _drop_below(sock: socket, hops: int) -> None:
    """Have the kernel drop what arrives with fewer hops left. It takes no privilege, as a socket filter does in newer kernels."""
    if sys.platform == "linux":
        for level, option in _LEAST_HOPS:
            with suppress(OSError):  # not for IPv6, or no socket of the internet
                sock.setsockopt(level, option, hops)


class DrainingArbiter(Arbiter):  # type: ignore[misc]
    """Gunicorn's, whose workers find all connections in the queue when they are told to end."""

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002 (Gunicorn's)
        """End the workers; see Arbiter."""
        for listener in self.LISTENERS:
            establish_no_more(listener.sock)
        super().stop(graceful)


logger = logging.getLogger(__name__)

LINGER_SECONDS: Final = 2.0
"""Time for a client to close the connection after us (RFC 9112, 9.6)."""

STOP_SECONDS: Final = 1.0
"""Time for a next request on a connection to a stopping worker."""

SWEEP_SECONDS: Final = 0.25
"""Seconds between sweeps for expired connections."""

TRIM_SECONDS: Final = 20.0
"""Seconds between two trims of the heaps."""

LOG_SECONDS: Final = 1.0
"""Seconds between two log lines about refused requests, so that clients cannot fill the log."""

SMALL_BODY_BYTES: Final = 64 * 2**10
"""A body up to this size is received even if the bytes in transit are at their limit."""

REFUSALS: Final = {
    http.LimitRequestLine: (414, "URI Too Long"),
    http.LimitRequestHeaders: (431, "Request Header Fields Too Large"),
    http.UnsupportedTransferCoding: (501, "Not Implemented"),
    http.InvalidHTTPVersion: (505, "HTTP Version Not Supported"),
}
"""Status of a request that the parser rejects; 400 for every other reason."""

QUOTING: Final = (http.InvalidRequestMethod, http.InvalidHTTPVersion, http.InvalidHeaderName, http.UnsupportedTransferCoding)
"""Errors whose text is the client's."""


def end_process(status: int) -> NoReturn:
    """End this process with what is registered to run at its end, but without freeing every object: the system does that at once,
    and Python in half a second of a core, which takes ten where others want it.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - documented nowhere, and the only way
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


class Worker(ThreadWorker):  # type: ignore[misc]
    """See the module.

    waiting : the connections in the loop, longest waiting first, and for each the step to take when its socket is ready. A step
        returns the events to wait for, or 0 if it has passed the connection on.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.waiting: dict[Connection, Callable[[Connection], int]] = {}
        self._buffer = bytearray(IO_BYTES)
        self._next_sweep = self._next_trim = self._next_log = 0.0
        self._transit = 0

    # ---- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until SIGTERM, and end the process; see ThreadWorker."""
        super().run()
        end_process(0)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Wait for events, and when stopping no longer than until the next sweep; see ThreadWorker."""
        super().wait_for_and_dispatch_events(timeout if self.alive else min(timeout, SWEEP_SECONDS))

    def accept(self, listener: socket) -> bool:
        """Accept a connection, and receive what the client has sent so far; see ThreadWorker. Returns whether there was one."""
        if self.waiting and self.nr_conns >= self.worker_connections - 1:
            self._drop(next(iter(self.waiting)))
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and self.waiting:
                self._drop(next(iter(self.waiting)))
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return False
        if not self.alive:
            hear_again(sock)
        self.nr_conns += 1
        conn = Connection(self.cfg, sock, address, listener.getsockname(), self.wsgi.config["MAX_CONTENT_LENGTH"])
        self._wait(conn, self._receive, HEAD_SECONDS)
        return True

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001 (Gunicorn's)
        """See ThreadWorker.

        A stopping worker accepts the connections that the kernel has established for it, since those clients may have sent whole
        requests. Then it stops listening, so that others are refused at once and can go elsewhere.
        """
        super().set_accept_enabled(enabled)
        if not self.alive:
            for listener in self.sockets:
                while listener.fileno() >= 0 and self.accept(listener):
                    pass
                listener.close()

    def _wait(self, conn: Connection, step: Callable[[Connection], int], seconds: float) -> None:
        """Take a step now, and again whenever the socket is ready, for a number of seconds."""
        conn.deadline = time.monotonic() + seconds
        self._leave(conn)
        self.waiting[conn] = step
        self._step(conn)

    def _step(self, conn: Connection) -> None:
        step = self.waiting.get(conn)
        if step is None:  # dropped by an event of the same round
            return
        events = 0
        try:
            events = step(conn)
        except (BlockingIOError, ssl.SSLWantReadError):
            events = EVENT_READ
        except ssl.SSLWantWriteError:
            events = EVENT_WRITE
        except (http.ParseError, ValueError) as error:
            status, title = REFUSALS.get(type(error), (400, "Bad Request"))
            self._refuse(conn, status, title, f"Malformed HTTP request: {_reason(error)}.")
        except OSError:
            self._drop(conn)
        if events:
            descriptor = conn.sock.fileno()
            try:
                self.poller.modify(descriptor, events, lambda _: self._step(conn))
            except KeyError:
                self.poller.register(descriptor, events, lambda _: self._step(conn))

    def _leave(self, conn: Connection) -> None:
        """Take a connection out of the loop."""
        if self.waiting.pop(conn, None):
            with suppress(KeyError, ValueError):
                self.poller.unregister(conn.sock.fileno())

    def _drop(self, conn: Connection) -> None:
        self._leave(conn)
        self._transit -= conn.transit
        conn.release()
        conn.end_response()
        self.nr_conns -= 1
        close_socket(conn.sock)

    # ---- the steps -----------------------------------------------------------------------------------------------------

    def _receive(self, conn: Connection) -> int:
        """Receive a request."""
        was_idle = conn.is_idle()
        complete = conn.receive(self._buffer)
        if was_idle:  # its turn to be dropped begins anew
            self.waiting[conn] = self.waiting.pop(conn)
        if not self._fits(conn) and conn.transit > SMALL_BODY_BYTES:
            self._refuse(conn, 503, "Service Unavailable", "Too many request bodies and responses are in transit.")
        elif conn.awaits_body:
            self._leave(conn)
            self._check_caller(conn)
        elif not complete:
            return EVENT_READ
        else:
            self._leave(conn)
            self.enqueue_req(conn)
        return 0

    def _check_caller(self, conn: Connection) -> None:
        """Receive the rest of a body only from a caller with a valid token.

        A thread checks the token, since a JWT's signature takes a tenth of a millisecond and its key may have to be fetched.
        """
        if self.wsgi.credentials is None:
            self._go_on(conn, accepted=True)
            return
        check = self.tpool.submit(self.wsgi.credentials.principal, conn.authorization())
        check.add_done_callback(
            lambda done: self.method_queue.defer(lambda: self._go_on(conn, accepted=done.exception() is None))
        )

    def _go_on(self, conn: Connection, *, accepted: bool) -> None:
        """Receive the rest of a body, or have the request answered without it."""
        if accepted:
            conn.accept_body()
            self._wait(conn, self._receive, STALL_SECONDS)
        else:
            conn.skip_body()
            self._fits(conn)
            self.enqueue_req(conn)

    def _send(self, conn: Connection) -> int:
        """Send the response, then expect the next request or close."""
        conn.send()
        try:
            conn.fill()
        except Exception:
            logger.exception("unforeseen error")
            self._drop(conn)  # the client sees that the response is shorter than its Content-Length
            return 0
        self._fits(conn)
        if conn.unsent:
            return EVENT_WRITE
        conn.end_response()
        if conn.keep_alive:
            conn.begin()
            self._wait(conn, self._receive, self.cfg.keepalive if self.alive else STOP_SECONDS)
        else:
            conn.sock.shutdown(1)
            self._wait(conn, self._linger, LINGER_SECONDS)
        return 0

    def _linger(self, conn: Connection) -> int:
        """Discard what the client still sends, until it closes the connection too."""
        if not conn.sock.recv_into(self._buffer):
            raise ConnectionResetError
        return EVENT_READ

    def _fits(self, conn: Connection) -> bool:
        """Bring a connection's bytes in transit to account, and return whether all of them are within the limit.

        To get there, other responses that their clients do not take are dropped, oldest first.
        """
        size = conn.transit_bytes()
        self._transit += size - conn.transit
        conn.transit = size
        while self._transit > self.wsgi.transit_bytes:
            oldest = next((other for other in self.waiting if other.unsent and other.transit and other is not conn), None)
            if oldest is None:
                return False
            self._drop(oldest)
        return True

    def _refuse(self, conn: Connection, status: int, title: str, detail: str) -> None:
        """Answer a request that does not reach the app, without quoting it, and close."""
        now = time.monotonic()
        if now >= self._next_log:
            self._next_log = now + LOG_SECONDS
            logger.warning("request refused", extra={"status": status, "detail": detail, "remote": (conn.client or ("",))[0]})
        conn.release()
        conn.keep_alive = False
        conn.sendall(_problem(status, title, detail))
        self._wait(conn, self._send, LINGER_SECONDS)

    # ---- threads -------------------------------------------------------------------------------------------------------

    def handle(self, conn: Connection) -> None:
        """Let the app answer a complete request; see ThreadWorker. Runs in a thread."""
        try:
            response, environ = create(conn.request, conn, conn.client, conn.server, self.cfg)
            environ |= {"wsgi.multithread": True, IS_CONNECTED: conn.is_connected}
            if not self.alive:
                response.force_close()
            pieces = self.wsgi(environ, response.start_response)
            conn.close_response = getattr(pieces, "close", nothing)
            conn.reserved = environ.get(RESERVED, 0)
            conn.respond(_written(conn, response, pieces))
        except Exception:
            logger.exception("unforeseen error")
            conn.keep_alive = False
            conn.end_response()
            conn.sendall(_problem(500, "Internal Server Error", "The service failed; see its log."))
        conn.release()
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            conn.send()

    def finish_request(self, conn: Connection, future: Future[None]) -> None:
        """Take a connection back from a thread; see ThreadWorker."""
        if future.cancelled() or future.exception() is not None:
            self._drop(conn)
        else:
            self._wait(conn, self._send, self.cfg.timeout)

    # ---- deadlines -----------------------------------------------------------------------------------------------------

    def murder_pending(self) -> None:
        """End the connections whose deadline has passed, and give free memory back; see ThreadWorker."""
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_SECONDS
        if now >= self._next_trim:
            self._next_trim = now + TRIM_SECONDS
            heaps.trim()
        for conn in [conn for conn in self.waiting if conn.deadline <= now]:
            step = self.waiting.get(conn)  # None: dropped to make room for another
            if step == self._receive and conn.head_complete:
                self._refuse(conn, 408, "Request Timeout", "The body arrived too slowly.")
            elif step:
                self._drop(conn)
        self._drop_stalled(now)

    def _drop_stalled(self, now: float) -> None:
        """Drop responses that their clients do not take, oldest first, until the requests that wait for memory can go on."""
        while self.wsgi.memory.shortage():
            stalled = next((conn for conn in self.waiting if conn.reserved and conn.stall_deadline <= now), None)
            if stalled is None:
                return
            self._drop(stalled)

    def murder_keepalived(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 (Gunicorn's)
        """Close all connections in the loop, if ``force``; see ThreadWorker."""
        for conn in list(self.waiting) if force else ():
            self._drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """Limit how long a stopping worker waits for heads of requests; see ThreadWorker."""
        for conn in self.waiting:
            if not conn.head_complete:
                conn.deadline = min(conn.deadline, deadline, time.monotonic() + STOP_SECONDS)


def _written(conn: Connection, response: Response, pieces: Iterable[bytes]) -> Iterator[None]:
    """Write a response, a piece at each step."""
    for piece in pieces:
        response.write(piece)
        yield
    response.close()
    conn.keep_alive = not response.should_close()


def _problem(status: int, title: str, detail: str) -> bytes:
    """A response with a problem+json, for a connection that is about to be closed."""
    body = dumps(problem(status, kebab(title.replace(" ", "-")), title, detail))
    head = f"HTTP/1.1 {status} {title}\r\nConnection: close\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def _reason(error: BaseException) -> str:
    """Why the parser rejects a request: in its words, or those of the error's name (``invalid header name``) if it quotes."""
    if isinstance(error, ValueError):
        return "a number has too many digits"
    if str(error) and not isinstance(error, QUOTING):
        return str(error)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()
