"""The output of ``kafka-topics --describe``: a line for each topic, and a line with a tab before it for each of its partitions.

The fields are those of TopicCommand in Kafka 0.10 to 4.3: older releases print no space after the colons, no ``TopicId`` and no
``Elr``. While a partition is being reassigned, its placement is the one it is going to have: without ``Removing Replicas``, which
are beside it.
"""

import re
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description, UnreadableDescription, brokers_of

_TOPIC: Final = re.compile(
    r"Topic: ?(?P<name>\S+)\s+(?:TopicId: ?(?P<id>\S+)\s+)?PartitionCount: ?(?P<count>[0-9]{1,10})\s+"
    r"ReplicationFactor: ?[0-9]{1,10}\s+Configs: ?(?P<configs>.*)"
)
_MIN_IN_SYNC: Final = re.compile(r"(?:^|,)min\.insync\.replicas=(?P<count>[0-9]{1,5})(?:,|\s*$)")
_ID: Final = r"[0-9]{1,10}"
_IDS: Final = rf"(?:{_ID}(?:,{_ID})*)?"
_PARTITION: Final = re.compile(
    rf"\s*Topic: ?(?P<name>\S+)\s+Partition: ?(?P<id>{_ID})\s+Leader: ?(?P<leader>-?{_ID}|none)\s+Replicas: ?(?P<replicas>{_IDS})"
    rf"\s+Isr: ?(?P<isr>{_IDS})(?:\s+Adding Replicas: ?(?P<adding>{_IDS})\s+Removing Replicas: ?(?P<removing>{_IDS}))?"
    rf"(?:\s+Elr: ?(?:{_IDS}|N/A))?(?:\s+LastKnownElr: ?(?:{_IDS}|N/A))?\s*"
)


class TopicsText:
    """The topics that the lines describe."""

    def __init__(self) -> None:
        self.topics: dict[str, Json] = {}
        self.first_lines: dict[str, int] = {}
        self.notes: list[str] = []

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form, or cut off. Raises UnreadableDescription for one that does not follow."""
        if "Topic:" not in line:
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
        if line.lstrip().startswith("Topic:"):
            raise UnreadableDescription("Not a line of kafka-topics --describe.", number)

    def description(self) -> Description | None:
        """The topics, all with all their partitions. Raises UnreadableDescription."""
        for name, topic in self.topics.items():
            count, described = topic["partitions_count"], len(topic["placements"])
            if count != described:
                detail = f"The PartitionCount of topic {name!r} is {count}, but there are lines for {described} of them."
                raise UnreadableDescription(detail, self.first_lines[name])
        topics = tuple(self.topics.values())
        return Description("kafka-topics", brokers_of(topics), topics) if topics else None

    def _add_topic(self, match: re.Match[str], number: int) -> None:
        if match["name"] in self.topics:
            raise UnreadableDescription(f"Duplicate topic {match['name']!r}.", number)
        topic: Json = {"topic_name": match["name"], "partitions_count": int(match["count"]), "placements": []}
        if match["id"]:
            topic["topic_id"] = match["id"]
        if least := _MIN_IN_SYNC.search(match["configs"]):
            topic["min_insync_replicas"] = int(least["count"])
        self.topics[match["name"]] = topic
        self.first_lines[match["name"]] = number

    def _add_partition(self, match: re.Match[str], number: int) -> None:
        """Append the partition of this line to its topic."""
        name, partition_id = match["name"], int(match["id"])
        if name not in self.topics:
            detail = f"Partition of topic {name!r}, which has no line with its PartitionCount; describe whole topics."
            raise UnreadableDescription(detail, number)
        placements = self.topics[name]["placements"]
        if partition_id != len(placements):
            detail = f"Partition {partition_id} of topic {name!r} where partition {len(placements)} is expected."
            raise UnreadableDescription(detail, number)
        removing = _ids(match["removing"] or "")
        replicas = [broker for broker in _ids(match["replicas"]) if broker not in removing]
        leader = None if match["leader"] in ("none", "-1") else int(match["leader"])
        known = {"partition_id": partition_id, "replicas": replicas, "in_sync_replicas": _ids(match["isr"]), "leader": leader}
        running = {"adding_replicas": _ids(match["adding"] or ""), "removing_replicas": removing}
        placements.append(known | {name: brokers for name, brokers in running.items() if brokers})


def _ids(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]
