"""Clients that send or read slowly, or lie about what they send: everybody else is answered within a second."""

from __future__ import annotations

import json
import resource
import socket
import ssl
import time
from pathlib import Path

import pytest
import requests
import trustme
from gunicorn.config import Config

from service.server.worker import Connection
from tests.support.hostile import BEHAVIOURS, hostile, long_head, silent, slow_reader, tiny_chunks, trickling_body, trickling_head
from tests.support.serving import Server, serving

PATH = "/v1/partitions"
QUESTION = {"partitions_count": 12, "keys": ["order-1", None]}
HEAD = b"POST /v1/partitions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server():
    with serving(ALLOCATOR_WORKERS="1") as running:
        yield running


def port(server: Server) -> int:
    return int(server.url.rpartition(":")[2])


def slowest(server: Server, seconds: float, verify: str | None = None) -> float:
    """The longest that readiness or a decision took, in so many seconds; every one of them answered."""
    longest, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        assert requests.get(server.url + "/readyz", timeout=5, verify=verify).ok
        middle = time.monotonic()
        response = requests.post(server.url + PATH, json=QUESTION, timeout=5, verify=verify)
        assert response.json()["partitions"][0] == 10
        longest = max(longest, middle - start, time.monotonic() - middle)
        time.sleep(0.05)
    return longest


def said(sock) -> bytes:
    """All that the server says until it closes the connection."""
    data = b""
    while piece := sock.recv(65536):
        data += piece
    return data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "count"),
    [(slow_reader, 80), (long_head, 80), (trickling_head, 200), (trickling_body, 32), (tiny_chunks, 60), (silent, 200)],
)
def test_nobody_waits_for_hostile_clients(server, behaviour, count):
    with hostile(server, behaviour, count):
        time.sleep(1)
        assert slowest(server, 5) < 1


@pytest.mark.slow
def test_nobody_waits_for_hostile_clients_of_all_kinds_at_once(server):
    from contextlib import ExitStack

    with ExitStack() as stack:
        for behaviour in BEHAVIOURS:
            stack.enter_context(hostile(server, behaviour, 30))
        time.sleep(1)
        assert slowest(server, 5) < 1


@pytest.mark.slow
@pytest.mark.parametrize(("behaviour", "count"), [(slow_reader, 80), (trickling_body, 32)])
def test_nobody_waits_for_hostile_clients_over_tls(behaviour, count, tmp_path):
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    cert, key, trusted = tmp_path / "cert.pem", tmp_path / "key.pem", str(tmp_path / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(trusted)
    context = ssl.create_default_context(cafile=trusted)
    with (
        serving(ALLOCATOR_TLS_CERT=str(cert), ALLOCATOR_TLS_KEY=str(key), ALLOCATOR_WORKERS="1", verify=trusted) as server,
        hostile(server, behaviour, count, wrap=lambda sock: context.wrap_socket(sock, server_hostname="localhost")),
    ):
        time.sleep(3)
        assert slowest(server, 5, trusted) < 1


@pytest.mark.slow
def test_a_body_has_a_deadline_as_a_whole():
    """However steadily it comes: 400 kB/s here, of 16 MiB."""
    with serving(ALLOCATOR_WORKERS="1", ALLOCATOR_MAX_REQUEST_SECONDS="3") as server:
        with socket.create_connection(("127.0.0.1", port(server)), timeout=20) as sock:
            sock.sendall(HEAD + b"Content-Length: 16777216\r\n\r\n")
            start = time.monotonic()
            sock.settimeout(0.1)
            while time.monotonic() - start < 10:
                sock.sendall(b"[" * 40_000)
                try:
                    answer = sock.recv(65536)
                    break
                except TimeoutError:
                    pass
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert 2.5 < time.monotonic() - start < 5


@pytest.mark.slow
def test_responses_that_nobody_reads_make_room_for_others():
    """Each is 9 MB, and they would be 700 MB in all; the worker keeps 256 MiB of them."""
    placement = {"placer": "striped", "partitions_count": 250_000, "replication_factor": 1, "brokers": [{"broker_id": 0}]}
    body = json.dumps(placement).encode()
    request = HEAD.replace(b"partitions", b"replica-placements") + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with serving(ALLOCATOR_WORKERS="1", ALLOCATOR_MAX_BODY_BYTES="1048576") as server:
        lazy = []
        try:
            for _ in range(80):
                sock = socket.socket()
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                sock.connect(("127.0.0.1", port(server)))
                sock.settimeout(20)
                sock.sendall(request)
                lazy.append(sock)
                assert sock.recv(100).startswith(b"HTTP/1.1 200 OK")
            status = Path(f"/proc/{server.workers()[0]}/status").read_text()
            assert int(status.split("VmRSS:")[1].split()[0]) < 700 * 1024
            assert slowest(server, 1) < 1
            assert len(lazy.pop().recv(10**6)) > 0, "the last one is still there"
        finally:
            for sock in lazy:
                sock.close()


@pytest.mark.slow
def test_few_open_files_leave_health_alone():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    try:
        context = serving(ALLOCATOR_WORKERS="1")
        server = context.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    try:
        with hostile(server, silent, 400):
            time.sleep(1)
            assert slowest(server, 3) < 1
            assert requests.get(server.url + "/healthz", timeout=5).status_code == 200
            assert requests.get(server.url + "/metrics", timeout=5).status_code == 200
    finally:
        context.__exit__(None, None, None)


@pytest.mark.slow
def test_an_idle_connection_is_kept_for_as_long_as_the_setting_says():
    with serving(ALLOCATOR_WORKERS="1", ALLOCATOR_KEEP_ALIVE_SECONDS="4") as server:
        with socket.create_connection(("127.0.0.1", port(server)), timeout=20) as sock:
            for _ in range(2):
                sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK")
                time.sleep(3)
            start = time.monotonic()
            assert sock.recv(1) == b""
            assert 0.3 < time.monotonic() - start < 3


def test_a_script_name_is_nobodys_to_set():
    """Neither a header nor the environment takes a prefix off the path."""
    with serving(ALLOCATOR_WORKERS="1", SCRIPT_NAME="/prefix") as server:
        assert requests.get(server.url + "/healthz", timeout=5).ok
        with socket.create_connection(("127.0.0.1", port(server)), timeout=20) as sock:
            sock.sendall(b"GET /prefix/healthz HTTP/1.1\r\nHost: x\r\nSCRIPT_NAME: /prefix\r\nConnection: close\r\n\r\n")
            assert said(sock).startswith(b"HTTP/1.1 404 ")


def test_a_client_that_has_closed_its_connection_is_not_connected():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        conn = Connection(Config(), ours, "", "", 1)
        assert conn.is_connected()
        theirs.sendall(b"x")
        assert conn.is_connected()
        theirs.close()
        assert not conn.is_connected()
