"""Metadata as ``kcat -L`` prints it, as text or with ``-J`` as JSON (kafkacat 1.2 to kcat 1.7).

Topics of which the broker reports an error have no partitions, and the others all that they have.
"""

import re
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description
from service.descriptions.source import Source
from service.descriptions.topic_rows import TopicRows

_IDS: Final = r"-?[0-9]{1,10}(?:,-?[0-9]{1,10})*"
_BROKER: Final = re.compile(r"\s*broker (?P<id>[0-9]{1,10}) at \S+:[0-9]+(?: \(controller\))?")
_TOPIC: Final = re.compile(r'\s*topic "(?P<name>[^"]+)" with (?P<count>[0-9]{1,7}) partitions:(?: (?P<error>.+))?')
_PARTITION: Final = re.compile(
    rf"\s*partition (?P<id>[0-9]{{1,10}}), leader (?P<leader>-?[0-9]{{1,10}}), replicas: (?P<replicas>{_IDS})?,"
    rf" isrs: (?P<isr>{_IDS})?(?:, .*)?"
)
_OTHER: Final = re.compile(r"Metadata for .+ \(from broker .*|\s*[0-9]+ (?:brokers|topics):")


class KcatText:
    """The metadata that the lines describe. topic : of the current lines"""

    def __init__(self) -> None:
        self.metadata = _Metadata()
        self.topic = ""
        self.notes = self.metadata.notes

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if match := _BROKER.fullmatch(line):
            self.metadata.brokers.add(int(match["id"]))
        elif match := _TOPIC.fullmatch(line):
            self.topic = match["name"]
            self.metadata.topic(match["name"], int(match["count"]), match["error"])
        elif self.topic and (match := _PARTITION.fullmatch(line)):
            replicas, in_sync = ([int(part) for part in (match[name] or "").split(",") if part] for name in ("replicas", "isr"))
            self.metadata.rows.place(self.topic, int(match["id"]), replicas, in_sync)
        else:
            return _OTHER.fullmatch(line) is not None
        return True

    def check_foreign(self, number: int, line: str) -> None:
        """No line has to be of this form."""

    def description(self) -> Description | None:
        """The metadata. Raises UnreadableDescription."""
        return self.metadata.description("kcat")


def read_kcat(document: Json, source: Source) -> Description | None:
    """The metadata that ``kcat -L -J`` prints; None if the document is another. Raises UnreadableDescription."""
    if not {"originating_broker", "brokers", "topics"} <= document.keys():
        return None
    metadata = _Metadata()
    for i, broker in enumerate(source.rows(document, "brokers", ())):
        metadata.brokers.add(source.member(broker, "id", int, ("brokers", i)))
    for i, topic in enumerate(source.rows(document, "topics", ())):
        name, partitions = source.member(topic, "topic", str, ("topics", i)), source.rows(topic, "partitions", ("topics", i))
        metadata.topic(name, len(partitions), topic.get("error"))
        for j, partition in enumerate(partitions):
            path = ("topics", i, "partitions", j)
            replicas, in_sync = (
                [source.member(one, "id", int, (*path, field, k)) for k, one in enumerate(source.rows(partition, field, path))]
                for field in ("replicas", "isrs")
            )
            metadata.rows.place(name, source.member(partition, "partition", int, path), replicas, in_sync)
    return (metadata.description("kcat") or Description("kcat")).noted(*metadata.notes)


class _Metadata:
    """Brokers and topics of a response."""

    def __init__(self) -> None:
        self.brokers: set[int] = set()
        self.rows = TopicRows()
        self.notes: list[str] = []

    def topic(self, name: str, count: int, error: str | None) -> None:
        """A topic, or what the broker says instead of its partitions."""
        if error:
            self.notes.append(f"The partitions of topic {name!r} are not known: {error}.")
        if count:
            self.rows.fields.setdefault(name, {})["partitions_count"] = count

    def description(self, form: str) -> Description | None:
        """What is known; None if nothing is. A note counts partitions that are cut off."""
        topics = self.rows.topics()
        for topic in topics:
            missing = topic["partitions_count"] - len(topic.get("placements", ()))
            if missing:
                self.notes.append(f"The replicas of {missing} partitions of topic {topic['topic_name']!r} are not known.")
                topic.pop("placements", None)
        ids = sorted(self.brokers | self.rows.brokers())
        return Description(form, tuple({"broker_id": broker_id} for broker_id in ids), topics) if ids or topics else None
