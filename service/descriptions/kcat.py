"""Metadata as ``kcat -L`` prints it, as text or with ``-J`` as JSON (kafkacat 1.2 to kcat 1.7)."""

import re
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description
from service.descriptions.rows import ForeignText, TopicRows
from service.descriptions.source import SourceText

_IDS: Final = r"-?[0-9]{1,10}(?:,-?[0-9]{1,10})*"
_BROKER: Final = re.compile(r"\s*broker (?P<id>[0-9]{1,10}) at \S+:[0-9]+(?: \(controller\))?")
_TOPIC: Final = re.compile(r'\s*topic "(?P<name>[^"]+)" with (?P<count>[0-9]{1,7}) partitions:(?: (?P<error>.+))?')
_PARTITION: Final = re.compile(
    rf"\s*partition (?P<id>[0-9]{{1,10}}), leader -?[0-9]+, replicas: (?P<replicas>{_IDS})?, isrs: (?P<isr>{_IDS})?(?:, .*)?"
)
_OTHER: Final = re.compile(r"Metadata for .+ \(from broker .*|\s*[0-9]+ (?:brokers|topics):")


class KcatText(ForeignText):
    """The metadata that the lines describe. name : of the current topic"""

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
            self.topic(match["name"], int(match["count"]), match["error"])
        elif self.name and (match := _PARTITION.fullmatch(line)):
            replicas, in_sync = ([int(part) for part in (match[name] or "").split(",") if part] for name in ("replicas", "isr"))
            self.rows.add(self.name, int(match["id"]), replicas=replicas, in_sync_replicas=in_sync)
        else:
            return _OTHER.fullmatch(line) is not None
        return True

    def topic(self, name: str, count: int, error: str | None) -> None:
        """Begin a topic, or note what the broker says instead of its partitions."""
        self.name = name
        if error:
            self.notes.append(f"The partitions of topic {name!r} are not known: {error}.")
        if count:
            self.rows.fields[name] = {"partitions_count": count}

    def description(self) -> Description | None:
        """The metadata."""
        return self.rows.description("kcat", brokers=self.brokers)


def read_kcat(document: Json, source: SourceText) -> Description | None:
    """The metadata that ``kcat -L -J`` prints; None if the document is another. Raises UnreadableDescription."""
    if not {"originating_broker", "brokers", "topics"} <= document.keys():
        return None
    kcat = KcatText()
    ids = [source.member(row, "id", int, ("brokers", i)) for i, row in enumerate(source.rows(document, "brokers", ()))]
    kcat.brokers = {broker: {"broker_id": broker} for broker in ids}
    for i, topic in enumerate(source.rows(document, "topics", ())):
        name, partitions = source.member(topic, "topic", str, ("topics", i)), source.rows(topic, "partitions", ("topics", i))
        kcat.topic(name, len(partitions), topic.get("error"))
        for j, row in enumerate(partitions):
            path = ("topics", i, "partitions", j)
            replicas, in_sync = (
                [source.member(one, "id", int, (*path, field, k)) for k, one in enumerate(source.rows(row, field, path))]
                for field in ("replicas", "isrs")
            )
            kcat.rows.add(name, source.member(row, "partition", int, path), replicas=replicas, in_sync_replicas=in_sync)
    return (kcat.description() or Description("kcat")).noted(*kcat.notes)
