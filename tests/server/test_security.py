"""What answers and logs tell to whom, and how strangers are answered before their bodies."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from service.app import create_app
from service.config import Settings
from service.http.auth import new_token
from service.http.telemetry import logs
from tests.http.auth.test_credentials import bearer
from tests.support.serving import serving

ASK = "/v1/partitions?key=a&partitions_count=3"


# ---- answers and logs --------------------------------------------------------------------------------------------------


def test_answers_say_what_browsers_must_not_do(client):
    for response in (client.get(ASK), client.get("/v1/nowhere"), client.get("/metrics")):
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_no_page_of_another_origin_may_read_an_answer(client):
    for method in ("GET", "OPTIONS"):
        headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
        response = client.open(ASK, method=method, headers=headers)
        assert not [name for name, _ in response.headers if name.lower().startswith("access-control")]


def test_the_reference_page_allows_its_own_script_and_no_other(client):
    response = client.get("/docs/")
    policy = dict(part.split(" ", 1) for part in response.headers["Content-Security-Policy"].split("; "))
    script = response.text.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["script-src"] == f"'self' 'sha256-{digest}'"
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert "elsewhere" not in client.get("/docs/", headers={"Host": "elsewhere.example"}).text


@pytest.mark.parametrize("given", ["4bf92f3577b34da6a3ce929d0e0e4736", "job-7:retry/2", "A" * 128])
def test_a_callers_request_id_is_kept(client, given):
    assert client.get(ASK, headers={"X-Request-ID": given}).headers["X-Request-ID"] == given
    assert client.get("/v1/nowhere", headers={"X-Request-ID": given}).json["request_id"] == given


@pytest.mark.parametrize("given", ["", " ", "A" * 129, "é", "<script>", '"', "a b", "a\tb"])
def test_an_odd_request_id_is_replaced(client, given):
    request_id = client.get(ASK, headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert request_id != given
    assert len(bytes.fromhex(request_id)) == 16


def test_the_access_log_tells_of_requests_and_nothing_that_they_held(capfdbinary, tokens):
    client = create_app(Settings(tokens_file=str(tokens[0])), log_requests=True).test_client()
    secret = {"keys": ["secret-key"], "partitions_count": 3, "topic_name": "secret-topic"}
    headers = {**bearer(tokens[1]["partitions"]), "X-Request-ID": "asked"}
    assert client.post("/v1/partitions?explain=true", json=secret, headers=headers).status_code == 200
    client.get("/v1/partitions?key=secret-key", headers=headers)
    client.get("/secret-path?key=secret-key", headers=headers)
    client.get(ASK, headers=bearer("secret-token"))
    written = capfdbinary.readouterr().out
    lines = [json.loads(line) for line in written.splitlines()]
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/v1/partitions", 200),
        ("/v1/partitions", 422),
        ("unmatched", 404),
        ("/v1/partitions", 401),
    ]
    assert lines[0]["request_id"] == "asked"
    assert lines[0]["caller"] == "partitions-caller"
    assert {"timestamp", "method", "seconds", "bytes", "remote"} <= lines[0].keys()
    assert b"secret" not in written
    assert tokens[1]["partitions"].encode() not in written


def test_errors_are_logged_as_json_without_what_was_sent(capfdbinary):
    app = create_app()
    app.add_url_rule("/broken", view_func=lambda: {}["secret-key"])
    before = logging.root.handlers, logging.root.level
    try:
        logging.root.handlers = [logs.handler()]
        response = app.test_client().get("/broken?key=secret-key", headers={"X-Request-ID": "asked"})
    finally:
        logging.root.handlers, logging.root.level = before
        logging.captureWarnings(capture=False)
    assert response.status_code == 500
    assert response.json["request_id"] == "asked"
    assert "secret" not in response.text
    written = capfdbinary.readouterr().err
    told = json.loads(written.splitlines()[-1])
    assert told["event"] == "unforeseen error"
    assert told["request_id"] == "asked"
    assert told["exception"][0]["type"] == "KeyError"
    assert any("test_security" in frame for frame in told["exception"][0]["frames"])
    assert b"secret" not in written


# ---- bodies of strangers -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded_server(tmp_path_factory):
    """A server that asks for a token, and a token."""
    token, line = new_token("caller", ("partitions",))
    path = tmp_path_factory.mktemp("credentials") / "tokens"
    path.write_text(line)
    with serving(forked=True, ALLOCATOR_TOKENS_FILE=str(path), ALLOCATOR_AUTH="required", ALLOCATOR_WORKERS="1") as server:
        yield server, token


def sent(server, head: bytes, body: bytes = b"") -> bytes:
    """What the server says until it closes, to a client that sends this, and stops when it is no longer listened to."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=120) as sock:
        sock.sendall(head)
        with suppress(ConnectionError):
            sock.sendall(body)
        answer = b""
        with suppress(ConnectionError):
            while data := sock.recv(65536):
                answer += data
        return answer


POST = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
LENGTHS = {"a length": b"Content-Length: 200000000\r\n\r\n", "chunks": b"Transfer-Encoding: chunked\r\n\r\n"}


@pytest.mark.slow
@pytest.mark.parametrize("coding", LENGTHS)
@pytest.mark.parametrize("token", [b"", b"Authorization: Bearer wrong\r\n", b"Authorization: Basic dTpw\r\n"])
@pytest.mark.parametrize("expects", [b"", b"Expect: 100-continue\r\n"])
def test_a_stranger_is_answered_before_the_body(guarded_server, coding, token, expects):
    answer = sent(guarded_server[0], POST % b"/v1/partitions" + token + expects + LENGTHS[coding])
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"Connection: close" in answer
    assert b"WWW-Authenticate: Bearer" in answer
    assert b"100 Continue" not in answer


@pytest.mark.slow
def test_a_valid_token_beside_another_is_none_before_the_body_too(guarded_server):
    server, token = guarded_server
    both = b"Authorization: Bearer wrong\r\nAuthorization: Bearer %s\r\n" % token.encode()
    answer = sent(server, POST % b"/v1/partitions" + both + LENGTHS["a length"])
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"more than one Authorization header" in answer.partition(b"\r\n\r\n")[2]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "status"), [(b"/healthz", b"405"), (b"/nothing", b"404"), (b"/v1/nothing", b"404")])
def test_a_strangers_body_is_received_nowhere(guarded_server, path, status):
    assert sent(guarded_server[0], POST % path + LENGTHS["a length"], b"[" * 100_000).startswith(b"HTTP/1.1 %s " % status)


@pytest.mark.slow
def test_a_stranger_costs_no_memory_and_a_caller_is_answered(guarded_server):
    server, token = guarded_server
    head = POST % b"/v1/partitions" + LENGTHS["a length"]
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: sent(server, head, b"[" * 50_000_000), range(16)))
    assert all(not answer or answer.startswith(b"HTTP/1.1 401 ") for answer in answers)
    resident = Path(f"/proc/{server.workers()[0]}/status").read_text().split("VmHWM:")[1].split()[0]
    assert int(resident) < 400 * 1024
    body = json.dumps({"partitions_count": 12, "keys": ["order-1"] * 100_000}).encode()
    headers = {**bearer(token), "Content-Type": "application/json", "Expect": "100-continue"}
    for data in (body, iter([body[:70_000], body[70_000:]])):
        answer = requests.post(f"{server.url}/v1/partitions", data=data, headers=headers, timeout=120)
        assert answer.json()["partitions"] == [10] * 100_000


@pytest.mark.slow
def test_a_declared_length_over_the_limit_is_a_413_before_the_body(guarded_server):
    head = (
        POST % b"/v1/partitions" + b"Authorization: Bearer %s\r\nContent-Length: 300000000\r\n\r\n" % guarded_server[1].encode()
    )
    answer = sent(guarded_server[0], head)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"Connection: close" in answer
