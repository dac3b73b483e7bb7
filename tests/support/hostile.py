"""Clients that misbehave on purpose: each behaviour is a generator that drives one connection and yields seconds to pause."""

from __future__ import annotations

import heapq
import itertools
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.serving import Server

POST = b"POST /v1/partitions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

Behaviour = "Callable[[socket.socket], Iterator[float]]"


def _send(sock: socket.socket, data: bytes) -> None:
    with suppress(BlockingIOError):
        sock.send(data)


def slow_reader(sock: socket.socket) -> Iterator[float]:
    """Takes a large response at 1 KB/s."""
    _send(sock, b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n")
    while True:
        yield 1.0
        with suppress(BlockingIOError):
            if not sock.recv(1024):
                return


def long_head(sock: socket.socket) -> Iterator[float]:
    """Sends more than a head may have, and never ends it."""
    _send(sock, b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"x" * 4000) for i in range(20)))
    while True:
        yield 0.2
        _send(sock, b"x")


def trickling_head(sock: socket.socket) -> Iterator[float]:
    """Sends a byte of a head now and then."""
    for byte in itertools.chain(POST, itertools.repeat(120)):
        _send(sock, bytes([byte]))
        yield 0.5


def trickling_body(sock: socket.socket) -> Iterator[float]:
    """Sends a body of 16 MiB at 80 kB/s."""
    _send(sock, POST + b"Content-Length: 16777216\r\n\r\n" + b"[" * 20_000)
    while True:
        yield 0.1
        _send(sock, b"[" * 8_000)


def tiny_chunks(sock: socket.socket) -> Iterator[float]:
    """Sends a body in chunks of one byte, as fast as they are taken."""
    _send(sock, POST + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        _send(sock, b"1\r\n[\r\n" * 2_000)
        yield 0.01


def silent(_: socket.socket) -> Iterator[float]:
    """Sends nothing."""
    while True:
        yield 1.0


BEHAVIOURS = (slow_reader, long_head, trickling_head, trickling_body, tiny_chunks, silent)


@contextmanager
def hostile(
    server: Server, behaviour: Any, count: int, *, wrap: Callable[[socket.socket], socket.socket] = lambda sock: sock
) -> Iterator[None]:
    """``count`` connections of one behaviour, each opened again when the server closes it; one thread drives them all.

    wrap : puts TLS around a connected socket
    """
    stop = threading.Event()
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))

    def opened() -> tuple[socket.socket, Iterator[float]]:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        sock.settimeout(5)
        sock.connect(address)
        sock = wrap(sock)
        sock.setblocking(False)
        return sock, behaviour(sock)

    def drive() -> None:
        number = itertools.count()
        queue: list[tuple[float, int, socket.socket | None, Iterator[float]]] = [
            (0.0, next(number), None, iter(())) for _ in range(count)
        ]
        while not stop.is_set():
            due, _, sock, pauses = heapq.heappop(queue)
            stop.wait(max(0.0, min(due - time.monotonic(), 1.0)))
            try:
                if sock is None:
                    sock, pauses = opened()
                pause = next(pauses)
            except (OSError, StopIteration):
                if sock is not None:
                    sock.close()
                sock, pause = None, 0.5
            heapq.heappush(queue, (time.monotonic() + pause, next(number), sock, pauses))
        for _, _, sock, _ in queue:
            if sock is not None:
                sock.close()

    thread = threading.Thread(target=drive)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
