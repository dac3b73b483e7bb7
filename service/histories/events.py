"""The form of all events, whichever source tells them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from service.histories.times import LineTime


class Kind(StrEnum):
    """What an event is."""

    PREPARING = "rebalance_begins"
    STABILIZED = "members_joined"
    ASSIGNED = "assignment_received"
    EMPTIED = "group_empties"
    JOINS = "member_joins"
    RETURNS = "static_member_returns"
    LEAVES = "member_leaves"
    EXPIRES = "session_expires"
    LATE = "rebalance_timeout"
    REMOVED = "member_removed"
    SUBSCRIBES = "subscription_changes"
    METADATA = "topic_metadata_changes"
    GROWS = "topic_grows"
    BUMPED = "epoch_bumped"
    TARGET = "target_assignment"
    RECONCILED = "member_reconciles"
    RECORDED = "group_recorded"
    JOINED = "member_has_joined"
    SYNCED = "member_has_synced"
    ASKS = "member_asks_to_rejoin"
    POLLS_LATE = "poll_interval_exceeded"
    LED = "leader_assigns"
    SEEN = "group_seen"
    LOADED = "coordinator_loads"
    UNLOADED = "coordinator_unloads"


SHOWN: Final = 400
"""Characters of a line that an event keeps."""


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """Something that a line of a source says of a group.

    source, line : of which source, and its number there, from 1
    at : when, by the clock of the source; None: the line has no time
    kind : what it is
    text : the line, at most SHOWN characters of it
    member : the id that the coordinator gave it
    generation : of a classic group, or the epoch of a consumer group
    says : what else, by kind: ``reason``, ``members_count``, ``instance_id``, ``members``, …
    """

    source: int
    line: int
    at: LineTime | None
    kind: Kind
    text: str
    member: str | None = None
    generation: int | None = None
    says: Mapping[str, Any] = field(default_factory=dict)


Partition = tuple[str, int]
"""Topic, or its id where the source tells no name, and number."""


@dataclass(frozen=True, slots=True)
class StoredMember:
    """What a record tells of a member; None is not told.

    topics : its subscription; assigned : its partitions; claimed : those that it told its leader that it has
    session_ms, rebalance_ms : its time-outs; the latter is max.poll.interval.ms of Java's clients
    claimed_in : the generation that it told with what it has
    regex, assignor : by which it subscribes as well, and that of the coordinator which it names; of a consumer group
    """

    member_id: str
    instance_id: str | None = None
    client_id: str | None = None
    topics: tuple[str, ...] | None = None
    assigned: frozenset[Partition] | None = None
    claimed: frozenset[Partition] | None = None
    session_ms: int | None = None
    rebalance_ms: int | None = None
    claimed_in: int | None = None
    regex: str | None = None
    assignor: str | None = None


class ToldTopic(NamedTuple):
    """What sources tell of a topic id. counts : how many partitions it had, at any time"""

    name: str
    counts: frozenset[int]


def is_first_epoch(epoch: int, metadata_hash: object) -> bool:
    """Is it that of a new group? Since Kafka 4.1, which also writes the hash of the topics, groups begin with 2."""
    return epoch == 1 or (epoch == 2 and bool(metadata_hash))


class TopicsTold(dict[str, ToldTopic]):
    """Topic id → what is told of it."""

    def add(self, topic_id: str, name: str, *counts: int) -> None:
        """Take in what a source tells."""
        known = self.get(topic_id)
        self[topic_id] = ToldTopic(name, frozenset(counts) | (known.counts if known else frozenset()))


class Computed(NamedTuple):
    """What a coordinator computed a target assignment from, and the target, by topic ids.

    members : in the order in which it met them; joining : those of them that the same heartbeat added
    owned, target : member id → its target before, and now
    earlier : the target of the epoch before, which shows whether all members are known; None: they are
    matches : regular expression → the topics that it matches; topics : those that the group's own records tell at that time
    """

    members: dict[str, StoredMember]
    joining: frozenset[str]
    owned: dict[str, frozenset[Partition]]
    target: dict[str, frozenset[Partition]]
    earlier: dict[str, frozenset[Partition]] | None
    matches: dict[str, tuple[str, ...]]
    topics: TopicsTold
