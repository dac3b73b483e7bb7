r"""Records of ``__consumer_offsets``: what each says of one group.

================================== ============================================================== =============================
printed by                         form of a line                                                 its time
================================== ============================================================== =============================
kafka-console-consumer, formatter  ``{"key": {"type": 2, "data": …}, "value": {"version": …, …}}``  that the record has itself
… of Kafka 3.9 and before, Scala    ``orders::GroupMetadata(groupId=orders, generation=3, …)``      none
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
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from service.core.documents import Json
from service.descriptions.model import partitions_in
from service.descriptions.records_text import CONSUMER
from service.histories.events import (
    SHOWN,
    Computed,
    Kind,
    Partition,
    StoredMember,
    ToldEvent,
    TopicsTold,
    is_first_epoch,
)
from service.histories.times import UTC_CLOCK, LineTime, stamp_of
from service.wire.consumer_protocol import (
    MemberSubscription,
    TopicPartitions,
    as_seen_by,
    read_assignment,
    read_subscription_leniently,
)
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable
from service.wire.offsets_topic import MEMBER_STATES
from service.wire.schemas import NO_UUID

COMMIT, GROUP, EPOCH, PARTITIONS, MEMBER, TARGET_EPOCH, TARGET_MEMBER, CURRENT, REGEX = 1, 2, 3, 4, 5, 6, 7, 8, 16
"""Types of records: commits, of classic groups, and of consumer groups (KIP-848)."""

MISSING: Final = "its first records are missing, and with them perhaps members"
"""Why it is not told what a target was computed from."""

MOST_COMPUTED: Final = 200
"""Target assignments of which a source keeps what they were computed from, the first ones."""


_RAW: Final = re.compile(r"^(?:CreateTime:(?P<time>\d+)\t)?(?:\w+:[^\t]*\t)*(?P<key>\\x00\\x[01]\d[^\t]*)\t(?P<value>[^\t]*)$")
_ESCAPED: Final = re.compile(rb"\\x([0-9A-F]{2})")
"""Kafka's Bytes.toString: printable ASCII as it is, any other byte and the backslash as an escape."""

_DUMPED: Final = re.compile(
    r"(?:CreateTime|LogAppendTime): (?P<time>\d+) .*?key: (?P<key>\{.*\}) payload: (?P<value>\{.*\}|null|<?\w*>?)\s*$"
)


_SCALA: Final = re.compile(
    r"^(?P<group>.*)::GroupMetadata\(groupId=.*?, generation=(?P<generation>\d{1,10}), "
    r"protocolType=(?:Some\((?P<type>[^)]*)\)|None), currentState=\w+, members=(?P<members>.*)\)$"
)
_SCALA_MEMBER: Final = re.compile(
    r"MemberMetadata\(memberId=(?P<memberId>.*?), groupInstanceId=(?:Some\((?P<groupInstanceId>.*?)\)|None), "
    r"clientId=(?P<clientId>.*?), clientHost=.*?, sessionTimeoutMs=(?P<sessionTimeout>\d{1,9}), "
    r"rebalanceTimeoutMs=(?P<rebalanceTimeout>\d{1,9}), supportedProtocols=List\((?P<protocols>[^)]*)\)\)"
)


class _Fields(dict[str, Any]):
    """The members of a record; one that is missing is an Unreadable's ValueError."""

    def __missing__(self, name: str) -> Any:
        raise ValueError(f"{name} is missing")


Target = dict[str, frozenset[Partition]]


class RecordsOfGroup:
    """Reads the records of one group.

    topics : gets what they tell of topics
    members, target, own_topics, matches : of a consumer group, as far as they are read; the dicts are replaced when they change
    """

    def __init__(self, group_id: str, source: int, topics: TopicsTold) -> None:
        self.group_id, self.source, self.topics = group_id, source, topics
        self.members: dict[str, StoredMember] = {}
        self.target: Target = {}
        self.own_topics, self.matches = TopicsTold(), dict[str, tuple[str, ...]]()
        self._last_type = self._computed = 0
        self._epoch: int | None = None
        self._owned: Target = {}
        self._earlier: Target | None = None
        self._from_start = self._converted = False
        self._joining, self._at_epoch = frozenset[str](), self.members
        self._readers: dict[int, Callable[[_Fields, _Fields | None], list[ToldEvent]]] = {
            GROUP: self._group,
            EPOCH: self._read_epoch,
            PARTITIONS: self._partitions_of_topics,
            MEMBER: self._member,
            TARGET_EPOCH: self._target,
            TARGET_MEMBER: self._target_member,
            CURRENT: self._current,
            REGEX: self._regex,
        }

    def take(self, number: int, line: str) -> list[ToldEvent] | None:
        """The events of a line; None if it has no record. Raises ValueError for a record that cannot be read."""
        found = _record(line)
        if found is None:
            return None
        at, of_type, key, value = found
        if of_type not in (COMMIT, *self._readers) or key.get("group", key.get("groupId")) != self.group_id:
            return []
        if of_type == COMMIT:
            return self._commit(key, value)
        check({"timestamp": at, "key": key, "value": value})
        stamp = None if at is None else LineTime(at, UTC_CLOCK)
        try:
            events = self._readers[of_type](_Fields(key), None if value is None else _Fields(value))
            self._last_type = of_type
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a record of a group: {error}") from None
        return [
            replace(event, line=number, text=line.strip()[:SHOWN], at=event.at if stamp is None else stamp) for event in events
        ]

    def _event(self, kind: Kind, member: str | None = None, generation: int | None = None, **says: Any) -> ToldEvent:
        return ToldEvent(self.source, 0, None, kind, "", member, generation, says)

    def _group(self, _: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if value is None:
            self._converted = True  # or the group was empty and has expired, or has been deleted
            return []
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
            unreadable=unreadable, state_ms=state_ms,
        )  # fmt: skip
        return [replace(event, at=LineTime(state_ms, UTC_CLOCK) if state_ms >= 0 else None)]

    def _commit(self, key: Json, value: Json | None) -> list[ToldEvent]:
        """A commit names its topic, and since Kafka 4.3 has its id."""
        topic_id, name = (value or {}).get("topicId"), key.get("topic")
        if isinstance(topic_id, str) and isinstance(name, str) and topic_id != NO_UUID:
            self.topics.add(topic_id, name)
        return []

    def _partitions_of_topics(self, _: _Fields, value: _Fields | None) -> list[ToldEvent]:
        """Of the topics that the group subscribes to; until Kafka 4.0."""
        before, self.own_topics = self.own_topics, TopicsTold()
        for row in () if value is None else value["topics"]:
            for topics in (self.topics, self.own_topics):
                topics.add(row["topicId"], row["topicName"], row["numPartitions"])
        grown = any(before[each].counts != topic.counts for each, topic in self.own_topics.items() if each in before)
        return [self._event(Kind.GROWS if grown else Kind.METADATA)] if before and before != self.own_topics else []

    def _regex(self, key: _Fields, value: _Fields | None) -> list[ToldEvent]:
        told = {key["regularExpression"]: None if value is None else tuple(value["topics"])}
        self.matches = {regex: topics for regex, topics in (self.matches | told).items() if topics is not None}
        return []

    def _read_epoch(self, _: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if value is None:
            self.members, self.target, self._epoch, self._earlier = {}, {}, None, None
            return [self._event(Kind.DELETED)]
        epoch, new_hash = value["epoch"], value.get("metadataHash")
        if self._epoch is None:
            self._from_start = is_first_epoch(epoch, new_hash) or (self._converted and not self.target)
        elif epoch != self._epoch + 1:
            self._from_start, self._earlier = False, None
        self._epoch, self._at_epoch = epoch, self.members
        return [self._event(Kind.BUMPED, None, epoch, hash=new_hash, recorded=True)]

    def _member(self, key: _Fields, value: _Fields | None) -> list[ToldEvent]:
        member_id = key["memberId"]
        if value is None:
            gone = self.members.get(member_id)
            self.members = {each: member for each, member in self.members.items() if each != member_id}
            return [self._event(Kind.REMOVED, member_id, instance_id=None if gone is None else gone.instance_id)]
        regex, timeout_ms = value.get("subscribedTopicRegex") or None, value.get("rebalanceTimeoutMs")
        member = StoredMember(
            member_id, value.get("instanceId"), value.get("clientId"), tuple(value["subscribedTopicNames"]),
            rebalance_ms=timeout_ms, regex=regex, assignor=value.get("serverAssignor"),
        )  # fmt: skip
        before = self.members.get(member_id)
        if before != member:
            self.members = {**self.members, member_id: member}
        if before is None:
            self._joining |= {member_id}
            return [self._event(Kind.JOINS, member_id, instance_id=member.instance_id, described=member)]
        changed = (before.topics, before.regex) != (member.topics, regex)
        return [self._event(Kind.SUBSCRIBES, member_id, described=member)] if changed else []

    def _target_member(self, key: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if self._last_type != TARGET_MEMBER:
            self._owned = dict(self.target)
        if value is None:
            self.target.pop(key["memberId"], None)
        else:
            topics = value["topicPartitions"]
            self.target[key["memberId"]] = frozenset((row["topicId"], i) for row in topics for i in row["partitions"])
        return []

    def _target(self, _: _Fields, value: _Fields | None) -> list[ToldEvent]:
        if value is None:
            return []
        computed_ms, epoch, target = value.get("assignmentTimestamp") or 0, value["assignmentEpoch"], dict(self.target)
        computed: Computed | str | None = None
        self._computed += 1
        if self._converted:
            computed = "the group was converted, with what its leader had assigned"
        elif not self._from_start and self._earlier is None:
            computed = MISSING
        elif epoch != self._epoch or self.members is not self._at_epoch:
            computed = "members changed before the target was computed"
        elif self._computed <= MOST_COMPUTED:
            owned = self._owned if self._last_type == TARGET_MEMBER else target
            earlier = None if self._from_start else self._earlier
            computed = Computed(self.members, self._joining, owned, target, earlier, self.matches, self.own_topics)
        self._converted, self._earlier = False, target
        self._epoch = epoch if self._epoch is None else self._epoch
        named = Counter(each.assignor for each in self.members.values() if each.assignor).most_common(2)
        assignor = named[0][0] if named and (len(named) == 1 or named[0][1] > named[1][1]) else None
        event = self._event(Kind.TARGET, None, epoch, assigned=target, computed=computed, assignor=assignor)
        return [replace(event, at=LineTime(computed_ms, UTC_CLOCK) if computed_ms > 0 else None)]

    def _current(self, key: _Fields, value: _Fields | None) -> list[ToldEvent]:
        self._joining = frozenset()  # a heartbeat ends with this record
        if value is None:
            return []
        return [self._event(Kind.RECONCILED, key["memberId"], value["memberEpoch"], state=MEMBER_STATES[value["state"]])]


TEXTS: Final = (
    *("memberId", "groupInstanceId", "instanceId", "clientId", "clientHost", "rackId", "protocol", "leader", "topicId"),
    *("serverAssignor", "subscribedTopicRegex", "member_id", "instance_id", "client_id", "host", "rack_id", "assignor"),
    *("topic_name", "topic_id", "taken_at"),
)
TIMES: Final = ("timestamp", "currentStateTimestamp", "assignmentTimestamp")
NUMBERS: Final = (
    *("generation", "epoch", "memberEpoch", "assignmentEpoch", "state", "group_epoch", "generation_id", "partitions_count"),
    *TIMES,
)
UNBOUNDED: Final = ("metadataHash", "version")
"""Members of records and snapshots whose values are texts, ms since 1970, other numbers, and numbers of 64 bits."""


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
    elif type(value) is float or (type(value) is int and name not in UNBOUNDED and abs(value) >> (43 if name in TIMES else 31)):
        raise ValueError(f"{name} is {value}")


def _joined(row: Json, assignor: str) -> StoredMember:
    """A member of a classic group. Raises Unreadable, and ValueError for what is not base64."""
    if "protocols" in row:  # as Scala prints it
        session_ms, rebalance_ms = int(row["sessionTimeout"]), int(row["rebalanceTimeout"])
        return StoredMember(
            row["memberId"], row["groupInstanceId"], row["clientId"], session_ms=session_ms, rebalance_ms=rebalance_ms
        )
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
    if match := _SCALA.search(line):
        members = [each.groupdict() for each in _SCALA_MEMBER.finditer(match["members"])]
        protocols = {each["protocols"] for each in members}
        protocol = next(iter(protocols)) if len(protocols) == 1 else ""
        value = {"protocolType": match["type"] or "", "generation": int(match["generation"]), "members": members}
        return None, GROUP, {"group": match["group"]}, value | {"protocol": None if "," in protocol else protocol}
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


# ---- snapshots ----------------------------------------------------------------------------------------------------

MARK: Final = '"snapshot_version"'
PIECES: Final = '{"group":', '{"topic":'
"""How lines of the form ``jsonl`` begin that have a group or a topic; its first line has the time."""


class Snapshots:
    """Reads the lines of one group. topics : gets what they tell of topics; at : of the last snapshot"""

    def __init__(self, group_id: str, source: int, topics: TopicsTold) -> None:
        self.group_id, self.source, self.topics = group_id, source, topics
        self.at: LineTime | None = None

    def take(self, number: int, line: str) -> list[ToldEvent] | None:
        """The group in the snapshot on a line; None if the line has none. Raises ValueError for a snapshot that is cut."""
        if MARK not in line[:SHOWN] and not line.startswith(PIECES):
            return None
        document = json.loads(line)
        whole = document.get("snapshot", document)
        check({name: whole.get(name) for name in ("group", "groups", "taken_at")})
        if "taken_at" in whole:
            self.at = stamp_of(whole["taken_at"])
        for row in [whole["topic"]] if "topic" in whole else whole.get("topics", ()):
            told = {name: row.get(name) for name in ("topic_id", "topic_name", "partitions_count")}
            check(told)
            if all(told.values()):
                self.topics.add(*told.values())
        groups = [whole["group"]] if "group" in whole else whole.get("groups", ())
        return [self._event(number, line, each) for each in groups if each["group_id"] == self.group_id and "members" in each]

    def _event(self, number: int, line: str, group: Json) -> ToldEvent:
        members = {each["member_id"]: _member(each) for each in group["members"]}
        says = {"members": members, "assignor": group.get("assignor"), "protocol": group.get("group_protocol", "classic")}
        epoch = group.get("group_epoch", group.get("generation_id"))
        return ToldEvent(self.source, number, self.at, Kind.SEEN, line[:SHOWN], None, epoch, says)


def _member(row: Json) -> StoredMember:
    names, owned = (row.get("instance_id"), row.get("client_id")), frozenset(partitions_in(row.get("owned_partitions")))
    return StoredMember(row["member_id"], *names, tuple(row.get("topic_names") or ()), owned)
