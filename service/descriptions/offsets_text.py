"""The output of ``kafka-get-offsets`` (``GetOffsetShell``): ``topic:partition:offset`` a line.

It does not say which ``--time`` was asked for. Without a command line in the text, offsets are the ends of the logs, and where a
partition has two, the smaller one is its start.
"""

import re
from itertools import zip_longest
from typing import Final

from service.descriptions.model import Description
from service.descriptions.rows import END, START, LineReader, TopicRows

_ROW: Final = re.compile(r"\s*(?P<topic>(?![0-9]+:)[A-Za-z0-9._-]{1,249}):(?P<partition>[0-9]{1,7}):(?P<offset>[0-9]{0,18})\s*")
_COMMAND: Final = re.compile(r".*(?:kafka-get-offsets|GetOffsetShell)(?P<options>.*)")
_TIME: Final = re.compile(r"--time[ =](\S+)")
MOST_SKEWS: Final = 3
_TIMES: Final = {None: END, "-1": END, "latest": END, "-2": START, "earliest": START}


class OffsetsText(LineReader):
    """The topics that the lines describe. time : the ``--time`` of the last command line"""

    mark = (":",)

    def __init__(self) -> None:
        super().__init__()
        self.rows = TopicRows()
        self.time: str | None = None

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if match := _COMMAND.fullmatch(line):
            asked = _TIME.search(match["options"])
            self.time = asked[1] if asked else "-1"
            return True
        match = _ROW.fullmatch(line)
        if match is None:
            return False
        topic, partition, known = match["topic"], int(match["partition"]), {}
        if match["offset"] and self.time in _TIMES:
            known = {_TIMES[self.time]: int(match["offset"])}
            before = self.rows.rows.get(topic, {}).get(partition, {}).get(END)
            if self.time is None and before is not None:
                known = dict(zip((START, END), sorted((before, known[END])), strict=True))
        self.rows.add(topic, partition, **known)
        return True

    def description(self) -> Description | None:
        """The topics with the partitions that are listed. Notes say what was assumed."""
        description = self.rows.description("kafka-get-offsets", complete=True)
        if description is not None:
            self.notes += _skews(description)
            self.notes.append("The partition counts are those of the partitions that kafka-get-offsets lists.")
            gaps = [topic["topic_name"] for topic in description.topics if "partitions_count" not in topic]
            if gaps:
                self.notes.append(f"Not all partitions of topic {gaps[0]!r} are listed, so its partition count is not known.")
            if self.time not in _TIMES:
                self.notes.append(f"The offsets of --time {self.time} are neither starts nor ends of the logs, and not used.")
        return description


def _skews(description: Description) -> list[str]:
    """Which partition has the most records, by offsets, of the most uneven topics without Kafka's own."""
    found = []
    for topic in description.topics:
        starts, ends = topic.get(START) or [], topic.get(END) or []
        counts = [
            end - (start or 0) for start, end in zip_longest(starts, ends[: topic.get("partitions_count", 0)]) if end is not None
        ]
        if (
            len(counts) == topic.get("partitions_count")
            and max(counts) > min(counts)
            and not topic["topic_name"].startswith("__")
        ):
            most, total = max(counts), sum(counts)
            sentence = (
                f"By offsets, partition {counts.index(most)} of topic {topic['topic_name']!r} has the most: {most} of {total} "
                f"records, {most * len(counts) / total:.4g} times the mean."
            )
            found.append((-most * len(counts) / total, sentence))
    return [sentence for _, sentence in sorted(found)[:MOST_SKEWS]]
