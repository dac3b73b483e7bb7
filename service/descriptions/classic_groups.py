"""The members of a classic group from what they wrote: each one's Subscription, and the Assignment that the leader gave it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from service.core.documents import Json
from service.wire.consumer_protocol import TopicPartitions, as_seen_by, read_assignment, read_subscription_leniently
from service.wire.errors import Unreadable


class JoinedMember(Protocol):
    """A member as its coordinator describes it: the bytes of its subscription, and of its assignment."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes | None
    member_assignment: bytes | None


def classic_members(members: Sequence[JoinedMember], assignor: str) -> tuple[Json, dict[str, Unreadable]]:
    """``members`` of a group, and what tells which library wrote their assignments; and the members that cannot be read."""
    rows, unreadable = [], {}
    for member in members:
        try:
            rows.append(_member(member, assignor))
        except Unreadable as error:
            unreadable[member.member_id] = error
    return {"members": rows} | _written(members), unreadable


def _written(members: Iterable[JoinedMember]) -> Json:
    """What tells which library wrote a classic group's assignments: their version and their user data."""
    versions, kinds, echoed = [], set(), True
    for member in members:
        try:
            assignment = read_assignment(member.member_assignment or b"")
            sent = read_subscription_leniently(member.member_metadata or b"")[0].user_data
        except Unreadable:
            continue
        versions.append(assignment.version)
        kinds.add("none" if assignment.user_data is None else "bytes" if assignment.user_data else "empty")
        echoed = echoed and assignment.user_data == sent
    if not versions:
        return {}
    return {
        "assignment_version": versions[0],
        "assignment_user_data": kinds.pop() if len(kinds) == 1 else "mixed",
        "assignment_echoes_subscription": echoed,
    }


def _member(member: JoinedMember, assignor: str) -> Json:
    subscription, _ = read_subscription_leniently(member.member_metadata or b"")
    claims, generation = as_seen_by(assignor, subscription)
    document: Json = {
        "member_id": member.member_id,
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "rack_id": subscription.rack_id,
        "topic_names": list(dict.fromkeys(subscription.topic_names)),
        "owned_partitions": [],
        "subscription": {"version": subscription.version, "owned_partitions": _owned(claims)},
    }
    if generation is not None:
        document["subscription"]["generation_id"] = generation
    if member.member_assignment:
        document["owned_partitions"] = _owned(read_assignment(member.member_assignment).partitions)
    return document


def _owned(partitions: TopicPartitions) -> list[Json]:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic_name, partition_ids in partitions:
        by_topic[topic_name].extend(partition_ids)
    return [{"topic_name": name, "partition_ids": sorted(by_topic[name])} for name in sorted(by_topic)]
