"""JSON with a list of topics, or with one, each with its partitions: ``kcat -L -J``, ``kt topic``, clients and consoles.

Redpanda Console, Kafka UI, AKHQ and kafkajs describe topics so, each with its own names for a partition, replicas and offsets.
"""

from collections.abc import Collection
from typing import Any, Final

from service.core.documents import Json
from service.descriptions.json_lines import Path
from service.descriptions.model import Description
from service.descriptions.rows import END, START, TopicRows
from service.descriptions.source import SourceText

_NAME: Final = ("name", "topicName", "topic")
_ID: Final = ("id", "partition", "partitionId", "brokerId", "broker", "nodeId")
_IN_SYNC: Final = ("isrs", "isr", "inSyncReplicas")
_FLAG: Final = ("inSync", "inSyncs")
"""Of a replica that is an object."""
_OFFSETS: Final = {
    START: ("oldest", "waterMarkLow", "offsetMin", "firstOffset"), END: ("newest", "waterMarkHigh", "offsetMax", "lastOffset"),
}  # fmt: skip


def topics_of(document: Json) -> list[Json]:
    """The topics that a document has; none if it has another shape."""
    rows = document["topics"] if isinstance(document.get("topics"), list) else [document]
    named = all(isinstance(row, dict) and isinstance(_first(row, _NAME), str) for row in rows)
    return rows if named and all(isinstance(row.get("partitions"), list) for row in rows) else []


def read_topics(document: Json, source: SourceText) -> Description | None:
    """The topics, with the brokers if they are listed; None if the document has another shape. Raises UnreadableDescription."""
    topics, rows, notes = topics_of(document), TopicRows(), []
    if not topics:
        return None
    for i, topic in enumerate(topics):
        name, of_topic = _first(topic, _NAME), ("topics", i) if "topics" in document else ()
        if topic.get("error"):
            notes.append(f"The partitions of topic {name!r} are not known: {topic['error']}.")
        for j, row in enumerate(source.rows(topic, "partitions", of_topic)):
            path: Path = (*of_topic, "partitions", j)
            known: Json = {each: _first(row, names) for each, names in _OFFSETS.items()}
            leader = _first(row["leader"], _ID) if isinstance(row.get("leader"), dict) else row.get("leader")
            if "replicas" in row:
                known["leader"] = leader if isinstance(leader, int) else None
                replicas = source.member(row, "replicas", list, path)
                in_sync = [_id(one, path, source) for one in replicas if isinstance(one, dict) and _first(one, _FLAG)]
                told = next((source.member(row, each, list, path) for each in _IN_SYNC if each in row), in_sync or None)
                for each, ids in (("replicas", replicas), ("in_sync_replicas", told)):
                    known[each] = None if ids is None else [_id(one, path, source) for one in ids]
            rows.add(name, _id(row, path, source), **known)
    brokers = [_id(row, ("brokers", i), source) for i, row in enumerate(source.rows(document, "brokers", ()))]
    racks = {broker: row.get("rack") for broker, row in zip(brokers, document.get("brokers", ()), strict=True)}
    described = {broker: {"broker_id": broker, **({"rack_id": rack} if rack else {})} for broker, rack in racks.items()}
    form = "kcat" if "originating_broker" in document else "topics"
    return (rows.description(form, brokers=described, complete=True) or Description(form)).noted(*notes)


def _id(value: Any, path: Path, source: SourceText) -> int:
    """The id of a partition or broker: a number, or an object with one."""
    return int(source.check(_first(value, _ID) if isinstance(value, dict) else value, int, path))


def _first(row: Json, names: Collection[str]) -> Any:
    return next((row[name] for name in names if name in row), None)
