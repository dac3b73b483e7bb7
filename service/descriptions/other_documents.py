"""JSON of tools beside Kafka's: topics, Kafka Connect's REST API, Burrow, ``kt group``, Strimzi's resources.

Redpanda Console, Kafka UI, AKHQ and kafkajs describe topics with their partitions, each with its own names for a partition,
replicas and offsets.
"""

import re
from typing import Any, Final

import yaml

from service.core.documents import Json
from service.core.printable import counted
from service.descriptions.model import (
    END,
    START,
    Description,
    GroupRows,
    LineReader,
    Path,
    PrintedTable,
    SourceText,
    TopicRows,
    first_of,
)
from service.wire.connect_protocol import CONNECT

Fields = dict[str, Any]
"""Path → value of the fields of a resource, such as ``metadata.name``."""

_FIRST: Final = re.compile(
    r"(?P<indent>\s*(?:- )?)(?:apiVersion: ?kafka\.strimzi\.io/|(?P<kind>kind: ?Kafka(?:Topic|Rebalance)\s*$))"
)
_LINE: Final = re.compile(r"(?P<indent>\s*(?:- +)*)\"?(?P<key>[A-Za-z0-9_./-]+)\"?:(?:\s(?P<value>.*))?")
_LIST: Final = re.compile(r"apiVersion: v1|kind: (?:List|Kafka\w+List)|items:|---|\.\.\.")
_HEADER: Final = re.compile(r"(?:NAMESPACE\s+)?NAME\s+CLUSTER\s+PARTITIONS\s+REPLICATION FACTOR(?:\s+READY)?\s*")
_COUNTS: Final = {
    "partitions_count": "spec.partitions",
    "replication_factor": "spec.replicas",
    "min_insync_replicas": "spec.config.min.insync.replicas",
}
_MOVES: Final = {"numReplicaMovements": "replicas", "dataToMoveMB": "MB", "numLeaderMovements": "leaders"}


class StrimziText(LineReader):
    """The resources that the lines describe.

    path : (indent, key) of the keys around the current line; indent : of the current resource, -1 if there is none

    Strimzi's resources: KafkaTopic and KafkaRebalance as YAML or JSON, also lists, and the table of ``kubectl get kafkatopics``.

    Of YAML only the lines of the fields below are read, by their indentation.
    """

    mark = ("kafka.strimzi.io", "kind: Kafka", "kind:Kafka", "REPLICATION FACTOR")

    def __init__(self) -> None:
        super().__init__()
        self.resources: list[Fields] = []
        self.path: list[tuple[int, str]] = []
        self.indent = -1
        self.table = PrintedTable()

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if _HEADER.fullmatch(line):
            self.table = PrintedTable.of(line.replace("N F", "N-F"), "PARTITIONS", "REPLICATION-FACTOR", "READY")
            return True
        row = (self.table.cells(line) if self.table.names else None) or {}
        if row.get("PARTITIONS", "").isdecimal():
            counts = {"spec.partitions": row["PARTITIONS"], "spec.replicas": row["REPLICATION-FACTOR"]}
            self.resources.append({"kind": "KafkaTopic", "metadata.name": row["NAME"], **counts})
            return True
        if _LIST.fullmatch(line.strip()):
            self.indent = -1
            return True
        first = _FIRST.match(line)
        key = "kind" if first and first["kind"] else "apiVersion"
        if first and (self.indent != len(first["indent"]) or "-" in first["indent"] or key in self.resources[-1]):
            self.resources.append({})
            self.indent, self.path = len(first["indent"]), []
        return self.indent >= 0 and self._field(line)

    def description(self) -> Description | None:
        """The topics."""
        return _described(self.resources) if self.resources else None

    def _field(self, line: str) -> bool:
        """A line of the current resource; False if it is of none."""
        match = _LINE.fullmatch(line)
        indent = len(match["indent"]) if match else len(line) - len(line.lstrip())
        if indent < self.indent or (match is None and indent == self.indent and line[indent] not in "-#"):
            self.indent = -1
        elif match:
            while self.path and self.path[-1][0] >= indent:
                self.path.pop()
            self.path.append((indent, match["key"]))
            value = (match["value"] or "").partition(" #")[0].strip(" '\"")
            if value.startswith("{"):
                path = ".".join(key for _, key in self.path)
                self.resources[-1] |= _flow(value, path)
            elif value:
                self.resources[-1].setdefault(".".join(key for _, key in self.path), value)
        return self.indent >= 0


def read_resource(document: Json, source: SourceText) -> Description | None:
    """The resources that ``kubectl get -o json`` prints; None if the document is another. Raises UnreadableDescription."""
    if not isinstance(document.get("apiVersion"), str) or not isinstance(document.get("kind"), str):
        return None
    items = source.rows(document, "items", ()) if "items" in document else [document]
    resources = [_flat(item) for item in items if str(item.get("apiVersion")).startswith("kafka.strimzi.io/")]
    if not resources:
        source.refuse(f"{document['kind']} is not a resource of Strimzi that describes topics; KafkaTopic is.", ())
    return _described(resources)


def _flat(value: Json, path: str = "") -> Fields:
    """The fields of a resource, three levels deep."""
    fields: Fields = {}
    for key, each in value.items():
        fields |= _flat(each, f"{path}{key}.") if isinstance(each, dict) and path.count(".") < 2 else {f"{path}{key}": each}
    return fields


def _flow(value: str, path: str) -> Fields:
    """The fields of a mapping within one line."""
    try:
        mapping = yaml.safe_load(value)
    except (yaml.YAMLError, RecursionError):
        return {}
    return _flat(mapping, f"{path}.") if isinstance(mapping, dict) else {}


def _described(resources: list[Fields]) -> Description:
    """The topics of KafkaTopics; notes say what other resources have."""
    topics, notes = [], []
    for fields in resources:
        name = str(fields.get("spec.topicName") or fields.get("metadata.name"))
        if fields.get("kind") == "KafkaTopic":
            known = {field: int(fields[path]) for field, path in _COUNTS.items() if str(fields.get(path)).isdecimal()}
            topics.append({"topic_name": name, **known})
            if "partitions_count" not in known:
                notes.append(f"KafkaTopic {name!r} has no spec.partitions: its count is the broker's default, not known.")
        elif fields.get("kind") == "KafkaRebalance":
            result = {unit: fields.get(f"status.optimizationResult.{field}") for field, unit in _MOVES.items()}
            told = ", ".join(f"{count} {unit}" for unit, count in result.items() if count is not None)
            notes.append(
                f"KafkaRebalance {name!r} describes no placement; its proposal moves {told or 'nothing yet'}. Describe "
                "topics: kafka-topics --describe, or Cruise Control's kafka_cluster_state?json=true&verbose=true."
            )
    return Description("strimzi", topics=tuple(topics), notes=tuple(notes))


CONNECT_GROUP: Final = "connect-cluster"
"""The name of a group of Connect: the example of ``group.id`` in Kafka's configuration; its REST API does not tell it."""

_BURROW: Final = {"error", "message", "request"}
_BURROW_STATUS: Final = {"cluster", "group", "status", "partitions"}
_KT_GROUP: Final = {"name", "topic", "offsets"}


def read_other(document: Json, source: SourceText) -> Description | None:
    """What a document of another tool describes; None if it is none of these. Raises UnreadableDescription."""
    if document.keys() >= _BURROW_STATUS:  # through jq
        document = {**dict.fromkeys(_BURROW), "status": document}
    for read in (read_resource, _read_connect, _read_burrow, _read_kt_group, read_topics):
        description = read(document, source)
        if description is not None:
            return description
    return None


def is_other(document: Json) -> bool:
    """Is this a document of one of these tools, by its members?"""
    return (
        "apiVersion" in document
        or document.keys() >= _BURROW
        or document.keys() >= _BURROW_STATUS
        or document.keys() >= _KT_GROUP
        or bool(topics_of(document) or _of_connectors(document, "status") or _of_connectors(document, "info"))
    )


def _of_connectors(document: Json, member: str) -> list[tuple[tuple[str, ...], Json]]:
    """The ``status`` or ``info`` of each connector, with its path; none if the document has another shape."""
    if document.keys() >= {"name", "connector", "tasks"}:
        return [((), document)]
    found: Any = [((name, member), each.get(member) if isinstance(each, dict) else None) for name, each in document.items()]
    return found if all(isinstance(each, dict) and each.keys() >= {"name", "tasks"} for _, each in found) else []


def _read_connect(document: Json, source: SourceText) -> Description | None:
    """``/connectors/NAME/status``, or ``/connectors?expand=status``: the group of the workers, with what runs on each.

    ``expand=info`` alone lists connectors and tasks, but not where they run.
    """
    statuses = _of_connectors(document, "status")
    if not statuses:
        if _of_connectors(document, "info"):
            source.refuse("Kafka Connect's expand=info does not tell workers: ask for /connectors?expand=status.", ())
        return None
    workers: dict[str, Json] = {}
    idle = []
    for path, status in statuses:
        name = source.member(status, "name", str, path)
        for row in (source.member(status, "connector", dict, path), *source.rows(status, "tasks", path)):
            if row.get("state") in ("UNASSIGNED", "DESTROYED") or not row.get("worker_id"):
                idle.append(f"{name}-{row['id']}" if "id" in row else name)
                continue
            url = source.member(row, "worker_id", str, path)
            worker = workers.setdefault(url, {"member_id": url, "url": url, "connectors": [], "tasks": {}})
            if "id" in row:
                worker["tasks"].setdefault(name, []).append(source.member(row, "id", int, path))
            else:
                worker["connectors"].append(name)
    for worker in workers.values():
        worker["tasks"] = [{"connector_name": name, "task_ids": sorted(ids)} for name, ids in worker["tasks"].items()]
    unknown = (
        f"Kafka Connect's REST API gives neither the workers' group.id, called {CONNECT_GROUP!r} here, nor their member ids: "
        "workers are named by their addresses. Workers on which nothing runs are not listed."
    )
    notes = [unknown]
    if idle:
        notes.append(f"{counted(len(idle), 'connector or task', 'connectors or tasks')} on no worker, such as {idle[0]}.")
    group = {"group_id": CONNECT_GROUP, "group_protocol": CONNECT, "members": list(workers.values())}
    return Description("connect", groups=(group,), notes=tuple(notes))


def _read_burrow(document: Json, source: SourceText) -> Description | None:
    """Burrow's ``/v3/kafka/CLUSTER/consumer/GROUP``, and its ``/status`` and ``/lag``, the former only of lagging partitions.

    The ends of logs are commits with the lag of now. Members are not known where partitions are left out.
    """
    if not document.keys() >= _BURROW:
        return None
    if document["error"]:
        source.refuse(f"Burrow reports an error: {document['message']}.", ())
    topics, group, notes = TopicRows(), GroupRows(), ["The ends of logs are committed offsets with the lag that Burrow reports."]
    status, detail = document.get("status"), document.get("topics")
    listed: list[tuple[str, int, Json, Any]] = []
    if isinstance(status, dict) and "partitions" in status:
        group_id, rows = source.member(status, "group", str, ("status",)), source.rows(status, "partitions", ("status",))
        listed = [(row.get("topic", ""), source.member(row, "partition", int, ("status",)), row, row.get("end")) for row in rows]
        total = status.get("partition_count", len(rows))
        if total != len(rows):
            notes.append(f"Burrow's /status lists {len(rows)} of {total} partitions, those that lag; its /lag lists all.")
    elif isinstance(detail, dict):
        match = re.search(r"/consumer/([^/?]+)", str(document["request"].get("url", "")))
        group_id = match[1] if match else "group"
        for topic in detail:
            for i, row in enumerate(source.rows(detail, topic, ("topics",))):
                listed.append((topic, i, row, next((each for each in reversed(row.get("offsets") or ()) if each), None)))
    else:
        source.refuse("Burrow's answer has no offsets of a group: ask for /v3/kafka/CLUSTER/consumer/GROUP/lag.", ())
    for each in listed:
        _add_burrow(topics, group, *each, with_members=len(notes) == 1)
    if group.members:
        notes.append("Burrow gives no member ids: members are told apart by client id and host.")
    return Description("burrow", topics=topics.topics(), groups=(group.document(group_id),), notes=tuple(notes))


def _add_burrow(
    topics: TopicRows, group: GroupRows, topic: str, partition: int, row: Json, last: Json | None, *, with_members: bool
) -> None:
    """A partition. last : its last commit"""
    offset, lag = (last or {}).get("offset"), row.get("current_lag", row.get("current-lag"))
    group.committed.setdefault(topic, {})[partition] = offset
    topics.add(topic, partition, **({END: offset + lag} if isinstance(offset, int) and isinstance(lag, int) else {}))
    if row.get("owner") and with_members:
        client_id, host = row.get("client_id") or "", row["owner"].lstrip("/")
        member = group.member(f"{client_id}/{host}", client_id=client_id, host=host)
        member["owned_partitions"].setdefault(topic, set()).add(partition)


def _read_kt_group(document: Json, source: SourceText) -> Description | None:
    """A line of ``kt group``: offsets and lag of a group in a topic."""
    if not document.keys() >= _KT_GROUP:
        return None
    topic, topics, group = source.member(document, "topic", str, ()), TopicRows(), GroupRows()
    for i, row in enumerate(source.rows(document, "offsets", ())):
        partition, offset = (source.member(row, each, int, ("offsets", i)) for each in ("partition", "offset"))
        group.committed.setdefault(topic, {})[partition] = offset if offset >= 0 else None
        topics.add(topic, partition, **{END: offset + source.member(row, "lag", int, ("offsets", i))})
    return topics.description("kt", (group.document(source.member(document, "name", str, ())),))


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
    named = all(isinstance(row, dict) and isinstance(first_of(row, _NAME), str) for row in rows)
    return rows if named and all(isinstance(row.get("partitions"), list) for row in rows) else []


def read_topics(document: Json, source: SourceText) -> Description | None:
    """The topics, with the brokers if they are listed; None if the document has another shape. Raises UnreadableDescription."""
    topics, rows, notes = topics_of(document), TopicRows(), []
    if not topics:
        return None
    for i, topic in enumerate(topics):
        name, of_topic = first_of(topic, _NAME), ("topics", i) if "topics" in document else ()
        if topic.get("error"):
            notes.append(f"The partitions of topic {name!r} are not known: {topic['error']}.")
        for j, row in enumerate(source.rows(topic, "partitions", of_topic)):
            path: Path = (*of_topic, "partitions", j)
            known: Json = {each: first_of(row, names) for each, names in _OFFSETS.items()}
            leader = first_of(row["leader"], _ID) if isinstance(row.get("leader"), dict) else row.get("leader")
            if "replicas" in row:
                known["leader"] = leader if isinstance(leader, int) else None
                replicas = source.member(row, "replicas", list, path)
                in_sync = [_id(one, path, source) for one in replicas if isinstance(one, dict) and first_of(one, _FLAG)]
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
    return int(source.check(first_of(value, _ID) if isinstance(value, dict) else value, int, path))
