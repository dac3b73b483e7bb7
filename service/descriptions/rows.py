"""Topics and groups from rows of one partition or member each, and tables whose columns begin where their headers do."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Final

from service.core.documents import Json
from service.descriptions.model import Description

MOST_GAPS: Final = 1_000
"""Partitions for each row of a topic: an id beyond that is no partition's."""

UNKNOWN: Final = (None, "", "-")
"""What stands for a value that a tool does not know."""

_PLACEMENT: Final = ("replicas", "in_sync_replicas", "leader")
_NO_LEADER: Final = (-1, -2)
START, END = "log_start_offsets", "log_end_offsets"


class LineReader:
    """Reads the lines of some forms.

    mark : a text that it can read has one of these; notes : sentences about what the lines leave open
    """

    mark: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self.notes: list[str] = []

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of none of these forms. Raises UnreadableDescription if its content is at fault."""
        raise NotImplementedError

    def check_foreign(self, number: int, line: str) -> None:
        """Raise UnreadableDescription for a line that ``take`` did not read although it belongs to one of these forms."""

    def description(self) -> Description | None:
        """What the lines describe; None if there were none. Raises UnreadableDescription if some are missing."""
        raise NotImplementedError


class TopicRows:
    """What rows tell of topics.

    fields : topic → such as ``partitions_count``; rows : topic → partition id → ``replicas``, ``in_sync_replicas``, ``leader``
    (negative: none), START, END
    """

    def __init__(self) -> None:
        self.fields: dict[str, Json] = {}
        self.rows: dict[str, dict[int, Json]] = {}

    def add(self, topic: str, partition: int, **known: Any) -> None:
        """A partition with what is known of it."""
        row = self.rows.setdefault(topic, {}).setdefault(partition, {})
        row.update({name: value for name, value in known.items() if value is not None})

    def topics(self, *, complete: bool = False) -> tuple[Json, ...]:
        """The topics. A count that is not told is that of the rows with replicas, if they have no gap.

        complete : do rows without replicas list all partitions, too?
        """
        found = []
        for name in {**self.fields, **self.rows}:
            rows, topic = self.rows.get(name, {}), {"topic_name": name, **self.fields.get(name, {})}
            placements = [
                {
                    "partition_id": i,
                    **{each: None if row[each] in _NO_LEADER else row[each] for each in _PLACEMENT if each in row},
                }
                for i, row in sorted(rows.items())
                if "replicas" in row
            ]
            counted = len(rows if complete else placements)
            if counted and counted > max(rows):
                topic.setdefault("partitions_count", counted)
            if placements and len(placements) == topic.get("partitions_count"):
                topic["placements"] = placements
            size = max(max(rows, default=-1) + 1, topic.get("partitions_count", 0))
            for each in (START, END):
                if any(each in row for row in rows.values()) and size <= len(rows) * MOST_GAPS:
                    topic[each] = [rows.get(i, {}).get(each) for i in range(size)]
            found.append(topic)
        return tuple(found)

    def description(
        self, form: str, groups: Iterable[Json] = (), brokers: Mapping[int, Json] | None = None, *, complete: bool = False
    ) -> Description | None:
        """The topics with these groups, on these brokers and those that hold replicas; None if there is nothing."""
        ids = {broker for rows in self.rows.values() for row in rows.values() for broker in row.get("replicas", ())}
        of_ids = {broker: {"broker_id": broker} for broker in ids} | dict(brokers or {})
        description = Description(form, tuple(of_ids[i] for i in sorted(of_ids)), self.topics(complete=complete), tuple(groups))
        return description if description.brokers or description.topics or description.groups else None


@dataclass
class GroupRows:
    """What rows tell of a group.

    members : by member_id, what they own as topic → partition ids; None: not listed; committed : topic → partition id → offset
    """

    fields: Json = field(default_factory=dict)
    members: dict[str, Json] | None = None
    committed: dict[str, dict[int, int | None]] = field(default_factory=dict)

    def member(self, member_id: str, **known: Any) -> Json:
        """A member with what is known of it."""
        self.members = {} if self.members is None else self.members
        told = {name: value for name, value in known.items() if value not in UNKNOWN}
        return self.members.setdefault(member_id, {"member_id": member_id, "owned_partitions": {}, **told})

    def document(self, group_id: str) -> Json:
        """The group in the shape of the request bodies."""
        document: Json = {"group_id": group_id, **self.fields}
        if self.members is not None:
            document["members"] = [
                {**member, **({"owned_partitions": listed(member[name])} if (name := "owned_partitions") in member else {})}
                for member in self.members.values()
            ]
        if self.committed:
            document["committed_offsets"] = [
                {**row, "offsets": [self.committed[row["topic_name"]][i] for i in row["partition_ids"]]}
                for row in listed(self.committed)
            ]
        return document


def listed(partitions: Mapping[str, Iterable[int]]) -> list[Json]:
    """Topic → partition ids as rows."""
    return [{"topic_name": name, "partition_ids": sorted(ids)} for name, ids in sorted(partitions.items()) if ids]


_COLUMN: Final = re.compile(r"COORDINATOR \(ID\)|[#A-Z][A-Z-]*")
_WORD: Final = re.compile(r"\[[^\]]*\]|\S+")
_COORDINATOR: Final = re.compile(r"(?<=\S) +(?=\(-?[0-9]+\) )")


@dataclass(frozen=True)
class PrintedTable:
    """The columns of a table, and where they begin. blank : columns whose cells may be blank"""

    names: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    blank: frozenset[str] = frozenset()

    @classmethod
    def of(cls, header: str, *blank: str) -> "PrintedTable":
        """The table with this header."""
        columns = [*_COLUMN.finditer(header)]
        return cls(tuple(column.group() for column in columns), tuple(column.start() for column in columns), frozenset(blank))

    def cells(self, line: str) -> dict[str, str] | None:
        """A row by column; None if it is no row of this table.

        Where the columns do not line up, the row must have a word, or a list in brackets, for each column that may not be blank.
        """
        if all(line[start - 1 : start] in ("", " ") for start in self.starts if start):
            parts = [line[start:end].strip() for start, end in pairwise((*self.starts, len(line) + 1))]
            row = dict(zip(self.names, parts, strict=True))
            if any(parts) and all(cell or name in self.blank for name, cell in row.items()):
                return row
        words = _WORD.findall(_COORDINATOR.sub("", line))
        names = [name for name in self.names if name not in self.blank] if len(words) < len(self.names) else self.names
        return dict.fromkeys(self.names, "") | dict(zip(names, words, strict=True)) if 0 < len(names) == len(words) else None


def offset_in(row: dict[str, str], column: str) -> int | None:
    """The offset in a cell; None if it has a dash, an error, or -1, which stand for one that is not known."""
    return int(row[column]) if re.fullmatch("[0-9]{1,18}", row.get(column, "")) else None
