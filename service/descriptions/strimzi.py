"""Strimzi's resources: KafkaTopic and KafkaRebalance as YAML or JSON, also lists, and the table of ``kubectl get kafkatopics``.

Of YAML only the lines of the fields below are read, by their indentation.
"""

import re
from typing import Any, Final

from service.core.documents import Json
from service.descriptions.model import Description
from service.descriptions.source import Source
from service.descriptions.tables import Table

Fields = dict[str, Any]
"""Path → value of the fields of a resource, such as ``metadata.name``."""

_FIRST: Final = re.compile(r"(?P<indent>\s*(?:- )?)(?P<key>apiVersion: ?kafka\.strimzi\.io/|kind: ?Kafka(?:Topic|Rebalance)\s*$)")
_LINE: Final = re.compile(r"(?P<indent>\s*(?:- +)*)(?P<key>[A-Za-z0-9_./-]+|\"[^\"]+\"):(?:\s+(?P<value>\S.*?))?\s*")
_LIST: Final = re.compile(r"apiVersion: v1|kind: (?:List|Kafka\w+List)|items:|---|\.\.\.")
_RESULT: Final = "status.optimizationResult."
_CONFIG: Final = "spec.config."
_HEADER: Final = re.compile(r"(?:NAMESPACE\s+)?NAME\s+CLUSTER\s+PARTITIONS\s+REPLICATION FACTOR(?:\s+READY)?\s*")
_LAST_APPLIED: Final = re.compile(r"(last-applied-configuration: [|>]-?\n[^\S\n]*)\{.*")


def without_last_applied(text: str) -> str:
    """The text without what kubectl remembers of the last change of a resource, which may have changed since."""
    return _LAST_APPLIED.sub(r"\1", text) if "last-applied-configuration: " in text else text


class StrimziText:
    """The resources that the lines describe. path : (indent, key) of the keys around the current line, below the resource"""

    def __init__(self) -> None:
        self.resources: list[Fields] = []
        self.path: list[tuple[int, str]] = []
        self.indent = -1
        self.table = Table()
        self.notes: list[str] = []

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if _HEADER.fullmatch(line):
            self.table = Table.of(re.sub(r"(?<=\S) (?=\S)", "-", line), frozenset({"PARTITIONS", "REPLICATION-FACTOR", "READY"}))
            return True
        row = self.table.cells(line) if self.table.names else None
        if row is not None and all(row[name].isdecimal() or not row[name] for name in ("PARTITIONS", "REPLICATION-FACTOR")):
            counts = {"spec.partitions": row["PARTITIONS"], "spec.replicas": row["REPLICATION-FACTOR"]}
            self.resources.append({"kind": "KafkaTopic", "metadata.name": row["NAME"], **counts})
            return True
        if _LIST.fullmatch(line.strip()):
            self.indent = -1
            return True
        first = _FIRST.match(line)
        if first and (self.indent != len(first["indent"]) or first["key"][:4] in self.resources[-1] or "-" in first["indent"]):
            self.resources.append({})
            self.indent, self.path = len(first["indent"]), []
        return self.indent >= 0 and self._field(line)

    def check_foreign(self, number: int, line: str) -> None:
        """No line has to be of these forms."""

    def description(self) -> Description | None:
        """The topics."""
        return _described(self.resources) if self.resources else None

    def _field(self, line: str) -> bool:
        """A line of the current resource; False if it is of none."""
        match = _LINE.fullmatch(line)
        indent = len(match["indent"]) if match else len(line) - len(line.lstrip())
        if match is None or indent < self.indent:
            self.indent = self.indent if indent > self.indent or line.lstrip()[:1] in "-#" else -1
            return self.indent >= 0
        while self.path and self.path[-1][0] >= indent:
            self.path.pop()
        path = ".".join((*(key for _, key in self.path), match["key"].strip('"')))
        self.path.append((indent, match["key"].strip('"')))
        if match["value"]:
            value = re.sub(r"\s+#.*", "", match["value"]).strip("'\"")
            self.resources[-1].setdefault(path[:4] if path == "apiVersion" else path, value)
        return True


def read_resource(document: Json, source: Source) -> Description | None:
    """The resources that ``kubectl get -o json`` prints; None if the document is another. Raises UnreadableDescription."""
    if not isinstance(document.get("apiVersion"), str) or not isinstance(document.get("kind"), str):
        return None
    items = source.rows(document, "items", ()) if "items" in document else [document]
    resources = [_flat(item) for item in items if str(item.get("apiVersion")).startswith("kafka.strimzi.io/")]
    if not resources:
        source.refuse(f"{document['kind']} is not a resource of Strimzi that describes topics; KafkaTopic is.", ())
    return _described(resources)


def _flat(value: Json, path: str = "") -> Fields:
    """The fields of a resource, as deep as those of a status."""
    fields: Fields = {}
    for key, each in value.items():
        if isinstance(each, dict) and path.count(".") < len(_RESULT.split(".")):
            fields |= _flat(each, f"{path}{key}.")
        elif not isinstance(each, dict | list):
            fields[f"{path}{key}"] = each
    return fields


def _described(resources: list[Fields]) -> Description:
    """The topics of KafkaTopics; notes say what other resources have."""
    topics: dict[str, Json] = {}
    notes, unknown = [], []
    for fields in resources:
        kind, name = fields.get("kind"), fields.get("spec.topicName") or fields.get("metadata.name")
        if kind == "KafkaRebalance":
            notes.append(_rebalance(fields))
        elif kind == "KafkaTopic" and name:
            counts = (
                ("partitions_count", "spec.partitions"),
                ("replication_factor", "spec.replicas"),
                ("min_insync_replicas", f"{_CONFIG}min.insync.replicas"),
            )
            known = {field: int(fields[path]) for field, path in counts if str(fields.get(path)).isdecimal()}
            topics[str(name)] = {"topic_name": str(name), **known}
            unknown += [] if "partitions_count" in known else [str(name)]
        elif kind:
            notes.append(f"A {kind} describes no topics; Strimzi's KafkaTopic does.")
    if unknown:
        notes.append(f"KafkaTopic {unknown[0]!r} has no spec.partitions: its partition count is the broker's default, not known.")
    return Description("strimzi", topics=tuple(topics.values()), notes=tuple(notes))


def _rebalance(fields: Fields) -> str:
    """What a KafkaRebalance has."""
    has = {path.removeprefix(_RESULT): value for path, value in fields.items() if path.startswith(_RESULT)}
    units = (("numReplicaMovements", "replicas"), ("dataToMoveMB", "MB"), ("numLeaderMovements", "leaders"))
    told = ", ".join(f"{has[name]} {unit}" for name, unit in units if name in has)
    return (
        f"KafkaRebalance {fields.get('metadata.name', '')!r} describes no placement, only what its proposal moves "
        f"({told or 'nothing yet'}). Describe the topics: kafka-topics --describe, or Cruise Control's "
        "kafka_cluster_state?json=true&verbose=true."
    )
