"""A pasted text, line by line, to the readers of its forms."""

import codecs
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from itertools import chain
from typing import Final

from service.core.clock import check_time
from service.descriptions import consumer_logs, strimzi
from service.descriptions.brokers_text import BrokersText, read_rack_table
from service.descriptions.client_tools import KcatText, RpkText
from service.descriptions.consumer_logs import ConsumerLogs
from service.descriptions.documents import BEGIN, NOTHING_YET, LooseRows, read_document
from service.descriptions.group_tools import OtherGroupsText
from service.descriptions.groups_text import GroupsText, unwrapped
from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.offsets_text import OffsetsText
from service.descriptions.prefixes import without_prefix
from service.descriptions.records_text import RecordsText
from service.descriptions.rows import LineReader
from service.descriptions.strimzi import StrimziText
from service.descriptions.topics_text import TopicsText

Line = tuple[int, str]
"""Its number in the text, from 1, and its characters."""

LONGEST_LINE: Final = 1 << 20
"""A longer line, which no tool prints, is of no form. JSON may be on one line of any length."""

WRAPPED: Final = 4
"""Lines at most into which a pager or a terminal has broken the line of a topic or partition."""

MOST_SKIPPED: Final = 10_000
"""More lines of no form are a text of another kind."""

CHECKED_LINES: Final = 1_000
"""Lines between two looks at the time."""

LARGEST_ID: Final = (1 << 31) - 1
"""Kafka's ids of partitions and brokers are int32."""

SHOWN: Final = 80
"""Characters of a skipped line that a note quotes."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?|[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Colours, titles and other control sequences of a terminal."""

_BLANK: Final = re.compile(r"\s*")

_SPOKEN: Final = re.compile(
    r"Querying brokers for log directories information|Received log directory information from brokers .*"
    r"|Current partition replica assignment|Save this to use as the --reassignment-json-file option during rollback"
    r"|Processed a total of [0-9]+ messages"
)
"""What Kafka's tools print around JSON."""

UNKNOWN_JSON: Final = (
    "JSON that is not a description of a cluster. Known forms: snapshots, what kafka-reassign-partitions, kafka-log-dirs and the "
    "formatters of __consumer_offsets print, Cruise Control's kafka_cluster_state, kcat -L -J, rpk, kt, Burrow, Kafka Connect's "
    "status, Strimzi's resources and topics of REST interfaces, also through jq."
)

_NO_ROWS: Final = (
    "Its lines are known, but none describes a broker, a topic or a group: of a table the rows are needed, of a consumer's log "
    "the line 'Finished assignment for group'."
)

_PROPOSED: Final = "Proposed partition reassignment configuration"
"""What ``kafka-reassign-partitions --generate`` prints before a placement that is not the current one."""


def utf8(data: bytes) -> bytes:
    """The bytes of a text in UTF-8 without a mark in front, also of UTF-16, which Windows writes."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        data = data.decode("utf-16", "replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def read_description(text: str) -> Description:
    """The description that this text is, in whichever form. Raises UnreadableDescription."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if _ESCAPES.search(text):
        text = _ESCAPES.sub("", text)
    lines, dropped = without_prefix(strimzi.without_last_applied(consumer_logs.messages(text)))
    whole = read_rack_table(lines) or _Pasted(lines).read(unwrapped(lines))
    for kind, largest, of in _largest_ids(whole):
        if largest > LARGEST_ID:
            line = 1 + text.count("\n", 0, text.find(f"{largest}"))
            raise UnreadableDescription(f"{kind} {largest}{of}: ids end at {LARGEST_ID}.", line)
    return whole.noted(*dropped)


def _largest_ids(whole: Description) -> Iterator[tuple[str, int, str]]:
    """What has ids, the largest of them, and of what they are."""
    yield "Broker", max((broker["broker_id"] for broker in whole.brokers), default=0), ""
    placed = ((topic["topic_name"], [each["partition_id"] for each in topic.get("placements", ())]) for topic in whole.topics)
    members = (member for group in whole.groups for member in group.get("members", ()))
    log_dirs = (log_dir for broker in whole.log_dirs for log_dir in broker.get("log_dirs", ()))
    parts = chain(
        *(group.get("committed_offsets", ()) for group in whole.groups),
        *(member.get("owned_partitions") or () for member in members),
        *(log_dir.get("replicas", ()) for log_dir in log_dirs),
    )
    for name, ids in chain(placed, ((part["topic_name"], part["partition_ids"]) for part in parts)):
        yield "Partition", max(ids, default=0), f" of topic {name!r}"


class _Pasted:
    """The readers, and the lines that none of them has read.

    waiting : the last of these lines, which may be pieces of one line, each with the fault that a reader finds in it
    """

    def __init__(self, text: str) -> None:
        self.topics, self.groups = TopicsText(), GroupsText()
        others = (StrimziText(), ConsumerLogs(), OtherGroupsText(self.groups), RpkText(), KcatText(), OffsetsText())
        found = (reader for reader in others if any(mark in text for mark in reader.mark))
        self.readers: tuple[LineReader, ...] = (self.topics, *found, self.groups, BrokersText())
        self.records, self.loose = RecordsText(), LooseRows()
        self.documents: list[Description] = []
        self.waiting: deque[tuple[int, str, UnreadableDescription | None]] = deque()
        self.skipped_count = 0
        self.first_skipped: Line | None = None

    def read(self, text: str) -> Description:
        """The whole text."""
        position, number, proposed = 0, 1, False
        while (printed := _BLANK.match(text, position).end()) < len(text):  # type: ignore[union-attr]  # it matches anything
            start = max(position, text.rfind("\n", position, printed) + 1)
            position, number = start, number + text.count("\n", position, start)
            if number % CHECKED_LINES == 0:
                check_time()
            end = _end(text, position)
            line = text[position : min(end, position + LONGEST_LINE)].rstrip()
            if BEGIN.match(line) and not proposed:
                stop = self._document(text, position, number)
                while text.startswith("{", stop):  # Kafka's formatters print no line breaks
                    stop = self._document(text, stop, number)
                number += text.count("\n", position, stop)
                end = _end(text, stop)
                line = text[stop : min(end, stop + LONGEST_LINE)].strip()
            if line:
                self._line(number, line)
            proposed = line == _PROPOSED
            position, number = end + 1, number + 1
        self._skip_waiting(0)
        self.documents += self.loose.descriptions()
        parts = (*(reader.description() for reader in self.readers), self.records.description())
        found = [part for part in (*parts, *self.documents) if part is not None]
        whole = reduce(Description.merged, found) if found else None
        is_snapshot = any(part.form == "snapshot" for part in self.documents)  # perhaps of an empty cluster
        if whole is None or not (whole.brokers or whole.topics or whole.groups or whole.log_dirs or is_snapshot):
            return self._refuse(text, whole)
        return whole.noted(*self._notes())

    def _line(self, number: int, line: str) -> None:
        """Read a line, alone or as the rest of a topic's or partition's line; otherwise let it wait."""
        fault = None
        try:
            if _SPOKEN.fullmatch(line) or any(reader.take(number, line) for reader in self.readers):
                return self._skip_waiting(0)
        except UnreadableDescription as error:
            fault = error
        for i in range(len(self.waiting)):
            pieces = [*self.waiting][i:]
            for mark in ("", " "):
                joined = mark.join((*(piece for _, piece, _ in pieces), line))
                with suppress(UnreadableDescription):
                    if any(reader.take(pieces[0][0], joined) for reader in (self.topics, self.groups)):
                        self.waiting = deque([*self.waiting][:i])
                        return self._skip_waiting(0)
        self.waiting.append((number, line, fault))
        return self._skip_waiting(0 if len(line) == LONGEST_LINE else WRAPPED - 1)

    def _skip_waiting(self, most: int) -> None:
        """Skip waiting lines, until ``most`` are left. Raises UnreadableDescription for one that is damaged."""
        while len(self.waiting) > most:
            number, line, fault = self.waiting.popleft()
            if fault is not None:
                raise fault
            for reader in self.readers:
                reader.check_foreign(number, line)
            self.first_skipped = self.first_skipped or (number, line)
            self.skipped_count += 1
            if self.skipped_count > MOST_SKIPPED:
                raise UnreadableDescription(
                    f"More than {MOST_SKIPPED:,} lines are not output of Kafka's tools.", self.first_skipped[0]
                )

    def _document(self, text: str, position: int, number: int) -> int:
        """Read the JSON that begins on this line; where it ends. JSON that describes nothing is skipped."""
        self._skip_waiting(0)
        description, stop = read_document(text, position, self.records, self.loose)
        if description is None:
            self.waiting.append((number, text[position : min(stop, position + SHOWN)].lstrip(), None))
        elif description is not NOTHING_YET:
            self.documents.append(description)
        return stop

    def _refuse(self, text: str, nothing: Description | None) -> Description:
        """Raise UnreadableDescription: no line is of any form, or none has a row. nothing : what notes say of them"""
        if nothing is not None and nothing.notes:
            raise UnreadableDescription(nothing.notes[0], 1)
        number, line = self.first_skipped or (1, text.lstrip()[:1])
        if line.startswith("{") or (self.first_skipped and line.startswith("[")):
            raise UnreadableDescription(UNKNOWN_JSON, number)
        if self.first_skipped is None:
            raise UnreadableDescription(_NO_ROWS if line else "Empty.", 1)
        raise UnreadableDescription(
            "Not the output of kafka-topics --describe, kafka-consumer-groups --describe or another tool of Kafka, nor a JSON "
            "object.",
            number,
        )

    def _notes(self) -> Iterator[str]:
        for reader in self.readers:
            yield from reader.notes
        if self.first_skipped is not None:
            number, line = self.first_skipped
            shown = line.strip() if len(line) <= SHOWN else line.strip()[: SHOWN - 1] + "…"
            if self.skipped_count == 1:
                yield f"Line {number} is skipped: {shown}"
            else:
                yield f"{self.skipped_count:,} lines are skipped, the first is line {number}: {shown}"


def _end(text: str, position: int) -> int:
    """Where the line ends."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end
