"""Gunicorn's threaded worker, with patience for slow clients that costs no thread and has an end.

Gunicorn hands a connection to a thread and lets the thread wait for the request, so a few clients that send a byte now and then
hold all threads. Here the loop that accepts connections also gathers their requests: a thread gets a request when its head and
the first GATHERED bytes of its body are there. What a thread still reads has to come at RATE; what it writes has to be taken in
the time that a request may last. A connection that is being closed lingers in the loop too. Of more connections than a worker may
have, the one that has waited longest makes room.
"""

from __future__ import annotations

import errno
import logging
import re
import ssl
import time
from contextlib import suppress
from selectors import EVENT_READ
from typing import TYPE_CHECKING, Any, Final

from gunicorn.http import errors
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader
from gunicorn.sock import ssl_wrap_socket
from gunicorn.util import close as close_socket
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import TConn, ThreadWorker

from service.web.json_codec import dumps
from service.web.problems import MEDIA_TYPE, TYPE_PREFIX, kebab

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from socket import socket

logger = logging.getLogger(__name__)

HEAD_SECONDS: Final = 10.0
"""How long a request's head, and the first GATHERED bytes of its body, may take to come."""

GATHERED: Final = 16 * 2**10
"""Bytes of a body that come before a thread looks at it; most bodies are shorter."""

LONGEST_HEAD: Final = 64 * 2**10
"""Bytes after which a head is handed to the parser as it is, which refuses it."""

STALL_SECONDS: Final = 5.0
"""How long the rest of a body may come to a standstill."""

RATE: Final = 64 * 2**10
"""Bytes a second that the rest of a body has to come at, apart from that."""

LINGER_SECONDS: Final = 2.0
"""How long a client may take to close a connection after us (RFC 9112, 9.6), and a stopping worker waits for a next request."""

SWEEP_SECONDS: Final = 0.25
"""How often it is looked for connections whose time is over."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
_AT_ONCE = re.compile(rb"\r\n(?:transfer-encoding|expect):", re.IGNORECASE)

REFUSALS: Final = {
    errors.LimitRequestLine: (414, "URI Too Long"),
    errors.LimitRequestHeaders: (431, "Request Header Fields Too Large"),
    errors.ExpectationFailed: (417, "Expectation Failed"),
    errors.UnsupportedTransferCoding: (501, "Not Implemented"),
    errors.InvalidHTTPVersion: (505, "HTTP Version Not Supported"),
}
"""What is wrong with a request that never got as far as the app; everything else of the parser's is a 400."""


class TooSlow(errors.NoMoreData, TimeoutError):  # type: ignore[misc]
    """A client did not send in time. To Gunicorn it is one that has gone."""


class Patience(SocketUnreader):  # type: ignore[misc]
    """What a thread reads from a client. Raises TooSlow."""

    def __init__(self, sock: socket) -> None:
        super().__init__(sock)
        self.begin()

    def begin(self) -> None:
        """A request is about to be read."""
        self._deadline = time.monotonic() + STALL_SECONDS

    def chunk(self, size_hint: int | None = None) -> bytes:
        """See SocketUnreader."""
        before = self.sock.gettimeout()
        self.sock.settimeout(max(self._deadline - time.monotonic(), 0.001))
        try:
            data: bytes = super().chunk(size_hint)
        except TimeoutError:
            raise TooSlow from None
        finally:
            self.sock.settimeout(before)
        self._deadline = min(self._deadline + len(data) / RATE, time.monotonic() + STALL_SECONDS)
        return data


class Connection(TConn):  # type: ignore[misc]
    """A client's connection. deadline : until when the loop waits for it, by time.monotonic; idle : between two requests"""

    sock: Any
    parser: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.deadline = 0.0
        self.idle = False
        self.data_ready = True
        self._gathered = bytearray()
        self._encrypted = not self.cfg.is_ssl

    def init(self) -> None:
        """A thread begins with a request that has been gathered; see TConn."""
        if self.parser is None:
            self.parser = RequestParser(self.cfg, self.sock, self.client)
            self.parser.unreader = Patience(self.sock)
        self.sock.settimeout(self.cfg.timeout)
        self.parser.unreader.unread(bytes(self._gathered))
        self.parser.unreader.begin()
        self._gathered.clear()

    def gather(self) -> None:
        """Take what has come until it is enough for a thread.

        Raises BlockingIOError or ssl.SSLWantReadError if it is not yet, another OSError if it will never be.
        """
        if self.parser is not None:  # what came with the request before
            self._gathered += self.parser.unreader.take_buffered()
        if not self._encrypted:
            if not isinstance(self.sock, ssl.SSLSocket):
                self.sock = ssl_wrap_socket(self.sock, self.cfg)
            self.sock.do_handshake()
            self._encrypted = True
        while not self._enough():
            data = self.sock.recv(GATHERED)
            if not data:
                if b"\r\n\r\n" in self._gathered:  # a thread will say what is wrong with it
                    return
                raise ConnectionResetError("closed before a request was there")
            self.idle = False
            self._gathered += data

    def _enough(self) -> bool:
        end = self._gathered.find(b"\r\n\r\n")
        if end < 0:
            return len(self._gathered) > LONGEST_HEAD
        head = self._gathered[: end + 2]
        if _AT_ONCE.search(head):
            return True
        length = _LENGTH.search(head)
        return len(self._gathered) - end - 4 >= (min(int(length[1]), GATHERED) if length else 0)


class Worker(ThreadWorker):  # type: ignore[misc]
    """See the module. ``waiting`` are the connections that no thread has: idle, half a request, or being closed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.waiting: dict[Connection, None] = {}
        self._next_sweep = 0.0

    # ---- connections come ----------------------------------------------------------------------------------------------

    def accept(self, listener: socket) -> None:
        """Take a connection that has come, and what it has sent so far."""
        self._accept(listener)

    def _accept(self, listener: socket) -> bool:
        """Was there one?"""
        if self.waiting and self.nr_conns >= self.worker_connections - 1:
            self._drop(next(iter(self.waiting)))
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and self.waiting:
                self._drop(next(iter(self.waiting)))
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return False
        self.nr_conns += 1
        conn = Connection(self.cfg, client, address, listener.getsockname())
        self._wait(conn, HEAD_SECONDS, self._gather, at_once=True)
        return True

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001 (Gunicorn's)
        """See ThreadWorker.

        A worker that stops takes what the kernel has accepted for it, for those clients may have sent all; then it stops
        listening, so that others are refused at once and can go elsewhere.
        """
        super().set_accept_enabled(enabled)
        if not self.alive:
            for listener in self.sockets:
                while listener.fileno() >= 0 and self._accept(listener):
                    pass
                listener.close()

    # ---- and wait ------------------------------------------------------------------------------------------------------

    def _wait(self, conn: Connection, seconds: float, readable: Callable[[Connection], None], *, at_once: bool) -> None:
        """Let the loop see to a connection whenever something comes from it, until its time is over.

        at_once : something may be there already
        """
        conn.deadline = time.monotonic() + seconds
        self.waiting[conn] = None
        try:
            conn.sock.setblocking(False)
            if at_once:
                readable(conn)
            if conn in self.waiting:
                self.poller.register(conn.sock.fileno(), EVENT_READ, lambda _: readable(conn))
        except (OSError, ValueError):
            self._drop(conn)

    def _forget(self, conn: Connection) -> None:
        """The loop is done with a connection."""
        del self.waiting[conn]
        with suppress(KeyError, ValueError):
            self.poller.unregister(conn.sock.fileno())

    def _drop(self, conn: Connection) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        close_socket(conn.sock)

    def _gather(self, conn: Connection) -> None:
        """Something of a request has come, perhaps all of it."""
        was_idle = conn.idle
        try:
            conn.gather()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if was_idle and not conn.idle:  # the time for its next request begins
                del self.waiting[conn]
                self.waiting[conn] = None
                conn.deadline = time.monotonic() + HEAD_SECONDS
        except OSError:
            self._drop(conn)
        else:
            self._forget(conn)
            self.enqueue_req(conn)

    def _linger(self, conn: Connection) -> None:
        """Throw away what comes of a connection that is being closed, until the client closes it too."""
        try:
            while conn.sock.recv(GATHERED):
                pass
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except (OSError, ValueError):
            pass
        self._drop(conn)

    def finish_request(self, conn: Connection, future: Future[bool]) -> None:
        """A thread is done with a connection; see ThreadWorker."""
        if not future.cancelled() and future.exception() is None and future.result():
            conn.idle = True
            left = conn.parser.unreader.buf.getvalue() or (isinstance(conn.sock, ssl.SSLSocket) and conn.sock.pending())
            self._wait(conn, self.cfg.keepalive if self.alive else LINGER_SECONDS, self._gather, at_once=bool(left))
            return
        try:
            conn.sock.shutdown(1)
        except (OSError, ValueError):
            self.nr_conns -= 1
            close_socket(conn.sock)
        else:
            self._wait(conn, LINGER_SECONDS, self._linger, at_once=True)

    # ---- and go --------------------------------------------------------------------------------------------------------

    def murder_pending(self) -> None:
        """Close the connections whose time is over; see ThreadWorker."""
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_SECONDS
        for conn in [conn for conn in self.waiting if conn.deadline <= now]:
            self._drop(conn)

    def murder_keepalived(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 (Gunicorn's)
        """Close all connections that still wait, if ``force``; see ThreadWorker."""
        for conn in list(self.waiting) if force else ():
            self._drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """A stopping worker gives everybody until then to send what they may be sending; see ThreadWorker."""
        for conn in self.waiting:
            conn.deadline = min(conn.deadline, deadline)

    def handle_error(self, req: Any, client: socket, addr: Any, exc: BaseException) -> None:
        """Answer what never got as far as the app, without quoting it; see gunicorn.workers.base.Worker."""
        if isinstance(exc, ssl.SSLError):
            return
        if isinstance(exc, errors.ParseException) and not isinstance(exc, errors.ConfigurationProblem):
            status, title = REFUSALS.get(type(exc), (400, "Bad Request"))
            detail = f"The request is not HTTP as it should be: {_words(exc)}."
            logger.warning(
                "request refused", extra={"status": status, "reason": type(exc).__name__, "remote": (addr or ("",))[0]}
            )
        else:
            status, title, detail = 500, "Internal Server Error", "The service failed; its log says why."
            logger.error("unforeseen error", exc_info=exc)
        kind = TYPE_PREFIX + kebab(title.replace(" ", "-"))
        body = dumps({"type": kind, "title": title, "status": status, "detail": detail})
        head = f"HTTP/1.1 {status} {title}\r\nConnection: close\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}"
        with suppress(OSError):  # the client may have gone
            write_nonblock(client, head.encode() + b"\r\n\r\n" + body)


def _words(error: BaseException) -> str:
    """``InvalidHeaderName`` → ``invalid header name``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()
