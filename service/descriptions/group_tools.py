"""The output of ``kafka-share-groups --describe`` and ``kafka-streams-groups --describe``, with any option (Kafka 4.0 to 4.4).

``--members`` of a share group has the columns that ``kafka-consumer-groups --members --verbose`` had before 4.1, but its
assignments are ``orders:0,1`` instead of ``orders(0,1)``. Rows without partitions wait for one that tells.
"""

import re
from collections import defaultdict
from typing import Final

from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.rows import END, GroupRows, LineReader, PrintedTable, TopicRows, offset_in

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
            rows = [
                {"subtopology_id": name, "partition_ids": [int(part) for part in re.findall("[0-9]+", ids)]}
                for name, ids in _TASK.findall(tasks)
            ]
            name = "target_tasks" if target else "tasks"
            self.member[name] = {**self.member.get(name, {}), kind.lower(): rows}  # type: ignore[dict-item]  # of kinds
