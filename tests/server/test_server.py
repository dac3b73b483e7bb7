"""The command ``serve``: several worker processes that answer as one, stop politely, and survive one another."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time

import pytest
import requests

from service.core.kafka_versions import LATEST
from service.server.serving import WELCOME
from service.server.worker import establish_no_more, hear_again
from tests.support.programs import program
from tests.support.serving import serving

pytestmark = pytest.mark.slow

QUESTIONS = {
    "/v1/partitions": {
        "partitioner": "librdkafka:consistent_random",
        "partitions_count": 12,
        "random_seed": 7,
        "keys": ["a", None, "é"],
    },
    "/v1/group-assignments": {
        "assignor": "roundrobin",
        "topics": [{"topic_name": "orders", "partitions_count": 7}],
        "members": [{"member_id": "c1"}, {"member_id": "c2"}],
    },
    "/v1/replica-placements": {
        "placer": "striped",
        "partitions_count": 6,
        "replication_factor": 2,
        "random_seed": 3,
        "brokers": [{"broker_id": 0, "rack_id": "a"}, {"broker_id": 1, "rack_id": "b"}, {"broker_id": 2, "rack_id": "c"}],
    },
}


def test_every_worker_gives_the_same_bytes(server, fresh):
    """Of two servers one worker each answers for certain."""
    for path, question in QUESTIONS.items():
        urls = [running.url + path for running in (server, fresh.server)] * 3
        assert len({requests.post(url, json=question, timeout=120).content for url in urls}) == 1, path


def test_on_a_set_up_machine_it_is_ready_after_the_work_of_a_few_imports(fresh, imports):
    """Of the processors' time; compiling is many times that."""
    assert fresh.seconds < 4 * imports


def test_metrics_count_what_all_workers_did(server):
    name, labels = (
        "partition_allocator_http_request_duration_seconds_count",
        {"route": "/v1/partitions", "method": "POST", "status": "200"},
    )
    before = server.metric(name, **labels) or 0
    seen = set()
    for _ in range(60):
        requests.post(server.url + "/v1/partitions", json=QUESTIONS["/v1/partitions"], timeout=120)
        seen.add(server.metric(name, **labels))
    assert max(seen) == before + 60
    assert len(seen) == 60, "each scrape saw every request so far, whichever worker it met"
    assert server.metric("partition_allocator_build_info") == 1
    assert server.metric("partition_allocator_http_requests_in_flight") == 1, "the scrape itself"


def test_metrics_tell_the_memory_of_every_worker(server):
    for pid in server.workers():
        resident = server.metric("process_resident_memory_bytes", pid=str(pid))
        assert 2**25 < resident < 2**32


def test_a_named_subject_has_its_latest_skew(server):
    for keys in (["a", "b", "c"], ["a", "a"]):
        body = {"topic_name": "orders", "partitions_count": 2, "keys": keys}
        requests.post(server.url + "/v1/partitions", json=body, timeout=120)
    assert server.metric("partition_allocator_subject_skew_ratio", decision="partition", subject="orders") == 2


def test_what_a_killed_worker_counted_stays_and_the_next_request_is_answered():
    with serving(forked=True, ALLOCATOR_WORKERS="2") as pair:
        path, question = next(iter(QUESTIONS.items()))
        for _ in range(20):
            requests.post(pair.url + path, json=question, timeout=120)
        victim = pair.workers()[0]
        os.kill(victim, signal.SIGKILL)
        deadline = time.monotonic() + 120
        while (victim in pair.workers() or len(pair.workers()) < 2) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert requests.post(pair.url + path, json=question, timeout=120).ok
        assert pair.metric("partition_allocator_http_request_duration_seconds_count", route="/v1/partitions", status="200") == 21
        assert pair.metric("partition_allocator_http_requests_in_flight") == 1


def test_the_three_printed_commands_work_when_pasted(server):
    """The welcome text's curl lines, run by a shell."""
    program("curl")
    commands = WELCOME.format(url=server.url).split("\n\n")[1:]
    assert len(commands) == 3
    for command in commands:
        shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert f'"kafka_version":"{LATEST}"' in shown.stdout


def test_a_connection_is_accepted_or_never_established_when_a_server_ends():
    """None is in the queue when the socket is closed, which would reset it."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as early:
        address = listener.getsockname()
        early.sendall(b"x")
        establish_no_more(listener)
        with pytest.raises(TimeoutError):
            socket.create_connection(address, timeout=0.5)
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(1) == b"x"
            accepted.sendall(b"y")
            assert early.recv(1) == b"y"
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=120)


def test_a_connection_whose_handshake_was_under_way_is_answered():
    """It has the limit of its listening socket, so what the client sends is dropped until the server accepts it."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        accepted, _ = listener.accept()
        with accepted:
            establish_no_more(accepted)
            client.sendall(b"x")
            accepted.settimeout(0.1)
            with pytest.raises(TimeoutError):
                accepted.recv(1)
            hear_again(accepted)
            accepted.settimeout(120)
            assert accepted.recv(1) == b"x"
