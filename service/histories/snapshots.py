"""Snapshots of a cluster, as ``partition-allocator snapshot`` writes them: who is in the group, and has what, at a time."""

import json
from typing import Final

from service.core.documents import Json
from service.histories.events import SHOWN, Kind, Partition, StoredMember, ToldEvent, TopicsTold
from service.histories.records import check
from service.histories.times import LineTime, stamp_of

MARK: Final = '"snapshot_version"'
PIECES: Final = '{"group":', '{"topic":'
"""How lines of the form ``jsonl`` begin that have a group or a topic; its first line has the time."""


class Snapshots:
    """Reads the lines of one group. topics : gets what they tell of topics; at : of the last snapshot"""

    def __init__(self, group_id: str, source: int, topics: TopicsTold) -> None:
        self.group_id, self.source, self.topics = group_id, source, topics
        self.at: LineTime | None = None

    def take(self, number: int, line: str) -> list[ToldEvent] | None:
        """The group in the snapshot on a line; None if the line has none. Raises ValueError for a snapshot that is cut."""
        if MARK not in line[:SHOWN] and not line.startswith(PIECES):
            return None
        document = json.loads(line)
        whole = document.get("snapshot", document)
        check(whole.get("group", whole.get("groups")))
        check({"taken_at": whole.get("taken_at")})
        if "taken_at" in whole:
            self.at = stamp_of(whole["taken_at"])
        for row in [whole["topic"]] if "topic" in whole else whole.get("topics", ()):
            if row.get("topic_id") and row.get("partitions_count"):
                self.topics.add(row["topic_id"], row["topic_name"], row["partitions_count"])
        groups = [whole["group"]] if "group" in whole else whole.get("groups", ())
        return [self._event(number, line, each) for each in groups if each["group_id"] == self.group_id and "members" in each]

    def _event(self, number: int, line: str, group: Json) -> ToldEvent:
        members = {each["member_id"]: _member(each) for each in group["members"]}
        says = {"members": members, "assignor": group.get("assignor"), "protocol": group.get("group_protocol", "classic")}
        epoch = group.get("group_epoch", group.get("generation_id"))
        return ToldEvent(self.source, number, self.at, Kind.SEEN, line[:SHOWN], None, epoch, says)


def _member(row: Json) -> StoredMember:
    owned: frozenset[Partition] = frozenset(
        (part["topic_name"], i) for part in row.get("owned_partitions") or () for i in part["partition_ids"]
    )
    names = row.get("instance_id"), row.get("client_id")
    return StoredMember(row["member_id"], *names, tuple(row.get("topic_names") or ()), owned)
