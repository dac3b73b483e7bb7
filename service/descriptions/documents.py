"""JSON that describes a cluster: a snapshot or parts of one, a reassignment, Cruise Control's ``kafka_cluster_state``."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from service.core.documents import Json
from service.core.printable import first_few
from service.descriptions.model import Description, Path, SourceText, UnreadableDescription, brokers_of, first_of
from service.descriptions.other_documents import read_other
from service.descriptions.records_text import MOST_NOTES, NOTHING_YET, RecordsText

_PARTS: Final = {"brokers": "broker_id", "topics": "topic_name", "groups": "group_id", "log_dirs": "broker_id"}
"""The lists of a snapshot, each with the member that names a row."""

RECORD: Final = {"key", "value"}
"""The members of what Kafka's formatters print of a record."""

MOST_NAMED: Final = 5

_GROUP: Final = ("group_id", "group_protocol", "assignor", "client", "client_version")
"""What the body of a request says of a group, beside its members."""

BEGIN: Final = re.compile(r"\s*(?:\{|\[\s*(?:[{\[\]]|$))")
"""How a line begins that JSON begins on; log lines begin with a bracket, too."""

_DECODER: Final = json.JSONDecoder()
_BLANK: Final = re.compile(r"\s*")


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises UnreadableDescription, with the line."""
    return _parsed(lambda: json.loads(text))


def _parsed(parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except json.JSONDecodeError as error:
        raise UnreadableDescription(f"Malformed JSON: {error.msg}.", error.lineno) from None
    except RecursionError:
        raise UnreadableDescription("Malformed JSON: nested too deeply.", 1) from None
    except ValueError:  # an integer of thousands of digits
        raise UnreadableDescription("Malformed JSON: an integer is too long.", 1) from None


def _decoded(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at ``start``, and where it ends. A terminal may have broken its only line at its width."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Invalid control character") and text[error.pos] == "\n":
            whole = text[start:].replace("\n", "")
            with suppress(json.JSONDecodeError):
                value, length = _DECODER.raw_decode(whole)
                stop = start
                for line in text[start:].split("\n"):
                    if len(line) >= length:
                        return value, stop + length
                    length, stop = length - len(line), stop + len(line) + 1
        if not text[error.pos :].strip():
            raise json.JSONDecodeError("it ends in the middle; is the file cut off?", text, error.pos) from None
        raise


class LooseRows:
    """Rows of known lists that are passed on without their document, as by jq: those of one kind are described together."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Json]] = {}
        self.sources: dict[str, SourceText] = {}

    def take(self, document: Any, source: SourceText) -> bool:
        """Take a row, or a list of rows; False if it is none."""
        rows = document if isinstance(document, list) else [document]
        if not rows or not all(isinstance(row, dict) for row in rows):
            return False
        if len(rows) == 1 and len(rows[0]) == 1:  # a line of a snapshot
            [(name, row)] = rows[0].items()
            if name in _LINES and isinstance(row, dict):
                self.rows.setdefault(_LINES[name], []).append(row)
                self.sources.setdefault(_LINES[name], source)
                return True
        for kind, names in _LOOSE.items():
            if all(names <= row.keys() and not _OF_BODIES & row.keys() for row in rows):
                self.rows.setdefault(kind, []).extend(rows)
                self.sources.setdefault(kind, source)
                return True
        return False

    def descriptions(self) -> Iterator[Description]:
        """What the rows describe. Raises UnreadableDescription."""
        for kind, rows in self.rows.items():
            document: Json = {_LIST_OF.get(kind, kind): rows, **({"version": 1} if kind in ("reassignment", "log-dirs") else {})}
            described = _read_rest(rows, self.sources[kind]) if kind == "rest" else _described(document, self.sources[kind])
            if described is not None:
                yield described


_LOOSE: Final = {
    "reassignment": {"topic", "partition", "replicas"},
    "log-dirs": {"broker", "logDirs"},
    "topics": {"topic_name"},
    "groups": {"group_id"},
    "brokers": {"broker_id"},
    "rest": {"partitions"},
}
"""The members by which rows of known lists are told."""

_OF_BODIES: Final = {"brokers", "topics", "keys", "histogram"}
"""Members that rows do not have, but requests with names like theirs."""

_LINES: Final = {"topic": "topics", "group": "groups", "log_dirs": "disks"}
"""The member of each line of a snapshot that is written as lines."""

_LIST_OF: Final = {"disks": "log_dirs", "reassignment": "partitions", "log-dirs": "brokers"}
"""The list of a document that rows of a kind are, unless it is called as they are."""


def read_document(text: str, start: int, records: RecordsText, loose: LooseRows) -> tuple[Description | None, int]:
    """The description that the JSON from ``start`` on is, None if it is none, and where it ends. Raises UnreadableDescription.

    records : takes a record that one of Kafka's formatters has printed; loose : rows without their document. Alone they describe
        nothing
    """
    start = _BLANK.match(text, start).end()  # type: ignore[union-attr]  # it matches anything
    document, end = _parsed(lambda: _decoded(text, start))
    source = SourceText(text, start, end)
    if isinstance(document, dict) and document.keys() == RECORD:
        records.take(document, source)
        return NOTHING_YET, end
    if isinstance(document, list) or not is_whole(document):
        rest = isinstance(document, dict) and _is_rest(document)
        other = None if rest or not isinstance(document, dict) else read_other(document, source)
        if other is not None:
            return other, end
        return (NOTHING_YET if loose.take(document, source) else None), end
    return _described(document, source), end


def is_whole(document: Json) -> bool:
    """Is this a document of its own, and not a row of one?"""
    partitions = document.get("partitions")
    if isinstance(partitions, list) and partitions and not (_is_rest(document) or "groupId" in document):
        return True
    return bool(document.keys() & {"KafkaPartitionState", "snapshot_version"} or _holds_rows(document))


def _holds_rows(document: Json) -> bool:
    """A placement as kafka-reassign-partitions has it lists the names of log directories."""
    return any(isinstance(rows := document.get(part), list) and not isinstance(next(iter(rows), None), str) for part in _PARTS)


def _is_rest(document: Json) -> bool:
    """Is this a topic as REST interfaces have it: its name, and its partitions with their replicas?"""
    rows = document.get("partitions")
    return (
        first_of(document, _REST_NAMES) is not None
        and isinstance(rows, list)
        and bool(rows)
        and all(isinstance(row, dict) and "topic" not in row and first_of(row, _REST_IDS) is not None for row in rows)
        and all(isinstance(row.get("replicas"), list) for row in rows)
    )


_REST_NAMES: Final = ("topicName", "topic_name", "name", "topic")
_REST_IDS: Final = ("id", "partition", "partition_id", "partitionId")
_REST_BROKERS: Final = ("broker", "brokerId", "broker_id", "id", "nodeId")


def _read_rest(rows: list[Json], source: SourceText) -> Description | None:
    """Topics of the REST interfaces of consoles and bridges: replicas are ids, or objects that may say which are in sync."""
    topics = []
    for row in rows:
        if not _is_rest(row):
            return None
        placements = []
        for partition in row["partitions"]:
            replicas = [each if not isinstance(each, dict) else first_of(each, _REST_BROKERS) for each in partition["replicas"]]
            source.check(first_of(partition, _REST_IDS), int, ())
            for broker in replicas:
                source.check(broker, int, ())
            placement: Json = {"partition_id": first_of(partition, _REST_IDS), "replicas": replicas}
            flags = [first_of(each, ("inSync", "in_sync")) for each in partition["replicas"] if isinstance(each, dict)]
            in_sync = partition.get("isr", [broker for broker, flag in zip(replicas, flags, strict=False) if flag])
            if "isr" in partition or (flags and None not in flags):
                placement["in_sync_replicas"] = in_sync
            if isinstance(partition.get("leader"), int):
                placement["leader"] = partition["leader"] if partition["leader"] >= 0 else None
            placements.append(placement)
        placements.sort(key=lambda placement: int(placement["partition_id"]))
        name = source.check(first_of(row, _REST_NAMES), str, ())
        topics.append({"topic_name": name, "partitions_count": len(placements), "placements": placements})
    described = tuple(topics)
    return Description("rest", brokers_of(described), described)


def _described(document: Json, source: SourceText) -> Description | None:
    if other := read_other(document, source):
        return other
    if "partitions" in document:
        return _read_reassignment(document, source)
    if "KafkaPartitionState" in document:
        return _read_cruise_control(document, source)
    if document.keys() == {"brokers", "version"}:
        return _read_log_dirs(document, source)
    if "snapshot_version" in document or document.keys() & _PARTS.keys():
        return _read_snapshot(document, source)
    return None


def _read_snapshot(document: Json, source: SourceText) -> Description:
    """Its parts as they are; only the names of their rows, and the placements, are checked here. Also the body of a request."""
    notes: tuple[str, ...] = ()
    if "snapshot_version" not in document:
        document, notes = _of_body(document, source)
    version = document.get("snapshot_version", 1)
    if version != 1:
        source.refuse(f"snapshot_version {version} is not supported; 1 is.", ("snapshot_version",))
    parts = {}
    for part, name in _PARTS.items():
        rows, names = source.rows(document, part, ()), set()
        for i, row in enumerate(rows):
            value = source.member(row, name, int if name == "broker_id" else str, (part, i))
            if value in names:
                source.refuse(f"Duplicate {name} {value!r}.", (part, i, name))
            names.add(value)
        parts[part] = tuple(rows)
    for i, topic in enumerate(parts["topics"]):
        for j, placement in enumerate(source.rows(topic, "placements", ("topics", i))):
            source.member(placement, "partition_id", int, ("topics", i, "placements", j))
            source.integers(placement, "replicas", ("topics", i, "placements", j))
    _check_groups(parts["groups"], source)
    _check_log_dirs(parts["log_dirs"], source)
    return Description("snapshot", parts["brokers"], parts["topics"], parts["groups"], parts["log_dirs"], notes)


def _of_body(document: Json, source: SourceText) -> tuple[Json, tuple[str, ...]]:
    """A document; of the body of a request about a group a snapshot of it, with its lag. And what of it is not read."""
    unread = document.keys() - _PARTS.keys()
    if "members" in document and "groups" not in document:
        unread -= {*_GROUP, "members"}
        topics = source.rows(document, "topics", ())
        lags = {i: source.check(topic["lag"], dict, ("topics", i, "lag")) for i, topic in enumerate(topics) if topic.get("lag")}
        committed, ends = (
            {i: source.member(lag, name, list, ("topics", i, "lag")) for i, lag in lags.items()}
            for name in ("committed_offsets", "log_end_offsets")
        )
        group = {"group_id": "group", **{name: document[name] for name in (*_GROUP, "members") if document.get(name) is not None}}
        group["committed_offsets"] = [
            {"topic_name": topics[i].get("topic_name"), "partition_ids": list(range(len(offsets))), "offsets": offsets}
            for i, offsets in committed.items()
        ]
        topics = [{**topic, **({"log_end_offsets": ends[i]} if i in ends else {})} for i, topic in enumerate(topics)]
        document = {**document, "topics": topics, "groups": [group]}
    told = f"Of this JSON only what it describes is read, not {first_few(sorted(unread), MOST_NAMED)}."
    return document, (told,) * bool(unread)


def _check_groups(groups: tuple[Json, ...], source: SourceText) -> None:
    """Refuse members without names, and partitions without ids."""
    for i, group in enumerate(groups):
        for j, member in enumerate(source.rows(group, "members", ("groups", i))):
            source.member(member, "member_id", str, ("groups", i, "members", j))
            if member.get("owned_partitions") is not None:
                _check_partitions(member, "owned_partitions", ("groups", i, "members", j), source)
        _check_partitions(group, "committed_offsets", ("groups", i), source)


def _check_partitions(row: Json, name: str, path: Path, source: SourceText) -> None:
    """Refuse a list of topics, each with partition ids, that is none."""
    for i, part in enumerate(source.rows(row, name, path)):
        source.member(part, "topic_name", str, (*path, name, i))
        source.integers(part, "partition_ids", (*path, name, i))


def _check_log_dirs(brokers: tuple[Json, ...], source: SourceText) -> None:
    """Refuse replicas without ids, and sizes of disks that are no integers, which are compared with each other."""
    for i, broker in enumerate(brokers):
        for j, log_dir in enumerate(source.rows(broker, "log_dirs", ("log_dirs", i))):
            for name in ("capacity_bytes", "used_bytes"):
                if log_dir.get(name) is not None:
                    source.member(log_dir, name, int, ("log_dirs", i, "log_dirs", j))
            _check_partitions(log_dir, "replicas", ("log_dirs", i, "log_dirs", j), source)


def _read_reassignment(document: Json, source: SourceText) -> Description:
    """``{"version": 1, "partitions": [{"topic", "partition", "replicas"}]}``; ``log_dirs`` are ignored."""
    if document.get("version", 1) != 1:
        source.refuse("version: 1 is expected.", ("version",))
    placements = _Placements(source)
    for i, row in enumerate(source.rows(document, "partitions", ())):
        placements.add(row, ("partitions", i), {})
    return placements.description("reassignment")


def _read_cruise_control(document: Json, source: SourceText) -> Description:
    """The answer of ``GET kafkacruisecontrol/kafka_cluster_state?json=true&verbose=true``, which lists all partitions.

    A partition is listed under each of the states that it is in: offline, urp, with-offline-replicas, under-min-isr, or other.
    """
    state = source.member(document, "KafkaPartitionState", dict, ())
    if "other" not in state:
        source.refuse("Partitions are missing: ask Cruise Control with verbose=true.", ("KafkaPartitionState",))
    placements = _Placements(source, repeated=True)
    for name in state:
        for i, row in enumerate(source.rows(state, name, ("KafkaPartitionState",))):
            path = ("KafkaPartitionState", name, i)
            known: Json = {"in_sync_replicas": source.integers(row, "in-sync", path)}
            if "leader" in row:
                leader = source.member(row, "leader", int, path)
                known["leader"] = leader if leader >= 0 else None
            placements.add(row, path, known)
    of_brokers = source.check(document.get("KafkaBrokerState", {}), dict, ("KafkaBrokerState",))
    counts = source.check(of_brokers.get("ReplicaCountByBrokerId", {}), dict, ("KafkaBrokerState", "ReplicaCountByBrokerId"))
    listed = source.check(of_brokers.get("IsController", {}), dict, ("KafkaBrokerState", "IsController"))
    if not all(re.fullmatch("[0-9]{1,10}", broker_id) for broker_id in (*counts, *listed)):
        source.refuse("KafkaBrokerState: not a broker id.", ("KafkaBrokerState",))
    broker_ids = {int(broker_id) for broker_id in (*counts, *listed)}
    return placements.description("cruise-control", complete=True, broker_ids=broker_ids)


def _read_log_dirs(document: Json, source: SourceText) -> Description:
    """``kafka-log-dirs --describe``: what is in each directory, future replicas and directories that are offline left out; the
    size of a partition is that of its largest replica.
    """
    sizes: dict[str, dict[int, int]] = {}
    log_dirs: dict[int, list[Json]] = {}
    notes = []
    for i, broker in enumerate(source.rows(document, "brokers", ())):
        broker_id = source.member(broker, "broker", int, ("brokers", i))
        of_broker = log_dirs.setdefault(broker_id, [])
        for j, folder in enumerate(source.rows(broker, "logDirs", ("brokers", i))):
            path = ("brokers", i, "logDirs", j)
            replicas = _read_log_dir(folder, path, source)
            if folder.get("error") is not None:
                notes.append(f"Broker {broker_id} reports an error for a log directory: {folder['error']}")
            elif "logDir" in folder:
                rows = [
                    {"topic_name": name, "partition_ids": list(of_topic), "partition_bytes": list(of_topic.values())}
                    for name, of_topic in replicas.items()
                ]
                of_broker.append({"log_dir": source.member(folder, "logDir", str, path), "replicas": rows})
            for name, of_topic in replicas.items():
                largest = sizes.setdefault(name, {})
                largest |= {partition: max(size, largest.get(partition, 0)) for partition, size in of_topic.items()}
    topics = [
        {"topic_name": name, "partition_bytes": [of_topic[i] for i in range(len(of_topic))]}
        for name, of_topic in sizes.items()
        if max(of_topic) < len(of_topic)
    ]
    notes += [f"Some partitions of topic {name!r} have no size." for name in sizes.keys() - {row["topic_name"] for row in topics}]
    brokers = tuple({"broker_id": broker_id} for broker_id in log_dirs)
    described = tuple({"broker_id": broker_id, "log_dirs": of_broker} for broker_id, of_broker in log_dirs.items() if of_broker)
    return Description("log-dirs", brokers, tuple(topics), log_dirs=described, notes=tuple(notes[:MOST_NOTES]))


def _read_log_dir(folder: Json, path: Path, source: SourceText) -> dict[str, dict[int, int]]:
    """Topic → partition → the size of its replica in a directory."""
    replicas: dict[str, dict[int, int]] = {}
    for k, row in enumerate(source.rows(folder, "partitions", path)):
        at = (*path, "partitions", k)
        name, dash, partition = source.member(row, "partition", str, at).rpartition("-")
        if not dash or not re.fullmatch("[0-9]{1,10}", partition):
            source.refuse(f"Not a topic and its partition: {row['partition']!r}.", at)
        if not row.get("isFuture", False):
            replicas.setdefault(name, {})[int(partition)] = source.member(row, "size", int, at)
    return replicas


class _Placements:
    """Topics from rows of ``topic``, ``partition`` and ``replicas``. repeated : a partition may have several equal rows"""

    def __init__(self, source: SourceText, *, repeated: bool = False) -> None:
        self.source, self.repeated = source, repeated
        self.topics: dict[str, dict[int, Json]] = {}

    def add(self, row: Json, path: Path, more: Json) -> None:
        """Add the placement of one row, with further members."""
        name, partition_id = self.source.member(row, "topic", str, path), self.source.member(row, "partition", int, path)
        placement = {"partition_id": partition_id, "replicas": self.source.integers(row, "replicas", path), **more}
        placements = self.topics.setdefault(name, {})
        if placements.setdefault(partition_id, placement) != placement or (
            placements[partition_id] is not placement and not self.repeated
        ):
            self.source.refuse(f"Duplicate partition {partition_id} of topic {name!r}.", path)

    def description(self, form: str, *, complete: bool = False, broker_ids: set[int] | None = None) -> Description:
        """The description. complete : every partition is listed; broker_ids : brokers that may have no replicas"""
        topics = []
        for name, placements in self.topics.items():
            topic: Json = {"topic_name": name, "placements": [placements[partition_id] for partition_id in sorted(placements)]}
            topics.append({**topic, "partitions_count": len(placements)} if complete else topic)
        ids = {broker["broker_id"] for broker in brokers_of(tuple(topics))} | (broker_ids or set())
        return Description(form, tuple({"broker_id": broker_id} for broker_id in sorted(ids)), tuple(topics))
