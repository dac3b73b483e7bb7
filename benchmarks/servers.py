"""Both sides of an HTTP benchmark: the service, a bare Flask app with the same Gunicorn settings, and clients."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import Skipped, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def serving(module: str, *arguments: str) -> Iterator[int]:
    """Run ``python -m module …`` on a free port. The value is the port, once the server accepts connections."""
    with server(module, *arguments) as (port, _):
        yield port


@contextmanager
def server(module: str, *arguments: str) -> Iterator[tuple[int, int]]:
    """Like ``serving``; the value is the port and the process id."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL
    )
    try:
        _wait_until_ready(process, port)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


def processes_of(process_id: int) -> list[int]:
    """A process and all that it started, and so on. Linux only."""
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text("ascii").split()
    return [process_id, *(each for child in children for each in processes_of(int(child)))]


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(1200):
        if process.poll() is not None:
            raise RuntimeError("the server exited before it accepted connections")
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the server does not accept connections")


def require_wrk() -> None:
    """Raise Skipped if wrk is missing."""
    if shutil.which("wrk") is None:
        raise Skipped("wrk is missing: apt-get install wrk")


def cpu_seconds_per_request(port: int, process_id: int, path: str, run_seconds: int) -> float:
    """Seconds of CPU that a server's processes take for each ``GET path`` which wrk sends over eight connections."""
    before = _cpu_seconds(process_id)
    run = subprocess.run(
        ["wrk", "-t1", "-c8", f"-d{run_seconds}s", f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True
    )
    taken = _cpu_seconds(process_id) - before
    found = re.search(r"(\d+) requests in", run.stdout)
    if "Non-2xx" in run.stdout or "Socket errors" in run.stdout or found is None:
        raise RuntimeError(run.stdout)
    return taken / int(found[1])


def _cpu_seconds(process_id: int) -> float:
    """Of a process and all that it started. Linux only."""
    stats = [Path(f"/proc/{each}/stat").read_text("ascii").rpartition(")")[2].split() for each in processes_of(process_id)]
    return sum(int(ticks) for fields in stats for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")


def post(port: int, path: str, body: bytes, media_type: str) -> bytes:
    """The answer to one POST over a connection of its own. Raises RuntimeError unless its status is 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    try:
        connection.request("POST", path, body, {"content-type": media_type, "accept": media_type})
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise RuntimeError(f"{path} answered {response.status}: {answer[:500]!r}")
    return answer


def post_seconds(port: int, path: str, body: bytes, media_type: str, *, runs: int = 5) -> float:
    """Wall time of ``post``, from connecting to the last byte of the answer."""
    return seconds(post, port, path, body, media_type, runs=runs)
