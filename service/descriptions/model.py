"""What a text describes, and what its readers share: a document's places, rows of partitions and members, printed tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from service.core.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from service.core.documents import Json


class UnreadableDescription(InvalidQuestion):
    """A text that is in none of the known forms, or breaks the rules of its form.

    line : the number of the offending line, from 1
    """

    def __init__(self, detail: str, line: int) -> None:
        super().__init__(f"line {line}: {detail}")
        self.line = line


@dataclass(frozen=True)
class Description:
    """Brokers, topics, groups and log directories of a cluster.

    form : the form of the text, one of FORMS in ``service.descriptions``
    brokers : ``{"broker_id", "rack_id", "fenced", …}`` each; a form that does not list the brokers has those that hold replicas
    topics : ``{"topic_name", "topic_id", "partitions_count", "placements", …}`` each
    groups : ``{"group_id", "group_protocol", "assignor", "members", …}`` each
    log_dirs : ``{"broker_id", "log_dirs"}`` each: what is in each directory of a broker
    notes : sentences about what was skipped or stays open

    A member that the text does not tell is absent.
    """

    form: str
    brokers: tuple[Json, ...] = ()
    topics: tuple[Json, ...] = ()
    groups: tuple[Json, ...] = ()
    log_dirs: tuple[Json, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of_snapshot(cls, snapshot: Json) -> Description:
        """The brokers, topics and groups of a snapshot."""
        return cls("snapshot", *(tuple(snapshot[part]) for part in ("brokers", "topics", "groups")))

    def merged(self, other: Description) -> Description:
        """Both descriptions as one. Where both describe the same broker, topic, group or member, the other's fields win.

        Which members a group has, the last description says that lists them.
        """
        return Description(
            other.form,
            _united(self.brokers, other.brokers, "broker_id"),
            _united(self.topics, other.topics, "topic_name"),
            _united(self.groups, tuple(_with_members_of(self.groups, other.groups)), "group_id"),
            _united(self.log_dirs, other.log_dirs, "broker_id"),
            self.notes + other.notes,
        )

    def noted(self, *notes: str) -> Description:
        """The description with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def brokers_of(topics: tuple[Json, ...]) -> tuple[Json, ...]:
    """The brokers that hold replicas of the topics, also those that are being removed, by ascending id."""
    placements = [placement for topic in topics for placement in topic["placements"]]
    ids = {broker for each in placements for name in ("replicas", "removing_replicas") for broker in each.get(name, ())}
    return tuple({"broker_id": broker_id} for broker_id in sorted(ids))


def _with_members_of(groups: tuple[Json, ...], others: tuple[Json, ...]) -> Iterator[Json]:
    """The other groups; their members with the fields that the same members have in ``groups``."""
    known = {group["group_id"]: {member["member_id"]: member for member in group.get("members", ())} for group in groups}
    for other in others:
        of_group = known.get(other["group_id"])
        if of_group and "members" in other:
            members = [{**of_group.get(member["member_id"], {}), **member} for member in other["members"]]
            yield {**other, "members": members}
        else:
            yield other


def _united(some: tuple[Json, ...], others: tuple[Json, ...], key: str) -> tuple[Json, ...]:
    united = {one[key]: one for one in some}
    for one in others:
        united[one[key]] = {**united.get(one[key], {}), **one}
    return tuple(united.values())


Path = tuple[str | int, ...]

_TYPES: Final = {dict: "an object", list: "a list", int: "an integer", str: "a string"}


class SourceText:
    """The text, and where the JSON begins and ends, for the line of a fault."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    def refuse(self, detail: str, path: Path) -> NoReturn:
        """Raise UnreadableDescription for the value at this path."""
        raise UnreadableDescription(
            detail, self.text.count("\n", 0, self.start) + line_of(self.text[self.start : self.end], path)
        )

    def check(self, value: Any, kind: type, path: Path) -> Any:
        """The value, which must be of this kind."""
        if type(value) is not kind:
            name = next((str(part) for part in reversed(path) if isinstance(part, str)), "The JSON")
            self.refuse(f"{name}: not {_TYPES[kind]}.", path)
        return value

    def member(self, row: Json, name: str, kind: type, path: Path) -> Any:
        """A required member of an object."""
        if name not in row:
            self.refuse(f"{name} is missing.", path)
        return self.check(row[name], kind, (*path, name))

    def rows(self, document: Json, name: str, path: Path) -> list[Json]:
        """A list of objects, empty if it is absent."""
        rows = self.check(document.get(name, []), list, (*path, name))
        for i, row in enumerate(rows):
            self.check(row, dict, (*path, name, i))
        return rows  # type: ignore[no-any-return]  # checked

    def integers(self, row: Json, name: str, path: Path) -> list[int]:
        """A required list of integers."""
        ids = self.member(row, name, list, path)
        for i, broker_id in enumerate(ids):
            self.check(broker_id, int, (*path, name, i))
        return ids  # type: ignore[no-any-return]  # checked


_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def line_of(text: str, path: Path) -> int:
    """The line of the value at ``path``, from 1; if it is not there, that of the nearest value around it."""
    lines = lines_of(text, [path[:length] for length in range(len(path) + 1)])
    return lines[max(lines, key=len)] if lines else 1


def lines_of(text: str, paths: Collection[Path]) -> dict[Path, int]:
    """The line, from 1, of the value at each path that the text has. The text is well-formed JSON."""
    sought, lines = set(paths), dict[Path, int]()
    line, end = 1, 0
    for path, start in _values(text):
        line, end = line + text.count("\n", end, start), start
        if path in sought:
            lines[path] = line
    return lines


def _values(text: str) -> Iterator[tuple[Path, int]]:
    """Path and offset of each value, in the order of the text."""
    path: list[str | int] = []
    arrays: list[bool] = []
    names = False
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in "}]":
            path.pop()
            arrays.pop()
            names = False
        elif mark == ",":
            names = not arrays[-1]
            if arrays[-1]:
                path[-1] = int(path[-1]) + 1
        elif mark == ":":
            names = False
        elif names:
            path[-1] = json.loads(mark)
        else:
            yield tuple(path), token.start()
            if mark in "{[":
                arrays.append(mark == "[")
                path.append(0)
                names = mark == "{"


def first_of(row: Json, names: Collection[str]) -> Any:
    """The first of these members that a row has, or None."""
    return next((row[name] for name in names if name in row), None)


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


def partitions_in(rows: Iterable[Json] | None) -> list[tuple[str, int]]:
    """Topic and number of each partition in such rows."""
    return [(row["topic_name"], i) for row in rows or () for i in row["partition_ids"]]


def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    """Topic → partition ids."""
    ids: dict[str, set[int]] = {}
    for topic, i in partitions:
        ids.setdefault(topic, set()).add(i)
    return ids


def ids_in(text: str) -> list[int]:
    """The numbers of a list in a text."""
    return [int(part) for part in re.findall("[0-9]+", text)]


UNNAMED: Final = "unnamed"
"""The name of a group that its text does not tell."""

COLUMN: Final = re.compile(r"COORDINATOR \(ID\)|[#A-Z][A-Z-]*")
_WORD: Final = re.compile(r"\[[^\]]*\]|\S+")
_COORDINATOR: Final = re.compile(r"(?<=\S) +(?=\(-?[0-9]+\) )")


@dataclass(frozen=True)
class PrintedTable:
    """The columns of a table, and where they begin. blank : columns whose cells may be blank"""

    names: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    blank: frozenset[str] = frozenset()

    @classmethod
    def of(cls, header: str, *blank: str) -> PrintedTable:
        """The table with this header."""
        columns = [*COLUMN.finditer(header)]
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
