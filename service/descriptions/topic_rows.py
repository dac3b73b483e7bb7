"""Topics from rows of one partition each."""

from collections.abc import Iterable

from service.core.documents import Json

MOST_GAPS = 1_000
"""Partitions for each row of a topic: an id beyond that is no partition's."""


class TopicRows:
    """What rows tell of partitions: topic → partition id → placement, ends of the log.

    fields : of topics whose partition counts are told, and other fields of theirs
    """

    def __init__(self) -> None:
        self.fields: dict[str, Json] = {}
        self.placements: dict[str, dict[int, Json]] = {}
        self.starts: dict[str, dict[int, int | None]] = {}
        self.ends: dict[str, dict[int, int | None]] = {}

    def place(self, topic: str, partition: int, replicas: Iterable[int], in_sync: Iterable[int] | None = None) -> None:
        """A partition with its replicas, and with those in sync, if they are known."""
        placement = {"partition_id": partition, "replicas": [*replicas]}
        known = {} if in_sync is None else {"in_sync_replicas": [*in_sync]}
        self.placements.setdefault(topic, {})[partition] = placement | known

    def offsets(self, topic: str, partition: int, *, start: int | None = None, end: int | None = None) -> None:
        """Where the log of a partition starts and ends, as far as it is known."""
        for of_topics, offset in ((self.starts, start), (self.ends, end)):
            of_topic = of_topics.setdefault(topic, {})
            of_topic[partition] = of_topic.get(partition) if offset is None else offset

    def topics(self, *, complete: bool = False) -> tuple[Json, ...]:
        """The topics. A count that is not told is that of the rows with replicas, if they have no gap.

        complete : do rows with offsets list all partitions, too?
        """
        found = []
        for name in {**self.fields, **self.placements, **self.ends}:
            placements, ends = self.placements.get(name, {}), self.ends.get(name, {})
            ids = placements.keys() | ends.keys()
            topic: Json = {"topic_name": name, **self.fields.get(name, {})}
            counted = ids if complete else placements.keys()
            if counted and len(counted) > max(counted):
                topic.setdefault("partitions_count", len(counted))
            if placements:
                topic["placements"] = [placements[i] for i in sorted(placements)]
            for field, of_topics in (("log_start_offsets", self.starts), ("log_end_offsets", self.ends)):
                of_topic = of_topics.get(name, {})
                if any(offset is not None for offset in of_topic.values()) and max(ids) < len(ids) * MOST_GAPS:
                    topic[field] = [of_topic.get(i) for i in range(max(max(ids) + 1, topic.get("partitions_count", 0)))]
            found.append(topic)
        return tuple(found)

    def brokers(self) -> set[int]:
        """The ids of the brokers that hold replicas."""
        return {broker for of_topic in self.placements.values() for one in of_topic.values() for broker in one["replicas"]}


def offsets_by_topic(committed: dict[str, dict[int, int | None]]) -> list[Json]:
    """``committed_offsets`` of a group. committed : topic → partition → offset"""
    return [
        {"topic_name": name, "partition_ids": sorted(of_topic), "offsets": [of_topic[i] for i in sorted(of_topic)]}
        for name, of_topic in committed.items()
    ]
