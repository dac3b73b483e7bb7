"""Redpanda's ``rpk topic describe``, ``rpk group describe`` and ``rpk cluster metadata`` (or ``info``), releases 21 to 25.

Sections are those that options choose, with their heads underlined where there are several. Since 21.11 rpk prints replicas in
ascending order, so which of them is the preferred leader is only known of lists that are not ascending.
"""

import re
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.source import Source
from service.descriptions.tables import NONE, Table, number_in, offset_in
from service.descriptions.topic_rows import TopicRows, offsets_by_topic

_PARTITIONS: Final = {"PARTITION", "LEADER", "REPLICAS"}
_OFFSETS: Final = {"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "MEMBER-ID"}
_BROKERS: Final = ("ID", "HOST", "PORT")
_TOPICS: Final = ("NAME", "PARTITIONS", "REPLICAS")
_BLANK: Final = frozenset({"MEMBER-ID", "INSTANCE-ID", "CLIENT-ID", "HOST", "ERROR", "RACK", "IN-SYNC"})
_FIELD: Final = re.compile(
    r"(NAME|INTERNAL|PARTITIONS|REPLICAS|ERROR|GROUP|COORDINATOR(?:-NODE|-PARTITION)?|STATE|BALANCER|MEMBERS|TOTAL-LAG|Name|Internal)"
    r"(?:\s+(\S+))?"
)
_CONFIG: Final = re.compile(r"(?P<key>[a-z][a-z0-9._]+)\s+(?P<value>.*?)\s*[A-Z_]+_CONFIG")
_COMMAND: Final = re.compile(r".*\brpk topic (?:describe|info)(?P<arguments>(?: \S+)+)")
_DETAILED: Final = re.compile(r"(?P<name>\S+?)(?: \(internal\))?, (?P<count>[0-9]{1,7}) partitions(?:, [0-9]+ replicas)?")
_HEAD: Final = re.compile(r"SUMMARY|CONFIGS|PARTITIONS|CLUSTER|BROKERS|TOPICS|=+|KEY\s+VALUE\s+SOURCE|TOPIC\s+LAG")
_OF_GROUP: Final = {"STATE": "group_state", "BALANCER": "assignor", "MEMBERS": "members_count"}
_IDS: Final = re.compile(r"\[([0-9]{1,10}(?:[ ,]+[0-9]{1,10})*)?\]")


class RpkText:
    """What the lines describe. topic, group : of the current section; table : the current one"""

    def __init__(self) -> None:
        self.rows = TopicRows()
        self.brokers: dict[int, Json] = {}
        self.groups: dict[str, Json] = {}
        self.offsets: dict[str, dict[str, dict[int, int | None]]] = {}
        self.topic = self.group = ""
        self.table: Table = Table()
        self.notes: list[str] = []

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form. Raises UnreadableDescription for a wrong cell."""
        line = line.expandtabs()
        if self._begins(line.strip()):
            self.table = Table()
            return True
        table = Table.of(re.sub(r"(?<=\S) (?=\S)", "-", line.upper()), _BLANK)
        columns = set(table.names)
        if (
            (columns >= _PARTITIONS and ":" not in line)
            or (columns >= _OFFSETS and self.group)
            or (table.names[:3] in (_BROKERS, _TOPICS) and table.names[3:] in ((), ("RACK",)))
        ):
            self.table = table
            return True
        if self.topic and (match := _CONFIG.fullmatch(line.strip())):
            if match["key"] == "min.insync.replicas" and match["value"].isdecimal():
                self.rows.fields.setdefault(self.topic, {})["min_insync_replicas"] = int(match["value"])
            return True
        if (match := _FIELD.fullmatch(line.strip())) and (match[2] or self.group):
            return self._field(match[1].upper(), match[2] or "", number)
        row = self.table.cells(line) if self.table.names else None
        return row is not None and self._row(row, number)

    def check_foreign(self, number: int, line: str) -> None:
        """No line has to be of these forms."""

    def description(self) -> Description | None:
        """The brokers, topics and groups. A note says where preferred leaders are not known."""
        topics = self.rows.topics()
        if not (topics or self.brokers or self.groups):
            return None
        for topic in topics:
            if len(topic.get("placements", ())) != topic.get("partitions_count"):
                topic.pop("placements", None)
        self.notes += unordered(topics)
        brokers = {broker: {"broker_id": broker} for broker in self.rows.brokers()} | self.brokers
        groups = []
        for name, group in self.groups.items():
            committed = offsets_by_topic(self.offsets.get(name, {}))
            members = [
                {**member, "owned_partitions": [{"topic_name": topic, "partition_ids": ids} for topic, ids in owned.items()]}
                for member, owned in group.pop("rows").values()
            ]
            listed = {"members": members} if members or group.get("group_state") in ("Empty", "Dead") else {}
            groups.append({"group_id": name, **group, **listed, **({"committed_offsets": committed} if committed else {})})
        return Description("rpk", tuple(brokers[i] for i in sorted(brokers)), topics, tuple(groups))

    def _begins(self, line: str) -> bool:
        """Does a section begin with this line, of a topic if it names one?"""
        if match := _COMMAND.fullmatch(line):
            names = [word for word in match["arguments"].split() if not word.startswith("-")]
            self.topic = names[0] if len(names) == 1 else ""
        elif match := _DETAILED.fullmatch(line):
            self.topic = match["name"]
            self.rows.fields.setdefault(self.topic, {})["partitions_count"] = int(match["count"])
        return match is not None or _HEAD.fullmatch(line) is not None

    def _field(self, name: str, text: str, number: int) -> bool:
        """A line of a summary; False if none has begun."""
        if name in ("NAME", "GROUP"):
            self.topic, self.group = (text, "") if name == "NAME" else ("", text)
            if name == "GROUP":
                self.groups.setdefault(text, {"rows": {}})
        elif self.topic and name == "PARTITIONS":
            self.rows.fields.setdefault(self.topic, {})["partitions_count"] = number_in({name: text}, name, number)
        elif self.topic and name == "ERROR":
            self.notes.append(f"The partitions of topic {self.topic!r} are not known: {text}.")
        elif self.group and text and name in _OF_GROUP:
            self.groups[self.group][_OF_GROUP[name]] = number_in({name: text}, name, number) if name == "MEMBERS" else text
        return bool(self.topic or self.group)

    def _row(self, row: dict[str, str], number: int) -> bool:
        """A row of the current table; False if it is none."""
        if "HOST" in row and "PORT" in row:
            if not re.fullmatch(r"[0-9]{1,10}\*?", row["ID"]):
                return False
            rack = {"rack_id": row["RACK"]} if row.get("RACK", NONE) not in ("", NONE) else {}
            self.brokers[int(row["ID"].rstrip("*"))] = {"broker_id": int(row["ID"].rstrip("*")), **rack}
        elif "NAME" in row:
            self.rows.fields.setdefault(row["NAME"], {})["partitions_count"] = number_in(row, "PARTITIONS", number)
        elif not re.fullmatch("[0-9]{1,7}", row["PARTITION"]):
            return False
        elif "TOPIC" in row:
            self._offsets(row, int(row["PARTITION"]))
        else:
            if not self.topic:
                raise UnreadableDescription("The topic is not named: print its summary, too (rpk topic describe -a).", number)
            ids = _IDS.fullmatch(row["REPLICAS"])
            if ids is None:
                raise UnreadableDescription(f"Not a list of brokers: {row['REPLICAS']!r}.", number)
            in_sync = next((_IDS.fullmatch(row[name]) for name in ("ISR", "IN-SYNC-REPLICAS") if name in row), None)
            self.rows.place(self.topic, int(row["PARTITION"]), _ids(ids), _ids(in_sync) if in_sync else None)
            start, end = offset_in(row, "LOG-START-OFFSET"), offset_in(row, "HIGH-WATERMARK")
            self.rows.offsets(self.topic, int(row["PARTITION"]), start=start, end=end)
        return True

    def _offsets(self, row: dict[str, str], partition: int) -> None:
        """A partition of the group."""
        topic = row["TOPIC"]
        self.offsets.setdefault(self.group, {}).setdefault(topic, {})[partition] = offset_in(row, "CURRENT-OFFSET")
        start, end = offset_in(row, "LOG-START-OFFSET"), offset_in(row, "LOG-END-OFFSET")
        self.rows.offsets(topic, partition, start=start, end=end)
        if row["MEMBER-ID"] not in ("", NONE):
            member = {"member_id": row["MEMBER-ID"], "client_id": row.get("CLIENT-ID", ""), "host": row.get("HOST", "")}
            instance = {"instance_id": row["INSTANCE-ID"]} if row.get("INSTANCE-ID", NONE) not in ("", NONE) else {}
            rows = self.groups[self.group]["rows"].setdefault(row["MEMBER-ID"], ({**member, **instance}, {}))
            rows[1].setdefault(topic, []).append(partition)


def read_rpk(document: Json, source: Source) -> Description | None:
    """A topic that ``rpk topic describe --format json`` prints; None if the document is another. Raises UnreadableDescription."""
    if not {"summary", "partitions"} <= document.keys():
        return None
    summary, rows = source.member(document, "summary", dict, ()), TopicRows()
    name = source.member(summary, "name", str, ("summary",))
    rows.fields[name] = {"partitions_count": source.member(summary, "partitions", int, ("summary",))}
    for i, row in enumerate(source.rows(document, "partitions", ())):
        partition = source.member(row, "partition", int, ("partitions", i))
        rows.place(name, partition, source.broker_ids(row, "replicas", ("partitions", i)))
        ends = (source.member(row, field, int, ("partitions", i)) for field in ("log_start_offset", "high_watermark"))
        start, end = (offset if offset >= 0 else None for offset in ends)
        rows.offsets(name, partition, start=start, end=end)
    topics = rows.topics()
    brokers = tuple({"broker_id": broker} for broker in sorted(rows.brokers()))
    return Description("rpk", brokers, topics, notes=tuple(unordered(topics)))


def unordered(topics: tuple[Json, ...]) -> list[str]:
    """A note if the replicas of all partitions are in ascending order, and so perhaps in that of rpk."""
    lists = [placement["replicas"] for topic in topics for placement in topic.get("placements", ())]
    if not any(len(replicas) > 1 for replicas in lists) or any(replicas != sorted(replicas) for replicas in lists):
        return []
    return ["rpk prints replicas in ascending order, so preferred leaders are not known: the first of each list is taken."]


def _ids(match: re.Match[str]) -> list[int]:
    return [int(part) for part in re.split("[ ,]+", match[1] or "") if part]
