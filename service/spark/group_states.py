"""The latest records of a group → what the group is: Arrow in, Arrow out. Executors run this.

====================== ===================================================================================================
classic group          GROUP_METADATA, with every member's subscription and assignment in the consumer protocol's bytes
consumer group         CONSUMER_GROUP_METADATA, one MEMBER_METADATA and one CURRENT_MEMBER_ASSIGNMENT for each member,
                       and what each REGULAR_EXPRESSION has been found to match (KIP-848)
share, streams group   SHARE_GROUP_… and STREAMS_GROUP_…: their members, and what they read
====================== ===================================================================================================
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

import pyarrow as pa

from service.core.wire.consumer_protocol import read_assignment, read_subscription
from service.core.wire.errors import Unreadable
from service.spark.offset_records import uuid_bytes

SCHEMA: Final = pa.schema(
    {
        "at": pa.int64(),
        "group": pa.string(),
        "protocol": pa.string(),
        "protocol_type": pa.string(),
        "assignor": pa.string(),
        "empty": pa.bool_(),
        "state_timestamp": pa.int64(),
        "subscribed": pa.list_(pa.string()),
        "members": pa.string(),
        "member_id": pa.string(),
        "client_id": pa.string(),
        "client_host": pa.string(),
        "topic": pa.string(),
        "topic_id": pa.binary(),
        "partition": pa.int32(),
    }
)
"""A row for the group, where ``member_id`` is null: ``subscribed`` the topics that its members want (null if nobody can tell),
``members`` the members of a request to ``/v1/group-assignments``, but for what they own, as JSON. And a row for each partition of
each member, its topic named or, if only that is known, by its id."""

CLASSIC, CONSUMER, CONSUMER_MEMBER, CONSUMER_ASSIGNMENT = 2, 3, 5, 8
CONSUMER_REGEX = 16
SHARE_MEMBER, SHARE, SHARE_ASSIGNMENT = 10, 11, 14
STREAMS, STREAMS_MEMBER, STREAMS_TOPOLOGY = 17, 19, 23
TYPES: Final = (
    *(CLASSIC, CONSUMER, CONSUMER_MEMBER, CONSUMER_ASSIGNMENT, CONSUMER_REGEX, SHARE_MEMBER, SHARE, SHARE_ASSIGNMENT),
    *(STREAMS, STREAMS_MEMBER, STREAMS_TOPOLOGY),
)
"""The types of record that are looked at."""

Row = dict[str, Any]


def read_group(latest: pa.Table) -> pa.Table:
    """SCHEMA rows of one group at one time.

    latest : the last record of each key, tombstones left out: at, group, type, member and value, as ``offset_records`` has them
    """
    rows = latest.to_pylist()
    by_type: dict[int, dict[str | None, Any]] = {}
    for row in rows:
        by_type.setdefault(row["type"], {})[row["member"]] = json.loads(row["value"])
    found = _group(by_type)
    known = {"at": rows[0]["at"], "group": rows[0]["group"]}
    return pa.Table.from_pylist([{**known, **row} for row in found], schema=SCHEMA)


def _group(by_type: dict[int, dict[str | None, Any]]) -> list[Row]:
    if CLASSIC in by_type:
        return _classic_group(by_type[CLASSIC][None])
    for group, member, assignment, protocol in (
        (CONSUMER, CONSUMER_MEMBER, CONSUMER_ASSIGNMENT, "consumer"),
        (SHARE, SHARE_MEMBER, SHARE_ASSIGNMENT, "share"),
    ):
        if group in by_type:
            members = _members(by_type.get(member, {}), by_type.get(assignment, {}), by_type.get(CONSUMER_REGEX, {}))
            subscribed = {name for document, _ in members for name in document["topic_names"]}
            return _group_of_brokers(protocol, members, subscribed)
    if STREAMS in by_type:
        topology = by_type.get(STREAMS_TOPOLOGY, {}).get(None, {"subtopologies": []})
        members = _members(by_type.get(STREAMS_MEMBER, {}), {}, {})
        return _group_of_brokers("streams", members, _sources(topology) if members else set())
    return []


def _classic_group(value: dict[str, Any]) -> list[Row]:
    """ClassicGroup as it is after loading: without members it is Empty, else Stable."""
    documents, partitions = [], []
    subscribed: set[str] | None = set() if value["protocolType"] == "consumer" else None
    for member in value["members"]:
        document = {"member_id": member["memberId"], "instance_id": member.get("groupInstanceId"), "topic_names": None}
        known = {"member_id": member["memberId"], "client_id": member["clientId"], "client_host": member["clientHost"]}
        owned: tuple[tuple[str, tuple[int, ...]], ...] = ()
        if value["protocolType"] == "consumer":
            try:
                subscription = read_subscription(base64.b64decode(member["subscription"]))
                assigned = base64.b64decode(member["assignment"])
                owned = read_assignment(assigned).partitions if assigned else ()
            except Unreadable:
                subscribed = None  # Kafka then does not know either, and expires nothing
            else:
                document |= {"topic_names": sorted(set(subscription.topic_names)), "rack_id": subscription.rack_id}
                if subscribed is not None:
                    subscribed.update(subscription.topic_names)
        documents.append(document | {"generation_id": max(-1, value["generation"])})
        partitions.append(known)
        partitions += [{**known, "topic": topic, "partition": number} for topic, numbers in owned for number in numbers]
    head: Row = {
        "protocol": "classic",
        "protocol_type": value["protocolType"],
        "assignor": value["protocol"],
        "empty": not documents,
        "state_timestamp": value.get("currentStateTimestamp", -1),
        "subscribed": None if subscribed is None else sorted(subscribed),
        "members": json.dumps([_present(document) for document in documents]),
    }
    return [head, *partitions]


def _members(
    metadata: dict[str | None, Any], assignments: dict[str | None, Any], matches: dict[str | None, Any]
) -> list[tuple[Row, list[Row]]]:
    """Each member's document, and its rows. matches : what regular expressions have been found to match."""
    members = []
    for member_id, value in metadata.items():
        known = {"member_id": member_id, "client_id": value["clientId"], "client_host": value["clientHost"]}
        matched = matches.get(value.get("subscribedTopicRegex"), {})
        document = {
            "member_id": member_id,
            "instance_id": value.get("instanceId"),
            "rack_id": value.get("rackId"),
            "topic_names": sorted({*value.get("subscribedTopicNames", ()), *matched.get("topics", ())}),
        }
        assignment = assignments.get(member_id, {"assignedPartitions": []})
        rows = [
            {**known, "topic_id": uuid_bytes(topic["topicId"]), "partition": number}
            for topic in assignment["assignedPartitions"]
            for number in topic["partitions"]
        ]
        if "memberEpoch" in assignment:
            document["generation_id"] = max(-1, assignment["memberEpoch"])
        members.append((_present(document), [known, *rows]))
    return members


def _group_of_brokers(protocol: str, members: list[tuple[Row, list[Row]]], subscribed: set[str]) -> list[Row]:
    """A group whose broker assigns."""
    head: Row = {
        "protocol": protocol,
        "protocol_type": protocol,
        "empty": not members,
        "state_timestamp": -1,
        "subscribed": sorted(subscribed),
        "members": json.dumps([document for document, _ in members]),
    }
    return [head, *(row for _, rows in members for row in rows)]


def _present(document: Row) -> Row:
    return {name: value for name, value in document.items() if value is not None}


def _sources(topology: dict[str, Any]) -> set[str]:
    """The topics that a topology reads."""
    parts = topology["subtopologies"]
    names = {name for part in parts for name in part["sourceTopics"]}
    return names | {topic["name"] for part in parts for topic in part["repartitionSourceTopics"]}
