"""Too much, too slow, cut short and lying: a real server stays upright, and the next request is answered right."""

from __future__ import annotations

import gzip
import json
import os
import re
import select
import signal
import socket
import ssl
import threading
import time
import warnings
import zlib
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from service.http.application import AdmissionControl
from service.http.bodies import checked_messages, unpacked_bytes
from service.http.memory import MemoryBudget, Overloaded
from tests.support.serving import serving

PATH = "/v1/partitions"
QUESTION = {"partitions_count": 12, "keys": ["order-1", None]}
MEBI = 2**20


# ---- the gate ----------------------------------------------------------------------------------------------------------


def test_the_gate_lets_in_so_many_queues_so_many_and_turns_the_rest_away_at_once():
    entered, queued = [], []
    gate = AdmissionControl(2, 3, queued.append)
    threads = [threading.Thread(target=lambda i=i: (gate.enter(), entered.append(i))) for i in range(5)]
    for started, thread in enumerate(threads, 1):
        thread.start()
        while len(entered) + sum(queued) < started:
            time.sleep(0.001)
    assert sorted(entered) == [0, 1]
    with pytest.raises(Overloaded, match="the queue is full"):
        gate.enter()
    for i in range(2, 5):
        gate.leave()
        while len(entered) <= i:
            time.sleep(0.001)
        assert entered[i] == i, "who has waited longest is next"
    for _ in range(2):
        gate.leave()
    for thread in threads:
        thread.join()
    assert sum(queued) == 0
    gate.enter()
    gate.enter()


def test_who_waits_too_long_is_turned_away_and_keeps_no_place():
    gate = AdmissionControl(1, 1, seconds=0.05)
    gate.enter()
    with pytest.raises(Overloaded, match="waited"):
        gate.enter()
    gate.leave()
    gate.enter()
    gate.leave()


def test_a_queued_request_whose_client_is_gone_makes_room():
    control = AdmissionControl(1, 1)
    control.enter()
    with pytest.raises(Overloaded, match="disconnected"):
        control.enter(is_connected=lambda: False)
    control.leave()
    control.enter(is_connected=lambda: False)  # what is admitted at once is not checked
    control.leave()


def test_memory_is_reserved_and_waited_for():
    budget, reserved = MemoryBudget(100), []
    budget.reserve(60)
    assert not budget.shortage()
    waiting = threading.Thread(target=lambda: (budget.reserve(50), reserved.append(50)))
    waiting.start()
    budget.reserve(40)  # what fits does not wait for what does not
    assert not reserved
    while not (shortage := budget.shortage()):
        time.sleep(0.001)
    assert shortage == 50
    budget.release(60)
    waiting.join(120)
    assert reserved
    assert not budget.shortage()
    budget.release(50)
    budget.release(40)
    budget.reserve(100)


def test_who_waits_too_long_for_memory_is_turned_away_and_reserves_none():
    budget = MemoryBudget(100, seconds=0.05)
    budget.reserve(60)
    with pytest.raises(Overloaded, match="waited"):
        budget.reserve(41)
    budget.reserve(40)


def test_two_requests_with_reservations_do_not_wait_for_each_other():
    budget = MemoryBudget(100, seconds=600)
    budget.reserve(40)
    budget.reserve(40)
    waiting = threading.Thread(target=lambda: budget.reserve(40, held=40))
    waiting.start()
    while not budget.shortage():
        time.sleep(0.001)
    with pytest.raises(Overloaded, match="memory limit"):
        budget.reserve(40, held=40)
    budget.release(40)
    waiting.join(120)
    assert not waiting.is_alive()


# ---- bodies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [gzip.compress, lambda body: gzip.compress(body[:5]) + gzip.compress(body[5:])])
def test_a_body_may_be_packed_by_gzip(client, packed):
    plain = client.post(PATH, json=QUESTION)
    headers = {"Content-Encoding": "gzip"}
    body = packed(json.dumps(QUESTION).encode())
    assert client.post(PATH, data=body, content_type="application/json", headers=headers).json == plain.json


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        gzip.compress(b"{}", mtime=0)[:-1],
        gzip.compress(b"{}", mtime=0) + b"x",
        zlib.compress(b"{}"),
        gzip.compress(b"{}", mtime=0)[:-8] + b"\0" * 8,
    ],
)
def test_what_is_no_gzip_is_a_400(client, body):
    response = client.post(PATH, data=body, content_type="application/json", headers={"Content-Encoding": "gzip"})
    assert response.status_code == 400


def test_many_empty_gzip_members_take_time_in_proportion_to_their_number(client):
    """Each took time in proportion to the rest of a MiB: a body of 20 MB 16 s."""

    def seconds(members):
        started = time.thread_time()
        headers = {"Content-Encoding": "gzip"}
        body = gzip.compress(b"", mtime=0) * members
        assert client.post(PATH, data=body, content_type="application/json", headers=headers).status_code == 400
        return time.thread_time() - started

    assert min(seconds(50_000) for _ in range(3)) < 3 * min(seconds(25_000) for _ in range(3))


@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "gzip, gzip", "x"])
def test_other_codings_are_a_415_that_names_the_one_there_is(client, coding):
    response = client.post(PATH, data=b"{}", content_type="application/json", headers={"Content-Encoding": coding})
    assert response.status_code == 415
    assert response.headers["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ('{"partitions_count": 1, "keys": [], "keys": ["a"]}', "/keys"),
        ('{"partitions_count": 1, "\\u006beys": [], "keys": ["a"]}', "/keys"),
        ('{"records": [{"key": "a"}, {"key": "a", "partition": 1, "key": "b"}]}', "/records/1/key"),
        ('{"a~/": {"b": [[], {"c": 1, "c": 1}]}}', "/a~0~1/b/1/c"),
    ],
)
def test_a_member_that_is_there_twice_is_named(client, body, pointer):
    response = client.post(PATH, data=body, content_type="application/json")
    assert response.status_code == 422
    assert response.json["errors"][0]["pointer"] == pointer
    assert "Duplicate member" in response.json["detail"]


@pytest.mark.parametrize("body", ["[" * 100_000, '{"keys":' * 50_000, '["\\ud800",' + "[" * 100_000, "[" * 33 + "]" * 33])
def test_deep_json_is_refused(client, body):
    response = client.post(PATH, data=body, content_type="application/json")
    assert response.status_code == 422
    assert "nested more than 32 deep" in response.json["detail"]


@pytest.mark.parametrize("number", ["1e400", "9" * 400, "-" + "9" * 5000, "1" * 20, "1e2", "0.0", "-0", "1E+999999999"])
def test_huge_and_odd_numbers_are_rejected_as_integers(client, number):
    for body in (f'{{"partitions_count": {number}, "keys": ["a"]}}', f'{{"partitions_count": {number}, "keys": ["\\ud800"]}}'):
        assert client.post(PATH, data=body, content_type="application/json").status_code in {400, 422}


# ---- a real server -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server():
    limits = {"ALLOCATOR_MAX_BODY_BYTES": str(32 * MEBI), "ALLOCATOR_MAX_DECISION_BYTES": str(128 * MEBI)}
    with serving(forked=True, ALLOCATOR_WORKERS="1", **limits) as running:
        yield running


@pytest.fixture(autouse=True)
def upright(request):
    """Whatever a test has done to the server, it answers the next request right, and nothing is left of the one before."""
    yield
    if "server" in request.fixturenames:
        running = request.getfixturevalue("server")
        assert requests.post(running.url + PATH, json=QUESTION, timeout=120).json()["partitions"][0] == 10
        deadline = time.monotonic() + 120
        while running.metric("partition_allocator_http_requests_in_flight") != 1:
            assert time.monotonic() < deadline, "the gauge counts requests that are over"
            time.sleep(0.05)


def port(server) -> int:
    return int(server.url.rpartition(":")[2])


@contextmanager
def connection(server):
    with socket.create_connection(("127.0.0.1", port(server)), timeout=120) as sock:
        yield sock


def is_open(sock) -> bool:
    """Whether the server has said nothing to this client yet, and not closed its connection."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return not poll.poll(0)


def said(sock) -> bytes:
    """All that the server says until it closes the connection."""
    text = b""
    while True:
        try:
            data = sock.recv(65536)
        except ConnectionResetError:
            return text
        if not data:
            return text
        text += data


def asked(server, text: bytes) -> bytes:
    with connection(server) as sock:
        sock.sendall(text)
        sock.shutdown(socket.SHUT_WR)
        return said(sock)


def resident(server, field: str = "VmRSS") -> int:
    """Bytes that the server's processes hold, what they share counted once for each. field : VmHWM: the most so far"""
    total = 0
    for pid in server.workers():
        status = Path(f"/proc/{pid}/status").read_text()
        total += int(status.split(f"{field}:")[1].split()[0]) * 1024
    return total


HEAD = b"POST /v1/partitions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
BODY = json.dumps(QUESTION).encode()
GOOD = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


def test_the_helper_asks_as_a_client_would(server):
    assert asked(server, GOOD).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param(HEAD + b"Content-Length: -1\r\n\r\n" + BODY, 400, id="a negative length"),
        pytest.param(HEAD + b"Content-Length: +5\r\n\r\n" + BODY, 400, id="a length with a sign"),
        pytest.param(HEAD + b"Content-Length: 1e3\r\n\r\n" + BODY, 400, id="a length that is no integer"),
        pytest.param(HEAD + b"Content-Length: 0x10\r\n\r\n" + BODY, 400, id="a length in hexadecimal digits"),
        pytest.param(HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + BODY, 400, id="two lengths"),
        pytest.param(HEAD + b"Content-Length: 5, 5\r\n\r\n" + BODY, 400, id="two lengths in one"),
        pytest.param(
            HEAD + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % len(BODY), 400, id="a length and chunks"
        ),
        pytest.param(HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, id="an unknown transfer coding"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400, id="chunks in chunks"),
        pytest.param(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\nzz\r\n", 400, id="a chunk that has no length"),
        pytest.param(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, id="a coding beneath the chunks"),
        pytest.param(b"GET /healthz HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param(HEAD + b"Content-Length: %s\r\n\r\n" % (b"9" * 5000), 400, id="a length of 5,000 digits"),
        pytest.param(HEAD + b"Content-Length: 999999999999999\r\n\r\n", 413, id="more than may be"),
        pytest.param(HEAD + b"Content-Length: %d\r\n\r\n" % (len(BODY) - 5) + BODY, 400, id="longer than it says"),
        pytest.param(HEAD + b"X: " + b"x" * 9000 + b"\r\n\r\n", 431, id="an oversized header"),
        pytest.param(HEAD + b"Authorization: Bearer " + b"x" * 100_000 + b"\r\n\r\n", 431, id="an oversized token"),
        pytest.param(HEAD + b"".join(b"X-%d: x\r\n" % i for i in range(100)) + b"\r\n", 431, id="too many headers"),
        pytest.param(b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", 414, id="an oversized line"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", 505, id="another protocol"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, id="TLS where there is none"),
        pytest.param(b"GET /v1/partitions?key=secret secret HTTP/1.1\r\n\r\n", 505, id="a line of too many words"),
        pytest.param(b"GET / HTTP/1.1\r\nBad Header: secret\r\n\r\n", 400, id="a header with a blank in its name"),
        pytest.param(b"GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n", 400, id="a folded header"),
    ],
)
def test_what_is_no_proper_request_is_refused_with_a_problem(server, text, status):
    answer = asked(server, text)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert b"application/problem+json" in head
    assert json.loads(body)["status"] == status
    assert b"secret" not in answer


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", "Host is missing."),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "Duplicate host header."),
        (HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "Content-Length with Transfer-Encoding."),
        (HEAD + b"Content-Length: %s\r\n\r\n" % (b"9" * 5000), "a number has too many digits."),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", "Request line is too large."),
        (b"GET / HTTP/1.1\r\nBad Header: secret\r\n\r\n", "invalid header name."),
        (HEAD + b"Content-Length: 999999999999999\r\n\r\n", "The body has 999999999999999 bytes; at most 33554432 are allowed."),
    ],
)
def test_the_refusal_says_why(server, text, reason):
    assert json.loads(asked(server, text).split(b"\r\n\r\n", 1)[1])["detail"].endswith(reason)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + b"Content-Length: %d\r\n\r\n" % (len(BODY) + 1) + BODY, id="shorter than it says"),
        pytest.param(HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 20_000, id="much shorter than it says"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{", id="chunks cut short"),
        pytest.param(b"POST /v1/part", id="a line cut short"),
        pytest.param(HEAD, id="a head cut short"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_cut_half_way_is_never_answered_as_if_it_were_whole(server, text):
    answer = asked(server, text)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    with connection(server) as sock:
        sock.sendall(text)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closed by a reset


def test_chunks_and_pipelined_requests_and_waiting_for_100_are_answered(server):
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(BODY[i : i + 7]), BODY[i : i + 7]) for i in range(0, len(BODY), 7)) + b"0\r\n\r\n"
    assert asked(server, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked).startswith(b"HTTP/1.1 200 OK")
    kept = GOOD.replace(b"Connection: close\r\n", b"")
    assert asked(server, kept + kept + GOOD).count(b"HTTP/1.1 200 OK") == 3
    with connection(server) as sock:
        sock.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        assert sock.recv(100).startswith(b"HTTP/1.1 100")
        sock.sendall(BODY)
        assert b"HTTP/1.1 200 OK" in said(sock)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param(b"GET http://x/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200, id="a whole URL"),
        pytest.param(b"\r\nGET /healthz HTTP/1.0\r\n\r\n", 200, id="HTTP/1.0 after an empty line"),
        pytest.param(b"GET /v1/partitions?key=%25&partitions_count=1 HTTP/1.0\r\n\r\n", 200, id="a percent sign"),
        pytest.param(b"GET /healthz%252f HTTP/1.0\r\n\r\n", 404, id="a path that is decoded once"),
    ],
)
def test_unusual_requests_are_answered(server, text, status):
    assert asked(server, text).split()[1] == b"%d" % status


def test_bodies_in_transit_are_limited_and_small_ones_always_fit(server):
    """Nine bodies of 31 MiB that do not end; the worker receives 256 MiB of them. Sent side by side, none stalls."""
    with ExitStack() as stack:
        clients = [stack.enter_context(connection(server)) for _ in range(9)]
        for sock in clients:
            sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (32 * MEBI))
        for _ in range(31):
            for sock in clients:
                with suppress(ConnectionError):
                    sock.sendall(b"[" * MEBI)
        assert requests.post(server.url + PATH, json=QUESTION, timeout=120).ok
        refused, _, _ = select.select(clients, [], [], 120)
        assert said(refused[0]).startswith(b"HTTP/1.1 503 ")


def test_a_body_in_chunks_is_received_up_to_the_limit(server):
    with connection(server) as sock:
        sock.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(34):
                sock.sendall(b"%x\r\n%s\r\n" % (MEBI, b"[" * MEBI))
        assert said(sock).startswith(b"HTTP/1.1 413 ")


def test_an_unread_body_does_not_become_the_next_request(server):
    """Request smuggling: the body of a request that is refused looks like a request."""
    inner = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    outer = b"POST /v1/nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(inner)
    answer = asked(server, outer + inner + GOOD)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"404", b"200"]


@pytest.mark.slow
def test_slow_clients_hold_no_thread_and_are_dropped_in_the_end(server):
    """Slowloris: three times as many as there are threads send a byte now and then, of a head or of a body."""
    starts = (b"", b"POST /v1/par", HEAD, HEAD + b"Content-Length: 1000\r\n\r\n{", HEAD + b"Transfer-Encoding: x")
    slow = [socket.create_connection(("127.0.0.1", port(server)), timeout=120) for _ in range(100)]
    try:
        start = time.monotonic()
        for i, sock in enumerate(slow):
            sock.sendall(starts[i % len(starts)])
        assert requests.post(server.url + PATH, json=QUESTION, timeout=120).ok
        assert requests.get(server.url + "/readyz", timeout=120).ok
        assert all(is_open(sock) for sock in slow), "answered without waiting for them"
        for _ in range(10):
            for sock in slow[1::5]:
                sock.sendall(b"x")
            time.sleep(0.2)
        for sock in slow:
            said(sock)  # until the server closes it
        assert time.monotonic() - start > 8
    finally:
        for sock in slow:
            sock.close()


@pytest.mark.slow
def test_a_body_that_trickles_is_cut_off(server):
    """The rest of a large body has to come at a rate; many that do not leave health and metrics alone."""
    slow = [socket.create_connection(("127.0.0.1", port(server)), timeout=120) for _ in range(8)]
    try:
        for sock in slow:
            sock.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n" + b"x" * 20_000)
        assert requests.get(server.url + "/healthz", timeout=120).ok
        assert all(is_open(sock) for sock in slow), "answered without waiting for them"
        for _ in range(8):
            for sock in slow:
                with suppress(ConnectionError):
                    sock.sendall(b"x" * 10)
            time.sleep(0.5)
        answers = [said(sock) for sock in slow]
        statuses = [answer.split()[1] for answer in answers]
        assert set(statuses) == {b"408"}
    finally:
        for sock in slow:
            sock.close()


def test_clients_that_do_not_close_after_their_answer_delay_no_others(server):
    """The server closes first, and waits for them in passing: 2 s for each of 200 in turn would be 400 s, by four threads 100."""
    lazy = [socket.create_connection(("127.0.0.1", port(server)), timeout=60) for _ in range(200)]
    try:
        for sock in lazy:
            sock.sendall(GOOD)
        for sock in lazy:
            assert sock.recv(1)  # the answer has come: one more request finds the queue empty
        assert requests.post(server.url + PATH, json=QUESTION, timeout=120).ok
    finally:
        for sock in lazy:
            sock.close()


def test_a_bomb_goes_off_only_as_far_as_the_limit(server):
    before = resident(server)
    bomb = gzip.compress(b"[" + b"0," * (128 * MEBI), compresslevel=1)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert requests.post(server.url + PATH, data=bomb, headers=headers, timeout=120).status_code == 413
    assert resident(server) - before < 100 * MEBI


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_bomb_in_an_arrow_stream_is_seen_before_it_goes_off(server, codec):
    before = resident(server)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, pa.schema([("key", pa.int64())]), options=options) as stream:
        for rows in (10, 40 * MEBI):
            stream.write_table(pa.table({"key": np.zeros(rows, np.int64)}))
    bomb = sink.getvalue().to_pybytes()
    assert len(bomb) < 2 * MEBI
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    for path in (f"{PATH}?partitions_count=2", "/v1/partition-count-plans?partitions_counts=2&key_format=long"):
        response = requests.post(server.url + path, data=bomb, headers=headers, timeout=120)
        assert response.status_code == 413, response.text
        assert resident(server) - before < 50 * MEBI


@pytest.mark.parametrize("codec", [None, "zstd", "lz4"])
@pytest.mark.parametrize(
    "keys", [pa.array(["a", None, "b"]), pa.array(["a", "a", "b"]).dictionary_encode(), pa.array([], pa.int64())]
)
def test_an_arrow_stream_may_be_compressed(client, codec, keys):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("key", keys.type)]), options=pa.ipc.IpcWriteOptions(compression=codec)) as stream:
        stream.write_table(pa.table({"key": keys}))
    body = sink.getvalue().to_pybytes()
    arrow = "application/vnd.apache.arrow.stream"
    response = client.post(f"{PATH}?partitions_count=2", data=body, content_type=arrow, headers={"Accept": "application/json"})
    expected = {"partitions_count": 2, "keys": keys.to_pylist(), **({} if len(keys) else {"key_format": "long"})}
    if response.status_code == 200:
        assert response.json["partitions"] == client.post(PATH, json=expected).json["partitions"]
    else:
        assert response.json["errors"][0]["pointer"] == "/keys", "a type of column that no key has"


@given(st.lists(st.integers(1, 400), max_size=9), st.sampled_from([None, "zstd"]), st.booleans())
def test_a_stream_that_is_looked_at_message_by_message_stays_as_it_was(cuts, codec, dictionary):
    keys = pa.array(["a", None, "b"] * 50)
    table = pa.table({"key": keys.dictionary_encode() if dictionary else keys})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as stream:
        stream.write_table(table, max_chunksize=40)
    body = sink.getvalue().to_pybytes()
    bounds = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = (body[start:end] for start, end in pairwise(bounds))
    assert b"".join(checked_messages(pieces, 10_000)) == body
    for cut in cuts:
        with suppress(ValueError):  # of what is cut short within a message
            assert b"".join(checked_messages(iter([body[:cut]]), 10_000)) == body[:cut]
    with pytest.raises(OverflowError):
        list(checked_messages(iter([body]), 100))


@pytest.mark.parametrize("legacy", [False, True])
def test_a_message_of_either_format_is_checked_before_it_is_unpacked(legacy):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_legacy_format=legacy)
    with pa.ipc.new_stream(sink, pa.schema([("key", pa.string())]), options=options) as stream:
        stream.write_table(pa.table({"key": ["a" * 20_000]}))
    body = sink.getvalue().to_pybytes()
    assert body.startswith(b"\xff\xff\xff\xff") is not legacy
    assert b"".join(checked_messages(iter([body]), 30_000)) == body
    with pytest.raises(OverflowError):
        list(checked_messages(iter([body]), 10_000))


@given(st.data())
def test_an_altered_arrow_stream_is_answered_or_refused(data):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("key", pa.string())]), options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(pa.table({"key": ["a" * 100, None, "b"]}))
    body = bytearray(sink.getvalue().to_pybytes())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with suppress(pa.ArrowException, OSError, ValueError):
        assert unpacked_bytes(bytes(body)) >= 0
    with suppress(pa.ArrowException, OSError, ValueError, OverflowError):
        assert b"".join(checked_messages(iter([bytes(body)]), 10_000)) == body


@pytest.mark.parametrize("unit", [b"[],", b"{},", b'{"a":1},', b'"",', b"[[[]]],"])
def test_json_that_would_fill_the_memory_is_refused_before_it_is_parsed(server, unit):
    before = resident(server)
    body = b'{"partitions_count":1,"keys":[' + unit * (30 * MEBI // len(unit)) + b"0]}"
    response = requests.post(server.url + PATH, data=body, headers={"Content-Type": "application/json"}, timeout=120)
    assert response.status_code == 413
    assert "would take" in response.json()["detail"]
    assert resident(server) - before < 150 * MEBI


@pytest.fixture(scope="module")
def alone():
    """A server of one worker that decides one request at a time."""
    with serving(forked=True, ALLOCATOR_WORKERS="1", ALLOCATOR_MAX_CONCURRENT="1", ALLOCATOR_MAX_QUEUED="2") as running:
        yield running


@pytest.mark.slow
def test_many_topics_of_one_partition_are_answered(alone):
    """A quarter of a million, of which each takes half a kilobyte for a moment."""
    topics = ",".join(f'{{"topic_name":"t{i}","partitions_count":1}}' for i in range(250_000))
    body = f'{{"assignor":"roundrobin","topics":[{topics}],"members":[{{"member_id":"a"}},{{"member_id":"b"}}]}}'
    before = resident(alone)
    headers = {"Content-Type": "application/json"}
    response = requests.post(f"{alone.url}/v1/group-assignments", data=body.encode(), headers=headers, timeout=120)
    assert response.status_code == 200
    assert response.json()["member_load"]["counts"] == [125_000, 125_000]
    assert resident(alone, "VmHWM") - before < 256 * MEBI


@pytest.mark.slow
def test_what_does_not_fit_is_turned_away_at_once_while_health_and_metrics_answer(alone):
    busy = {"partitions_count": 12, "keys": [f"key-{i}" for i in range(400_000)]}
    body = json.dumps(busy).encode()
    statuses, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            response = requests.post(alone.url + PATH, data=body, headers={"Content-Type": "application/json"}, timeout=120)
            statuses.append(response.status_code)
            if response.status_code == 503:
                assert response.headers["Retry-After"] == "1"
                assert response.json()["type"].endswith("service-unavailable")

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    queued = set()
    while not (503 in statuses and statuses.count(200) >= 3 and max(queued) > 0):
        assert requests.get(f"{alone.url}/healthz", timeout=120).ok
        queued.add(alone.metric("partition_allocator_http_requests_queued"))
    stop.set()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200, 503}
    assert alone.metric("partition_allocator_http_requests_rejected_total", reason="full") == statuses.count(503)
    assert alone.metric("partition_allocator_http_requests_queued") == 0


@pytest.mark.slow
def test_sigterm_lets_the_requests_in_flight_finish(alone):
    """It ends ``alone``."""
    question = {"partitions_count": 12, "keys": [f"key-{i}" for i in range(300_000)]}
    answers = []
    url = f"{alone.url}/v1/partitions"
    while True:  # until it is seen in flight, which a busy machine may miss
        asking = threading.Thread(target=lambda: answers.append(requests.post(url, json=question, timeout=120)))
        asking.start()
        while (in_flight := alone.metric("partition_allocator_http_requests_in_flight")) < 2 and asking.is_alive():
            time.sleep(0.001)
        if in_flight == 2:
            break
    alone.process.send_signal(signal.SIGTERM)
    asking.join()
    assert answers[-1].status_code == 200
    assert len(answers[-1].json()["partitions"]) == len(question["keys"])


class Load:
    """Clients that ask without end, each over connections of its own, and remember what went wrong."""

    def __init__(self, server, clients: int, *, keep_alive: bool) -> None:
        self.answered, self.lost, self.refused = 0, [], 0
        self._server, self._keep_alive, self._stop = server, keep_alive, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        session = requests.Session()
        while not self._stop.is_set():
            try:
                headers = {} if self._keep_alive else {"Connection": "close"}
                response = session.post(self._server.url + PATH, json=QUESTION, timeout=120, headers=headers)
                assert response.json()["partitions"][0] == 10
                self.answered += 1
            except requests.RequestException as error:  # a connection that ends between head and body is no ConnectionError
                if "Failed to establish a new connection" in str(error):  # nothing was sent: it was never taken
                    self.refused += 1
                    return
                self.lost.append(repr(error))

    def stop(self) -> None:
        """No more requests."""
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture(scope="module")
def pair():
    """A server of two workers."""
    with serving(forked=True, ALLOCATOR_WORKERS="2") as running:
        yield running


@pytest.mark.slow
def test_a_killed_worker_costs_its_own_requests_only(pair):
    load = Load(pair, 8, keep_alive=True)
    while load.answered < 200:
        time.sleep(0.01)
    victim = pair.workers()[0]
    os.kill(victim, signal.SIGKILL)
    before = load.answered
    deadline = time.monotonic() + 120
    while load.answered < before + 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    load.stop()
    assert load.answered >= before + 200
    assert load.refused == 0
    assert len(load.lost) <= 8, "at most one for each connection that the worker had"
    assert len(pair.workers()) == 2


@pytest.mark.slow
def test_sigterm_under_load_loses_no_request(pair):
    """Neither of clients that keep their connections nor of those that open one for each request. It ends ``pair``."""
    loads = [Load(pair, 8, keep_alive=keep_alive) for keep_alive in (True, False)]
    while min(load.answered for load in loads) < 200:
        time.sleep(0.01)
    pair.process.send_signal(signal.SIGTERM)
    pair.process.wait(120)
    for load in loads:
        load.stop()
    assert [load.lost for load in loads] == [[], []]
    assert all(load.refused > 0 for load in loads), "the server has gone"


# ---- TLS ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tls_is_12_or_later_and_as_patient(tls):
    server = tls.server
    url = server.url + PATH
    answer = requests.post(url, json=QUESTION, timeout=120, verify=tls.trusted)
    assert answer.json()["partitions"][0] == 10
    assert "max-age" in answer.headers["Strict-Transport-Security"]
    large = {"partitions_count": 2, "keys": [f"key-{i}" for i in range(100_000)]}
    assert len(requests.post(url, json=large, timeout=120, verify=tls.trusted).json()["partitions"]) == 100_000
    slow = [socket.create_connection(("127.0.0.1", port(server)), timeout=120) for _ in range(40)]  # and say nothing
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(tls.trusted)
    for version, works in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
        with pytest.MonkeyPatch.context(), socket.create_connection(("127.0.0.1", port(server)), timeout=120) as sock:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(tls.trusted)
            if not works:
                context.set_ciphers("ALL:@SECLEVEL=0")
            _pin(context, version)
            if works:
                with context.wrap_socket(sock, server_hostname="localhost") as wrapped:
                    wrapped.sendall(GOOD)
                    assert said(wrapped).startswith(b"HTTP/1.1 200")
            else:
                with pytest.raises(ssl.SSLError):
                    context.wrap_socket(sock, server_hostname="localhost")
    with connection(server) as plain:
        plain.sendall(GOOD)
        answer = said(plain)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"Plain HTTP was sent to an HTTPS port." in answer
    renewed = tls.authority.issue_cert("localhost", "127.0.0.1")
    first = ssl.get_server_certificate(("127.0.0.1", port(server)), timeout=120)
    renewed.private_key_pem.write_to_path(tls.key)
    assert ssl.get_server_certificate(("127.0.0.1", port(server)), timeout=120) == first, "half renewed, the old one counts"
    renewed.cert_chain_pems[0].write_to_path(tls.cert)
    assert ssl.get_server_certificate(("127.0.0.1", port(server)), timeout=120) != first
    for sock in slow:
        sock.close()


def _pin(context: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
