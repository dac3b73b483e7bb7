"""Redpanda's ``rpk topic describe``, ``rpk group describe`` and ``rpk cluster metadata`` (or ``info``), releases 20 to 24; and
metadata as ``kcat -L`` prints it (kafkacat 1.2 to kcat 1.7).

rpk prints replicas in ascending order (Redpanda's source, ``int32s.sort``), at least since 21.8; which of them is the preferred
leader is then not known.
"""

import re
from collections import defaultdict
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.rows import END, START, UNKNOWN, GroupRows, LineReader, PrintedTable, TopicRows, offset_in

_TABLES: Final = (
    {"PARTITION", "LEADER", "REPLICAS"},
    {"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "MEMBER-ID"},
    {"ID", "HOST", "PORT"},
    {"NAME", "PARTITIONS", "REPLICAS"},
)
_HEADER: Final = re.compile(r"^[^:]*\b(?:LEADER|Leader|MEMBER-ID|HOST|PARTITIONS +REPLICAS)\b[^:]*$")
_BLANK: Final = ("MEMBER-ID", "INSTANCE-ID", "CLIENT-ID", "HOST", "ERROR", "RACK")
_FIELD: Final = re.compile(
    r"(NAME|INTERNAL|PARTITIONS|REPLICAS|ERROR|GROUP|COORDINATOR(?:-NODE|-PARTITION)?|STATE|BALANCER|MEMBERS|TOTAL-LAG|Name|Internal)"
    r"(?:\s+(\S+))?"
)
_COMMAND: Final = re.compile(r".{0,200}?\brpk topic (?:describe|info)(?P<arguments> .*)")
_DETAILED: Final = re.compile(r"(?P<name>\S+?)(?: \(internal\))?, (?P<count>[0-9]{1,7}) partitions(?:, [0-9]+ replicas)?")
_HEAD: Final = re.compile(r"SUMMARY|CONFIGS|PARTITIONS|CLUSTER|BROKERS|TOPICS|=+|KEY\s+VALUE\s+SOURCE|TOPIC\s+LAG")
_OF_GROUP: Final = {"STATE": "group_state", "BALANCER": "assignor", "MEMBERS": "members_count"}
_IDS: Final = re.compile(r"\[(?:[0-9]{1,10}(?:[ ,]+[0-9]{1,10})*)?\]")


class RpkText(LineReader):
    """What the lines describe. topic, group : of the current section; table : the current one"""

    mark = ("REPLICAS", "Replicas", "BALANCER", "MEMBER-ID", "PORT", "PARTITIONS")

    def __init__(self) -> None:
        super().__init__()
        self.topics = TopicRows()
        self.brokers: dict[int, Json] = {}
        self.groups: defaultdict[str, GroupRows] = defaultdict(GroupRows)
        self.topic = self.group = ""
        self.table = PrintedTable()

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form. Raises UnreadableDescription for a wrong cell."""
        line = line.expandtabs()
        header = re.sub(r"(?<=\S) (?=\S)", "-", line.upper()) if _HEADER.search(line) else ""
        table = PrintedTable.of(header, *_BLANK)
        if self._begins(line.strip()):
            self.table = PrintedTable()
        elif any(columns <= set(table.names) for columns in _TABLES) and "ENDPOINT" not in table.names:
            self.table = table
        elif self.topic and line.rstrip().endswith("_CONFIG"):
            if line.split()[0] == "min.insync.replicas" and line.split()[1].isdecimal():
                self.topics.fields.setdefault(self.topic, {})["min_insync_replicas"] = int(line.split()[1])
        elif (match := _FIELD.fullmatch(line.strip())) and (match[2] or self.group):
            return self._field(match[1].upper(), match[2] or "")
        else:
            row = self.table.cells(line) if self.table.names else None
            return row is not None and self._row(row, number)
        return True

    def description(self) -> Description | None:
        """The brokers, topics and groups. A note says where preferred leaders are not known."""
        groups = (group.document(name) for name, group in self.groups.items())
        description = self.topics.description("rpk", groups, self.brokers)
        lists = [row["replicas"] for rows in self.topics.rows.values() for row in rows.values() if "replicas" in row]
        if any(len(replicas) > 1 for replicas in lists) and all(replicas == sorted(replicas) for replicas in lists):
            self.notes.append(
                "rpk prints replicas in ascending order, so preferred leaders are not known: the first of each list is taken."
            )
        return description

    def _begins(self, line: str) -> bool:
        """Does a section begin with this line, of a topic if it names one?"""
        if match := _COMMAND.fullmatch(line):
            names = [word for word in match["arguments"].split() if not word.startswith("-")]
            self.topic = names[0] if len(names) == 1 else ""
        elif match := _DETAILED.fullmatch(line):
            self.topic = match["name"]
            self.topics.fields[self.topic] = {"partitions_count": int(match["count"])}
        return match is not None or _HEAD.fullmatch(line) is not None

    def _field(self, name: str, text: str) -> bool:
        """A line of a summary; False if none has begun."""
        if name in ("NAME", "GROUP"):
            self.topic, self.group = (text, "") if name == "NAME" else ("", text)
        elif self.topic and name == "PARTITIONS" and text.isdecimal():
            self.topics.fields.setdefault(self.topic, {})["partitions_count"] = int(text)
        elif self.topic and name == "ERROR":
            self.notes.append(f"The partitions of topic {self.topic!r} are not known: {text}.")
        elif self.group and text and name in _OF_GROUP:
            group = self.groups[self.group]
            group.fields[_OF_GROUP[name]] = int(text) if text.isdecimal() else text
            group.members = {} if text in ("Empty", "Dead") else group.members
        return bool(self.topic or self.group)

    def _row(self, row: dict[str, str], number: int) -> bool:
        """A row of the current table; False if it is none."""
        if "PORT" in row:
            if not re.fullmatch(r"[0-9]{1,10}\*?", row["ID"]):
                return False
            broker = int(row["ID"].rstrip("*"))
            self.brokers[broker] = {"broker_id": broker} | ({"rack_id": row["RACK"]} if row.get("RACK") not in UNKNOWN else {})
        elif "NAME" in row:
            self.topics.fields[row["NAME"]] = (
                {"partitions_count": int(row["PARTITIONS"])} if row["PARTITIONS"].isdecimal() else {}
            )
        elif not re.fullmatch("[0-9]{1,7}", row["PARTITION"]):
            return False
        elif "TOPIC" in row:
            self._offsets(row, int(row["PARTITION"]))
        elif not self.topic:
            raise UnreadableDescription("The topic is not named: print its summary, too (rpk topic describe -a).", number)
        elif not _IDS.fullmatch(row["REPLICAS"]):
            raise UnreadableDescription(f"Not a list of brokers: {row['REPLICAS']!r}.", number)
        else:
            in_sync = _ids(row["IN-SYNC-REPLICAS"]) if "IN-SYNC-REPLICAS" in row else None
            ends = {START: offset_in(row, "LOG-START-OFFSET"), END: offset_in(row, "HIGH-WATERMARK")}
            partition, replicas = int(row["PARTITION"]), _ids(row["REPLICAS"])
            leader = int(row["LEADER"]) if re.fullmatch("-1|[0-9]{1,10}", row["LEADER"]) else None
            self.topics.add(self.topic, partition, replicas=replicas, in_sync_replicas=in_sync, leader=leader, **ends)
        return True

    def _offsets(self, row: dict[str, str], partition: int) -> None:
        """A partition of the group."""
        topic, group = row["TOPIC"], self.groups[self.group]
        group.committed.setdefault(topic, {})[partition] = offset_in(row, "CURRENT-OFFSET")
        self.topics.add(topic, partition, **{START: offset_in(row, "LOG-START-OFFSET"), END: offset_in(row, "LOG-END-OFFSET")})
        if row["MEMBER-ID"] not in UNKNOWN:
            known = {"client_id": row.get("CLIENT-ID"), "host": row.get("HOST"), "instance_id": row.get("INSTANCE-ID")}
            group.member(row["MEMBER-ID"], **known)["owned_partitions"].setdefault(topic, set()).add(partition)


def _ids(text: str) -> list[int]:
    return [int(part) for part in re.findall("[0-9]+", text)]


_KCAT_IDS: Final = r"-?[0-9]{1,10}(?:,-?[0-9]{1,10})*"
_BROKER: Final = re.compile(r"\s*broker (?P<id>[0-9]{1,10}) at \S+:[0-9]+(?: \(controller\))?")
_TOPIC: Final = re.compile(r'\s*topic "(?P<name>[^"]+)" with (?P<count>[0-9]{1,7}) partitions:(?: (?P<error>.+))?')
_PARTITION: Final = re.compile(
    rf"\s*partition (?P<id>[0-9]{{1,10}}), leader (?P<leader>-?[0-9]{{1,10}}), replicas: (?P<replicas>{_KCAT_IDS})?, isrs:"
    rf" (?P<isr>{_KCAT_IDS})?(?:, .*)?"
)
_OTHER: Final = re.compile(r"Metadata for .+ \(from broker .*|\s*[0-9]+ (?:brokers|topics):")


class KcatText(LineReader):
    """The metadata that the lines describe. name : of the current topic"""

    mark = ("partitions:", "brokers:", " at ")

    def __init__(self) -> None:
        super().__init__()
        self.brokers: dict[int, Json] = {}
        self.rows = TopicRows()
        self.name = ""

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if match := _BROKER.fullmatch(line):
            self.brokers[int(match["id"])] = {"broker_id": int(match["id"])}
        elif match := _TOPIC.fullmatch(line):
            self.name = match["name"]
            if match["error"]:
                self.notes.append(f"The partitions of topic {self.name!r} are not known: {match['error']}.")
            if match["count"] != "0":
                self.rows.fields[self.name] = {"partitions_count": int(match["count"])}
        elif self.name and (match := _PARTITION.fullmatch(line)):
            replicas, in_sync = ([int(part) for part in (match[name] or "").split(",") if part] for name in ("replicas", "isr"))
            leader = max(int(match["leader"]), -1)
            self.rows.add(self.name, int(match["id"]), replicas=replicas, in_sync_replicas=in_sync, leader=leader)
        else:
            return _OTHER.fullmatch(line) is not None
        return True

    def description(self) -> Description | None:
        """The metadata."""
        return self.rows.description("kcat", brokers=self.brokers)
