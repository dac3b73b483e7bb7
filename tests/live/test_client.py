"""Why a connection fails, and how long a client asks."""

from __future__ import annotations

import socketserver
import threading
import time
from typing import Any, ClassVar

import pytest
from kafka.future import Future
from kafka.net.manager import KafkaConnectionManager

from service.live.client import ClusterClient
from service.live.errors import Unreachable
from service.live.snapshot import SnapshotExtent, take_snapshot
from tests.live.stub_cluster import HangUp, StubCluster, stub_cluster

SETTINGS = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "reader",
    "sasl_plain_password": "wrong",
}


class SlowAtLast(StubCluster):
    """Brokers that disconnect clients with the wrong password within a second, and after a second do not answer them."""

    started_at = 0.0

    def _SaslAuthenticateRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802 - as the request
        self.started_at = self.started_at or time.monotonic()
        if time.monotonic() < self.started_at + 1:
            raise HangUp
        time.sleep(10)
        raise HangUp


def test_a_request_that_the_deadline_ends_hides_no_reason() -> None:
    """Nor does the library's warning about the password that it sends in the clear."""
    with stub_cluster(SlowAtLast(brokers_count=1)) as cluster:
        with pytest.raises(
            Unreachable, match=r"(disconnected|reset by peer); a broker disconnects a client whose credentials it refuses"
        ):
            ClusterClient(cluster.bootstrap, SETTINGS, bootstrap_ms=4000)
        assert cluster.requests["SaslAuthenticateRequest"] > 1


class Stuck(StubCluster):
    """Brokers that do not answer what only groups need before ``released``."""

    released: ClassVar = threading.Event()

    def _ListGroupsRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802 - as the request
        self.released.wait(60)
        return super()._ListGroupsRequest(broker_id, request)


def test_time_limit() -> None:
    """What has not come within the time of the whole snapshot is not known, by name; the rest is there."""
    with stub_cluster(Stuck()) as cluster:
        started = time.monotonic()
        with ClusterClient(cluster.bootstrap, {}, 3.0) as client:
            snapshot = take_snapshot(client, SnapshotExtent())
        assert time.monotonic() - started < 40
        cluster.released.set()
    assert (len(snapshot["topics"]), snapshot["groups"]) == (10, [])
    reasons = [entry["reason"] for entry in snapshot["not_known"] if entry["field"] == "groups"]
    assert reasons == [
        f"those that broker {i} coordinates: KafkaTimeoutError: The time limit of 3 seconds has expired." for i in (1, 2, 3)
    ]


def test_a_program_that_is_told_to_end_waits_for_no_answer() -> None:
    """An interrupt that the library keeps as the result of one of its tasks must not be needed."""
    told: list[bool] = []
    with (
        stub_cluster(StubCluster()) as cluster,
        ClusterClient(cluster.bootstrap, {}, 5.0, stopped=lambda: bool(told)) as client,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(client._manager, "send", lambda *_, **__: told.append(True) or Future())
        with pytest.raises(KeyboardInterrupt):
            client.ask([(None, object())])


def test_a_connection_that_the_library_forgets_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KafkaConnectionManager, "bootstrap_async", lambda *_: Future())
    with pytest.raises(Unreachable, match="no answer within 100 ms"):
        ClusterClient("127.0.0.1:1", {}, bootstrap_ms=100)


def test_what_is_no_broker_is_an_error() -> None:
    """A port that answers HTTP, or anything else."""
    with socketserver.TCPServer(("127.0.0.1", 0), _Http) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        with pytest.raises(Unreachable, match="no connection to the cluster"):
            ClusterClient(f"127.0.0.1:{server.server_address[1]}", {}, 3.0)
        server.shutdown()


class _Http(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.rfile.read(4)
        self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
