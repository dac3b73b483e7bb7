"""Brokers that are none: whatever they send, a client ends in time, within its memory, and with a sentence."""

from __future__ import annotations

import math
import random
import socketserver
import struct
import threading
import time
import tracemalloc
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from kafka.protocol.admin import DescribeClusterResponse, ListGroupsResponse
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from service.live.bounded import decoding
from service.live.bounded.connections import LONGEST_RESPONSE
from service.live.bounded.decoding import Allowance, taking_from
from service.live.client import MOST_BROKERS, ClusterClient
from service.live.errors import ClusterError, Unreachable
from service.live.snapshot import SnapshotExtent, take_snapshot
from tests.live.stub_cluster import StubCluster, stub_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TAGS_OF_AN_ENTRY = b"\x01\x05\x00"
"""One tagged field that no definition has, of no bytes."""


@contextmanager
def server(answer: Callable[[Any], None]) -> Iterator[str]:
    """A broker that answers each request by calling this with its side of the connection."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                while size := self.rfile.read(4):
                    self.rfile.read(struct.unpack(">i", size)[0])
                    answer(self.wfile)
            except OSError:
                pass  # the client has closed the connection

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


def _claim(size: int) -> Callable[[Any], None]:
    return lambda stream: stream.write(struct.pack(">ii", size, 1))


def _drip(stream: Any) -> None:
    stream.write(struct.pack(">i", 1000))
    for _ in range(1000):
        stream.write(b"\x00")
        time.sleep(0.05)


def _pour(stream: Any) -> None:
    stream.write(struct.pack(">i", LONGEST_RESPONSE))
    for _ in range(200):
        stream.write(bytes(2**20))


@pytest.mark.parametrize(
    ("answer", "most_mib"), [(_claim(LONGEST_RESPONSE), 4), (_claim(2**31 - 1), 4), (_claim(-2), 4), (_drip, 4), (_pour, 400)]
)
def test_a_length_allocates_nothing(answer: Callable[[Any], None], most_mib: int) -> None:
    """Eight bytes that announce 2 GiB cost nothing, and a response that drips for 50 s ends with the time limit of 2."""
    with server(answer) as address:
        started = time.monotonic()
        tracemalloc.start()
        with pytest.raises(Unreachable, match="no connection to the cluster"):
            ClusterClient(address, {}, 2.0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert time.monotonic() - started < 25
        assert peak < most_mib * 2**20


def _varint(value: int) -> bytes:
    """An unsigned integer of three bytes."""
    return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))


def _metadata(after_brokers: bytes) -> bytes:
    """A MetadataResponse without brokers. after_brokers : from its topics on"""
    return struct.pack(">i", 0) + b"\x01" + b"\x02s" + struct.pack(">i", 1) + after_brokers


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (_metadata(b"\xff\xff\xff\xff\x07"), "an array of 2147483646 entries has 0 bytes"),
        (struct.pack(">i", 0) + b"\xff" * 2**20, "more than five bytes"),
        (struct.pack(">i", 0) + b"\x00", "brokers is null"),
        (_metadata(b"\x02\x00\x00\x80\x01abc"), "a field of 127 bytes has 3"),
        (_metadata(b"\x01"), "index out of|unpack_from requires"),
    ],
)
def test_lengths_in_a_response(body: bytes, says: str) -> None:
    """An array needs a byte for each entry, and a string its bytes; a length has five at most."""
    with pytest.raises((ValueError, IndexError, struct.error), match=says):
        MetadataResponse.decode(body, version=13)


def test_tagged_fields_are_read_where_they_are() -> None:
    """A response of 16 times as many entries with a tagged field each takes no more than 64 times as long, not 256."""
    entry = struct.pack(">hhh", 18, 0, 4) + _TAGS_OF_AN_ENTRY

    def seconds(count: int) -> float:
        entries = _varint(count + 1) + entry * count
        body = struct.pack(">h", 0) + entries + struct.pack(">i", 0) + b"\x00"
        started = time.thread_time()
        response = ApiVersionsResponse.decode(body, version=4)
        taken = time.thread_time() - started
        assert len(response.api_keys) == count
        assert response.api_keys[-1].max_version == 4
        return taken

    assert seconds(96_000) < 64 * min(seconds(6_000) for _ in range(3))


def test_entries_take_from_the_allowance() -> None:
    """Entries of a few bytes become objects of many, which a response may only have as many of as there is memory for."""
    groups = [ListGroupsResponse.ListedGroup(group_id="", protocol_type="", group_state="", group_type="")] * 1000
    body = bytes(ListGroupsResponse(error_code=0, groups=groups).encode(version=5))
    allowance = Allowance(1000 * decoding.ENTRY_BYTES)
    with taking_from(allowance):
        assert len(ListGroupsResponse.decode(body, version=5).groups) == 1000
        assert allowance.left == 0
        with pytest.raises(ValueError, match="the responses take more than 2048 MiB"):
            ListGroupsResponse.decode(body, version=5)


@pytest.mark.parametrize("many", ["entries", "tags"])
def test_decoding_ends_in_time(many: str) -> None:
    """When the time is over, no more entries are decoded: not the last, which cannot be."""
    count = 30_000
    varint, wrong = _varint(count), b"\xff" * 5
    bodies = {
        "entries": varint + b"\x01\x01\x01\x01\x00" * (count - 1) + wrong,
        "tags": b"\x01" + varint + b"\x05\x00" * (count - 1) + wrong,
    }
    for until, says in ((math.inf, "Invalid value"), (0.0, "the time limit has expired")):
        with taking_from(Allowance(until=until)), pytest.raises(ValueError, match=says):
            ListGroupsResponse.decode(struct.pack(">ih", 0, 0) + bodies[many], version=5)


class Growing(StubCluster):
    """A cluster that names more brokers each time it is asked."""

    named = 3

    def _brokers(self, kind: Any, name: str) -> list[Any]:
        ports = [self.ports[i % len(self.ports)] for i in range(self.named)]
        return [kind(**{name: i + 1}, host="127.0.0.1", port=port, rack=None) for i, port in enumerate(ports)]

    def _MetadataRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802 - as the request
        response = super()._MetadataRequest(broker_id, request)
        response.brokers = self._brokers(MetadataResponse.MetadataResponseBroker, "node_id")
        return response

    def _DescribeClusterRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        self.named = 20_000
        response = super()._DescribeClusterRequest(broker_id, request)
        response.brokers = self._brokers(DescribeClusterResponse.DescribeClusterBroker, "broker_id")
        for broker in response.brokers:
            broker.is_fenced = False
        return response


@pytest.mark.parametrize("named", [3, 20_000])
def test_too_many_brokers(named: int) -> None:
    """Neither a client nor a snapshot asks as many hosts as a cluster names."""
    with stub_cluster(Growing()) as cluster:
        cluster.named = named
        with (
            pytest.raises(Unreachable, match=f"The cluster names 20,000 brokers; at most {MOST_BROKERS:,} are supported"),
            ClusterClient(cluster.bootstrap, {}, 20.0) as client,
        ):
            take_snapshot(client, SnapshotExtent())


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


def test_answers_with_other_bytes() -> None:
    """Whatever bytes of an answer are others, there is a snapshot or an error of this client."""
    dice = random.Random(2026)
    outcomes = set()
    for _ in range(60):
        cluster = StubCluster(brokers_count=1, topics_count=3, groups_count=2)
        with stub_cluster(cluster):
            with ClusterClient(cluster.bootstrap, {"default_api_timeout_ms": 100}, 3.0) as client:
                take_snapshot(client, SnapshotExtent())
            victim = dice.choice([bodies for (_, key, _), bodies in cluster._bodies.items() if key not in (3, 18)])
            for name, body in victim.items():
                changed = bytearray(body)
                for _ in range(dice.randrange(1, 4)):
                    changed[dice.randrange(len(changed))] = dice.choice((0, 1, 127, 128, 255, dice.randrange(256)))
                victim[name] = bytes(changed)
            try:
                with ClusterClient(cluster.bootstrap, {"default_api_timeout_ms": 100}, 3.0) as client:
                    take_snapshot(client, SnapshotExtent())
                outcomes.add("snapshot")
            except ClusterError:
                outcomes.add("error")
    assert "snapshot" in outcomes


def test_ids_of_topics() -> None:
    """The decoders of this client read what the library's own encoders write."""
    one = MetadataResponse.MetadataResponseTopic
    topics = [one(error_code=0, name=None, topic_id=uuid.UUID(int=7), is_internal=False, partitions=[])]
    body = bytes(MetadataResponse(brokers=[], cluster_id=None, controller_id=1, topics=topics, error_code=0).encode(version=13))
    (topic,) = MetadataResponse.decode(body, version=13).topics
    assert (topic.name, topic.topic_id) == (None, uuid.UUID(int=7))
