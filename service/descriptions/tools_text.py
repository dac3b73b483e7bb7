"""Tables of other groups than consumers', by Kafka's tools; and what Redpanda's ``rpk`` and ``kcat`` print."""

import re
from collections import defaultdict
from typing import Final

from service.core.documents import Json
from service.descriptions.model import (
    END,
    START,
    UNKNOWN,
    Description,
    GroupRows,
    LineReader,
    PrintedTable,
    TopicRows,
    UnreadableDescription,
    ids_in,
    offset_in,
)

SHARE: Final = "share"
STREAMS: Final = "streams"
_FIELDS: Final = {
    SHARE: {"group_protocol": SHARE, "assignor": "simple"}, STREAMS: {"group_protocol": STREAMS}, "": {},
}  # fmt: skip
_NOTICE: Final = re.compile(r"\s*(?P<kind>Share|Streams) group '(?P<group>.*)' has no active members\.\s*")
_MEMBERS: Final = {"GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "ASSIGNMENT"}
_OFFSETS: Final = {"START-OFFSET", "CURRENT-OFFSET", "OFFSET"}
_PARTITIONS: Final = re.compile(r"(\S+?):([0-9]{1,7}(?:,[0-9]{1,7})*)")
_KIND: Final = r"(TARGET-)?(ACTIVE|STANDBY|WARMUP)(?:-TASKS)?:+"
_TASKS: Final = re.compile(rf"{_KIND}(.*?)(?={_KIND}|$)")
_TASK: Final = re.compile(r"([^\s:;,\[\]]+):\s*\[+([0-9, ]+)\]+")


class OtherGroupsText(LineReader):
    """The groups that the lines describe.

    consumer_groups : reads the tables that turn out to be of kafka-consumer-groups; waiting : lines that may be
    kind : of the groups of the current table, "" if it does not tell; member : of Streams, whose tasks may follow

    The output of ``kafka-share-groups --describe`` and ``kafka-streams-groups --describe``, with any option (Kafka 4.0 to 4.4).

    ``--members`` of a share group has the columns that ``kafka-consumer-groups --members --verbose`` had before 4.1, but its
    assignments are ``orders:0,1`` instead of ``orders(0,1)``. Rows without partitions wait for one that tells.
    """

    mark = ("GROUP", "Share group", "Streams group")

    def __init__(self, consumer_groups: LineReader) -> None:
        super().__init__()
        self.consumer_groups = consumer_groups
        self.waiting: list[tuple[int, str]] = []
        self.table, self.kind = PrintedTable(), ""
        self.groups: defaultdict[str, GroupRows] = defaultdict(GroupRows)
        self.topics = TopicRows()
        self.member: dict[str, object] = {}

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form. Raises UnreadableDescription for a wrong cell."""
        line = line.expandtabs()
        if match := _NOTICE.fullmatch(line):
            self.groups[match["group"]] = GroupRows({**_FIELDS[match["kind"].lower()]}, {})
            return True
        if line.startswith("GROUP"):
            return self._header(number, line)
        if self.member and _TASKS.match(line.lstrip()):
            self._add_tasks(line)
            return True
        words = line.split(maxsplit=max(len(self.table.names) - 1, 0))
        if self.table.names[-1:] == ("ASSIGNMENTS",) and len(words) == len(self.table.names):
            row: dict[str, str] | None = dict(zip(self.table.names, words, strict=True))
        else:
            row = self.table.cells(line) if self.table.names else None
        if row is None:
            if self.waiting:  # of kafka-consumer-groups, which reads rows that do not line up
                self._decide("")
            return False
        if self.waiting:
            self.waiting.append((number, line))
            return row["ASSIGNMENT"] == "-" or self._decide(row["ASSIGNMENT"])
        self._row(row, number)
        return True

    def check_foreign(self, number: int, line: str) -> None:
        """Raise UnreadableDescription for a row of a group of the table that is cut off."""
        if self.table.names and line.split(maxsplit=1)[0] in self.groups:
            raise UnreadableDescription(f"A row of {len(self.table.names)} columns is expected.", number)

    def description(self) -> Description | None:
        """The groups."""
        self._decide("")
        form = "kafka-streams-groups" if self.kind == STREAMS else "kafka-share-groups"
        return self.topics.description(form, (group.document(name) for name, group in self.groups.items()))

    def _header(self, number: int, line: str) -> bool:
        """Begin a table; False if it is of another tool."""
        self._decide("")
        table = PrintedTable.of(line, "LEADER-EPOCH")
        names = set(table.names)
        self.member, self.table = {}, PrintedTable()
        if names & {"START-OFFSET", "ASSIGNMENT-EPOCH"} or table.names == ("GROUP", "TOPIC", "PARTITION", "OFFSET"):
            self.kind = SHARE
        elif names & {"OFFSET-LAG", "PROCESS"} or ("TARGET-ASSIGNMENT-EPOCH" in names and "ASSIGNMENT-STRATEGY" not in names):
            self.kind = STREAMS
        elif names >= _MEMBERS and not names - _MEMBERS - {"#PARTITIONS", "MEMBER-EPOCH"}:
            self.kind = SHARE
            self.waiting = [(number, line)] if names - _MEMBERS == {"#PARTITIONS"} else []
        elif table.names == ("GROUP", "COORDINATOR (ID)", "STATE", "#MEMBERS"):
            self.kind = ""
        else:
            return False
        self.table = table
        return True

    def _decide(self, assignment: str) -> bool:
        """Read the lines that wait: of a share group if this is an assignment of one's member, else of kafka-consumer-groups."""
        waiting, self.waiting = self.waiting, []
        if assignment and all(map(_PARTITIONS.fullmatch, assignment.split(";"))):
            for number, line in waiting[1:]:
                self._row(self.table.cells(line) or {}, number)
            return True
        self.table = PrintedTable() if waiting else self.table
        taken = [self.consumer_groups.take(number, line) for number, line in waiting]
        return all(taken)

    def _row(self, row: dict[str, str], number: int) -> None:
        """Read a row of the current table."""
        group = self.groups[row["GROUP"]]
        group.fields |= _FIELDS[self.kind]
        if "STATE" in row:
            group.fields["group_state"] = row["STATE"]
        elif "CONSUMER-ID" in row:
            member = group.member(row["CONSUMER-ID"], client_id=row["CLIENT-ID"], host=row["HOST"].removeprefix("/"))
            for part in row["ASSIGNMENT"].split(";") if row["ASSIGNMENT"] != "-" else ():
                match = _PARTITIONS.fullmatch(part.strip())
                if match is None:
                    raise UnreadableDescription(f"Not the partitions of a topic: {part.strip()!r}; is the line cut off?", number)
                member["owned_partitions"][match[1]] = {int(each) for each in match[2].split(",")}
        elif "MEMBER" in row:
            self.member = group.member(row["MEMBER"], client_id=row["CLIENT-ID"], process_id=row["PROCESS"])
            self.member.pop("owned_partitions", None)
            self._add_tasks(row.get("ASSIGNMENTS", ""))
        elif re.fullmatch("[0-9]{1,7}", row["PARTITION"]):
            for name in row.keys() & _OFFSETS:
                group.committed.setdefault(row["TOPIC"], {})[int(row["PARTITION"])] = offset_in(row, name)
            self.topics.add(row["TOPIC"], int(row["PARTITION"]), **{END: offset_in(row, "LOG-END-OFFSET")})

    def _add_tasks(self, text: str) -> None:
        """``ACTIVE: 0:[0,1]; 1:[2]; STANDBY: …``, and with TARGET- before each kind those of the target assignment."""
        for target, kind, tasks, *_ in _TASKS.findall(text):
            rows = [{"subtopology_id": name, "partition_ids": ids_in(ids)} for name, ids in _TASK.findall(tasks)]
            name = "target_tasks" if target else "tasks"
            self.member[name] = {**self.member.get(name, {}), kind.lower(): rows}  # type: ignore[dict-item]  # of kinds


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
    """What the lines describe. topic, group : of the current section; table : the current one

    Redpanda's ``rpk topic describe``, ``rpk group describe`` and ``rpk cluster metadata`` (or ``info``), releases 20 to 24; and
    metadata as ``kcat -L`` prints it (kafkacat 1.2 to kcat 1.7).

    rpk prints replicas in ascending order (Redpanda's source, ``int32s.sort``), at least since 21.8; which of them is the
    preferred leader is then not known.
    """

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
            in_sync = ids_in(row["IN-SYNC-REPLICAS"]) if "IN-SYNC-REPLICAS" in row else None
            ends = {START: offset_in(row, "LOG-START-OFFSET"), END: offset_in(row, "HIGH-WATERMARK")}
            partition, replicas = int(row["PARTITION"]), ids_in(row["REPLICAS"])
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
