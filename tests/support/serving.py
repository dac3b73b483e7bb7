"""Real servers: ours, the command as a user starts it, Gunicorn and its workers included; and those that ours asks.

A start loads modules and kernels for seconds of a core. Where it is not what a test is about, the server is forked from a process
that has loaded them, and calls the same command.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from random import SystemRandom
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING

import requests
from werkzeug.serving import make_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.context import ForkServerProcess
    from wsgiref.types import WSGIApplication


FEW_CELLS = 100_000
"""In place of ``MOST_CELLS``: simulated timelines are drawn two or three times. A hundred draws of ids take 0.3 s, in each answer
that has new members."""


class Server:
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes] | Forked, url: str) -> None:
        self.process, self.url = process, url
        self.output = ""  # once it has ended

    def workers(self) -> list[int]:
        """The process ids of its workers."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def processor_seconds(self) -> float:
        """What it and its workers have used of the processors so far."""
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in (self.process.pid, *self.workers())]
        return sum(int(ticks) for field in fields for ticks in field[11:13]) / os.sysconf("SC_CLK_TCK")

    def metric(self, name: str, **labels: str) -> float | None:
        """The value of a metric's series, or None if it is not there."""
        pairs = {f'{key}="{value}"' for key, value in labels.items()}
        for line in requests.get(f"{self.url}/metrics", timeout=120).text.splitlines():
            series, _, value = line.rpartition(" ")
            series_name, _, rest = series.partition("{")
            if series_name == name and pairs <= set(rest.rstrip("}").split(",")):
                return float(value)
        return None


_GIVEN: set[int] = set()
"""The ports that ``free_port`` has given in this process."""


def free_port() -> int:
    """A port that nobody listens on now, and below those that Linux gives to connections: it is still free in half a minute."""
    while True:
        port = SystemRandom().randrange(10_000, 32_768)  # Hypothesis seeds the others, alike in each process of the suite
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port


class Forked:
    """A process that ``multiprocessing`` has started, with the methods of ``Popen`` that tests use."""

    def __init__(self, process: ForkServerProcess) -> None:
        process.start()
        self._process, self.pid = process, process.pid or 0

    def poll(self) -> int | None:
        """Its status, if it has ended."""
        return self._process.exitcode

    returncode = property(poll)

    def wait(self, timeout: float) -> None:
        """Wait for its end."""
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired("serve", timeout)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self._process.kill()


@contextmanager
def serving(
    *,
    verify: str | None = None,
    until: str = "/readyz",
    forked: bool = False,
    open_files: int | None = None,
    few_draws: bool = False,
    **environment: str,
) -> Iterator[Server]:
    """``partition-allocator serve`` with these settings, ready; stopped by SIGTERM at the end.

    verify : the certificates to trust, where the settings say TLS
    until : what the server answers with 200 when it may be used
    forked : from a process that has loaded what a start loads, which takes a quarter of the time
    open_files : of a forked one, how many files it may have open, if not as many as this process
    few_draws : whether a forked one draws with FEW_CELLS
    """
    port, environment = free_port(), {**os.environ, **environment}
    with NamedTemporaryFile("r") as output, Path(output.name).open("ab") as written:
        if forked:
            context = get_context("forkserver")
            context.set_forkserver_preload(["tests.support.loaded"])
            process = Forked(context.Process(target=serve, args=(port, environment, written.name, open_files, few_draws)))
        else:
            command = [sys.executable, "-m", "service", "serve", "--port", str(port)]
            process = subprocess.Popen(command, env=environment, stdout=written, stderr=subprocess.STDOUT)
        server = Server(process, f"{'https' if verify else 'http'}://127.0.0.1:{port}")
        try:
            _wait_for(server, until, verify, output)
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            server.output = output.read()


def serve(port: int, environment: dict[str, str], output: str, open_files: int | None, few_draws: bool) -> None:  # noqa: FBT001
    """The command in this process. output : the file that has what it prints"""
    from service.decisions.rebalances import answer  # noqa: PLC0415 - the fork server has imported it
    from tests.support.loaded import main  # noqa: PLC0415 - as above

    if few_draws:
        answer.MOST_CELLS = FEW_CELLS
    if open_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.environ.clear()
    os.environ.update(environment)
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    main(["serve", "--port", str(port)])


def _wait_for(server: Server, path: str, verify: str | None, output: IO[str], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds  # kernels may have to be compiled
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise RuntimeError(f"the server ended: {output.read()}")
        with suppress(requests.ConnectionError, requests.Timeout):  # a busy machine answers late
            if requests.get(server.url + path, timeout=5, verify=verify).ok:
                return
        time.sleep(0.05)
    raise TimeoutError(f"the server did not answer {path}")


@contextmanager
def answering(app: WSGIApplication, certificate: tuple[str, str] | None = None) -> Iterator[str]:
    """Something that others ask, on a thread of this process: its URL. certificate : its file and the key's, for TLS"""
    server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=certificate)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


DRIPS = {"in the head": b"HTTP/1.1 200 OK\r\nX-Drip: ", "in the body": b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"}


@contextmanager
def dripping(prefix: bytes) -> Iterator[tuple[str, list[socket.socket]]]:
    """A host that sends ``prefix`` and then a byte every 0.2 s for ever: its URL, and how many connections it has had."""
    ended = threading.Event()
    connections: list[socket.socket] = []

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(4096)
            connection.sendall(prefix)
            while not ended.wait(0.2):
                connection.sendall(b"a")

    def accept() -> None:
        with suppress(OSError):
            while True:
                connections.append(listener.accept()[0])
                threads.append(threading.Thread(target=answer, args=connections[-1:]))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads = [threading.Thread(target=accept)]
        threads[0].start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/jwks", connections
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()
