"""Captured members and groups as requests for ``/v1/group-assignments``."""

import base64
from typing import Any, Final, NamedTuple

from service.core.budget import check_time
from service.core.errors import InvalidQuestion
from service.wire.connect_protocol import CONNECT, connect_request, worker_document
from service.wire.consumer_protocol import (
    MemberSubscription,
    TopicPartitions,
    as_seen_by,
    read_assignment,
    read_subscription_leniently,
)
from service.wire.coordinator_records import CoordinatorRecord
from service.wire.errors import Unreadable
from service.wire.reader import Document

CONSUMER: Final = "consumer"
"""The protocol type of consumer groups; Connect's workers, and other systems, have their own types and formats."""


def member_document(
    subscription: MemberSubscription, member_id: str, instance_id: str | None = None, assignor: str = "range"
) -> dict[str, Any]:
    """An element of ``members``, which owns what it claims to ``assignor``. Absent values are left out."""
    owned, generation = as_seen_by(assignor, subscription)
    return _document(subscription, member_id, instance_id, owned, generation)


class GroupRequest(NamedTuple):
    """A group as a request: of consumers without its topics, of Connect's workers complete.

    document : None if there is no such group, or if a member's bytes cannot be read; of Connect also without workers
    warnings : what is wrong with its members' bytes
    """

    document: dict[str, Any] | None
    warnings: list[str]


def group_request(record: CoordinatorRecord) -> GroupRequest:
    """A group of the classic protocol, from its GROUP_METADATA; none from any other record."""
    if record.name != "GROUP_METADATA" or record.value is None:
        return GroupRequest(None, [])
    return classic_group_request(record.key["group"], record.value)


def classic_group_request(group_id: str, value: Document) -> GroupRequest:
    """A group of consumers or of Connect's workers, from the value of its GROUP_METADATA; none of another protocol type.

    Each consumer owns its assignment, in the group's generation: what it will claim in the next rebalance.
    """
    if value["protocolType"] == CONNECT:
        return _connect_group_request(group_id, value)
    if value["protocolType"] != CONSUMER:
        return GroupRequest(None, [])
    members: list[dict[str, Any]] = []
    warnings: list[str] = []
    for member in value["members"]:
        check_time()
        member_id = member["memberId"]
        try:
            subscription, fault = read_subscription_leniently(base64.b64decode(member["subscription"]))
            assigned = base64.b64decode(member["assignment"])
            owned = read_assignment(assigned).partitions if assigned else ()
        except Unreadable as error:
            return GroupRequest(None, [*warnings, f"Member {member_id!r}: {error}."])
        if fault is not None:
            warnings.append(f"Member {member_id!r}: {fault}")
        members.append(_document(subscription, member_id, member.get("groupInstanceId"), owned, value["generation"]))
    assignor = {} if value["protocol"] is None else {"assignor": value["protocol"]}
    return GroupRequest({"group_protocol": "classic", "group_id": group_id, **assignor, "members": members}, warnings)


def _connect_group_request(group_id: str, value: Document) -> GroupRequest:
    if not value["members"]:
        return GroupRequest(None, [])
    workers: list[Document] = []
    for member in value["members"]:
        check_time()
        joined, told = (base64.b64decode(member[name]) for name in ("subscription", "assignment"))
        try:
            workers.append(worker_document(member["memberId"], value["protocol"], joined, told))
        except Unreadable as error:
            return GroupRequest(None, [f"Member {member['memberId']!r}: {error}."])
    try:
        return GroupRequest(connect_request(group_id, value["protocol"], workers), [])
    except InvalidQuestion as fault:
        return GroupRequest(None, [fault.detail])


def owned_partitions(partitions: TopicPartitions) -> list[dict[str, Any]]:
    """Partitions as the ``owned_partitions`` of a member: one element for each topic."""
    by_topic: dict[str, list[int]] = {}
    for topic_name, partition_ids in partitions:
        by_topic.setdefault(topic_name, []).extend(partition_ids)
    return [{"topic_name": name, "partition_ids": ids} for name, ids in by_topic.items()]


def _document(
    subscription: MemberSubscription, member_id: str, instance_id: str | None, owned: TopicPartitions, generation: int | None
) -> dict[str, Any]:
    if generation is not None and generation < 0:
        generation = None  # the member has not been in the group
    optional = {"instance_id": instance_id, "rack_id": subscription.rack_id, "generation_id": generation}
    return {
        "member_id": member_id,
        **{name: value for name, value in optional.items() if value is not None},
        "topic_names": list(dict.fromkeys(subscription.topic_names)),
        "owned_partitions": owned_partitions(owned),
    }
