"""Metadata as ``kcat -L`` prints it (kafkacat 1.2 to kcat 1.7)."""

import re
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description
from service.descriptions.rows import ForeignText, TopicRows

_IDS: Final = r"-?[0-9]{1,10}(?:,-?[0-9]{1,10})*"
_BROKER: Final = re.compile(r"\s*broker (?P<id>[0-9]{1,10}) at \S+:[0-9]+(?: \(controller\))?")
_TOPIC: Final = re.compile(r'\s*topic "(?P<name>[^"]+)" with (?P<count>[0-9]{1,7}) partitions:(?: (?P<error>.+))?')
_PARTITION: Final = re.compile(
    rf"\s*partition (?P<id>[0-9]{{1,10}}), leader (?P<leader>-?[0-9]{{1,10}}), replicas: (?P<replicas>{_IDS})?, isrs:"
    rf" (?P<isr>{_IDS})?(?:, .*)?"
)
_OTHER: Final = re.compile(r"Metadata for .+ \(from broker .*|\s*[0-9]+ (?:brokers|topics):")


class KcatText(ForeignText):
    """The metadata that the lines describe. name : of the current topic"""

    mark = ("partitions:", "brokers:", " at ")

    def __init__(self) -> None:
        super().__init__()
        self.brokers: dict[int, Json] = {}
        self.rows = TopicRows()
        self.name = ""

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if match := _BROKER.fullmatch(line):
            self.brokers[int(match["id"])] = {"broker_id": int(match["id"])}
        elif match := _TOPIC.fullmatch(line):
            self.name = match["name"]
            if match["error"]:
                self.notes.append(f"The partitions of topic {self.name!r} are not known: {match['error']}.")
            if match["count"] != "0":
                self.rows.fields[self.name] = {"partitions_count": int(match["count"])}
        elif self.name and (match := _PARTITION.fullmatch(line)):
            replicas, in_sync = ([int(part) for part in (match[name] or "").split(",") if part] for name in ("replicas", "isr"))
            leader = max(int(match["leader"]), -1)
            self.rows.add(self.name, int(match["id"]), replicas=replicas, in_sync_replicas=in_sync, leader=leader)
        else:
            return _OTHER.fullmatch(line) is not None
        return True

    def description(self) -> Description | None:
        """The metadata."""
        return self.rows.description("kcat", brokers=self.brokers)
