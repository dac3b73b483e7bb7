"""Strimzi's resources: KafkaTopic and KafkaRebalance as YAML or JSON, also lists, and the table of ``kubectl get kafkatopics``.

Of YAML only the lines of the fields below are read, by their indentation.
"""

import re
from typing import Any, Final

import yaml

from service.core.documents import Json
from service.descriptions.model import Description
from service.descriptions.rows import LineReader, PrintedTable
from service.descriptions.source import SourceText

Fields = dict[str, Any]
"""Path → value of the fields of a resource, such as ``metadata.name``."""

_FIRST: Final = re.compile(
    r"(?P<indent>\s*(?:- )?)(?:apiVersion: ?kafka\.strimzi\.io/|(?P<kind>kind: ?Kafka(?:Topic|Rebalance)\s*$))"
)
_LINE: Final = re.compile(r"(?P<indent>\s*(?:- +)*)\"?(?P<key>[A-Za-z0-9_./-]+)\"?:(?:\s(?P<value>.*))?")
_LIST: Final = re.compile(r"apiVersion: v1|kind: (?:List|Kafka\w+List)|items:|---|\.\.\.")
_HEADER: Final = re.compile(r"(?:NAMESPACE\s+)?NAME\s+CLUSTER\s+PARTITIONS\s+REPLICATION FACTOR(?:\s+READY)?\s*")
_LAST_APPLIED: Final = re.compile(r"(last-applied-configuration: [|>]-?\n[^\S\n]*)\{.*")
_COUNTS: Final = {
    "partitions_count": "spec.partitions",
    "replication_factor": "spec.replicas",
    "min_insync_replicas": "spec.config.min.insync.replicas",
}
_MOVES: Final = {"numReplicaMovements": "replicas", "dataToMoveMB": "MB", "numLeaderMovements": "leaders"}


def without_last_applied(text: str) -> str:
    """The text without what kubectl remembers of the last change of a resource, which may have changed since."""
    return _LAST_APPLIED.sub(r"\1", text) if "last-applied-configuration: " in text else text


class StrimziText(LineReader):
    """The resources that the lines describe.

    path : (indent, key) of the keys around the current line; indent : of the current resource, -1 if there is none
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
