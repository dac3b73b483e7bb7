"""Files of any size, line by line → the events of one group, and what of the files tells nothing."""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final, NamedTuple, cast

from service.core.budget import check_time
from service.core.documents import Json
from service.descriptions.cluster_text import TopicsText
from service.descriptions.pasted import MESSAGE
from service.histories.events import ToldEvent, TopicsTold
from service.histories.logs import MARKS, BrokerLog, ClientLog
from service.histories.records import RecordsOfGroup, Snapshots
from service.histories.times import DAY_CLOCK, DAY_MS

BLOCK: Final = 1 << 20
LONGEST_LINE: Final = 1 << 24
"""A longer line is skipped: memory is bounded by it."""

MOST_EVENTS: Final = 500_000
"""Events that are kept: some 1.2 GB, with their rebalances. A group that rebalances every ten seconds has them in two weeks."""

MOST_OTHERS: Final = 100
"""Other groups that are named, and faults that are kept."""

TOPIC_ID: Final = "TopicId:"
TOPICS: Final = (TOPIC_ID.encode(), b'"topic_id"')
"""Lines with these describe topics, whichever group reads them."""

RECORD: Final = b'}{"key":'
"""Where a record of kafka-console-consumer ends and the next begins: its formatters write no line breaks."""

BACK_MS: Final = 3_600_000
"""Time by which a clock without a date may go back; more is the next day."""

CHECKED_LINES: Final = 5_000

_OTHER: Final = re.compile(
    r"(?:Preparing to rebalance group |Stabilized group |\[GroupId )(?P<group>[^\s\]]+)|groupId=(?P<own>[^,\]]+)"
)
_TIME: Final = ("@timestamp", "timestamp", "time", "ts", "asctime", "datetime")


class HistorySource(NamedTuple):
    """A file. name : for people"""

    name: str
    file: BinaryIO


class Fault(NamedTuple):
    """A line of the group that cannot be read."""

    source: int
    line: int
    why: str


@dataclass
class SourcesRead:
    """What the sources tell of a group.

    names : of the sources; lines : how many each has; told : how many of them are of the group
    events : in the order of sources and lines; dropped : how many more there were than MOST_EVENTS
    topics, describing : what they tell of topics, whichever group reads them; and the sources that do
    others : groups that those tell of which tell nothing of this one
    faults : the first MOST_OTHERS lines that cannot be read, of faults_count
    """

    names: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    events: list[ToldEvent] = field(default_factory=list)
    dropped: int = 0
    topics: TopicsTold = field(default_factory=TopicsTold)
    describing: set[int] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    faults_count: int = 0

    def fault(self, source: int, line: int, why: str) -> None:
        """Note a line that cannot be read."""
        self.faults_count += 1
        if len(self.faults) < MOST_OTHERS:
            self.faults.append(Fault(source, line, why))


def read(sources: Iterable[HistorySource], group_id: str) -> SourcesRead:
    """Read some sources, one after the other."""
    reading = SourcesRead()
    for number, source in enumerate(sources):
        reading.names.append(source.name)
        _read(source.file, number, group_id, reading)
    return reading


def _read(file: BinaryIO, source: int, group_id: str, reading: SourcesRead) -> None:
    needles = {group_id.encode(), json.dumps(group_id)[1:-1].encode(), b'"key_base64"', b'"snapshot_version"', *MARKS, *TOPICS}
    readers = _Readers(group_id, source, reading.topics)
    number, told, others = 0, 0, set[str]()
    for number, line in _lines(file, source, reading):
        if number % CHECKED_LINES == 0:
            check_time()
        events = list[ToldEvent]()
        if any(needle in line for needle in needles):
            try:
                events = readers.take(number, line.decode(errors="replace").rstrip("\r\n"))
            except (ValueError, TypeError, KeyError, AttributeError) as error:  # JSON that is no record or snapshot
                reading.fault(source, number, str(error))
            reading.describing |= {source} if any(mark in line for mark in TOPICS) else set()
        if not (told or events) and b"roup" in line and len(others) <= MOST_OTHERS:
            match = _OTHER.search(line.decode(errors="replace"))
            others |= {match["group"] or match["own"]} - {group_id} if match else set()
        told += bool(events)
        room = MOST_EVENTS - len(reading.events)
        reading.events += events[:room]
        reading.dropped += len(events[room:])
    reading.lines.append(number)
    reading.told.append(told)
    reading.others |= set() if told else others


class _Readers:
    """The readers of all forms, for one group in one source."""

    def __init__(self, group_id: str, source: int, topics: TopicsTold) -> None:
        self._topics = topics
        self._documents = Snapshots(group_id, source, topics).take, RecordsOfGroup(group_id, source, topics).take
        self._logs = ClientLog(group_id, source).take, BrokerLog(group_id, source).take
        self._last_ms = 0

    def take(self, number: int, text: str) -> list[ToldEvent]:
        """The events of a line. Raises ValueError for one that cannot be read."""
        if TOPIC_ID in text and (described := TopicsText()).take(number, text):  # a line of kafka-topics --describe
            for row in described.topics.values():
                self._topics.add(row["topic_id"], row["topic_name"], row["partitions_count"])
            return []
        for readers, line in ((self._documents, text), (self._logs, _plain(text))):
            for read_line in readers:
                if (found := read_line(number, line)) is not None:
                    return [self._on_its_day(event) for event in found]
        return []

    def _on_its_day(self, event: ToldEvent) -> ToldEvent:
        """The event, on the day after the one before if its line has only a time of day, which is earlier."""
        if event.at is None or event.at.clock != DAY_CLOCK:
            return event
        days = -(-max(0, self._last_ms - BACK_MS - event.at.at_ms) // DAY_MS)
        self._last_ms = max(self._last_ms, event.at.at_ms + days * DAY_MS)
        return replace(event, at=event.at._replace(at_ms=event.at.at_ms + days * DAY_MS))


def _plain(text: str) -> str:
    """A log line in JSON as its time and its message; any other as it is."""
    if not text.startswith("{"):
        return text
    try:
        document: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    message, time = (next((document[name] for name in names if name in document), "") for names in (MESSAGE, _TIME))
    return f"{time} {message}" if isinstance(message, str) and message else text


def _lines(file: BinaryIO, source: int, reading: SourcesRead) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, also of gzip; records without line breaks have the number of the line that they are on."""
    number, rest = 1, b""
    for block in _blocks(file, source, reading):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            for piece in _records(line):
                yield number, piece
            number += 1
        if RECORD in rest:
            *pieces, rest = _records(rest)
            for piece in pieces:
                yield number, piece
        if len(rest) > LONGEST_LINE:
            reading.fault(source, number, f"longer than {LONGEST_LINE:,} bytes")
            rest = b""
    if rest:
        for piece in _records(rest):
            yield number, piece


def _records(line: bytes) -> list[bytes]:
    return line.replace(RECORD, b'}\n{"key":').split(b"\n") if RECORD in line else [line]


def _blocks(file: BinaryIO, source: int, reading: SourcesRead) -> Iterator[bytes]:
    block = file.read(BLOCK)
    if block[:2] != b"\x1f\x8b":
        while block:
            yield block
            block = file.read(BLOCK)
        return
    try:
        with gzip.open(cast(BinaryIO, _Rewound(block, file))) as unpacked:
            while block := unpacked.read(BLOCK):
                yield block
    except (OSError, EOFError) as error:
        reading.fault(source, 0, f"the gzip file is cut or damaged: {error}")


class _Rewound:
    """A stream whose first block has been read. Standard input cannot seek."""

    def __init__(self, block: bytes, file: BinaryIO) -> None:
        self._block, self._file = block, file

    def read(self, size: int = -1) -> bytes:
        """As of a file."""
        if not self._block:
            return self._file.read(size)
        taken, self._block = (self._block, b"") if size < 0 else (self._block[:size], self._block[size:])
        return taken
