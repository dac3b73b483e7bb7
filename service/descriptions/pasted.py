"""A pasted text, line by line, to the readers of its forms."""

import codecs
import json
import re
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from itertools import chain
from typing import Final

from service.core.budget import check_time
from service.descriptions.cluster_text import BrokersText, OffsetsText, TopicsText, read_rack_table
from service.descriptions.consumer_logs import ConsumerLogs
from service.descriptions.documents import BEGIN, LooseRows, read_document
from service.descriptions.groups_text import GroupsText, unwrapped
from service.descriptions.model import Description, LineReader, UnreadableDescription
from service.descriptions.other_documents import StrimziText
from service.descriptions.records_text import NOTHING_YET, RecordsText
from service.descriptions.tools_text import KcatText, OtherGroupsText, RpkText

ANCHOR: Final = re.compile(
    r"(?P<head>[Tt]opic: ?\S+\s.*?PartitionCount: ?[0-9]"
    r"|(?:GROUP|TOPIC|CONSUMER-ID|COORDINATOR \(ID\)),?\s+[#A-Z(][A-Z#() ,-]{3,}"
    r"|\S+:[0-9]+ \(id: [0-9]+ rack: |Metadata for |(?:Consumer|Share|Streams) group '"
    r'|\{"(?:version|snapshot_version|brokers|topics|groups|partitions|KafkaPartitionState)":)'
    r"|[Tt]opic: ?\S+\s+[Pp]artition: ?[0-9]"
)
"""How lines of Kafka's tools begin; ``head``: but those that Kafka's own tool indents."""

MOST_CHARACTERS: Final = 500
"""Characters of a line within which its anchor begins."""

MOST_LINES: Final = 50_000
"""Lines in which anchors are sought."""

_ROW: Final = re.compile(r"\s*\|.*\|\s*")
_RULE: Final = re.compile(r"[\s|:+-]+")
_BLANKS: Final = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_NOTHING: Final = re.compile("[\u200b\u200c\u200d\u2060]")


def without_prefix(text: str) -> tuple[str, list[str]]:
    """The text without what stands before each line, and sentences about what was dropped. It has as many lines as before.

    What stands before each line of a text that was passed on, which is dropped: numbers, times, hosts, marks of quotes and
    tables.

    ===================================================== ==============================================
    ``docker logs -t``, ``[2026-03-03 19:31:50,804] INFO`` a time, in brackets or not, perhaps a level
    ``kubectl logs --prefix``, ``docker compose logs``    ``[pod/kafka-0/kafka]``, ``kafka-1  |``
    ``dsh -M``, ``pssh -i``                               ``host-1:``
    ``cat -n``, ``grep -n``                               ``12`` and a tab, ``12:``
    a mail, Markdown, a ConfigMap, a diff                 ``>``, spaces, ``|``, ``+``
    ===================================================== ==============================================

    The prefix is what stands before the words with which the tools' lines begin (ANCHOR). It is the same on all of them but for
    its digits. A Markdown table has a cell between each two bars.
    """
    text, notes = _NOTHING.sub("", _BLANKS.sub(" ", text)), list[str]()
    if BEGIN.match(text.lstrip().split("\n", 1)[0][:MOST_CHARACTERS]):
        return text, notes
    if "|" in text and (cells := _without_bars(text)) is not None:
        text = cells
    dropped = text
    for _ in range(3):  # a time within a quote within a diff
        found = _prefix(dropped)
        if found is None:
            break
        pattern, shown = found
        lines = [(line, pattern.match(line)) for line in dropped.split("\n")]
        dropped = "\n".join(line[match.end() :] if match else line for line, match in lines)
        if shown.strip():
            notes.append(f"Before each line, {shown.strip()!r} or the like was dropped.")
    return dropped, notes


def _prefix(text: str) -> tuple[re.Pattern[str], str] | None:
    """What matches the prefix of the lines, and one such prefix; None if there is none."""
    found = [match for line in text.split("\n", MOST_LINES)[:MOST_LINES] if (match := ANCHOR.search(line[:MOST_CHARACTERS]))]
    heads = [match for match in found if match["head"]]
    # Kafka's tool indents the lines of partitions by a tab.
    prefixes = [match.string[: match.start()] for match in heads] or [match.string[: match.start()].rstrip() for match in found]
    shapes = Counter(map(_shape, prefixes))
    if not shapes or (shape := shapes.most_common(1)[0][0]) == "":
        return None
    shown = next(prefix for prefix in prefixes if _shape(prefix) == shape)
    if shape in ("+", "-") and {"+", "-"} <= shapes.keys():  # of a diff, what is there now
        return re.compile(r"\+ ?|-.*|@@.*"), "+"
    return re.compile(_pattern(shown)), shown


def _shape(prefix: str) -> str:
    """A prefix, with one digit for each number and one space for each blank."""
    return re.sub(r"\s+", " ", re.sub(r"[0-9]+", "0", prefix))


def _pattern(prefix: str) -> str:
    """A pattern of prefixes with other numbers, and another indent where numbers are of other lengths."""
    trailing = len(prefix) - len(prefix.rstrip())
    parts = re.findall(r"[0-9]+|\s+|[^0-9\s]+", prefix[: len(prefix) - trailing])
    body = "".join("[0-9]+" if part.isdecimal() else r"[ \t]*" if part.isspace() else re.escape(part) for part in parts)
    return f"{body}[ \\t]{{0,{trailing}}}"


def _without_bars(text: str) -> str | None:
    """A text with a Markdown table whose header is Kafka's, with its cells apart by blanks; None for any other."""
    lines = text.split("\n")
    rows = [i for i, line in enumerate(lines) if _ROW.fullmatch(line)]
    if len(rows) < 2 or not any(ANCHOR.search(_apart(lines[i])[:MOST_CHARACTERS]) for i in rows):
        return None
    for i in rows:
        lines[i] = "" if _RULE.fullmatch(lines[i]) else _apart(lines[i])
    return "\n".join(lines)


def _apart(row: str) -> str:
    return "  ".join(cell.strip() or "-" for cell in row.strip().removeprefix("|").removesuffix("|").split("|"))


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

_LOGGED: Final = re.compile(
    r"Finished assignment for group|newly assigned partitions|Successfully (?:joined|synced) group|\" running \S+ assign"
)
"""Messages of consumers that say what a group was assigned."""

_MAP: Final = re.compile(r'\s*\{[^\s"}]')
MESSAGE: Final = ("message", "msg", "log", "@message", "short_message")
_LAST_APPLIED: Final = re.compile(r"(last-applied-configuration: [|>]-?\n[^\S\n]*)\{.*")

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


def _messages(text: str) -> str:
    """The text with the message of each line that is a log line in JSON, if consumers' messages are among them.

    A line that begins with a map as Java prints it, which is no JSON, becomes blank.
    """
    if not _LOGGED.search(text):
        return text
    return "\n".join(_message(line) if line.lstrip().startswith("{") else line for line in text.split("\n"))


def _message(line: str) -> str:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return "" if _MAP.match(line) else line
    found = next((document[name] for name in MESSAGE if isinstance(document.get(name), str)), None)
    return line if found is None else " ".join(found.split("\n")).rstrip()


def read_description(text: str) -> Description:
    """The description that this text is, in whichever form. Raises UnreadableDescription."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if _ESCAPES.search(text):
        text = _ESCAPES.sub("", text)
    plain = _messages(text)
    if "last-applied-configuration: " in plain:  # which kubectl remembers of a resource that may have changed since
        plain = _LAST_APPLIED.sub(r"\1", plain)
    lines, dropped = without_prefix(plain)
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
        others: tuple[type[LineReader], ...] = (StrimziText, ConsumerLogs, OtherGroupsText, RpkText, KcatText, OffsetsText)
        found = (reader for reader in others if any(mark in text for mark in reader.mark))
        made = (OtherGroupsText(self.groups) if reader is OtherGroupsText else reader() for reader in found)
        self.readers: tuple[LineReader, ...] = (self.topics, *made, self.groups, BrokersText())
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
