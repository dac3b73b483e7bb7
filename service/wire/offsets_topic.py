"""``__consumer_offsets`` as a whole: the groups that its records describe.

Of each key only the last record counts, and a tombstone deletes. Which records make a group:

=========== =========================================================================================================
classic     GROUP_METADATA
consumer    CONSUMER_GROUP_METADATA; for each member MEMBER_METADATA, TARGET_ASSIGNMENT_MEMBER and
            CURRENT_MEMBER_ASSIGNMENT; TARGET_ASSIGNMENT_METADATA; REGULAR_EXPRESSION
share       the same of SHARE_GROUP_…, without regular expressions
=========== =========================================================================================================

The records of the newer protocols have topic ids. Names come from the caller, or from records that have both.

Source: GroupMetadataManager, ConsumerGroup, ShareGroup.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.budget import check_time, looking, reserve
from service.core.model import Int64s, Keys
from service.wire.coordinator_records import read_group_record, record_bytes
from service.wire.errors import Unreadable
from service.wire.members import classic_group_request
from service.wire.offset_commits import COMMIT, TOMBSTONE, OffsetCommits, read_offset_commits
from service.wire.reader import Document, uuid_text

CLASSIC, STREAMS = 2, 17
CONSUMER_PARTITIONS, CONSUMER_REGEX, SHARE_PARTITIONS = 4, 16, 15


class _Protocol(NamedTuple):
    """The record types of a protocol."""

    name: str
    group: int
    member: int
    target: int
    target_member: int
    current: int


PROTOCOLS: Final = (_Protocol("consumer", 3, 5, 6, 7, 8), _Protocol("share", 11, 10, 12, 13, 14))

DEFAULT_ASSIGNOR: Final = {"consumer": "uniform", "share": "simple"}
"""The broker's first ``group.consumer.assignors``, used by members that name none; and the only one of share groups."""

MEMBER_STATES: Final = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}

DOCUMENT_FACTOR: Final = 25
"""Memory of a record's fields as Python objects for each byte of their JSON, at most. Measured for empty tasks of streams: 12."""

COMMIT_BYTES: Final = 700
"""Memory for each offset commit, with its key of SHORT_KEY bytes, its numbers and its part of the answer."""

SHORT_KEY: Final = 64
KEY_FACTOR: Final = 9
"""Memory for each further byte of a key: three copies, and six bytes of the answer if it is a control character."""

UNREADABLE_BYTES: Final = 1_000
"""Memory for each record that cannot be read."""

TEXT_BYTES: Final = 6
"""Most bytes of a character of a name in JSON."""

NAME_BYTES: Final = 8
"""Memory for each topic that a member subscribes to by a regular expression, beside its text in the answer."""

CHECKED_RECORDS: Final = 1_000
"""Records between two looks at the time."""

Values = dict[int, dict[str | None, Document]]
"""The last values of a group's records by type, then by member or regular expression; None: the group's own."""


@dataclass
class _GroupRecords:
    values: Values = field(default_factory=dict)
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class OffsetsTopic:
    """groups : ascending by id;  tombstones : records without a value;  unreadable : each with its row, ascending"""

    groups: list[Document]
    tombstones: int
    unreadable: list[tuple[int, Unreadable]]


def read_offsets_topic(keys: Keys, values: Keys, topic_names: Mapping[str, str]) -> OffsetsTopic:
    """The groups of some records, of which those of one partition of the topic are in its order.

    keys, values : of one length; a null value is a tombstone
    topic_names : names by topic id
    """
    n = len(keys)
    reserve(COMMIT_BYTES * n + KEY_FACTOR * max(0, int(keys.offsets[-1] - keys.offsets[0]) - SHORT_KEY * n))
    data, offsets = keys.data.tobytes(), keys.offsets.tolist()
    last = {data[offsets[row] : offsets[row + 1]]: row for row in looking(range(n), CHECKED_RECORDS)}
    rows = np.array(sorted(last.values()), np.int64)
    commits = read_offset_commits(keys, values)
    names, groups = dict(topic_names), dict[str, _GroupRecords]()
    are_commits = np.isin(commits.kind[rows], (COMMIT, TOMBSTONE))
    _add_commits(commits, rows[are_commits].tolist(), names, groups)
    unreadable = _add_others(keys, values, rows[~are_commits], names, groups)
    tombstones = 0 if values.valid is None else n - int(values.valid.sum())
    documents = [_document(group_id, groups[group_id], names) for group_id in sorted(groups)]
    return OffsetsTopic([document for document in documents if document is not None], tombstones, unreadable)


def _add_commits(commits: OffsetCommits, rows: list[int], names: dict[str, str], groups: dict[str, _GroupRecords]) -> None:
    texts = (_pieces(part, rows) for part in (commits.group, commits.topic, commits.topic_id))
    numbers = zip(commits.kind[rows].tolist(), commits.partition[rows].tolist(), commits.offset[rows].tolist(), strict=True)
    of_rows = looking(zip(*texts, numbers, strict=True), CHECKED_RECORDS)
    for group_id, topic_name, topic_id, (kind, partition, offset) in of_rows:
        name = topic_name.decode()
        if topic_id:
            names.setdefault(uuid_text(topic_id), name)
        committed = groups.setdefault(group_id.decode(), _GroupRecords()).offsets
        if kind == COMMIT:
            committed[name, partition] = offset
        else:
            committed.pop((name, partition), None)


def _pieces(column: Keys, rows: list[int]) -> list[bytes]:
    check_time()
    data, offsets = column.data.tobytes(), column.offsets
    return [data[start:end] for start, end in zip(offsets[rows].tolist(), offsets[1:][rows].tolist(), strict=True)]


def _add_others(
    keys: Keys, values: Keys, rows: Int64s, names: dict[str, str], groups: dict[str, _GroupRecords]
) -> list[tuple[int, Unreadable]]:
    """Add the records that are not offset commits, of which ``rows`` are the last of their keys."""
    unreadable = []
    for row in looking(rows.tolist(), CHECKED_RECORDS):
        key, value = record_bytes(keys, values, row)
        reserve(UNREADABLE_BYTES + DOCUMENT_FACTOR * (len(key) + len(value or b"")))
        try:
            record = read_group_record(key, value)
        except Unreadable as error:
            unreadable.append((row, error.alone()))
        else:
            _add(record.type, record.key, record.value, names, groups)
    return unreadable


def _add(number: int, key: Document, value: Document | None, names: dict[str, str], groups: dict[str, _GroupRecords]) -> None:
    group = groups.setdefault(key["groupId"] if "groupId" in key else key["group"], _GroupRecords())
    if "topic" in key:  # an offset commit whose names are not UTF-8
        if value is not None:
            group.offsets[key["topic"], key["partition"]] = value["offset"]
        else:
            group.offsets.pop((key["topic"], key["partition"]), None)
        return
    of_type = group.values.setdefault(number, {})
    part = key.get("memberId", key.get("regularExpression"))
    if value is None:
        of_type.pop(part, None)
        return
    of_type[part] = value
    topics = {
        CONSUMER_PARTITIONS: ("topics",),
        SHARE_PARTITIONS: ("initializingTopics", "initializedTopics", "deletingTopics"),
    }
    for name in topics.get(number, ()):
        for topic in value[name]:
            names.setdefault(topic["topicId"], topic["topicName"])


# ---- a group's document ----------------------------------------------------------------------------------------------------


def _document(group_id: str, group: _GroupRecords, names: Mapping[str, str]) -> Document | None:
    """A group with its request; None if nothing of it is left."""
    check_time()
    offsets = _offsets(group.offsets)
    committed = {"committed_offsets": offsets} if offsets else {}
    if None in group.values.get(CLASSIC, {}):
        value = group.values[CLASSIC][None]
        request, warnings = classic_group_request(group_id, value)
        clients = {"memberId": "member_id", "clientId": "client_id", "clientHost": "client_host"}
        return {
            "group_id": group_id,
            "group_protocol": "classic",
            "protocol_type": value["protocolType"],
            "generation_id": value["generation"],
            "leader_id": value["leader"],
            "group": request,
            "members": [{name: member[field] for field, name in clients.items()} for member in value["members"]],
            **committed,
            "warnings": warnings,
        }
    for protocol in PROTOCOLS:
        if None in group.values.get(protocol.group, {}):
            return _group_of_broker(group_id, protocol, group.values, names) | committed
    is_streams = None in group.values.get(STREAMS, {})
    if not committed and not is_streams:
        return None
    name = "streams" if is_streams else None
    return {"group_id": group_id, "group_protocol": name, "group": None, "members": [], **committed, "warnings": []}


def _offsets(offsets: Mapping[tuple[str, int], int]) -> list[Document]:
    by_topic: dict[str, tuple[list[int], list[int]]] = {}
    for (name, partition), offset in sorted(offsets.items()):
        ids, committed = by_topic.setdefault(name, ([], []))
        ids.append(partition)
        committed.append(offset)
    return [{"topic_name": name, "partition_ids": ids, "offsets": committed} for name, (ids, committed) in by_topic.items()]


def _group_of_broker(group_id: str, protocol: _Protocol, values: Values, names: Mapping[str, str]) -> Document:
    """A group that its coordinator assigns. Its members own their target, which is what the next assignment begins from."""
    members, current = values.get(protocol.member, {}), values.get(protocol.current, {})
    targets = values.get(protocol.target_member, {})
    matches = {regex: value["topics"] for regex, value in values.get(CONSUMER_REGEX, {}).items()}
    match_bytes = {regex: NAME_BYTES * len(topics) + len(json.dumps(topics)) for regex, topics in matches.items()}
    reserve(sum(match_bytes.get(value.get("subscribedTopicRegex"), 0) for value in members.values()))
    ids = _Names(names)
    requested, described = [], []
    for member_id, value in sorted(members.items(), key=lambda item: str(item[0])):
        check_time()
        state, regex = current.get(member_id, {}), value.get("subscribedTopicRegex")
        optional = {"instance_id": value.get("instanceId"), "rack_id": value["rackId"], "generation_id": state.get("memberEpoch")}
        requested.append(
            {
                "member_id": member_id,
                **{name: part for name, part in optional.items() if part is not None and part != -1},
                "topic_names": list(dict.fromkeys([*value["subscribedTopicNames"], *matches.get(regex, ())])),
                "owned_partitions": ids.owned(targets.get(member_id, {}).get("topicPartitions", ())),
            }
        )
        described.append(_member(member_id, value, state, ids))
    assignor = _assignor(protocol.name, members)
    return {
        "group_id": group_id,
        "group_protocol": protocol.name,
        "group_epoch": values[protocol.group][None]["epoch"],
        "assignment_epoch": values.get(protocol.target, {}).get(None, {}).get("assignmentEpoch"),
        "group": {"group_protocol": protocol.name, "group_id": group_id, "assignor": assignor, "members": requested},
        "members": described,
        "warnings": [
            f"No record has the name of the topic {topic_id}: give it in `topics`. Its partitions are missing in `group`."
            for topic_id in ids.unknown
        ],
    }


def _member(member_id: str | None, value: Document, state: Document, ids: _Names) -> Document:
    document = {"member_id": member_id, "client_id": value["clientId"], "client_host": value["clientHost"]}
    if not state:
        return document
    pending = ids.partitions(state.get("partitionsPendingRevocation", ()))
    return document | {
        "member_epoch": state["memberEpoch"],
        "previous_member_epoch": state["previousMemberEpoch"],
        "member_state": MEMBER_STATES.get(state["state"], "UNKNOWN"),
        "assigned_partitions": ids.partitions(state["assignedPartitions"]),
        **({"partitions_pending_revocation": pending} if pending else {}),
    }


def _assignor(protocol: str, members: Mapping[str | None, Document]) -> str:
    """The server assignor that most members name; of several, the first by name."""
    counts = Counter(name for value in members.values() if (name := value.get("serverAssignor")) is not None)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else DEFAULT_ASSIGNOR[protocol]


class _Names:
    """Topic ids as names, whose text is reserved wherever it stands.

    unknown : the ids without one, in the order of their appearance
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.unknown: dict[str, None] = {}

    def owned(self, topics: Any) -> list[Document]:
        """Partitions as ``owned_partitions``, without topics whose name is unknown."""
        return [part for part in self.partitions(topics) if "topic_name" in part]

    def partitions(self, topics: Any) -> list[Document]:
        """Partitions by topic name, or by id where the name is unknown."""
        documents, size = [], 0
        for topic in topics:
            topic_id = topic["topicId"]
            name = self._names.get(topic_id)
            if name is None:
                self.unknown[topic_id] = None
            size += TEXT_BYTES * len(name or "")
            subject = {"topic_id": topic_id} if name is None else {"topic_name": name}
            documents.append({**subject, "partition_ids": topic["partitions"]})
        reserve(size)
        return documents
