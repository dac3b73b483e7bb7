"""A connection to a client: bytes of a socket → a complete request, and a response → bytes, without ever blocking."""

from __future__ import annotations

import io
import select
import ssl
import time
from collections import deque
from contextlib import suppress
from socket import MSG_PEEK, socket
from typing import TYPE_CHECKING, Any, Final

from gunicorn.asgi import parser as http
from gunicorn.sock import ssl_wrap_socket
from gunicorn.util import split_request_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gunicorn.config import Config

HEAD_SECONDS: Final = 10.0
"""Time limit for a request's head, TLS handshake included."""

STALL_SECONDS: Final = 5.0
"""How far a body or a response may fall behind MIN_RATE."""

MIN_RATE: Final = 64 * 2**10
"""Minimum rate of a body, in bytes per second, and of a response that keeps memory from other requests.

The whole body and the whole response have the time limit of a request each.
"""

MAX_HEAD_BYTES: Final = 64 * 2**10
"""Largest head of a request; a larger one gets a 431."""

IO_BYTES: Final = 256 * 2**10
"""Bytes received from or sent to one connection before it is the next one's turn."""

CHUNKED_BYTES: Final = 16 * 2**10
"""The same for a body in chunks: parsing one takes 5 µs, and everybody waits meanwhile. At least a TLS record."""

MIN_CHUNK_BYTES: Final = 16
"""Smallest mean size of a body's chunks, once there are FREE_CHUNKS of them."""

FREE_CHUNKS: Final = 512

AHEAD_BYTES: Final = 2**22
"""Most bytes of a response that are queued before they can be sent."""


def nothing() -> None:
    """What a response without ``close`` does when it ends."""


class Request(http.CallbackRequest):  # type: ignore[misc]
    """A complete request, as gunicorn.http.wsgi.create reads it."""

    _expected_100_continue = False  # the loop has answered it

    @classmethod
    def received(cls, parser: http.PythonProtocol, body: bytes, *, is_ssl: bool) -> Request:
        """Headers with an underscore are left out: in WSGI they would pass for others, or for SCRIPT_NAME.

        A complete body that came in chunks gets the length that it has: what its request may take depends on it.
        """
        request: Request = cls.from_parser(parser, is_ssl=is_ssl)
        request.path = split_request_uri(request.uri).path or ""  # undecoded: create decodes it
        request.headers = [(name, value) for name, value in request.headers if "_" not in name]
        if parser.is_chunked and parser.is_complete:
            request.headers = [header for header in request.headers if header[0] != "TRANSFER-ENCODING"]
            request.headers.append(("CONTENT-LENGTH", str(len(body))))
        request.body = io.BytesIO(body)
        return request


class Connection:
    """Receives one request at a time and sends its response.

    deadline : time.monotonic() until which the loop waits for the client
    stall_deadline : time.monotonic() at which the body or the response will be too far behind MIN_RATE
    transit : bytes of body and unsent response that the worker has on its account for this connection
    reserved : bytes of the response that the app has on its own account, until ``close_response`` is called
    keep_alive : whether a next request may follow the response
    head_complete : whether the current request's head has been received
    awaits_body : whether it has been, and it is not decided yet whether to receive the rest of the body
    """

    def __init__(self, cfg: Config, sock: socket, client: Any, server: Any, max_body_bytes: int) -> None:
        self.cfg, self.client, self.server = cfg, client, server
        self.sock: Any = sock  # an SSLSocket after the first step of a handshake
        self.deadline, self.stall_deadline, self.transit, self.reserved, self.keep_alive = 0.0, 0.0, 0, 0, False
        self.close_response: Callable[[], object] = nothing
        self.unsent: deque[bytes] = deque()
        self.request: Request | None = None
        self._sent = 0  # bytes of unsent[0]
        self._writing: Iterator[None] | None = None  # queues the rest of the response
        self._max_body_bytes = max_body_bytes
        self._handshake_pending = bool(cfg.is_ssl)
        self._leftover = b""
        sock.setblocking(False)
        self.begin()

    def begin(self) -> None:
        """Expect a request."""
        self._parser = http.PythonProtocol(
            on_headers_complete=self._on_head,
            on_body=self._on_body,
            limit_request_line=self.cfg.limit_request_line,
            limit_request_fields=self.cfg.limit_request_fields,
            limit_request_field_size=self.cfg.limit_request_field_size,
        )
        self._body = io.BytesIO()
        self._head_bytes = self._chunks = 0
        self.head_complete = self.awaits_body = False

    def is_idle(self) -> bool:
        """Whether nothing of the request has been received."""
        return not self._head_bytes

    def transit_bytes(self) -> int:
        """Bytes of body and unsent response, without those that the app has reserved."""
        return self._body.tell() + max(0, sum(map(len, self.unsent)) - self._sent - self.reserved)

    # ---- receive -------------------------------------------------------------------------------------------------------

    def receive(self, buffer: bytearray) -> bool:
        """Receive more of the request, and return whether it is complete.

        Raises BlockingIOError or ssl.SSLWant…Error if nothing has come, ParseError, ValueError (a number of too many digits), or
        another OSError if the connection is lost.
        """
        data = self._next_data(buffer)
        now = time.monotonic()
        if self.is_idle():
            self.deadline = now + HEAD_SECONDS
        had_head, body_bytes = self.head_complete, self._body.tell()
        self._parser.feed(data)
        if not had_head:
            self._head_bytes += len(data)
            self._body_deadline, self.stall_deadline = now + self.cfg.timeout, now + STALL_SECONDS
        if not self.head_complete:
            if self._head_bytes > MAX_HEAD_BYTES:
                message = f"The head is larger than {MAX_HEAD_BYTES} bytes"
                raise http.LimitRequestHeaders(message)
            return False
        self._progress(self._body.tell() - body_bytes, now)
        self.deadline = min(self._body_deadline, self.stall_deadline)
        if self._body.tell() > self._max_body_bytes:  # in chunks; the app refuses it when it has read that much
            self._parser.should_keep_alive = False
        elif not self._parser.is_complete:
            self.awaits_body = not had_head
            return False
        self._leftover = self._parser.remaining()
        self.request = Request.received(self._parser, self._body.getvalue(), is_ssl=self.cfg.is_ssl)
        return True

    def authorization(self) -> str | None:
        """The Authorization header of the current request; of several, their values as WSGI joins them."""
        values = [value for name, value in self._parser.headers if name == b"authorization"]
        return b",".join(values).decode("latin-1") if values else None

    def accept_body(self) -> None:
        """Receive the rest of the body, which the client may wait to send."""
        self.awaits_body = False
        self.stall_deadline = time.monotonic() + STALL_SECONDS
        if dict(self._parser.headers).get(b"expect", b"").lower() == b"100-continue":
            with suppress(BlockingIOError, ssl.SSLWantWriteError):
                self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def skip_body(self) -> None:
        """Take the request for complete without its body; the connection ends with the response."""
        self._parser.should_keep_alive = False
        self._body = io.BytesIO()
        self.request = Request.received(self._parser, b"", is_ssl=self.cfg.is_ssl)

    def _progress(self, size: int, now: float) -> None:
        """Move the stall deadline for bytes received or sent."""
        self.stall_deadline = min(self.stall_deadline + size / MIN_RATE, now + STALL_SECONDS)

    def _next_data(self, buffer: bytearray) -> bytes | memoryview:
        """What came with the request before, or what the socket has now. Raises the OSErrors of ``receive``."""
        if data := self._leftover:
            self._leftover = b""
            return data
        if self._handshake_pending:
            if not isinstance(self.sock, ssl.SSLSocket):
                if self.sock.recv(1, MSG_PEEK).isalpha():  # of a method; TLS begins with 22
                    message = "Plain HTTP was sent to an HTTPS port"
                    raise http.ParseError(message)
                self.sock = ssl_wrap_socket(self.sock, self.cfg)
            self.sock.do_handshake()
            self._handshake_pending = False
        size = self.sock.recv_into(buffer, IO_BYTES if self._parser.content_length else CHUNKED_BYTES)
        if not size:
            raise ConnectionResetError
        return memoryview(buffer)[:size]

    def _on_head(self) -> bool:
        """See PythonProtocol. Returns whether to ignore the body."""
        parser, headers = self._parser, dict(self._parser.headers)
        if parser.http_version == (1, 1) and b"host" not in headers:
            message = "Host is missing"
            raise http.InvalidHeader(message)
        if any(name == b"transfer-encoding" and value.lower() != b"chunked" for name, value in parser.headers):
            message = "Transfer-Encoding is not chunked alone"
            raise http.InvalidHeader(message)
        self.head_complete = True
        if (parser.content_length or 0) > self._max_body_bytes:  # the app refuses it by its length
            parser.should_keep_alive = False
            return True
        return False

    def _on_body(self, data: bytes) -> None:
        self._body.write(data)
        if self._parser.is_chunked:
            self._chunks += 1
            if self._chunks > FREE_CHUNKS and self._body.tell() < MIN_CHUNK_BYTES * self._chunks:
                message = f"The chunks have less than {MIN_CHUNK_BYTES} bytes each"
                raise http.InvalidChunkSize(message)

    # ---- send ----------------------------------------------------------------------------------------------------------

    def sendall(self, data: bytes) -> None:
        """Queue data for ``send``. Gunicorn's Response takes this object for a socket."""
        if not self.unsent and self._writing is None:
            self.stall_deadline = time.monotonic() + STALL_SECONDS
        if self.unsent and len(self.unsent[-1]) + len(data) <= IO_BYTES:
            self.unsent[-1] += data
        else:
            self.unsent.append(data)

    def respond(self, writing: Iterator[None]) -> None:
        """Queue the response, the rest of it when what is queued has been sent. writing : queues more of it at each step"""
        self._writing, self.stall_deadline = writing, time.monotonic() + STALL_SECONDS
        self.fill()

    def fill(self) -> None:
        """Queue more of the response, until AHEAD_BYTES of it wait to be sent or all of it is queued."""
        while self._writing is not None and sum(map(len, self.unsent)) < AHEAD_BYTES:
            if next(self._writing, self) is self:
                self._writing = None

    def send(self) -> None:
        """Send what the socket takes now. Raises ssl.SSLWant…Error, or another OSError if the connection is lost."""
        if not self.unsent:
            return
        with suppress(BlockingIOError):
            sent = self.sock.send(memoryview(self.unsent[0])[self._sent : self._sent + IO_BYTES])
            self._sent += sent
            self._progress(sent, time.monotonic())
        if self._sent == len(self.unsent[0]):
            self.unsent.popleft()
            self._sent = 0

    def release(self) -> None:
        """Let go of the request, whose bytes would otherwise last until the garbage collector comes by."""
        self.request, self._body = None, io.BytesIO()
        self._parser.reset()

    def end_response(self) -> None:
        """Let go of the response, which has been sent or never will be."""
        self.unsent.clear()
        self._writing = None
        self.close_response()
        self.close_response, self.reserved = nothing, 0

    def is_connected(self) -> bool:
        """Whether the client still listens; one that has closed its sending side is taken for gone. For the thread at work."""
        poll = select.poll()
        poll.register(self.sock, getattr(select, "POLLRDHUP", 0))  # Linux only
        return not poll.poll(0)
