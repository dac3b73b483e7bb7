"""The output of ``kafka-get-offsets`` (``GetOffsetShell``): ``topic:partition:offset`` a line.

It does not say which ``--time`` was asked for. Without a command line in the text, offsets are the ends of the logs, and where a
partition has two, the smaller one is its start. Releases before 3.0 print several offsets with ``--offsets``, the latest first.
"""

import re
from typing import Final

from service.descriptions.model import Description
from service.descriptions.topic_rows import TopicRows

_ROW: Final = re.compile(r"(?P<topic>(?![0-9]+:)[A-Za-z0-9._-]{1,249}):(?P<partition>[0-9]{1,7}):(?P<offset>[0-9]{0,19})[0-9,]*")
_COMMAND: Final = re.compile(r".*(?:kafka-get-offsets|GetOffsetShell)(?P<options>.*)")
_TIME: Final = re.compile(r"--time[ =](\S+)")
_STARTS: Final = ("-2", "earliest")
_ENDS: Final = ("-1", "latest")


class OffsetsText:
    """The topics that the lines describe. time : the ``--time`` of the last command line"""

    def __init__(self) -> None:
        self.rows = TopicRows()
        self.time: str | None = None
        self.notes: list[str] = []

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if match := _COMMAND.fullmatch(line):
            asked = _TIME.search(match["options"])
            self.time = asked[1] if asked else _ENDS[0]
            return True
        match = _ROW.fullmatch(line.strip())
        if match is None:
            return False
        topic, partition, offset = match["topic"], int(match["partition"]), int(match["offset"] or -1)
        before = self.rows.ends.get(topic, {}).get(partition)
        if offset < 0 or self.time not in (None, *_STARTS, *_ENDS):
            self.rows.offsets(topic, partition)  # empty at that time
        elif self.time in _STARTS:
            self.rows.offsets(topic, partition, start=offset)
        elif self.time is None and before is not None:
            self.rows.offsets(topic, partition, start=min(before, offset), end=max(before, offset))
        else:
            self.rows.offsets(topic, partition, end=offset)
        return True

    def check_foreign(self, number: int, line: str) -> None:
        """No line has to be of this form."""

    def description(self) -> Description | None:
        """The topics with the partitions that are listed. Notes say what was assumed."""
        topics = self.rows.topics(complete=True)
        if not topics:
            return None
        self.notes.append("The partition counts are those of the partitions that kafka-get-offsets lists.")
        gaps = [topic["topic_name"] for topic in topics if "partitions_count" not in topic]
        if gaps:
            self.notes.append(f"Not all partitions of topic {gaps[0]!r} are listed, so its partition count is not known.")
        if self.time not in (None, *_STARTS, *_ENDS):
            self.notes.append(f"The offsets of --time {self.time} are neither the starts nor the ends of the logs, and not used.")
        return Description("kafka-get-offsets", topics=topics)
