"""From the latest records of a group to its state, and with the weights of its partitions to a request to
``/v1/group-assignments``: Arrow in, Arrow out. Executors run this.

====================== ===================================================================================================
classic group          GROUP_METADATA, with every member's subscription and assignment in the consumer protocol's bytes
consumer group         CONSUMER_GROUP_METADATA, one MEMBER_METADATA and one CURRENT_MEMBER_ASSIGNMENT for each member,
                       and the topics that each REGULAR_EXPRESSION matches (KIP-848)
share, streams group   SHARE_GROUP_… and STREAMS_GROUP_…: their members and subscriptions
====================== ===================================================================================================

The answer to a request is the assignment by the group's own assignor (or, if the service does not have it, the default of its
protocol), and each member's share of the lag or of the load (``weighted_member_load``).
"""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from service.decisions.rows import columns
from service.pipeline.spark.tasks.coordinator_records import uuid_bytes
from service.strategies import GROUP_PROTOCOLS
from service.wire.consumer_protocol import TopicPartitions, read_assignment, read_subscribed_topics, read_subscription
from service.wire.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.pipeline.analyses.fleet.assignments import Choice

STATES: Final = pa.schema(
    {
        **columns("at long, group string, protocol string, assignor string, empty boolean, keeps_offsets boolean"),
        **columns("empty_since long"),
        "subscribed": pa.list_(pa.string()),
        **columns("members string, member_id string, client_id string, client_host string"),
        **columns("topic string, topic_id binary, partition int"),
    }
)
"""A row for the group, where ``member_id`` is null: ``subscribed`` are the topics of all subscriptions (null if unknown),
``members`` the members of a request to ``/v1/group-assignments`` as JSON, without owned partitions. And a row for each partition
of each member, with its topic's name or, if unknown, its id.

No offset expires while the group ``keeps_offsets``. Otherwise the offsets of topics that are not ``subscribed`` expire: when the
retention has passed since ``empty_since`` (ms), or since the commit where that is null.

Source: shouldExpire, offsetExpirationCondition and isSubscribedToTopic of ClassicGroup, ConsumerGroup, ShareGroup and
StreamsGroup."""

CLASSIC, CONSUMER, CONSUMER_MEMBER, CONSUMER_ASSIGNMENT = 2, 3, 5, 8
CONSUMER_REGEX = 16
SHARE_MEMBER, SHARE, SHARE_ASSIGNMENT = 10, 11, 14
STREAMS, STREAMS_MEMBER, STREAMS_TOPOLOGY = 17, 19, 23
TYPES: Final = (
    *(CLASSIC, CONSUMER, CONSUMER_MEMBER, CONSUMER_ASSIGNMENT, CONSUMER_REGEX, SHARE_MEMBER, SHARE, SHARE_ASSIGNMENT),
    *(STREAMS, STREAMS_MEMBER, STREAMS_TOPOLOGY),
)
"""The record types that describe a group."""

Row = dict[str, Any]


def read_group(latest: pa.Table) -> pa.Table:
    """STATES rows of one group at one time.

    latest : the last record of each key, without tombstones: at, group, type, member and value, as in ``records.SCHEMA``
    """
    by_type: dict[int, dict[str | None, Any]] = {}
    for row in latest.to_pylist():
        by_type.setdefault(row["type"], {})[row["member"]] = json.loads(row["value"])
    subject = latest.select(["at", "group"]).slice(0, 1).to_pylist()[0]
    return pa.Table.from_pylist([{**subject, **row} for row in _group(by_type)], schema=STATES)


def _group(by_type: dict[int, dict[str | None, Any]]) -> list[Row]:
    if CLASSIC in by_type:
        return _classic_group(by_type[CLASSIC][None])
    for group, member, assignment, protocol in (
        (CONSUMER, CONSUMER_MEMBER, CONSUMER_ASSIGNMENT, "consumer"),
        (SHARE, SHARE_MEMBER, SHARE_ASSIGNMENT, "share"),
    ):
        if group in by_type:
            matches = by_type.get(CONSUMER_REGEX, {})
            members = _members(by_type.get(member, {}), by_type.get(assignment, {}), matches)
            subscribed = {name for document, _ in members for name in document["topic_names"]}
            # An expression counts even if its member has left.
            subscribed.update(name for matched in matches.values() for name in matched["topics"])
            return _group_of_brokers(protocol, members, subscribed)
    if STREAMS in by_type:
        topology = by_type.get(STREAMS_TOPOLOGY, {}).get(None, {"subtopologies": []})
        members = _members(by_type.get(STREAMS_MEMBER, {}), {}, {})
        parts = topology["subtopologies"] if members else []
        sources = {name for part in parts for name in part["sourceTopics"]}
        sources |= {topic["name"] for part in parts for topic in part["repartitionSourceTopics"]}
        return _group_of_brokers("streams", members, sources)
    return []


def _classic_group(value: dict[str, Any]) -> list[Row]:
    """ClassicGroup after loading: Empty without members, else Stable."""
    consumers = value["protocolType"] == "consumer"
    documents, partitions = [], []
    subscribed: set[str] | None = set() if consumers and (value["protocol"] is not None or not value["members"]) else None
    for member in value["members"]:
        client = {"member_id": member["memberId"], "client_id": member["clientId"], "client_host": member["clientHost"]}
        document, topics, owned = _classic_member(member) if consumers else ({}, None, ())
        subscribed = None if subscribed is None or topics is None else subscribed.union(topics)
        ids = {"member_id": member["memberId"], "instance_id": member.get("groupInstanceId")}
        documents.append({**ids, **document, "generation_id": max(-1, value["generation"])})
        partitions.append(client)
        partitions += [{**client, "topic": topic, "partition": number} for topic, numbers in owned for number in numbers]
    state_timestamp = value.get("currentStateTimestamp", -1)
    head: Row = {
        "protocol": "classic",
        "assignor": value["protocol"],
        "empty": not documents,
        # A group without a protocol type has only committed offsets.
        "keeps_offsets": bool(documents and value["protocolType"]) and subscribed is None,
        "empty_since": None if documents or not value["protocolType"] or state_timestamp == -1 else state_timestamp,
        "subscribed": None if subscribed is None else sorted(subscribed),
        "members": json.dumps([present(document) for document in documents]),
    }
    return [head, *partitions]


def _classic_member(member: dict[str, Any]) -> tuple[Row, tuple[str, ...] | None, TopicPartitions]:
    """A consumer's document, its topics (None if its subscription is unreadable, to Kafka as well), and its partitions."""
    subscription, assigned = (base64.b64decode(member[name]) for name in ("subscription", "assignment"))
    document: Row = {}
    topics: tuple[str, ...] | None = None
    owned: TopicPartitions = ()
    with suppress(Unreadable):
        topics = read_subscribed_topics(subscription)
        document["topic_names"] = sorted(set(topics))
        document["rack_id"] = read_subscription(subscription).rack_id
    with suppress(Unreadable):
        owned = read_assignment(assigned).partitions if assigned else ()
    return document, topics, owned


def _members(
    metadata: dict[str | None, Any], assignments: dict[str | None, Any], matches: dict[str | None, Any]
) -> list[tuple[Row, list[Row]]]:
    """Each member's document, and its rows. matches : the topics that each regular expression matches"""
    members = []
    for member_id, value in metadata.items():
        client = {"member_id": member_id, "client_id": value["clientId"], "client_host": value["clientHost"]}
        matched = matches.get(value.get("subscribedTopicRegex"), {})
        document = {
            "member_id": member_id,
            "instance_id": value.get("instanceId"),
            "rack_id": value.get("rackId"),
            "topic_names": sorted({*value.get("subscribedTopicNames", ()), *matched.get("topics", ())}),
        }
        assignment = assignments.get(member_id, {"assignedPartitions": []})
        rows = [
            {**client, "topic_id": uuid_bytes(topic["topicId"]), "partition": number}
            for topic in assignment["assignedPartitions"]
            for number in topic["partitions"]
        ]
        if "memberEpoch" in assignment:
            document["generation_id"] = max(-1, assignment["memberEpoch"])
        members.append((present(document), [client, *rows]))
    return members


def _group_of_brokers(protocol: str, members: list[tuple[Row, list[Row]]], subscribed: set[str]) -> list[Row]:
    """A group that its coordinator assigns."""
    head: Row = {
        "protocol": protocol,
        "empty": not members,
        "keeps_offsets": protocol == "share",
        "subscribed": sorted(subscribed),
        "members": json.dumps([document for document, _ in members]),
    }
    return [head, *(row for _, rows in members for row in rows)]


SCHEMA: Final = pa.schema({"group": pa.string(), "question": pa.string()})


def weighted_by_lag(lags: pa.Table, members: pa.Table) -> pa.Table:
    """The SCHEMA row of one group, its partitions weighted by their lag. No row for a group without members.

    lags : topic, partition, partitions_count and weight of each of its partitions
    members : the group's ``read_group`` rows, topics named
    """
    rows = members.to_pylist()
    head = next((row for row in rows if row["member_id"] is None), None)
    if head is None or head["empty"] or head["protocol"] == "streams":
        return SCHEMA.empty_table()
    topics = _topics(lags.to_pylist(), head["subscribed"] or ())
    owned = _owned(rows)
    # A group may have a custom assignor that only its members have.
    assignors, assignor = GROUP_PROTOCOLS[head["protocol"]], head["assignor"]
    request = {
        "group_protocol": head["protocol"],
        "assignor": assignor if assignors.full_name(assignor) in assignors.names() else None,
        "group_id": head["group"],
        "topics": topics,
        "members": [{**member, "owned_partitions": owned.get(member["member_id"], [])} for member in json.loads(head["members"])],
    }
    if not topics:
        return SCHEMA.empty_table()
    return pa.table({"group": [head["group"]], "question": [json.dumps(request)]}, schema=SCHEMA)


def weighted_by_load(groups: pa.Table, rates: pa.Table, choice: Choice | None = None) -> pa.Table:
    """The SCHEMA row of each group: its own row as JSON, its partitions weighted by their load.

    groups : rows of ``assignments.COLUMNS``
    rates : topic, partition and weight of the partitions of their topics; a missing partition weighs 0
    choice : the assignor, in place of the group's own
    """
    weights: dict[str, dict[int, float]] = {}
    for row in rates.to_pylist():
        weights.setdefault(row["topic"], {})[row["partition"]] = row["weight"]
    requests = []
    for group in groups.to_pylist():
        for topic in group["topics"]:
            of_topic = weights.get(topic["topic_name"], {})
            topic["partition_weights"] = [of_topic.get(i, 0.0) for i in range(topic["partitions_count"])]
        if choice is not None:
            group |= {"group_protocol": choice.group_protocol, "assignor": choice.assignor}
        requests.append({"group": group["group_id"], "question": json.dumps(present(group))})
    return pa.Table.from_pylist(requests, schema=SCHEMA)


def present(value: Any) -> Any:
    """The same without null members, which columns have where a body has no such member."""
    if isinstance(value, dict):
        return {name: present(each) for name, each in value.items() if each is not None}
    return [present(each) for each in value] if isinstance(value, list) else value


def _topics(lags: list[dict[str, Any]], subscribed: Iterable[str]) -> list[dict[str, Any]]:
    """The subscribed topics with the weight of each partition; 0 if its lag is unknown."""
    counts: dict[str, int] = {}
    weights: dict[str, dict[int, float]] = {}
    names = set(subscribed)
    for row in lags:
        topic, partition = row["topic"], row["partition"]
        if topic in names and partition is not None and partition >= 0:
            counts[topic] = max(counts.get(topic, 0), partition + 1, row["partitions_count"] or 0)
            weights.setdefault(topic, {})[partition] = float(max(0, row["weight"] or 0))
    return [
        {"topic_name": topic, "partitions_count": n, "partition_weights": [weights[topic].get(i, 0.0) for i in range(n)]}
        for topic, n in sorted(counts.items())
    ]


def _owned(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The owned partitions of each member, as in a request."""
    by_member: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        if row["member_id"] is not None and row["topic"] is not None and row["partition"] is not None:
            by_member.setdefault(row["member_id"], {}).setdefault(row["topic"], []).append(row["partition"])
    return {
        member: [{"topic_name": topic, "partition_ids": sorted(ids)} for topic, ids in sorted(topics.items())]
        for member, topics in by_member.items()
    }
