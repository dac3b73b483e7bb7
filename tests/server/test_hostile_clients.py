"""Clients that send or read slowly, or lie about what they send: everybody else is answered."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median

import pytest
import requests
from flask import Request
from gunicorn.config import Config
from gunicorn.http.wsgi import create

from service.server.connection import Connection
from tests.server.conftest import children_seconds
from tests.support.hostile import BEHAVIOURS, hostile, long_head, silent, slow_reader, tiny_chunks, trickling_body, trickling_head
from tests.support.serving import Server, serving

QUESTION = {"partitions_count": 12, "keys": ["order-1", None]}
HEAD = b"POST /v1/partitions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def tight():
    """A server with tight limits, 256 open files among them."""
    settings = {
        "ALLOCATOR_WORKERS": "1",
        "ALLOCATOR_MAX_BODY_BYTES": "1048576",
        "ALLOCATOR_MAX_DECISION_BYTES": "300000000",
        "ALLOCATOR_MAX_REQUEST_SECONDS": "10",
        "ALLOCATOR_KEEP_ALIVE_SECONDS": "7",
        "SCRIPT_NAME": "/prefix",
    }
    with serving(forked=True, open_files=256, **settings) as running:
        yield running


@contextmanager
def connection(server: Server, receive_buffer: int | None = None):
    with socket.socket() as sock:
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(60)
        sock.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        yield sock


def assert_prompt(server: Server, seconds: float, verify: str | None = None) -> None:
    """For so many seconds readiness and decisions are answered right, most of them within five seconds.

    A request that waited for a hostile client would wait until the server gives that client up, which takes it longer, however
    few seconds these are. Without other work on the machine nine of ten are answered within one second.
    """
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        assert requests.get(server.url + "/readyz", timeout=120, verify=verify).ok
        middle = time.monotonic()
        response = requests.post(server.url + "/v1/partitions", json=QUESTION, timeout=120, verify=verify)
        assert response.json()["partitions"][0] == 10
        times.append(max(middle - start, time.monotonic() - middle))
        time.sleep(0.05)
    assert median(times) < 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "count"),
    [(slow_reader, 80), (long_head, 80), (trickling_head, 200), (trickling_body, 32), (tiny_chunks, 60), (silent, 200)],
)
def test_hostile_clients_delay_no_others(fresh, behaviour, count):
    with hostile(fresh.server, behaviour, count):
        time.sleep(1)
        assert_prompt(fresh.server, 1)


@pytest.mark.slow
def test_hostile_clients_of_all_kinds_at_once_delay_no_others(fresh):
    with ExitStack() as stack:
        for behaviour in BEHAVIOURS:
            stack.enter_context(hostile(fresh.server, behaviour, 30))
        time.sleep(1)
        assert_prompt(fresh.server, 1)


@pytest.mark.slow
def test_hostile_clients_over_tls_delay_no_others(tls):
    context = ssl.create_default_context(cafile=tls.trusted)

    def wrap(sock: socket.socket) -> socket.socket:
        return context.wrap_socket(sock, server_hostname="localhost")

    for behaviour, count in ((slow_reader, 80), (trickling_body, 32)):
        with hostile(tls.server, behaviour, count, wrap=wrap):
            time.sleep(3)
            assert_prompt(tls.server, 1, tls.trusted)


@pytest.mark.slow
def test_a_body_has_a_deadline_as_a_whole(tight):
    """However steadily it comes: 80 kB/s here."""
    with connection(tight) as sock:
        sock.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
        start = time.monotonic()
        sock.settimeout(0.1)
        answer = b""
        while not answer:  # 12.5 s, if nothing ends it
            sock.sendall(b"[" * 8_000)
            with suppress(TimeoutError):
                answer = sock.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - start > 9


@pytest.mark.slow
def test_unread_responses_make_room_for_others(tight):
    """Each is 22 MB, and they would be 530 MB in all; the worker keeps 300 MB of them, and drops the oldest after 5 s."""
    placement = {"placer": "striped", "partitions_count": 250_000, "replication_factor": 1, "brokers": [{"broker_id": 0}]}
    body = json.dumps(placement).encode()
    request = HEAD.replace(b"partitions", b"replica-placements") + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with ExitStack() as stack:
        for _ in range(24):
            sock = stack.enter_context(connection(tight, receive_buffer=2048))
            sock.sendall(request)
            assert sock.recv(100).startswith(b"HTTP/1.1 200 OK")
        status = Path(f"/proc/{tight.workers()[0]}/status").read_text()
        assert int(status.split("VmRSS:")[1].split()[0]) < 1_000 * 1024
        assert sock.recv(1000), "the newest is still being sent"
        assert_prompt(tight, 1)


@pytest.mark.slow
def test_few_open_files_leave_health_alone(tight):
    with hostile(tight, silent, 400):
        time.sleep(1)
        assert_prompt(tight, 1)
        for path in ("/healthz", "/metrics", "/docs/"):
            assert requests.get(tight.url + path, timeout=120).status_code == 200


@pytest.mark.slow
def test_an_idle_connection_is_kept_for_as_long_as_the_setting_says(tight):
    with connection(tight) as sock:
        for pause in (3, 0):  # Gunicorn's default is 2 s
            start = time.monotonic()
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK")
            time.sleep(pause)
        assert sock.recv(1) == b""
        assert time.monotonic() - start > 6


@pytest.mark.slow
def test_a_script_name_is_ignored(tight):
    """Neither a header nor the environment takes a prefix off the path."""
    assert requests.get(tight.url + "/healthz", timeout=120).ok
    with connection(tight) as sock:
        sock.sendall(b"GET /prefix/healthz HTTP/1.1\r\nHost: x\r\nSCRIPT_NAME: /prefix\r\nConnection: close\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 404 ")


@pytest.mark.slow
def test_a_path_is_written_as_in_the_contract(tight):
    """What is refused by its text in front of the service is not there under another one."""
    statuses = {}
    for target in (
        "/metrics",
        "//metrics",
        "/%6detrics",
        "/%2Fmetrics",
        "/metrics/",
        "http://x/metrics",
        "http://x//metrics",
        "/docs",
        "/docs/",
        "//docs/swagger-ui.css",
        "/v1/reassignments%3Alint",
    ):
        with connection(tight) as sock:
            sock.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            statuses[target] = sock.recv(65536).split()[1]
    answered = {target for target, status in statuses.items() if status == b"200"}
    assert answered == {"/metrics", "http://x/metrics", "/docs", "/docs/"}
    assert statuses.pop("/v1/reassignments%3Alint") == b"405"
    assert {status for target, status in statuses.items() if target not in answered} == {b"404"}


def test_a_client_that_has_closed_its_connection_is_not_connected():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        conn = Connection(Config(), ours, "", "", 1)
        assert conn.is_connected()
        theirs.sendall(b"x")
        assert conn.is_connected()
        theirs.close()
        assert not conn.is_connected()


@pytest.mark.slow
def test_an_idle_server_ends_without_freeing_every_object(tight, imports):
    """That takes as much of the processors' time as the imports, and ten seconds where others want them. It ends ``tight``."""
    with requests.Session() as session:  # whose connection stays open
        assert session.get(f"{tight.url}/healthz", timeout=120).ok
        time.sleep(1)
        others = children_seconds()
        before = tight.processor_seconds()
        tight.process.send_signal(signal.SIGTERM)
        tight.process.wait(120)
    assert children_seconds() - others - before < 0.7 * imports
    assert tight.process.returncode == 0


def test_a_body_in_chunks_has_the_length_that_it_turned_out_to_have():
    """What a request may take of the CPU is in proportion to it, also where a view reads the body as a stream."""
    theirs, ours = socket.socketpair()
    with theirs, ours:
        conn = Connection(Config(), ours, "", "", 2**20)
        theirs.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"800\r\n%s\r\n" % bytes(2048) * 3 + b"0\r\n\r\n")
        while not conn.receive(bytearray(2**18)):
            pass
        environ = create(conn.request, ours, ("", 0), ("", 0), conn.cfg)[1]
        assert Request(environ).content_length == 3 * 2048
        assert environ["wsgi.input"].read() == bytes(3 * 2048)
