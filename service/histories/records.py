r"""Records of ``__consumer_offsets``: what each says of one group.

================================== ============================================================== =============================
printed by                         form of a line                                                 its time
================================== ============================================================== =============================
kafka-console-consumer, formatter  ``{"key": {"type": 2, "data": …}, "value": {"version": …, …}}``  that the record has itself
kafka-dump-log --offsets-decoder   ``| offset: 3 CreateTime: … key: {…} payload: {…}``              CreateTime
``/v1/decodings``, pipeline        ``{"record_type": 3, "key": {…}, "value": {…}}``                 ``timestamp``, if it is there
kafka-console-consumer, Bytes      ``CreateTime:… Partition:1 \x00\x02\x00\x06orders …``             CreateTime, if it is there
raw                                ``{"key_base64": …, "value_base64": …}``                         ``timestamp``, if it is there
================================== ============================================================== =============================

A GROUP_METADATA has the time at which the group became what it says; the other records have no time of their own, but a target
assignment since 4.1.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from service.core.documents import Json
from service.histories.events import SHOWN, Kind, Partition, StoredMember, ToldEvent
from service.histories.times import UTC_CLOCK, LineTime
from service.wire.consumer_protocol import (
    MemberSubscription,
    TopicPartitions,
    as_seen_by,
    read_assignment,
    read_subscription_leniently,
)
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable

MARKS: Final = (b'"key"', b"key:", b'"key_base64"')
GROUP, EPOCH, MEMBER, TARGET_EPOCH, TARGET_MEMBER, CURRENT = 2, 3, 5, 6, 7, 8
"""Types of records of classic groups and of consumer groups (KIP-848)."""

CONSUMER: Final = ("consumer", "")
STATES: Final = ("STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS")

_RAW: Final = re.compile(r"^(?:CreateTime:(?P<time>\d+)\t)?(?:\w+:[^\t]*\t)*(?P<key>\\x00\\x0\d[^\t]*)\t(?P<value>[^\t]*)$")
_ESCAPED: Final = re.compile(rb"\\x([0-9A-F]{2})")
"""Kafka's Bytes.toString: printable ASCII as it is, any other byte and the backslash as an escape."""

_DUMPED: Final = re.compile(
    r"(?:CreateTime|LogAppendTime): (?P<time>\d+) .*?key: (?P<key>\{.*\}) payload: (?P<value>\{.*\}|null|<?\w*>?)\s*$"
)


class _Fields(dict[str, Any]):
    """The members of a record; one that is missing is an Unreadable's ValueError."""

    def __missing__(self, name: str) -> Any:
        raise ValueError(f"{name} is missing")


class RecordsOfGroup:
    """Reads the records of one group. members, target : of a consumer group, as far as they are read"""

    def __init__(self, group_id: str, source: int) -> None:
        self.group_id, self.source = group_id, source
        self.members: dict[str, StoredMember] = {}
        self.target: dict[str, frozenset[Partition]] = {}
        self._readers: dict[int, Callable[[_Fields, _Fields | None], list[ToldEvent]]] = {
            GROUP: self._group,
            EPOCH: self._epoch,
            MEMBER: self._member,
            TARGET_EPOCH: self._target,
            TARGET_MEMBER: self._target_member,
            CURRENT: self._current,
        }

    def take(self, number: int, line: str) -> list[ToldEvent] | None:
        """The events of a line; None if it has no record. Raises ValueError for a record that cannot be read."""
        found = _record(line)
        if found is None:
            return None
        at, of_type, key, value = found
        if of_type not in self._readers or key.get("group", key.get("groupId")) != self.group_id:
            return []
        check({"timestamp": at, "key": key, "value": value})
        stamp = None if at is None else LineTime(at, UTC_CLOCK)
        try:
            events = self._readers[of_type](_Fields(key), None if value is None else _Fields(value))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a record of a group: {error}") from None
        return [
            replace(event, line=number, text=line.strip()[:SHOWN], at=event.at if stamp is None else stamp) for event in events
        ]

    def _event(self, kind: Kind, member: str | None = None, generation: int | None = None, **says: Any) -> ToldEvent:
        return ToldEvent(self.source, 0, None, kind, "", member, generation, says)

    def _group(self, _: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if value is None:
            return []  # an empty group has expired, or has been deleted
        members, unreadable = {}, []
        if value["protocolType"] in CONSUMER:
            for row in value["members"]:
                try:
                    members[row["memberId"]] = _joined(row, value.get("protocol") or "")
                except Unreadable as error:
                    unreadable.append(f"{row['memberId']}: {error}")
        else:
            members = {row["memberId"]: StoredMember(row["memberId"], row.get("groupInstanceId")) for row in value["members"]}
        state_ms = value.get("currentStateTimestamp", -1)
        event = self._event(
            Kind.RECORDED, None, value["generation"], members=members, assignor=value.get("protocol") or None,
            unreadable=unreadable, members_count=len(value["members"]), state_ms=state_ms,
        )  # fmt: skip
        return [replace(event, at=LineTime(state_ms, UTC_CLOCK) if state_ms >= 0 else None)]

    def _epoch(self, _: _Fields, value: _Fields | None) -> list[ToldEvent]:
        return (
            []
            if value is None
            else [self._event(Kind.BUMPED, None, value["epoch"], hash=value.get("metadataHash"), recorded=True)]
        )

    def _member(self, key: _Fields, value: _Fields | None) -> list[ToldEvent]:
        member_id = key["memberId"]
        if value is None:
            gone = self.members.pop(member_id, None)
            return [self._event(Kind.REMOVED, member_id, instance_id=None if gone is None else gone.instance_id)]
        topics = (*value["subscribedTopicNames"], *filter(None, [value.get("subscribedTopicRegex")]))
        names = value.get("instanceId"), value.get("clientId")
        member = StoredMember(member_id, *names, topics, rebalance_ms=value.get("rebalanceTimeoutMs"))
        before, self.members[member_id] = self.members.get(member_id), member
        if before is None:
            return [self._event(Kind.JOINS, member_id, instance_id=member.instance_id, described=member)]
        return [self._event(Kind.SUBSCRIBES, member_id, topics=topics, described=member)] if before.topics != topics else []

    def _target_member(self, key: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if value is None:
            self.target.pop(key["memberId"], None)
        else:
            self.target[key["memberId"]] = self._partitions(value["topicPartitions"])
        return []

    def _target(self, _: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if value is None:
            return []
        computed_ms = value.get("assignmentTimestamp") or 0
        event = self._event(Kind.TARGET, None, value["assignmentEpoch"], assigned=dict(self.target))
        return [replace(event, at=LineTime(computed_ms, UTC_CLOCK) if computed_ms > 0 else None)]

    def _current(self, key: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if value is None:
            return []
        assigned, revoking = (
            self._partitions(value.get(name) or ()) for name in ("assignedPartitions", "partitionsPendingRevocation")
        )
        says = {"state": STATES[value["state"]], "assigned": assigned, "revoking": revoking}
        return [self._event(Kind.RECONCILED, key["memberId"], value["memberEpoch"], **says)]

    def _partitions(self, rows: Iterable[Json]) -> frozenset[Partition]:
        return frozenset((row["topicId"], i) for row in rows for i in row["partitions"])


OF_RECORDS: Final = (
    *("memberId", "groupInstanceId", "instanceId", "clientId", "clientHost", "rackId", "protocol", "leader", "topicId"),
    *("serverAssignor", "subscribedTopicRegex"),
)
OF_SNAPSHOTS: Final = ("member_id", "instance_id", "client_id", "host", "rack_id", "assignor", "topic_name", "taken_at")
TEXTS: Final = frozenset((*OF_RECORDS, *OF_SNAPSHOTS))
TIMES: Final = frozenset(("timestamp", "currentStateTimestamp", "assignmentTimestamp"))
NUMBERS: Final = frozenset(
    ("generation", "epoch", "memberEpoch", "assignmentEpoch", "state", "group_epoch", "generation_id", *TIMES)
)
"""Members of records and snapshots whose values are texts, ms since 1970, and numbers."""


def check(value: Any, name: str = "") -> None:
    """Raise ValueError unless texts are texts, and numbers are such as Kafka has."""
    kind = str if name in TEXTS else int if name in NUMBERS else type(value)
    if value is not None and type(value) is not kind:
        raise ValueError(f"{name} is {value!r}")
    if isinstance(value, dict):
        for each, inner in value.items():
            check(inner, each)
    elif isinstance(value, list):
        for inner in value:
            check(inner, name)
    elif (
        isinstance(value, int | float)
        and type(value) is not bool
        and name != "metadataHash"
        and not _is_number(value, 43 if name in TIMES else 31)
    ):
        raise ValueError(f"{name} is {value}")


def _is_number(value: float, bits: int) -> bool:
    return type(value) is int and abs(value) < 1 << bits


def _joined(row: Json, assignor: str) -> StoredMember:
    """A member of a classic group. Raises Unreadable, and ValueError for what is not base64."""
    subscription, assigned = _sent(row["subscription"]), _given(row["assignment"])
    claimed, generation = as_seen_by(assignor, subscription)
    names, topics = (row.get("groupInstanceId"), row["clientId"]), tuple(dict.fromkeys(subscription.topic_names))
    times = row.get("sessionTimeout"), row.get("rebalanceTimeout")
    return StoredMember(row["memberId"], *names, topics, _flat(assigned), _flat(claimed), *times, generation)


def _sent(written: str | Json) -> MemberSubscription:
    """A subscription; kafka-dump-log prints its fields instead of its bytes."""
    if isinstance(written, str):
        return read_subscription_leniently(base64.b64decode(written, validate=True))[0]
    generation, user_data = written.get("generationId", -1), base64.b64decode(written.get("userData") or "")
    owned, topics = _topics(written.get("ownedPartitions", ())), tuple(written["topics"])
    return MemberSubscription(3, topics, owned, generation if generation >= 0 else None, None, user_data or None)


def _given(written: str | Json) -> TopicPartitions:
    """An assignment, likewise."""
    if isinstance(written, str):
        return read_assignment(base64.b64decode(written, validate=True)).partitions if written else ()
    return _topics(written.get("assignedPartitions", ()))


def _topics(rows: Iterable[Json]) -> TopicPartitions:
    return tuple((row["topic"], tuple(row["partitions"])) for row in rows)


def _flat(partitions: Iterable[tuple[str, Iterable[int]]]) -> frozenset[Partition]:
    return frozenset((topic, i) for topic, ids in partitions for i in ids)


def _record(line: str) -> tuple[int | None, int, Json, Json | None] | None:
    """Time, type, key and value of the record on a line; None if there is none. Raises ValueError."""
    if match := _DUMPED.search(line):
        value = json.loads(match["value"]) if match["value"][:1] == "{" else None
        return _printed(int(match["time"]), json.loads(match["key"]), value)
    if match := _RAW.search(line):
        key_bytes, value_bytes = (_ESCAPED.sub(_byte, match[name].encode()) for name in ("key", "value"))
        return _raw(int(match["time"]) if match["time"] else None, key_bytes, None if value_bytes == b"null" else value_bytes)
    start = line.find("{")
    try:
        document = json.JSONDecoder().raw_decode(line, start)[0] if start >= 0 and "key" in line else {}
    except RecursionError:
        document = {}
    at_ms = document.get("timestamp")
    if "key_base64" in document:
        key_bytes, value_bytes = (base64.b64decode(document.get(name) or "") for name in ("key_base64", "value_base64"))
        return _raw(at_ms, key_bytes, value_bytes or None)
    key, value = document.get("key"), document.get("value")
    if "record_type" in document:
        return at_ms, int(document["record_type"]), key or {}, value
    return _printed(at_ms, key, value) if isinstance(key, dict) and isinstance(value, dict | None) else None


def _byte(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16)])


def _raw(at_ms: int | None, key: bytes, value: bytes | None) -> tuple[int | None, int, Json, Json | None]:
    try:
        record = read_group_record(key, value)
    except Unreadable as error:
        raise ValueError(str(error)) from None
    return at_ms, record.type, record.key, record.value


def _printed(at_ms: int | None, key: Json, value: Json | None) -> tuple[int | None, int, Json, Json | None] | None:
    """The record of a key and a value with their versions; the key's is the type of the record."""
    number, data = key.get("type", key.get("version")), key.get("data")
    if number is None or not isinstance(data, dict):
        return None
    return at_ms, int(number), data, None if value is None else value["data"]
