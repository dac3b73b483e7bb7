"""The output of ``kafka-consumer-groups --describe``, with or without ``--members``, ``--state`` and ``--verbose``.

Tables of several groups and of several of these options can follow each other; what they tell of one group is put together.
A table begins with its header, whose columns the rows are padded to (ConsumerGroupCommand, Kafka 2.0 to 4.3). A column is cut
where its header begins, because client ids may contain spaces and a missing ``GROUP-INSTANCE-ID`` is blank; where lines have been
re-wrapped and the columns do not line up, the words of a row must be as many as the columns.

The tool does not print subscriptions, racks, or a classic group's generation. The owned partitions of a consumer group
(KIP-848) are the target assignment, which is what its assignor starts from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from service.core.documents import Json
from service.descriptions.model import COLUMN, MOST_GAPS, UNNAMED, Description, LineReader, UnreadableDescription

_OFFSETS: Final = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
_MEMBERS: Final = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
_STATE: Final = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
_OPTIONAL: Final = {
    _OFFSETS: {"LEADER-EPOCH"},
    _MEMBERS: {
        "GROUP-INSTANCE-ID", "ASSIGNMENT", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED",
    },
    _STATE: {"GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"},
}  # fmt: skip
"""The columns of each table, and those that some releases or options add."""

_NOTICE: Final = re.compile(
    r"(?:Warning: )?Consumer group '(.*)' has no active members\.|Warning: Consumer group '(.*)' is rebalancing\."
)
_EPOCHS: Final = {"CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"}
_FIRST_COLUMN: Final = re.compile("^GROUP ", re.MULTILINE)
_HEADER_PIECE: Final = re.compile(r"[#A-Z() -]+")
HEADER: Final = 1_000
"""Characters that the header of a table has at most, which is padded to the longest names."""
PIECES: Final = 8
"""Lines at most into which one has been broken."""
_NUMERIC: Final = {"PARTITION", "#PARTITIONS", "#MEMBERS"}
_NUMBER: Final = re.compile("-|[0-9]{1,10}")
_NUMBERS: Final = {*_NUMERIC, "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CURRENT-EPOCH", "TARGET-EPOCH", "LEADER-EPOCH"}
_OFFSET: Final = re.compile("-?[0-9]{1,19}|-|unknown")
_OFFSETS_ROW: Final = re.compile(
    r"(?:(\S+) )?(\S+) ([0-9]+) ([0-9]+|-|unknown) ([0-9]+|-|unknown) (-?[0-9]+|-|unknown) (\S+) (/\S+|-) (\S+(?: \S+)*?)"
)
_NONE: Final = "-"
_IDS: Final = r"[0-9]{1,10}(?:,[0-9]{1,10})*"
_WITHOUT_TOPIC: Final = re.compile(r"\([0-9,]+\)(?:, \([0-9,]+\))*")
_TOPIC_PARTITIONS: Final = re.compile(rf"(\S+?)(?::({_IDS})|\(({_IDS})\))")
"""``orders:0,1`` since Kafka 4.1, ``orders(0,1)`` before."""


def unwrapped(text: str) -> str:
    """The text with the lines of tables put together that a terminal has broken at its width, and as many lines as before.

    A table is broken if its header is: at a width, with its other columns on the next line.
    """
    if all(_width(text[match.start() : match.start() + HEADER].split("\n")) == 0 for match in _FIRST_COLUMN.finditer(text)):
        return text
    lines, whole, width, i = text.split("\n"), [], 0, 0
    while i < len(lines):
        if _FIRST_COLUMN.match(lines[i]):
            width = _width(lines[i : i + PIECES])
        pieces = 1
        while width and pieces < PIECES and len(lines[i + pieces - 1]) == width and i + pieces < len(lines):
            pieces += 1
        whole += ["".join(lines[i : i + pieces]), *[""] * (pieces - 1)]
        i += pieces
    return "\n".join(whole)


def _width(lines: list[str]) -> int:
    """The width at which the header on the first of these lines is broken; 0 if it is whole."""
    for pieces in range(2, PIECES + 1):
        broken = lines[:pieces]
        if len(broken) < pieces or not _HEADER_PIECE.fullmatch(broken[-1]) or len({*map(len, broken[:-1])}) > 1:
            return 0
        if _table(tuple(COLUMN.findall("".join(broken)))):
            return len(broken[0])
    return 0


class GroupsText(LineReader):
    """The groups that the lines describe.

    header : of the current table; name : of the group of a table without the column GROUP, as before Kafka 2.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[str, _PastedGroup] = {}
        self.header: Header | None = None
        self.name = UNNAMED

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form, or cut off. Raises UnreadableDescription for a wrong cell."""
        line = line.expandtabs()
        if match := _NOTICE.fullmatch(line.strip()):
            self.name = match[1] or match[2]
            self.groups.setdefault(self.name, _PastedGroup()).listed |= match[1] is not None
            return True
        if header := Header.of(line):
            self.header = header
            return True
        row = self.header.cells(line) if self.header else _headless(line)
        if row is None:
            return False
        if row.setdefault("GROUP", self.name) not in self.groups and not all(
            _NUMBER.fullmatch(row[name]) for name in _NUMERIC & row.keys()
        ):
            return False
        table = _table(("GROUP", *(name for name in row if name != "GROUP")))
        _READERS[table](self.groups.setdefault(row["GROUP"], _PastedGroup()), row, number)  # type: ignore[index]  # see Header
        return True

    def check_foreign(self, number: int, line: str) -> None:
        """Raise UnreadableDescription for a row of a group of the table that is cut off; prose has no cells of numbers."""
        words = line.split()
        cut = self.header is not None and len(words) < len(self.header.names) and any(map(_NUMBER.fullmatch, words[1:]))
        if cut and words[0] in self.groups:
            raise UnreadableDescription(f"A row of {len(self.header.names)} columns is expected.", number)  # type: ignore[union-attr]

    def description(self) -> Description | None:
        """The groups. A note names those whose owned partitions Kafka 3.9 prints without their topics."""
        if not self.groups and not self.header:
            return None
        unclear = [name for name, group in self.groups.items() if group.unclear - group.owned.keys()]
        if unclear:
            more = ", …" if len(unclear) > 1 else ""
            self.notes.append(
                f"ASSIGNMENT lists partitions without their topics, as Kafka 3.9 prints them; what the members of group "
                f"{unclear[0]!r}{more} own is not known without the table of --offsets."
            )
        groups = tuple(group.document(name) for name, group in self.groups.items())
        return Description("kafka-consumer-groups", topics=tuple(self._topics()), groups=groups)

    def _topics(self) -> Iterator[Json]:
        """The topics with the ends of their logs, as far as the rows have them; null where one has none."""
        ends: dict[str, dict[int, int]] = {}
        for group in self.groups.values():
            for name, of_topic in group.ends.items():
                ends.setdefault(name, {}).update(of_topic)
        for name, of_topic in ends.items():
            if max(of_topic) < len(of_topic) * MOST_GAPS:
                yield {"topic_name": name, "log_end_offsets": [of_topic.get(i) for i in range(max(of_topic) + 1)]}


@dataclass
class _PastedGroup:
    """What the tables tell of one group.

    fields : of the group itself
    members : by member_id
    owned : member_id → topic_name → partition ids; a member is missing if no table tells what it owns
    offsets : topic_name → partition id → committed offset; None: nothing is committed
    ends : topic_name → partition id → end of the log
    listed : does a table, or a notice that there are none, list the members?
    unclear : members whose partitions are printed without their topics
    """

    fields: Json = field(default_factory=dict)
    members: dict[str, Json] = field(default_factory=dict)
    owned: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    offsets: dict[str, dict[int, int | None]] = field(default_factory=dict)
    ends: dict[str, dict[int, int]] = field(default_factory=dict)
    listed: bool = False
    unclear: set[str] = field(default_factory=set)

    def member(self, row: dict[str, str]) -> Json:
        """The member of this row."""
        self.listed = True
        told = {"client_id": row["CLIENT-ID"], "host": row["HOST"].removeprefix("/")}
        named = {"member_id": row["CONSUMER-ID"], **{name: value for name, value in told.items() if value != _NONE}}
        return self.members.setdefault(row["CONSUMER-ID"], named)

    def document(self, group_id: str) -> Json:
        """The group in the shape of the request bodies."""
        members = []
        for member_id, member in self.members.items():
            owned = self.owned.get(member_id)
            if owned is not None:
                rows = [{"topic_name": name, "partition_ids": sorted(ids)} for name, ids in owned.items()]
                members.append({**member, "owned_partitions": rows})
            else:
                members.append(member)
        committed = [
            {"topic_name": name, "partition_ids": sorted(offsets), "offsets": [offsets[i] for i in sorted(offsets)]}
            for name, offsets in self.offsets.items()
        ]
        document = {"group_id": group_id, **self.fields, **({"members": members} if self.listed else {})}
        return {**document, "committed_offsets": committed} if committed else document


def _table(columns: tuple[str, ...]) -> tuple[str, ...] | None:
    """The table that has these columns."""
    if len(_EPOCHS.intersection(columns)) not in (0, len(_EPOCHS)):
        return None
    for table, optional in _OPTIONAL.items():
        if tuple(column for column in columns if column not in optional) == table:
            return table
    return None


@dataclass(frozen=True)
class Header:
    """The header of a table. starts : where its columns begin; commas : do they end with a comma, as in Kafka 0.9?"""

    names: tuple[str, ...]
    starts: tuple[int, ...]
    commas: bool

    @classmethod
    def of(cls, line: str) -> "Header | None":
        """The header that this line is; None if it is none."""
        text = line.strip()
        commas = text.startswith("GROUP, ")
        if commas:
            names = tuple(name.replace(" ", "-") for name in text.split(", "))
            return cls(names, (), commas) if _table(_renamed(names)) else None
        columns = [*COLUMN.finditer(line)]
        names = tuple(column.group() for column in columns)
        is_header = text == " ".join(text.split()) or "  " in text
        return cls(names, tuple(column.start() for column in columns), commas) if is_header and _table(_renamed(names)) else None

    def cells(self, line: str) -> dict[str, str] | None:
        """The row by column; None if it is no row of this table.

        Where the columns do not line up, since somebody has changed names, each cell has no blank but a client id, the id of a
        coordinator, and the last column, which takes the rest.
        """
        if self.commas:
            cells = line.strip().split(", ")
            return _owned(dict(zip(self.names, cells, strict=True))) if len(cells) == len(self.names) else None
        if all(start <= len(line) and (start == 0 or line[start - 1 : start] in ("", " ")) for start in self.starts):
            cells = [line[start:end].strip() for start, end in zip(self.starts, [*self.starts[1:], len(line)], strict=True)]
            row = dict(zip(self.names, cells, strict=True))
            if all(cell or name == "GROUP-INSTANCE-ID" for name, cell in row.items()) and _is_plausible(row):
                return _owned(row)
        match = _pattern(self.names).fullmatch(" ".join(line.split()))
        if match is None:
            words = line.split()
            row = dict(zip(self.names, words, strict=True)) if len(words) == len(self.names) else {}
            return _owned(row) if _is_misread(row) else None
        row = {name: cell or "" for name, cell in zip(self.names, match.groups(), strict=True)}
        return _owned(row) if _is_plausible(row) else None


def _renamed(names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a header, with those that say who owns a partition as later releases have them."""
    if names[-1:] == ("OWNER",):
        names = (*names[:-1], "CONSUMER-ID", "HOST", "CLIENT-ID")
    return names if names[:1] == ("GROUP",) else ("GROUP", *names)


def _owned(row: dict[str, str]) -> dict[str, str]:
    """A row of Kafka 0.10 and before, whose OWNER is a member, with the columns of later releases."""
    if "OWNER" not in row:
        return row
    owner = row.pop("OWNER")
    return {**row, "CONSUMER-ID": _NONE if owner == "none" else owner, "HOST": _NONE, "CLIENT-ID": _NONE}


def _is_plausible(row: dict[str, str]) -> bool:
    """Are the cells of offsets numbers, and so the columns those of the header?"""
    return all(_OFFSET.fullmatch(row[name]) for name in _NUMBERS & row.keys())


def _is_misread(row: dict[str, str]) -> bool:
    """Is this a row but for its partition? It is then refused, not skipped: its member would own too little."""
    rest = [row[name] for name in _NUMBERS & row.keys() if name != "PARTITION"]
    return len(rest) > 2 and "PARTITION" in row and all(_OFFSET.fullmatch(cell) for cell in rest)


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """What a row of these columns is, with one blank between two cells."""
    own = {
        **dict.fromkeys(_NUMBERS, r"-?[0-9]+|-|unknown"),
        "CLIENT-ID": r"\S+(?: \S+)*?",
        "COORDINATOR (ID)": r"\S+(?: \(-?[0-9]+\))?",
        names[-1]: r"\S.*" if names[-1].endswith("ASSIGNMENT") else r"\S+(?: \S+)*?",
    }
    cells = [f"({own.get(name, r'[^ ]+')})" for name in names]
    blanks = ("(?: {})?" if name == "GROUP-INSTANCE-ID" else " {}" for name in names[1:])  # a missing one leaves nothing
    return re.compile("".join([cells[0], *(blank.format(cell) for blank, cell in zip(blanks, cells[1:], strict=True))]))


def _headless(line: str) -> dict[str, str] | None:
    """A row of offsets whose header is missing, as after grep; None if it is none."""
    match = _OFFSETS_ROW.fullmatch(" ".join(line.split()))
    return None if match is None else dict(zip(_OFFSETS if match[1] else _OFFSETS[1:], filter(None, match.groups()), strict=True))


def _read_offsets(group: _PastedGroup, row: dict[str, str], number: int) -> None:
    """A partition with its committed offset and its owner, or a member without partitions."""
    group.listed = True
    topic, owned = row["TOPIC"], {}
    if row["CONSUMER-ID"] != _NONE:
        group.member(row)
        owned = group.owned.setdefault(row["CONSUMER-ID"], {})
    if topic == _NONE:
        return
    partition_id = _number(row["PARTITION"], "PARTITION", number)
    if row["CONSUMER-ID"] != _NONE:
        owned.setdefault(topic, set()).add(partition_id)
    committed, end = (
        None if row[column] in (_NONE, "unknown") else _number(row[column], column, number)
        for column in ("CURRENT-OFFSET", "LOG-END-OFFSET")
    )
    group.offsets.setdefault(topic, {})[partition_id] = committed
    if end is not None and end >= 0:
        group.ends.setdefault(topic, {})[partition_id] = end


def _read_members(group: _PastedGroup, row: dict[str, str], number: int) -> None:
    """A member with its partitions, if the table has them."""
    count, member = _number(row["#PARTITIONS"], "#PARTITIONS", number), group.member(row)
    if row.get("GROUP-INSTANCE-ID", _NONE) not in ("", _NONE):
        member["instance_id"] = row["GROUP-INSTANCE-ID"]
    column = "ASSIGNMENT"
    if "CURRENT-EPOCH" in row:
        classic = row["CURRENT-EPOCH"] == row["TARGET-EPOCH"] == _NONE
        column = "CURRENT-ASSIGNMENT" if classic else "TARGET-ASSIGNMENT"
        if not classic or "group_protocol" not in group.fields:
            group.fields["group_protocol"] = "classic" if classic else "consumer"
    if _WITHOUT_TOPIC.fullmatch(row.get(column, "")):
        group.unclear.add(row["CONSUMER-ID"])
    elif column in row:
        owned = _topic_partitions(row[column], number)
        if column != "TARGET-ASSIGNMENT" and count != sum(map(len, owned.values())):
            raise UnreadableDescription(f"{column} does not list #PARTITIONS partitions; is the line cut off?", number)
        group.owned[row["CONSUMER-ID"]] = owned


def _read_state(group: _PastedGroup, row: dict[str, str], _: int) -> None:
    """State and assignor of a group."""
    group.fields["group_state"] = row["STATE"]
    if row["ASSIGNMENT-STRATEGY"] != _NONE:
        group.fields["assignor"] = row["ASSIGNMENT-STRATEGY"]


_READERS: Final = {_OFFSETS: _read_offsets, _MEMBERS: _read_members, _STATE: _read_state}


def _topic_partitions(text: str, number: int) -> dict[str, set[int]]:
    """``orders:0,1;payments:2`` or ``orders(0,1), payments(2)``: topic_name → partition ids."""
    partitions: dict[str, set[int]] = {}
    for part in [] if text == _NONE else re.split(r";|, ", text):
        match = _TOPIC_PARTITIONS.fullmatch(part.strip())
        if match is None:
            raise UnreadableDescription(f"Not the partitions of a topic: {part.strip()!r}.", number)
        partitions[match[1]] = {int(partition_id) for partition_id in (match[2] or match[3]).split(",")}
    return partitions


def _number(text: str, column: str, number: int) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", text):
        raise UnreadableDescription(f"{column} is not a number: {text!r}.", number)
    return int(text)
