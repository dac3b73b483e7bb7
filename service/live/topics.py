"""Brokers and topics: placements, sizes, offsets.

============================ ==========================================================================================
DescribeCluster              brokers, their racks, which of them are fenced
DescribeLogDirs              how full each broker's disks are, which of them are cordoned (KIP-1066), and the size of each replica
Metadata                     topics, their ids, leaders, replicas and in-sync replicas
ListOffsets                  where each partition begins and ends; asked of its leader
============================ ==========================================================================================
"""

import base64
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kafka import errors as kafka_errors
from kafka.protocol.admin import DescribeClusterRequest, DescribeLogDirsRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from service.core.documents import Json
from service.live.client import NO_ERROR, PAUSE_SECONDS, ClusterClient, kafka_error, reason
from service.live.errors import NotKnown, Unreachable

EARLIEST: Final = -2
LATEST: Final = -1
PARTITIONS_PER_REQUEST: Final = 5000
NO_LEADER: Final = -1
SETTLING_SECONDS: Final = 3.0
"""How long a broker is asked again for partitions that it does not lead yet, as in the moment after a topic was created."""
_SETTLING: Final = {
    error.errno
    for error in (
        kafka_errors.UnknownTopicOrPartitionError,
        kafka_errors.LeaderNotAvailableError,
        kafka_errors.NotLeaderForPartitionError,
    )
}
_TELLS_CORDONED: Final = 5
"""The version of DescribeLogDirs since which each log directory has ``IsCordoned``."""
_NO_ID: Final = UUID(int=0)
_DESCRIBE: Final = 8
"""AclOperation.DESCRIBE."""

TopicPartition = tuple[str, int]


@dataclass(frozen=True)
class Disks:
    """What the brokers tell of their disks.

    capacity, used : bytes by broker
    cordoned : whether every log directory that is online is, by broker (BrokerRegistration.hasUncordonedDirs, 4.3.1)
    sizes : bytes by (topic, partition) and broker
    log_dirs : those that are online, by broker, as the rows of ``POST /v1/log-dir-plans`` have them
    """

    capacity: dict[int, int]
    used: dict[int, int]
    cordoned: dict[int, bool]
    sizes: dict[TopicPartition, dict[int, int]]
    log_dirs: dict[int, list[Json]]


def read_cluster(client: ClusterClient, not_known: NotKnown) -> tuple[str, list[Json]]:
    """The cluster's id and its brokers."""
    request = DescribeClusterRequest(include_fenced_brokers=True, include_cluster_authorized_operations=True)
    (answer,) = client.ask([(None, request)])
    if isinstance(answer, Exception) or answer.error_code != NO_ERROR:
        return _cluster_before_2_8(client, not_known)
    if answer.authorized_operations is not None and _DESCRIBE not in answer.authorized_operations:
        not_known.add("groups", "Without Describe on the cluster, brokers list only the groups that this principal may describe.")
    tells_fenced = answer.API_VERSION >= 2
    if not tells_fenced:
        not_known.add("brokers[].fenced", "Brokers before Kafka 4.0 do not report it.")
    brokers = [
        {"broker_id": broker.broker_id, "rack_id": broker.rack, **({"fenced": broker.is_fenced} if tells_fenced else {})}
        for broker in sorted(answer.brokers, key=lambda broker: broker.broker_id)
    ]
    return answer.cluster_id, brokers


def _cluster_before_2_8(client: ClusterClient, not_known: NotKnown) -> tuple[str, list[Json]]:
    answer = client.ask([(None, MetadataRequest(topics=[], allow_auto_topic_creation=False))])[0]
    if isinstance(answer, Exception):
        raise Unreachable(f"the cluster does not answer: {reason(answer)}")
    not_known.add("brokers[].fenced", "Brokers before Kafka 4.0 do not report it.")
    brokers = sorted(answer.brokers, key=lambda broker: broker.node_id)
    return answer.cluster_id, [{"broker_id": broker.node_id, "rack_id": broker.rack} for broker in brokers]


def read_topics(client: ClusterClient, names: Sequence[str], not_known: NotKnown) -> list[Json]:
    """Topics with their placements, sorted by name. names : those to read; none of them means all"""
    topics = [MetadataRequest.MetadataRequestTopic(name=name, topic_id=_NO_ID) for name in names] or None
    (answer,) = client.ask([(None, MetadataRequest(topics=topics, allow_auto_topic_creation=False))])
    if isinstance(answer, Exception):
        not_known.add("topics", reason(answer))
        return []
    documents = {}
    for topic in answer.topics:
        if topic.error_code != NO_ERROR:
            not_known.add("topics[]", reason(kafka_error(topic.error_code)), topic.name)
        elif topic.name is not None:  # null only where a topic was asked for by its id
            documents[topic.name] = _topic(topic)
    return [documents[name] for name in sorted(documents)]


def _topic(topic: Any) -> Json:
    partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
    has_id = topic.topic_id not in (None, _NO_ID)
    return {
        "topic_name": topic.name,
        # As Kafka prints it, and the service takes it.
        **({"topic_id": base64.urlsafe_b64encode(topic.topic_id.bytes).decode().rstrip("=")} if has_id else {}),
        "partitions_count": len(partitions),
        "internal": topic.is_internal,
        "placements": [
            {
                "partition_id": partition.partition_index,
                "replicas": partition.replica_nodes,
                "in_sync_replicas": partition.isr_nodes,
                "leader": None if partition.leader_id == NO_LEADER else partition.leader_id,
            }
            for partition in partitions
        ],
    }


def read_disks(client: ClusterClient, topics: Sequence[Json], *, every_topic: bool, not_known: NotKnown) -> Disks:
    """Disk use and the size of every replica of these topics. every_topic : are these all topics of the cluster?"""
    disks = Disks({}, {}, {}, defaultdict(dict), defaultdict(list))
    partitions = None
    if not every_topic:
        partitions = [
            DescribeLogDirsRequest.DescribableLogDirTopic(
                topic=topic["topic_name"], partitions=list(range(topic["partitions_count"]))
            )
            for topic in topics
        ]
    brokers = client.broker_ids
    for broker_id, answer in zip(
        brokers, client.ask([(broker_id, DescribeLogDirsRequest(topics=partitions)) for broker_id in brokers]), strict=True
    ):
        error = answer if isinstance(answer, Exception) else kafka_error(answer.error_code) if answer.error_code else None
        if error is not None:
            not_known.add("brokers[].used_bytes", reason(error), str(broker_id))
            continue
        _add_log_dirs(disks, broker_id, answer, not_known)
        if answer.API_VERSION < _TELLS_CORDONED:
            not_known.add("brokers[].cordoned", "Brokers before Kafka 4.3 do not report it.", str(broker_id))
        elif online := [log_dir.is_cordoned for log_dir in answer.results if log_dir.error_code == NO_ERROR]:
            disks.cordoned[broker_id] = all(online)
    return disks


def _add_log_dirs(disks: Disks, broker_id: int, answer: Any, not_known: NotKnown) -> None:
    capacity = used = 0
    complete = bool(answer.results)
    for log_dir in answer.results:
        if log_dir.error_code != NO_ERROR:
            not_known.add("brokers[].used_bytes", f"{log_dir.log_dir}: {reason(kafka_error(log_dir.error_code))}", str(broker_id))
            complete = False
            continue
        if log_dir.total_bytes is None or log_dir.total_bytes < 0:
            complete = False
        else:
            capacity += log_dir.total_bytes
            used += log_dir.total_bytes - log_dir.usable_bytes
        for topic in log_dir.topics:
            for partition in topic.partitions:
                if not partition.is_future_key:
                    disks.sizes[topic.name, partition.partition_index][broker_id] = partition.partition_size
        disks.log_dirs[broker_id].append(_log_dir(log_dir, tells_cordoned=answer.API_VERSION >= _TELLS_CORDONED))
    if complete:
        disks.capacity[broker_id], disks.used[broker_id] = capacity, used
    elif not answer.results:
        not_known.add("brokers[].used_bytes", "The principal lacks Describe on the cluster.", str(broker_id))


def _log_dir(log_dir: Any, *, tells_cordoned: bool) -> Json:
    """A directory with its replicas; one that is being moved is where it still is."""
    known = log_dir.total_bytes is not None and log_dir.total_bytes >= 0
    replicas = []
    for topic in log_dir.topics:
        current = sorted((each.partition_index, each.partition_size) for each in topic.partitions if not each.is_future_key)
        if current:
            ids, sizes = map(list, zip(*current, strict=True))
            replicas.append({"topic_name": topic.name, "partition_ids": ids, "partition_bytes": sizes})
    return {
        "log_dir": log_dir.log_dir,
        **({"capacity_bytes": log_dir.total_bytes, "used_bytes": log_dir.total_bytes - log_dir.usable_bytes} if known else {}),
        **({"cordoned": log_dir.is_cordoned} if tells_cordoned else {}),
        "replicas": sorted(replicas, key=lambda topic: topic["topic_name"]),
    }


def log_dirs_of(disks: Disks) -> list[Json]:
    """The log directories of each broker that tells them: rows of the ``brokers`` of ``POST /v1/log-dir-plans``."""
    return [{"broker_id": broker_id, "log_dirs": disks.log_dirs[broker_id]} for broker_id in sorted(disks.log_dirs)]


def add_disks(brokers: Sequence[Json], topics: Sequence[Json], disks: Disks, not_known: NotKnown) -> None:
    """Write disk use into the brokers, and into the topics the size of each partition: its leader's, else the largest one."""
    for broker in brokers:
        if broker["broker_id"] in disks.capacity:
            broker["capacity_bytes"] = disks.capacity[broker["broker_id"]]
            broker["used_bytes"] = disks.used[broker["broker_id"]]
        if broker["broker_id"] in disks.cordoned:
            broker["cordoned"] = disks.cordoned[broker["broker_id"]]
    for topic in topics:
        name = topic["topic_name"]
        sizes: list[int | None] = []
        for placement in topic["placements"]:
            of_brokers = disks.sizes.get((name, placement["partition_id"]), {})
            sizes.append(of_brokers.get(placement["leader"], max(of_brokers.values(), default=None)))
        if any(size is None for size in sizes):
            not_known.add("topics[].partition_bytes", "No broker reported the size of each partition.", name)
        if any(size is not None for size in sizes):
            topic["partition_bytes"] = sizes


def read_offsets(
    client: ClusterClient, topics: Sequence[Json], timestamp: int, field: str, not_known: NotKnown
) -> dict[str, list[int | None]]:
    """An offset of every partition, by topic: None where its leader does not tell. timestamp : EARLIEST or LATEST"""
    offsets: dict[str, list[int | None]] = {topic["topic_name"]: [None] * topic["partitions_count"] for topic in topics}
    requests = _offset_requests(topics, timestamp, field, not_known)
    until = time.monotonic() + SETTLING_SECONDS
    while requests:
        sent, requests = requests, []
        for (broker_id, request), answer in zip(sent, client.ask(sent), strict=True):
            if isinstance(answer, Exception):
                why = f"broker {broker_id}: {reason(answer)}"
                for topic in request.topics:
                    not_known.add(field, why, topic.name)
                continue
            refused: dict[str, list[int]] = defaultdict(list)
            for name, partition_id, error_code in _put_offsets(answer, offsets):
                if error_code in _SETTLING and time.monotonic() < until:
                    refused[name].append(partition_id)
                else:
                    not_known.add(field, reason(kafka_error(error_code)), name)
            if refused:
                requests.append((broker_id, _offset_request([_offsets_of(*each, timestamp) for each in refused.items()])))
        if requests:
            time.sleep(PAUSE_SECONDS)
    return offsets


def _put_offsets(answer: Any, offsets: dict[str, list[int | None]]) -> Iterator[tuple[str, int, int]]:
    """Take over what an answer tells; yields (topic, partition id, error code) of what it does not."""
    for topic in answer.topics:
        row = offsets.get(topic.name, [])
        for partition in topic.partitions:
            if partition.error_code == NO_ERROR:
                if 0 <= partition.partition_index < len(row):
                    row[partition.partition_index] = partition.offset
            else:
                yield topic.name, partition.partition_index, partition.error_code


def _offset_request(topics: list[Any]) -> ListOffsetsRequest:
    return ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics)


def _offsets_of(name: str, partition_ids: list[int], timestamp: int) -> Any:
    one_topic = ListOffsetsRequest.ListOffsetsTopic
    one_partition = one_topic.ListOffsetsPartition
    partitions = [one_partition(partition_index=i, current_leader_epoch=-1, timestamp=timestamp) for i in partition_ids]
    return one_topic(name=name, partitions=partitions)


def _offset_requests(
    topics: Sequence[Json], timestamp: int, field: str, not_known: NotKnown
) -> list[tuple[int, ListOffsetsRequest]]:
    """Requests to each leader, of at most PARTITIONS_PER_REQUEST partitions and one topic more."""
    batches: dict[int, list[tuple[int, list[Any]]]] = defaultdict(list)
    for topic in topics:
        by_leader: dict[int, list[int]] = defaultdict(list)
        for i, placement in enumerate(topic["placements"]):
            if placement["leader"] is None:
                not_known.add(field, "LEADER_NOT_AVAILABLE", topic["topic_name"])
            elif placement["partition_id"] == i:
                by_leader[placement["leader"]].append(i)
        for leader, ids in by_leader.items():
            if not batches[leader] or batches[leader][-1][0] >= PARTITIONS_PER_REQUEST:
                batches[leader].append((0, []))
            count, entries = batches[leader][-1]
            entries.append(_offsets_of(topic["topic_name"], ids, timestamp))
            batches[leader][-1] = count + len(ids), entries
    return [(leader, _offset_request(entries)) for leader, of_leader in batches.items() for _, entries in of_leader]
