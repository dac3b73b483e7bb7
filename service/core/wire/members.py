"""Captured members and groups as requests for ``/v1/group-assignments``."""

import base64
from typing import Any, Final

from service.core.wire.consumer_protocol import Subscription, TopicPartitions, as_seen_by, read_assignment, read_subscription
from service.core.wire.coordinator_records import CoordinatorRecord
from service.core.wire.messages import Document

CONSUMER: Final = "consumer"
"""The protocol type of consumer groups; Connect's workers and others have their own types and formats."""


def member_document(
    subscription: Subscription, member_id: str, instance_id: str | None = None, assignor: str = "range"
) -> dict[str, Any]:
    """An element of ``members``, which owns what it claims to ``assignor``. Absent values are left out."""
    owned, generation = as_seen_by(assignor, subscription)
    return _document(subscription, member_id, instance_id, owned, generation)


def group_document(record: CoordinatorRecord) -> dict[str, Any] | None:
    """A consumer group of the classic protocol, from its GROUP_METADATA: a request without its topics.

    Each member owns its assignment, in the group's generation: what it will claim in the next rebalance. None if the record is of
    another type, a tombstone, or not of a consumer group. Raises Unreadable if a member's bytes cannot be read.
    """
    value = record.value
    if record.name != "GROUP_METADATA" or value is None or value["protocolType"] != CONSUMER:
        return None
    return {
        "group_protocol": "classic",
        "group_id": record.key["group"],
        **({} if value["protocol"] is None else {"assignor": value["protocol"]}),
        "members": [_group_member(member, value["generation"]) for member in value["members"]],
    }


def _group_member(member: Document, generation: int) -> dict[str, Any]:
    subscription = read_subscription(base64.b64decode(member["subscription"]))
    assigned = base64.b64decode(member["assignment"])
    owned = read_assignment(assigned).partitions if assigned else ()
    return _document(subscription, member["memberId"], member.get("groupInstanceId"), owned, generation)


def _document(
    subscription: Subscription, member_id: str, instance_id: str | None, owned: TopicPartitions, generation: int | None
) -> dict[str, Any]:
    by_topic: dict[str, list[int]] = {}
    for topic_name, partition_ids in owned:
        by_topic.setdefault(topic_name, []).extend(partition_ids)
    if generation is not None and generation < 0:
        generation = None  # the member has not been in the group
    optional = {"instance_id": instance_id, "rack_id": subscription.rack_id, "generation_id": generation}
    return {
        "member_id": member_id,
        **{name: value for name, value in optional.items() if value is not None},
        "topic_names": list(dict.fromkeys(subscription.topic_names)),
        "owned_partitions": [{"topic_name": name, "partition_ids": ids} for name, ids in by_topic.items()],
    }
