"""What only ``__consumer_offsets`` tells about groups: the group coordinator's own records.

================== ====================================================================================================
classic groups     the generation, the leader; of Kafka Connect's groups too
consumer groups    each member's own server assignor, its pending revocations, the hash of the topics that the coordinator
                   knows (0: it does not know them yet), and the topics that match a regular expression
share groups       the partitions that are initialized
================== ====================================================================================================

The topic is read to its end, without a group and without committing anything. Committed offsets, most of its records, are skipped
unread.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.protocol.metadata import MetadataRequest

from service.core.documents import Json
from service.core.printable import counted
from service.live.client import ClusterClient, kafka_error, reason
from service.live.errors import NotKnown
from service.live.records import open_consumer
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable

TOPIC: Final = "__consumer_offsets"
POLL_MS: Final = 1000
IDLE_POLLS: Final = 15
"""Polls without a record after which a partition counts as unreadable."""
_COMMITS: Final = (b"\x00\x00", b"\x00\x01")

State = dict[tuple[str, ...], Json]
"""The newest value of each record by its type's name and key."""


def add_coordinator_state(client: ClusterClient, groups: Sequence[Json], not_known: NotKnown) -> None:
    """Write into the groups what the coordinators' records tell."""
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    (answer,) = client.ask([(None, request)])
    error = answer if isinstance(answer, Exception) else kafka_error(answer.topics[0].error_code if answer.topics else -1)
    if isinstance(error, kafka_errors.UnknownTopicOrPartitionError):
        return  # there has never been a group
    state: State = {}
    if isinstance(error, kafka_errors.NoError):
        try:
            state = _read_state(client, len(answer.topics[0].partitions))
        except (kafka_errors.KafkaError, TimeoutError) as fault:
            error = fault
    if not isinstance(error, kafka_errors.NoError):
        not_known.add("groups[].generation_id", f"{TOPIC}: {reason(error)}")
        return
    for group in groups:
        if group["group_protocol"] in _ADD:
            _ADD[group["group_protocol"]](group, state)


def _read_state(client: ClusterClient, partitions_count: int) -> State:
    state: State = {}
    for key, value in _records(client, partitions_count):
        try:
            record = read_group_record(key, value)
        except Unreadable:
            continue  # a type of a later release
        name = (record.name, *map(str, record.key.values()))
        if record.value is None:
            state.pop(name, None)
        else:
            state[name] = record.value
    return state


def _records(client: ClusterClient, partitions_count: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Every record but commits, up to where the topic ends now. Raises KafkaError, TimeoutError if a partition stays silent."""
    with open_consumer(client) as consumer:
        partitions = [TopicPartition(TOPIC, i) for i in range(partitions_count)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        left, idle = {partition for partition, end in ends.items() if consumer.position(partition) < end}, 0
        while left:
            batches = consumer.poll(POLL_MS, max_records=10_000)
            idle = 0 if batches else idle + 1
            if idle > IDLE_POLLS or not client.seconds_left:
                raise TimeoutError(f"no answer for {counted(len(left), 'partition')}")
            for records in batches.values():
                yield from ((record.key, record.value) for record in records if record.key and record.key[:2] not in _COMMITS)
            left = {partition for partition in left if consumer.position(partition) < ends[partition]}


def _add_classic(group: Json, state: State) -> None:
    """The generation and the leader, if the record still is of the members that the coordinator described."""
    record = state.get(("GROUP_METADATA", group["group_id"]))
    members = group.get("members", [])
    if record is None or {member["memberId"] for member in record["members"]} != {member["member_id"] for member in members}:
        return
    group["generation_id"] = record["generation"]
    if record.get("leader"):
        group["leader"] = record["leader"]
    for member in members:
        member["generation_id"] = record["generation"]


def _add_consumer(group: Json, state: State) -> None:
    group_id = group["group_id"]
    metadata = state.get(("CONSUMER_GROUP_METADATA", group_id))
    if metadata is not None:
        group["metadata_hash"] = metadata.get("metadataHash", 0)
    for member in group.get("members", []):
        own = state.get(("CONSUMER_GROUP_MEMBER_METADATA", group_id, member["member_id"]), {})
        if own.get("serverAssignor"):
            member["server_assignor"] = own["serverAssignor"]
        current = state.get(("CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT", group_id, member["member_id"]))
        if current is not None:
            member["revoking_partitions"] = [
                {"topic_id": topic["topicId"], "partition_ids": topic["partitions"]}
                for topic in current["partitionsPendingRevocation"]
            ]
        resolved = state.get(("CONSUMER_GROUP_REGULAR_EXPRESSION", group_id, member.get("topic_regex", "")))
        if resolved is not None:
            member["topic_names"] = sorted({*own.get("subscribedTopicNames", ()), *resolved["topics"]})


def _add_share(group: Json, state: State) -> None:
    record = state.get(("SHARE_GROUP_STATE_PARTITION_METADATA", group["group_id"]))
    if record is not None:
        topics = sorted(record["initializedTopics"], key=lambda topic: str(topic["topicName"]))
        group["initialized_partitions"] = [
            {"topic_name": topic["topicName"], "partition_ids": sorted(topic["partitions"])} for topic in topics
        ]


_ADD: Final = {"classic": _add_classic, "connect": _add_classic, "consumer": _add_consumer, "share": _add_share}
