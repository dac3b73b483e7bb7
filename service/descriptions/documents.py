"""JSON that describes a cluster: a snapshot or parts of one, a reassignment, Cruise Control's ``kafka_cluster_state``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

from service.descriptions.json_lines import Path, line_of
from service.descriptions.model import Description, Json, UnreadableDescription, brokers_of

_PARTS: Final = {"brokers": "broker_id", "topics": "topic_name", "groups": "group_id"}
"""The lists of a snapshot, each with the member that names a row."""

MOST_NOTES: Final = 3

_DECODER: Final = json.JSONDecoder()
_BLANK: Final = re.compile(r"\s*")

_TYPES: Final = {dict: "an object", list: "a list", int: "an integer", str: "a string"}


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


def read_document(text: str, start: int) -> tuple[Description | None, int]:
    """The description that the JSON from ``start`` on is, None if it is none, and where it ends. Raises UnreadableDescription."""
    start = _BLANK.match(text, start).end()  # type: ignore[union-attr]  # it matches anything
    document, end = _parsed(lambda: _DECODER.raw_decode(text, start))
    source = _Source(text, start)
    source.check(document, dict, ())
    return _described(document, source), end


def _described(document: Json, source: _Source) -> Description | None:
    if "partitions" in document:
        return _read_reassignment(document, source)
    if "KafkaPartitionState" in document:
        return _read_cruise_control(document, source)
    if document.keys() == {"brokers", "version"}:
        return _read_log_dirs(document, source)
    if "snapshot_version" in document or document.keys() & _PARTS.keys():
        return _read_snapshot(document, source)
    return None


class _Source:
    """The text and where the JSON begins, for the line of a fault."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.start = text, start

    def refuse(self, detail: str, path: Path) -> NoReturn:
        """Raise UnreadableDescription for the value at this path."""
        raise UnreadableDescription(detail, self.text.count("\n", 0, self.start) + line_of(self.text[self.start :], path))

    def check(self, value: Any, kind: type, path: Path) -> Any:
        """The value, which must be of this kind."""
        if type(value) is not kind:
            name = next((str(part) for part in reversed(path) if isinstance(part, str)), "The text")
            self.refuse(f"{name}: not {_TYPES[kind]}.", path)
        return value

    def member(self, row: Json, name: str, kind: type, path: Path) -> Any:
        """A required member of an object."""
        if name not in row:
            self.refuse(f"{name} is missing.", path)
        return self.check(row[name], kind, (*path, name))

    def rows(self, document: Json, name: str, path: Path) -> list[Json]:
        """A list of objects, empty if it is absent."""
        rows = self.check(document.get(name, []), list, (*path, name))
        for i, row in enumerate(rows):
            self.check(row, dict, (*path, name, i))
        return rows  # type: ignore[no-any-return]  # checked

    def broker_ids(self, row: Json, name: str, path: Path) -> list[int]:
        """A required list of integers."""
        ids = self.member(row, name, list, path)
        for i, broker_id in enumerate(ids):
            self.check(broker_id, int, (*path, name, i))
        return ids  # type: ignore[no-any-return]  # checked


def _read_snapshot(document: Json, source: _Source) -> Description:
    """Its parts as they are; only the names of their rows, and the placements, are checked here."""
    version = document.get("snapshot_version", 1)
    if version != 1:
        source.refuse(f"snapshot_version {version} is not supported; 1 is.", ("snapshot_version",))
    parts = {}
    for part, name in _PARTS.items():
        rows, names = source.rows(document, part, ()), set()
        for i, row in enumerate(rows):
            value = source.member(row, name, int if part == "brokers" else str, (part, i))
            if value in names:
                source.refuse(f"Duplicate {name} {value!r}.", (part, i, name))
            names.add(value)
        parts[part] = tuple(rows)
    for i, topic in enumerate(parts["topics"]):
        for j, placement in enumerate(source.rows(topic, "placements", ("topics", i))):
            source.member(placement, "partition_id", int, ("topics", i, "placements", j))
            source.broker_ids(placement, "replicas", ("topics", i, "placements", j))
    for i, group in enumerate(parts["groups"]):
        for j, member in enumerate(source.rows(group, "members", ("groups", i))):
            source.member(member, "member_id", str, ("groups", i, "members", j))
    return Description("snapshot", parts["brokers"], parts["topics"], parts["groups"])


def _read_reassignment(document: Json, source: _Source) -> Description:
    """``{"version": 1, "partitions": [{"topic", "partition", "replicas"}]}``; ``log_dirs`` are ignored."""
    if document.get("version", 1) != 1:
        source.refuse("version: 1 is expected.", ("version",))
    placements = _Placements(source)
    for i, row in enumerate(source.rows(document, "partitions", ())):
        placements.add(row, ("partitions", i), {})
    return placements.description("reassignment")


def _read_cruise_control(document: Json, source: _Source) -> Description:
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
            placements.add(row, path, {"in_sync_replicas": source.broker_ids(row, "in-sync", path)})
    of_brokers = source.check(document.get("KafkaBrokerState", {}), dict, ("KafkaBrokerState",))
    counts = source.check(of_brokers.get("ReplicaCountByBrokerId", {}), dict, ("KafkaBrokerState", "ReplicaCountByBrokerId"))
    listed = source.check(of_brokers.get("IsController", {}), dict, ("KafkaBrokerState", "IsController"))
    if not all(re.fullmatch("[0-9]{1,10}", broker_id) for broker_id in (*counts, *listed)):
        source.refuse("KafkaBrokerState: not a broker id.", ("KafkaBrokerState",))
    broker_ids = {int(broker_id) for broker_id in (*counts, *listed)}
    return placements.description("cruise-control", complete=True, broker_ids=broker_ids)


def _read_log_dirs(document: Json, source: _Source) -> Description:
    """``kafka-log-dirs --describe``: the size of a partition is that of its largest replica, future replicas left out."""
    sizes: dict[str, dict[int, int]] = {}
    broker_ids, notes = [], []
    for i, broker in enumerate(source.rows(document, "brokers", ())):
        broker_ids.append(source.member(broker, "broker", int, ("brokers", i)))
        for j, folder in enumerate(source.rows(broker, "logDirs", ("brokers", i))):
            path = ("brokers", i, "logDirs", j)
            if folder.get("error") is not None:
                notes.append(f"Broker {broker_ids[-1]} reports an error for a log directory: {folder['error']}")
            for k, row in enumerate(source.rows(folder, "partitions", path)):
                at = (*path, "partitions", k)
                name, dash, partition = source.member(row, "partition", str, at).rpartition("-")
                if not dash or not re.fullmatch("[0-9]{1,10}", partition):
                    source.refuse(f"Not a topic and its partition: {row['partition']!r}.", at)
                if not row.get("isFuture", False):
                    of_topic, size = sizes.setdefault(name, {}), source.member(row, "size", int, at)
                    of_topic[int(partition)] = max(size, of_topic.get(int(partition), 0))
    topics = [
        {"topic_name": name, "partition_bytes": [of_topic[i] for i in range(len(of_topic))]}
        for name, of_topic in sizes.items()
        if max(of_topic) < len(of_topic)
    ]
    notes += [f"Some partitions of topic {name!r} have no size." for name in sizes.keys() - {row["topic_name"] for row in topics}]
    brokers = tuple({"broker_id": one} for one in dict.fromkeys(broker_ids))
    return Description("log-dirs", brokers, tuple(topics), notes=tuple(notes[:MOST_NOTES]))


class _Placements:
    """Topics from rows of ``topic``, ``partition`` and ``replicas``. repeated : a partition may have several equal rows"""

    def __init__(self, source: _Source, *, repeated: bool = False) -> None:
        self.source, self.repeated = source, repeated
        self.topics: dict[str, dict[int, Json]] = {}

    def add(self, row: Json, path: Path, more: Json) -> None:
        """Add the placement of one row, with further members."""
        name, partition_id = self.source.member(row, "topic", str, path), self.source.member(row, "partition", int, path)
        placement = {"partition_id": partition_id, "replicas": self.source.broker_ids(row, "replicas", path), **more}
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
