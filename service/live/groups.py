"""Groups of the classic, consumer, share and streams protocols, and their committed offsets.

============================ ==========================================================================================
ListGroups                   the groups that each broker coordinates, and their protocols
DescribeGroups               classic groups: each member's Subscription and Assignment, as the bytes that the clients sent;
                             of Kafka Connect's groups the metadata and the assignment of each worker
ConsumerGroupDescribe        consumer groups: subscriptions, epochs, the current and the target assignment
ShareGroupDescribe           share groups: subscriptions, epochs, the assignment
StreamsGroupDescribe         streams groups: subtopologies, epochs, the current and the target tasks
OffsetFetch                  committed offsets
============================ ==========================================================================================

What the members of a consumer group own, for its next rebalance, is their target assignment; what they have got so far is the
current one (``assigned_partitions``).

The order of the members decides ties of the assignors, so it is the one that reproduces the coordinator's. A classic group's
leader gets its members as DescribeGroups lists them. The other groups' members are in a TimelineHashMap, which iterates from the
last to the first member of a slot; entered in the reverse of the described order, they are iterated in that order again.
(org.apache.kafka.coordinator.group.classic.ClassicGroup, org.apache.kafka.timeline.SnapshottableHashTable)
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest

from service.core.documents import Json
from service.descriptions.model import by_topic, listed
from service.descriptions.records_text import classic_members
from service.live.client import GROUPS_PER_REQUEST, NO_ERROR, ClusterClient, kafka_error, reason
from service.live.errors import NotKnown
from service.live.messages import ConsumerGroupDescribeRequest, ShareGroupDescribeRequest, StreamsGroupDescribeRequest
from service.wire.connect_protocol import CONNECT, PROTOCOLS, worker_document
from service.wire.errors import Unreadable

# Groups of the streams protocol (KIP-1071): StreamsGroupDescribe.
#
# Kafka Streams assigns tasks, not partitions: task ``i`` of a subtopology reads partition ``i`` of each of its source topics.
# So a member owns the partitions of its active tasks.

Sources = dict[str, dict[str, int]]
"""Subtopology → its source topics with their partition counts; internal topics that repartition records are among them."""

_KINDS: Final = ("active", "standby", "warmup")


def _streams_group(group: Any, partitions_counts: dict[str, int], _: NotKnown) -> Json:
    subtopologies = (group.topology and group.topology.subtopologies) or ()
    topologies = [
        {
            "subtopology_id": each.subtopology_id,
            "source_topic_names": sorted({*each.source_topics, *(topic.name for topic in each.repartition_source_topics)}),
            "changelog_topic_names": sorted(topic.name for topic in each.state_changelog_topics),
        }
        for each in subtopologies
    ]
    sources = {
        each["subtopology_id"]: {name: partitions_counts.get(name, 0) for name in each["source_topic_names"]}
        for each in topologies
    }
    return {
        "group_id": group.group_id,
        "group_protocol": "streams",
        "group_state": group.group_state,
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "subtopologies": topologies,
        "members": [_member(member, sources) for member in reversed(group.members)],
    }


def _member(member: Any, sources: Sources) -> Json:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "rack_id": member.rack_id or None,
        "member_epoch": member.member_epoch,
        "process_id": member.process_id,
        "topic_names": sorted({name for topics in sources.values() for name in topics}),
        "owned_partitions": _partitions(member.target_assignment.active_tasks, sources),
        "assigned_partitions": _partitions(member.assignment.active_tasks, sources),
        "target_tasks": _tasks(member.target_assignment),
        "tasks": _tasks(member.assignment),
    }


def _tasks(assignment: Any) -> Json:
    return {
        kind: [
            {"subtopology_id": task.subtopology_id, "partition_ids": sorted(task.partitions)}
            for task in sorted(getattr(assignment, f"{kind}_tasks"), key=lambda task: task.subtopology_id)
        ]
        for kind in _KINDS
    }


def _partitions(active_tasks: Any, sources: Sources) -> list[Json]:
    """The partitions that tasks read, by topic."""
    of_tasks = ((task.partitions, sources.get(task.subtopology_id, {})) for task in active_tasks)
    return listed(by_topic((name, i) for ids, topics in of_tasks for name, count in topics.items() for i in ids if i < count))


def workers_of(group: Any, not_known: NotKnown) -> Json:
    """``members`` of a described group: all its workers, or none of them, for what one runs, the others do not."""
    workers = []
    for member in group.members:
        sent = member.member_metadata or b"", member.member_assignment or b""
        try:
            worker = worker_document(member.member_id, group.protocol_data, *sent)
        except Unreadable as error:
            not_known.add("groups[].members", f"{member.member_id}: {error}", group.group_id)
            return {}
        workers.append(worker | {"client_id": member.client_id, "host": member.client_host})
    return {"members": workers}


CONSUMER: Final = "consumer"
"""The protocol type of consumer groups; Connect's workers, and other systems, have their own types and formats."""

STABLE: Final = "Stable"
_NAMES_ONLY: Final = 9
"""The last version of OffsetFetch that names topics instead of giving their ids."""
_MEMBER_TYPES: Final = {0: "classic", 1: "consumer"}
_OUTSIDE_PYTHON: Final = re.compile(r"\\[pPQECzZG]|\[\[:|\(\?[^:iPs]|[*+?}][+]")
"""Regular expressions that RE2, the broker's library, reads otherwise than Python, or that only one of them reads."""


@dataclass(frozen=True)
class ListedGroup:
    """A group in a broker's list. coordinator : the broker that listed it; protocol : "classic", "consumer", "share" …"""

    group_id: str
    coordinator: int
    protocol: str


def list_groups(client: ClusterClient, group_ids: Sequence[str], not_known: NotKnown) -> list[ListedGroup]:
    """Groups, sorted by id. group_ids : those wanted; none of them means all"""
    brokers = client.broker_ids
    listed: dict[str, ListedGroup] = {}
    for broker_id, answer in zip(brokers, client.ask([(broker_id, ListGroupsRequest()) for broker_id in brokers]), strict=True):
        error = answer if isinstance(answer, Exception) else kafka_error(answer.error_code) if answer.error_code else None
        if error is not None:
            not_known.add("groups", f"those that broker {broker_id} coordinates: {reason(error)}")
            continue
        for group in answer.groups:
            protocol = (getattr(group, "group_type", "") or "classic").lower()
            listed[group.group_id] = ListedGroup(group.group_id, broker_id, protocol)
    if not group_ids:
        return [listed[group_id] for group_id in sorted(listed)]
    for group_id in group_ids:
        if group_id not in listed:
            not_known.add(
                "groups[]", "No broker lists this group: it does not exist, or this principal may not describe it.", group_id
            )
    return [listed[group_id] for group_id in sorted(set(group_ids)) if group_id in listed]


def describe_groups(
    client: ClusterClient, listed: Sequence[ListedGroup], partitions_counts: dict[str, int], not_known: NotKnown
) -> list[Json]:
    """The groups in the shape of ``/v1/group-assignments``, with what else brokers tell. partitions_counts : of all topics"""
    documents: dict[str, Json] = {}
    for group in listed:
        if group.protocol not in _OF_PROTOCOL:
            documents[group.group_id] = {"group_id": group.group_id, "group_protocol": group.protocol}
            not_known.add("groups[].members", f"Groups of the protocol {group.protocol} are not read.", group.group_id)
    batches = list(_batches([group for group in listed if group.protocol in _OF_PROTOCOL]))
    requests = [(coordinator, _OF_PROTOCOL[protocol][0](group_ids)) for (coordinator, protocol), group_ids in batches]
    for ((_, protocol), group_ids), answer in zip(batches, client.ask(requests), strict=True):
        if isinstance(answer, Exception):
            for group_id in group_ids:
                not_known.add("groups[]", reason(answer), group_id)
            continue
        for group in answer.groups:
            if group.error_code != NO_ERROR:
                not_known.add("groups[]", reason(kafka_error(group.error_code, group.error_message)), group.group_id)
                continue
            documents[group.group_id] = _OF_PROTOCOL[protocol][1](group, partitions_counts, not_known)
    return [documents[group.group_id] for group in listed if group.group_id in documents]


def add_committed_offsets(
    client: ClusterClient, listed: Sequence[ListedGroup], documents: Sequence[Json], not_known: NotKnown
) -> None:
    """Write the committed offsets of groups into their documents. Share groups commit none."""
    by_id = {document["group_id"]: document for document in documents}
    committing = [group for group in listed if group.group_id in by_id and group.protocol != "share"]
    requests = []
    for (coordinator, _), group_ids in _batches(committing):
        groups = [
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None, member_id=None) for group_id in group_ids
        ]
        requests.append(
            (coordinator, OffsetFetchRequest(groups=groups, require_stable=False, max_version=_NAMES_ONLY, min_version=8))
        )
    for (_, request), answer in zip(requests, client.ask(requests), strict=True):
        if isinstance(answer, Exception):
            for group in request.groups:
                not_known.add("groups[].committed_offsets", reason(answer), group.group_id)
            continue
        for group in answer.groups:
            if group.error_code != NO_ERROR:
                not_known.add("groups[].committed_offsets", reason(kafka_error(group.error_code)), group.group_id)
                continue
            if group.group_id in by_id:
                by_id[group.group_id]["committed_offsets"] = list(_committed(group))


def _committed(group: Any) -> Iterator[Json]:
    for topic in sorted(group.topics, key=lambda topic: topic.name):
        partitions = sorted(
            (partition.partition_index, partition.committed_offset)
            for partition in topic.partitions
            if partition.error_code == NO_ERROR and partition.committed_offset >= 0
        )
        if partitions:
            ids, offsets = zip(*partitions, strict=True)
            yield {"topic_name": topic.name, "partition_ids": list(ids), "offsets": list(offsets)}


def _batches(listed: Sequence[ListedGroup]) -> Iterator[tuple[tuple[int, str], list[str]]]:
    """Group ids by coordinator and protocol, at most GROUPS_PER_REQUEST at once."""
    by_coordinator: dict[tuple[int, str], list[str]] = defaultdict(list)
    for group in listed:
        by_coordinator[group.coordinator, group.protocol].append(group.group_id)
    for key, group_ids in by_coordinator.items():
        for i in range(0, len(group_ids), GROUPS_PER_REQUEST):
            yield key, group_ids[i : i + GROUPS_PER_REQUEST]


def _classic_group(group: Any, _: dict[str, int], not_known: NotKnown) -> Json:
    group_id, state = group.group_id, group.group_state
    document = {"group_id": group_id, "group_protocol": "classic", "group_state": state}
    if group.protocol_type not in (CONSUMER, CONNECT, ""):
        reason = f"The protocol type is {group.protocol_type}, neither {CONSUMER} nor {CONNECT}."
        not_known.add("groups[].members", reason, group_id)
        return document | {"protocol_type": group.protocol_type}
    is_connect = group.protocol_type == CONNECT
    if is_connect:
        document["group_protocol"] = CONNECT
    if group.protocol_data:
        document["assignor"] = PROTOCOLS.get(group.protocol_data, group.protocol_data) if is_connect else group.protocol_data
    if group.members and state != STABLE:
        not_known.add("groups[].members", f"The coordinator describes no members in the state {state}.", group_id)
        return document
    if is_connect:
        return document | workers_of(group, not_known)
    described, unreadable = classic_members(group.members, group.protocol_data)
    for member_id, error in unreadable.items():
        not_known.add("groups[].members[]", f"{member_id}: {error}", group_id)
    return document | described


def _consumer_group(group: Any, partitions_counts: dict[str, int], not_known: NotKnown) -> Json:
    members = []
    for member in reversed(group.members):
        document = _epoch_member(member, member.target_assignment) | {"instance_id": member.instance_id}
        if member.member_type in _MEMBER_TYPES:
            document["member_type"] = _MEMBER_TYPES[member.member_type]
        if pattern := member.subscribed_topic_regex:
            matching = matching_topics(pattern, partitions_counts)
            if matching is None:
                text = f"{pattern}: this regular expression may mean something else to RE2 than to Python."
                not_known.add("groups[].members[].topic_names", text, group.group_id)
            document["topic_regex"] = pattern
            document["topic_names"] = sorted({*document["topic_names"], *(matching or ())})
        members.append(document)
    return _epoch_group(group, "consumer", members)


def _share_group(group: Any, _: dict[str, int], _not_known: NotKnown) -> Json:
    return _epoch_group(group, "share", [_epoch_member(member, member.assignment) for member in reversed(group.members)])


def _epoch_group(group: Any, protocol: str, members: list[Json]) -> Json:
    return {
        "group_id": group.group_id,
        "group_protocol": protocol,
        **({"assignor": group.assignor_name} if group.assignor_name else {}),
        "group_state": group.group_state,
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "members": members,
    }


def _epoch_member(member: Any, target: Any) -> Json:
    return {
        "member_id": member.member_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "rack_id": member.rack_id or None,
        "member_epoch": member.member_epoch,
        "topic_names": sorted(member.subscribed_topic_names),
        "owned_partitions": _by_name(target),
        "assigned_partitions": _by_name(member.assignment),
    }


def _by_name(assignment: Any) -> list[Json]:
    topics = sorted(assignment.topic_partitions, key=lambda topic: topic.topic_name)
    return [{"topic_name": topic.topic_name, "partition_ids": sorted(topic.partitions)} for topic in topics]


def matching_topics(pattern: str, topic_names: Iterable[str]) -> list[str] | None:
    """The topics that match a member's regular expression as a whole; None if Python may read it otherwise than RE2."""
    if _OUTSIDE_PYTHON.search(pattern):
        return None
    try:
        compiled = re.compile(pattern, re.ASCII)
    except re.error:
        return None
    return [name for name in topic_names if compiled.fullmatch(name)]


_OF_PROTOCOL: Final[dict[str, tuple[Callable[[list[str]], Any], Callable[[Any, dict[str, int], NotKnown], Json]]]] = {
    "classic": (lambda ids: DescribeGroupsRequest(groups=ids, include_authorized_operations=False), _classic_group),
    "consumer": (lambda ids: ConsumerGroupDescribeRequest(group_ids=ids, include_authorized_operations=False), _consumer_group),
    "share": (lambda ids: ShareGroupDescribeRequest(group_ids=ids, include_authorized_operations=False), _share_group),
    "streams": (lambda ids: StreamsGroupDescribeRequest(group_ids=ids, include_authorized_operations=False), _streams_group),
}
"""Of each protocol the request that describes groups, and what makes a document of a described one.

The latter also gets the partition counts of all topics, for regular expressions and tasks.
"""
