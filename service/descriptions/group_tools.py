"""The output of ``kafka-share-groups --describe`` and ``kafka-streams-groups --describe``, with any option (Kafka 4.0 to 4.4).

``--members`` of a share group has the columns that ``kafka-consumer-groups --members --verbose`` had before 4.1, but its
assignments are ``orders:0,1`` instead of ``orders(0,1)``. Rows without partitions wait for one that tells.
"""

import re
from typing import Final, Protocol

from service.core.documents import Json
from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.tables import NONE, Table, offset_in
from service.descriptions.topic_rows import TopicRows, offsets_by_topic

SHARE: Final = "share"
STREAMS: Final = "streams"
_NOTICE: Final = re.compile(r"(?P<kind>Share|Streams) group '(?P<group>.*)' has no active members\.")
_MEMBERS: Final = {"GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "ASSIGNMENT"}
_PARTITIONS: Final = re.compile(r"(\S+?):([0-9]{1,10}(?:,[0-9]{1,10})*)")
_KIND: Final = "(TARGET-)?(ACTIVE|STANDBY|WARMUP)(?:-TASKS)?:+"
_TASKS: Final = re.compile(rf"{_KIND}(.*?)(?={_KIND}|$)")
_TASK: Final = re.compile(r"([^\s:;,\[\]]+):\s*\[+([0-9, ]*)\]+")


class _Lines(Protocol):
    def take(self, number: int, line: str) -> bool:
        """Read a line."""


class OtherGroupsText:
    """The groups that the lines describe.

    consumer_groups : reads the tables that turn out to be of kafka-consumer-groups; waiting : lines that may be
    kind : of the groups of the current table, "" if it does not tell
    """

    def __init__(self, consumer_groups: _Lines) -> None:
        self.consumer_groups = consumer_groups
        self.waiting: list[tuple[int, str]] = []
        self.table, self.kind = Table(), ""
        self.groups: dict[str, Json] = {}
        self.committed: dict[str, dict[str, dict[int, int | None]]] = {}
        self.rows = TopicRows()
        self.member: Json | None = None
        self.notes: list[str] = []

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form. Raises UnreadableDescription for a wrong cell."""
        line = line.expandtabs()
        if match := _NOTICE.fullmatch(line.strip()):
            self._group(match["group"], match["kind"].lower())["members"] = {}
            return True
        if line.startswith("GROUP"):
            return self._header(number, line)
        row = self.table.cells(line) if self.table.names else None
        if row is None or _TASKS.match(line.strip()):
            return self._tasks(line)
        if self.waiting and (row["ASSIGNMENT"] == NONE or not row["#PARTITIONS"].isdecimal()):
            self.waiting.append((number, line))
            return True
        if self.waiting and not all(map(_PARTITIONS.fullmatch, row["ASSIGNMENT"].split(";"))):
            self._give_back()
            return False
        waiting, self.waiting = self.waiting[1:], []
        for before, text in waiting:
            self._row(self.table.cells(text) or {}, before)
        self._row(row, number)
        return True

    def check_foreign(self, number: int, line: str) -> None:
        """Raise UnreadableDescription for a row of a group of the table that is cut off."""
        if self.table.names and line.split(maxsplit=1)[0] in self.groups:
            raise UnreadableDescription(f"A row of {len(self.table.names)} columns is expected.", number)

    def description(self) -> Description | None:
        """The groups."""
        self._give_back()
        groups = []
        for name, group in self.groups.items():
            committed = offsets_by_topic(self.committed.get(name, {}))
            members = {"members": list(group["members"].values())} if "members" in group else {}
            groups.append({"group_id": name, **group, **members, **({"committed_offsets": committed} if committed else {})})
        return Description("kafka-share-groups", topics=self.rows.topics(), groups=tuple(groups)) if groups else None

    def _header(self, number: int, line: str) -> bool:
        """Begin a table; False if it is surely of another tool."""
        self._give_back()
        table = Table.of(line)
        names = set(table.names)
        self.table, self.member = Table(), None
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
        self.table = Table(table.names, table.starts, frozenset({"LEADER-EPOCH"}))
        return True

    def _give_back(self) -> None:
        """Lines that nothing has told to be of a share group are of kafka-consumer-groups."""
        waiting, self.waiting = self.waiting, []
        for number, line in waiting:
            self.consumer_groups.take(number, line)
        if waiting:
            self.table = Table()

    def _group(self, name: str, kind: str) -> Json:
        group = self.groups.setdefault(name, {})
        if kind:
            group["group_protocol"] = kind
            group.update({"assignor": "simple"} if kind == SHARE else {})
        return group

    def _row(self, row: dict[str, str], number: int) -> None:
        """Read a row of the current table."""
        group = self._group(row["GROUP"], self.kind)
        if "STATE" in row:
            group["group_state"] = row["STATE"]
        elif "TOPIC" in row and row["TOPIC"] != NONE:
            if not re.fullmatch("[0-9]{1,7}", row["PARTITION"]):
                raise UnreadableDescription(f"PARTITION is not a number: {row['PARTITION']!r}.", number)
            partition = int(row["PARTITION"])
            offset = next((offset_in(row, name) for name in ("START-OFFSET", "CURRENT-OFFSET", "OFFSET") if name in row), None)
            self.committed.setdefault(row["GROUP"], {}).setdefault(row["TOPIC"], {})[partition] = offset
            self.rows.offsets(row["TOPIC"], partition, end=offset_in(row, "LOG-END-OFFSET"))
        elif "CONSUMER-ID" in row:
            member: Json = {"member_id": row["CONSUMER-ID"], "client_id": row["CLIENT-ID"], "host": row["HOST"].removeprefix("/")}
            member["owned_partitions"] = _owned(row["ASSIGNMENT"], number)
            group.setdefault("members", {})[row["CONSUMER-ID"]] = member
        elif "MEMBER" in row:
            self.member = {"member_id": row["MEMBER"], "client_id": row["CLIENT-ID"], "process_id": row["PROCESS"]}
            self._add_tasks(row.get("ASSIGNMENTS", ""))
            group.setdefault("members", {})[row["MEMBER"]] = self.member

    def _tasks(self, line: str) -> bool:
        """Tasks of a Streams member, or its row that ends with them and does not line up; False if the line is neither."""
        names = self.table.names
        if self.member is not None and _TASKS.match(line.strip()):
            self._add_tasks(line)
            return True
        words = line.split(maxsplit=len(names) - 1) if names[-1:] == ("ASSIGNMENTS",) else []
        if not words or len(words) != len(names):
            return False
        self._row(dict(zip(names, words, strict=True)), 0)
        return True

    def _add_tasks(self, text: str) -> None:
        """``ACTIVE: 0:[0,1]; 1:[2]; STANDBY: …``, and with TARGET- before each kind those of the target assignment."""
        for target, kind, tasks, *_ in _TASKS.findall(text):
            rows = [
                {"subtopology_id": name, "partition_ids": [int(part) for part in re.findall("[0-9]+", ids)]}
                for name, ids in _TASK.findall(tasks)
            ]
            of_member = self.member.setdefault("target_tasks" if target else "tasks", {})  # type: ignore[union-attr]  # see callers
            of_member[kind.lower()] = [each for each in rows if each["partition_ids"]]


def _owned(text: str, number: int) -> list[Json]:
    """``orders:0,1;payments:2``: what a member of a share group has."""
    matches = [_PARTITIONS.fullmatch(part.strip()) for part in text.split(";")] if text != NONE else []
    if None in matches:
        raise UnreadableDescription(f"Not the partitions of topics: {text!r}; is the line cut off?", number)
    return [
        {"topic_name": match[1], "partition_ids": sorted(int(part) for part in match[2].split(","))} for match in matches if match
    ]
