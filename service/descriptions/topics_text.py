"""The output of ``kafka-topics --describe``: a line for each topic, and a line with a tab before it for each of its partitions.

The fields are those of TopicCommand in Kafka 0.8 to 4.4: the first releases print lower-case names, older ones no space after the
colons, no ``TopicId`` and no ``Elr``. Fields behind ``Isr`` that are not known, such as those of other vendors' servers, are left
out. While a partition is being reassigned, its placement is the one it is going to have: without ``Removing Replicas``.
"""

import re
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description, UnreadableDescription, brokers_of
from service.descriptions.rows import LineReader

_TOPIC: Final = re.compile(
    r"\s*Topic: ?(?P<name>\S+)\s+(?:TopicId: ?(?P<id>\S+)\s+)?PartitionCount: ?(?P<count>[0-9]{1,10})\s+"
    r"ReplicationFactor: ?[0-9]{1,10}(?:\s+(?:Configs: ?(?P<configs>.*)|\w+: ?.*))?",
    re.IGNORECASE,
)
_MIN_IN_SYNC: Final = re.compile(r"(?:^|,)min\.insync\.replicas=(?P<count>[0-9]{1,5})(?:,|\s|$)")
_ID: Final = r"[0-9]{1,10}"
_IDS: Final = rf"(?:{_ID}(?:, ?{_ID})*)?"
_PARTITION: Final = re.compile(
    rf"\s*Topic: ?(?P<name>\S+)\s+Partition: ?(?P<id>{_ID})\s+Leader: ?(?P<leader>-?{_ID}|none)\s+Replicas: ?(?P<replicas>{_IDS})"
    rf"\s+Isr: ?(?P<isr>{_IDS})(?P<more>(?:\s+[A-Za-z][\w -]*:.*)?)\s*",
    re.IGNORECASE,
)
_CHANGING: Final = re.compile(rf"(Adding|Removing) Replicas: ?(?P<ids>{_IDS})(?=\s|$)", re.IGNORECASE)


class TopicsText(LineReader):
    """The topics that the lines describe.

    counts : of the topics that have a line of their own; first_lines : the line on which each begins
    """

    def __init__(self) -> None:
        super().__init__()
        self.topics: dict[str, Json] = {}
        self.counts: dict[str, int] = {}
        self.first_lines: dict[str, int] = {}

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form, or cut off. Raises UnreadableDescription for one that does not follow."""
        if "opic:" not in line:
            return False
        if match := _TOPIC.fullmatch(line):
            self._add_topic(match, number)
        elif match := _PARTITION.fullmatch(line):
            self._add_partition(match, number)
        else:
            return False
        return True

    def check_foreign(self, number: int, line: str) -> None:
        """Raise UnreadableDescription for a line that is cut off."""
        if line.lstrip().startswith(("Topic:", "topic:")):
            raise UnreadableDescription("Not a line of kafka-topics --describe.", number)

    def description(self) -> Description | None:
        """The topics, those with a line of their own with all their partitions. Raises UnreadableDescription."""
        without = [name for name in self.topics if name not in self.counts]
        for name, topic in self.topics.items():
            count, described = self.counts.get(name), len(topic["placements"])
            if count is not None and count != described:
                detail = f"The PartitionCount of topic {name!r} is {count}, but there are lines for {described} of them."
                raise UnreadableDescription(detail, self.first_lines[name])
            topic["placements"] = [topic["placements"][i] for i in sorted(topic["placements"])]
        if without:
            more = f" and {len(without) - 1} more" if len(without) > 1 else ""
            self.notes.append(
                f"Topic {without[0]!r}{more} has no line with its PartitionCount: further partitions are not known."
            )
        topics = tuple(self.topics.values())
        return Description("kafka-topics", brokers_of(topics), topics) if topics else None

    def _add_topic(self, match: re.Match[str], number: int) -> None:
        """Begin a topic. Of one that is described again, as in the output of a loop, the last description counts."""
        name = match["name"]
        topic: Json = {"topic_name": name, "partitions_count": int(match["count"]), "placements": {}}
        if match["id"]:
            topic["topic_id"] = match["id"]
        if least := _MIN_IN_SYNC.search(match["configs"] or ""):
            topic["min_insync_replicas"] = int(least["count"])
        if name in self.counts and len(self.topics[name]["placements"]) == self.counts[name]:
            self.notes.append(f"Topic {name!r} is described more than once; the last counts.")
        elif name in self.counts:
            raise UnreadableDescription(f"Duplicate topic {name!r}.", number)
        elif name in self.topics:  # below its partitions, as sort leaves it
            topic["placements"] = self.topics[name]["placements"]
        self.topics[name], self.counts[name], self.first_lines[name] = topic, topic["partitions_count"], number

    def _add_partition(self, match: re.Match[str], number: int) -> None:
        """Add the partition of this line to its topic, with who leads it now."""
        name, partition_id = match["name"], int(match["id"])
        topic = self.topics.setdefault(name, {"topic_name": name, "placements": {}})
        if name in self.counts and partition_id >= self.counts[name]:
            detail = f"Partition {partition_id} of topic {name!r}, whose PartitionCount is {self.counts[name]}."
            raise UnreadableDescription(detail, number)
        changing = {found[1].lower(): _ids(found["ids"]) for found in _CHANGING.finditer(match["more"])}
        removing = changing.get("removing", [])
        placement = {
            "partition_id": partition_id,
            "replicas": [broker for broker in _ids(match["replicas"]) if broker not in removing],
            "in_sync_replicas": _ids(match["isr"]),
            "leader": int(match["leader"]) if match["leader"].isdecimal() else None,
            **{f"{kind}_replicas": ids for kind, ids in changing.items() if ids},
        }
        if topic["placements"].setdefault(partition_id, placement) != placement:
            raise UnreadableDescription(f"Partition {partition_id} of topic {name!r} has two different lines.", number)


def _ids(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]
