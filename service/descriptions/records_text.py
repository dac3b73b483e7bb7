"""Records of ``__consumer_offsets``, as ``kafka-console-consumer`` prints them with Kafka's formatters.

``OffsetsMessageFormatter`` and ``GroupMetadataMessageFormatter`` of Kafka 3.9, whose ``version`` of a key is its type, and later.
The newest record of a key counts, and one without a value removes it. A group's record has its members with the bytes that they
and their leader wrote, so it describes all that a snapshot has of a classic group.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from service.core.documents import Json
from service.descriptions.model import Description, GroupRows, Path, SourceText
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
            rows.append(_decoded_member(member, assignor))
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


def _decoded_member(member: JoinedMember, assignor: str) -> Json:
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


NOTHING_YET: Final = Description("coordinator-records")
"""The description of one record; the records are described together."""

MOST_NOTES: Final = 3
OFFSET_COMMITS: Final = (0, 1)
GROUP_METADATA: Final = 2

CONSUMER: Final = ("consumer", "")
"""Protocol types of groups whose members subscribe to topics; without members it is empty."""


class _Member(NamedTuple):
    """A JoinedMember."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


class RecordsText:
    """The groups that the records describe.

    metadata : the newest of each group; offsets : group → topic → partition id → offset; others : how many records are neither
    """

    def __init__(self) -> None:
        self.metadata: dict[str, Json] = {}
        self.offsets: defaultdict[str, dict[str, dict[int, int | None]]] = defaultdict(dict)
        self.others = 0
        self.taken = False

    def take(self, record: Json, source: SourceText) -> None:
        """Read one. Raises UnreadableDescription if it is at fault."""
        self.taken = True
        key = source.member(record, "key", dict, ())
        of_type = source.member(key, "type" if "type" in key else "version", int, ("key",))
        if of_type not in (*OFFSET_COMMITS, GROUP_METADATA):
            self.others += 1
            return
        name = source.member(key, "data", dict, ("key",))
        group_id = source.member(name, "group", str, ("key", "data"))
        value = None
        if record["value"] is not None:
            value = source.member(source.member(record, "value", dict, ()), "data", dict, ("value",))
        if of_type == GROUP_METADATA:
            self._take_metadata(group_id, value, source)
        else:
            topic = source.member(name, "topic", str, ("key", "data"))
            partition = source.member(name, "partition", int, ("key", "data"))
            of_topic = self.offsets[group_id].setdefault(topic, {})
            of_topic.pop(partition, None)
            if value is not None:
                of_topic[partition] = source.member(value, "offset", int, ("value", "data"))

    def _take_metadata(self, group_id: str, value: Json | None, source: SourceText) -> None:
        self.metadata.pop(group_id, None)
        if value is None:
            return
        path: Path = ("value", "data")
        for name, kind in (("protocolType", str), ("generation", int)):
            source.member(value, name, kind, path)
        for name in ("protocol", "leader"):
            if value.get(name) is not None:
                source.check(value[name], str, (*path, name))
        members = [_member(row, source, (*path, "members", i)) for i, row in enumerate(source.rows(value, "members", path))]
        self.metadata[group_id] = {**value, "members": members}

    def description(self) -> Description | None:
        """What the records describe; None if there were none."""
        if not self.taken:
            return None
        notes: list[str] = []
        committed = {group_id: topics for group_id, topics in self.offsets.items() if any(topics.values())}
        groups = [
            GroupRows(self._members(group_id, notes), committed=committed.get(group_id, {})).document(group_id)
            for group_id in {**self.metadata, **committed}
        ]
        one = self.others == 1
        sentence = f"{self.others:,} {'record is of a type' if one else 'records are of types'} that say"
        more = [f"{sentence}{'s' if one else ''} nothing about classic groups."] if self.others else []
        return replace(NOTHING_YET, groups=tuple(groups), notes=(*notes[:MOST_NOTES], *more))

    def _members(self, group_id: str, notes: list[str]) -> Json:
        """The fields of a classic group but its offsets. notes : gets what cannot be read"""
        value = self.metadata.get(group_id)
        if value is None:
            return {}
        group: Json = {"group_protocol": "classic", "generation_id": value["generation"]}
        if value["protocolType"] not in CONSUMER:
            notes.append(f"Group {group_id!r} has the protocol type {value['protocolType']!r}: its members are not read.")
            return group
        for name, field in (("assignor", "protocol"), ("leader", "leader")):
            if value.get(field):
                group[name] = value[field]
        described, unreadable = classic_members(value["members"], value.get("protocol") or "")
        notes += [f"Group {group_id!r}, member {member_id!r}: {error}" for member_id, error in unreadable.items()]
        for member in described["members"]:
            member["generation_id"] = value["generation"]
        return group | {"group_state": "Stable" if value["members"] else "Empty"} | described


def _member(row: Json, source: SourceText, path: Path) -> _Member:
    """A member of a group's record."""
    instance_id = row.get("groupInstanceId")
    return _Member(
        source.member(row, "memberId", str, path),
        None if instance_id is None else source.check(instance_id, str, (*path, "groupInstanceId")),
        source.member(row, "clientId", str, path),
        source.member(row, "clientHost", str, path),
        *_bytes(row, source, path),
    )


def _bytes(row: Json, source: SourceText, path: Path) -> Iterator[bytes]:
    """The subscription and the assignment."""
    for name in ("subscription", "assignment"):
        try:
            yield base64.b64decode(source.member(row, name, str, path), validate=True)
        except ValueError:  # also of characters beyond ASCII
            source.refuse(f"{name}: not base64.", (*path, name))
