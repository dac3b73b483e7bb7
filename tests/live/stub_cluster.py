"""Brokers of a cluster that is too large for the tests' machine: they speak the protocol and have no data.

Their answers are encoded by kafka-python's message classes, once. A broker can be told to hang up when it is asked something.
"""

from __future__ import annotations

import socketserver
import struct
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from service.live.messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from tests.support.wire_encoding import text, topic_partitions

VERSIONS = {
    ApiVersionsRequest: (ApiVersionsResponse, 4),
    MetadataRequest: (MetadataResponse, 13),
    DescribeClusterRequest: (DescribeClusterResponse, 2),
    DescribeLogDirsRequest: (DescribeLogDirsResponse, 5),
    FetchRequest: (FetchResponse, 12),
    ListOffsetsRequest: (ListOffsetsResponse, 10),
    ListGroupsRequest: (ListGroupsResponse, 5),
    DescribeGroupsRequest: (DescribeGroupsResponse, 6),
    ConsumerGroupDescribeRequest: (ConsumerGroupDescribeResponse, 1),
    OffsetFetchRequest: (OffsetFetchResponse, 9),
    SaslHandshakeRequest: (SaslHandshakeResponse, 1),
    SaslAuthenticateRequest: (SaslAuthenticateResponse, 2),
}
_REQUESTS = {request.API_KEY: request for request in VERSIONS}


class HangUp(Exception):
    """What a broker raises that closes the connection instead of answering."""


@dataclass
class StubCluster:
    """Brokers, topics of equal size with three replicas, and classic groups of ten members that each read ten topics.

    hang_up_on : requests on which the last broker closes the connection, and listens no more
    first_port : of the first broker; default: a free one, as of the others
    cordoned : brokers whose one log directory is
    settles_after : how many ListOffsets requests are refused for the first partition of each topic
    """

    brokers_count: int = 3
    topics_count: int = 10
    partitions_count: int = 4
    groups_count: int = 4
    members_count: int = 2
    hang_up_on: tuple[type, ...] = ()
    first_port: int = 0
    cordoned: tuple[int, ...] = ()
    settles_after: int = 0
    ports: list[int] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)
    _bodies: dict[Any, dict[bytes, bytes]] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """The first broker."""
        return f"127.0.0.1:{self.ports[0]}"

    def answer(self, broker_id: int, request: Any) -> Any:
        """The response of a broker."""
        return getattr(self, f"_{type(request).__name__}")(broker_id, request)

    def topic(self, i: int) -> str:
        """The name of a topic."""
        return f"topic-{i:05d}"

    def replicas(self, topic: int, partition: int) -> list[int]:
        """Where a partition is."""
        return [(topic + partition + i) % self.brokers_count + 1 for i in range(min(3, self.brokers_count))]

    def _ApiVersionsRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802 - as the request
        keys = [
            ApiVersionsResponse.ApiVersion(api_key=each.API_KEY, min_version=0, max_version=newest)
            for each, (_, newest) in VERSIONS.items()
        ]
        return ApiVersionsResponse(error_code=0, api_keys=keys)

    def _SaslHandshakeRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        return SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])

    def _MetadataRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        one_topic = MetadataResponse.MetadataResponseTopic
        one_partition = one_topic.MetadataResponsePartition
        brokers = [
            MetadataResponse.MetadataResponseBroker(node_id=i + 1, host="127.0.0.1", port=port, rack=f"rack-{i % 3}")
            for i, port in enumerate(self.ports)
        ]
        topics = []
        for i in range(self.topics_count if request.topics is None else 0):
            partitions = []
            for j in range(self.partitions_count):
                replicas = self.replicas(i, j)
                partitions.append(
                    one_partition(
                        error_code=0,
                        partition_index=j,
                        leader_id=replicas[0],
                        leader_epoch=1,
                        replica_nodes=replicas,
                        isr_nodes=replicas,
                        offline_replicas=[],
                    )
                )
            topics.append(
                one_topic(
                    error_code=0, name=self.topic(i), topic_id=uuid.UUID(int=i + 1), is_internal=False, partitions=partitions
                )
            )
        return MetadataResponse(brokers=brokers, cluster_id="stub", controller_id=1, topics=topics, error_code=0)

    def _DescribeClusterRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        brokers = [
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=i + 1, host="127.0.0.1", port=port, rack=f"rack-{i % 3}", is_fenced=False
            )
            for i, port in enumerate(self.ports)
        ]
        return DescribeClusterResponse(
            error_code=0,
            error_message=None,
            endpoint_type=1,
            cluster_id="stub",
            controller_id=1,
            brokers=brokers,
            authorized_operations={8},
        )

    def _DescribeLogDirsRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        result = DescribeLogDirsResponse.DescribeLogDirsResult
        one_topic = result.DescribeLogDirsTopic
        one_partition = one_topic.DescribeLogDirsPartition
        topics = [
            one_topic(
                name=self.topic(i),
                partitions=[
                    one_partition(partition_index=j, partition_size=1000, offset_lag=0, is_future_key=False)
                    for j in range(self.partitions_count)
                    if broker_id in self.replicas(i, j)
                ],
            )
            for i in range(self.topics_count)
        ]
        log_dir = result(
            error_code=0,
            log_dir="/data",
            topics=topics,
            total_bytes=10**12,
            usable_bytes=4 * 10**11,
            is_cordoned=broker_id in self.cordoned,
        )
        return DescribeLogDirsResponse(error_code=0, results=[log_dir])

    def _ListOffsetsRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        one_topic = ListOffsetsResponse.ListOffsetsTopicResponse
        one_partition = one_topic.ListOffsetsPartitionResponse
        self.settles_after -= 1
        return ListOffsetsResponse(
            topics=[
                one_topic(
                    name=topic.name,
                    partitions=[
                        one_partition(
                            partition_index=partition.partition_index,
                            error_code=6 if self.settles_after >= 0 and partition.partition_index == 0 else 0,
                            timestamp=-1,
                            offset=5 if partition.timestamp == -1 else 0,
                            leader_epoch=1,
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _ListGroupsRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        groups = [
            ListGroupsResponse.ListedGroup(
                group_id=f"group-{i:04d}", protocol_type="consumer", group_state="Stable", group_type="classic"
            )
            for i in range(self.groups_count)
            if i % self.brokers_count + 1 == broker_id
        ]
        return ListGroupsResponse(error_code=0, groups=groups)

    def _DescribeGroupsRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        one_group = DescribeGroupsResponse.DescribedGroup
        return DescribeGroupsResponse(
            groups=[
                one_group(
                    error_code=0,
                    error_message=None,
                    group_id=group_id,
                    group_state="Stable",
                    protocol_type="consumer",
                    protocol_data="range",
                    members=[self._member(int(group_id[-4:]), i) for i in range(self.members_count)],
                    authorized_operations=set(),
                )
                for group_id in request.groups
            ]
        )

    def topics_of(self, group: int) -> list[int]:
        """The topics that a group reads."""
        return sorted({(10 * group + i) % self.topics_count for i in range(10)})

    def _member(self, group: int, i: int) -> Any:
        topics = self.topics_of(group)
        names = b"".join(text(self.topic(topic)) for topic in topics)
        subscription = struct.pack(">hi", 1, len(topics)) + names + b"\xff\xff\xff\xff" + struct.pack(">i", 0)
        share, extra = divmod(self.partitions_count, self.members_count)  # as the range assignor divides
        first = share * i + min(i, extra)
        owned = {self.topic(topic): list(range(first, first + share + (i < extra))) for topic in topics}
        return DescribeGroupsResponse.DescribedGroup.DescribedGroupMember(
            member_id=f"member-{i:03d}",
            group_instance_id=None,
            client_id="client",
            client_host="/127.0.0.1",
            member_metadata=subscription,
            member_assignment=struct.pack(">h", 1) + topic_partitions(owned) + b"\xff\xff\xff\xff",
        )

    def _OffsetFetchRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802
        one_group = OffsetFetchResponse.OffsetFetchResponseGroup
        one_topic = one_group.OffsetFetchResponseTopics
        one_partition = one_topic.OffsetFetchResponsePartitions
        return OffsetFetchResponse(
            groups=[
                one_group(
                    group_id=group.group_id,
                    error_code=0,
                    topics=[
                        one_topic(
                            name=self.topic(topic),
                            partitions=[
                                one_partition(
                                    partition_index=j, committed_offset=3, committed_leader_epoch=1, metadata="", error_code=0
                                )
                                for j in range(self.partitions_count)
                            ],
                        )
                        for topic in self.topics_of(int(group.group_id[-4:]))
                    ],
                )
                for group in request.groups
            ]
        )


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def stub_cluster(cluster: StubCluster) -> Iterator[StubCluster]:
    """The cluster, listening."""
    servers: list[_Server] = []

    def handler(broker_id: int) -> type[socketserver.BaseRequestHandler]:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while size := self.rfile.read(4):
                    frame = self.rfile.read(struct.unpack(">i", size)[0])
                    key, version, correlation = struct.unpack(">hhi", frame[:8])
                    request = _REQUESTS[key].decode(frame, version=version, header=True)
                    cluster.requests[type(request).__name__] = cluster.requests.get(type(request).__name__, 0) + 1
                    if broker_id == len(servers) and isinstance(request, cluster.hang_up_on):
                        servers[-1].socket.close()
                        return
                    settled = cluster.settles_after < 0
                    bodies = cluster._bodies.setdefault((broker_id, key, version), {}) if settled else {}
                    if frame[8:] not in bodies:
                        try:
                            response = cluster.answer(broker_id, request)
                        except HangUp:
                            return
                        tagged = response.flexible_version_q(version) and key != ApiVersionsRequest.API_KEY
                        bodies[frame[8:]] = b"\0" * tagged + response.encode(version=version)
                    body = struct.pack(">i", correlation) + bodies[frame[8:]]
                    self.wfile.write(struct.pack(">i", len(body)) + body)

        return Handler

    try:
        for i in range(cluster.brokers_count):
            servers.append(_Server(("127.0.0.1", 0 if i else cluster.first_port), handler(i + 1)))
            cluster.ports.append(servers[-1].server_address[1])
        for server in servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield cluster
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
