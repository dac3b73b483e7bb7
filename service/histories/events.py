"""The form of all events, whichever source tells them, and of the rebalances that they make up."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, NamedTuple

from service.histories.causes import Why
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
    CLOSES = "member_closes"
    DELETED = "group_deleted"
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


@dataclass
class Cause:
    """Why a rebalance came. members : whose doing it is, if it is known; said : their own words; event : what tells it

    unread_ms : for how long a member had not polled when the rebalance began, as its own log tells
    """

    kind: Why
    members: tuple[str, ...]
    event: ToldEvent
    said: str = ""
    unread_ms: int | None = None


@dataclass(frozen=True)
class Roster:
    """The members of a group: instance id or member id → member id, as far as they are known.

    count : how many there are; None: not told. complete : are these all?
    """

    members: dict[str, str]
    count: int | None
    complete: bool


@dataclass
class PastRebalance:
    """A generation of a classic group, or an epoch of a consumer group.

    life : how often the group had begun to count again; number : the generation or epoch
    began_ms, joined_ms, ended_ms : when the coordinator asked the members to rejoin (or raised the epoch), had them all (or had
        computed the target), and had the assignment (or all members had it); None: not told
    before, after : the members
    assigned, records : member id → its partitions, all that a record says of it; None: not told
    by_id : are its topics told by their ids alone?
    computed : what the coordinator computed the target from, or why no record tells it
    metadata_hash : of the topics of a consumer group; None: not told
    events : what tells of it
    synced, asked : when members say that they had their assignment, and why they say that they rejoined
    """

    life: int
    number: int
    protocol: str
    began_ms: int | None = None
    joined_ms: int | None = None
    ended_ms: int | None = None
    causes: list[Cause] = field(default_factory=list)
    before: Roster | None = None
    after: Roster | None = None
    assignor: str | None = None
    assigned: dict[str, frozenset[Partition]] | None = None
    records: dict[str, StoredMember] | None = None
    by_id: bool = False
    computed: Computed | str | None = None
    metadata_hash: str | None = None
    events: list[ToldEvent] = field(default_factory=list)
    synced: dict[str, int | None] = field(default_factory=dict)
    asked: list[tuple[str, ToldEvent]] = field(default_factory=list)

    @property
    def at_ms(self) -> int | None:
        """The first time that is known of it."""
        return next((at for at in (self.began_ms, self.joined_ms, self.ended_ms) if at is not None), None)


def gaps(rebalances: list[PastRebalance]) -> Iterator[tuple[PastRebalance, PastRebalance]]:
    """Neighbours between whose numbers others are missing."""
    for before, after in pairwise(rebalances):
        if before.life == after.life and after.number > before.number + 1:
            yield before, after


_DRAWN: Final = re.compile(r"^(?P<name>.+)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
"""The id that a classic group's coordinator gives: the client id, or the instance id of a static member, and a UUID."""


class MemberNames:
    """Member id → instance id or client id, unless two members of that name were in the group at once: then its own id."""

    def __init__(self, rebalances: Iterable[PastRebalance], members: Mapping[str, StoredMember]) -> None:
        self._members = members
        self._names: dict[str, str] = {}
        self._shared: set[str] = set()
        for rebalance in rebalances:
            present = list(filter(None, rebalance.after.members.values())) if rebalance.after is not None else []
            counted = Counter(map(self._short, present))
            self._shared |= {name for name, times in counted.items() if times > 1} if len(counted) < len(present) else set()

    def __call__(self, member_id: str) -> str:
        """The name of a member."""
        name = self._short(member_id)
        return member_id if name in self._shared else name

    def _short(self, member_id: str) -> str:
        if member_id not in self._names:
            known, drawn = self._members.get(member_id), _DRAWN.match(member_id)
            given = None if known is None else known.instance_id or known.client_id
            self._names[member_id] = given or (drawn["name"] if drawn else member_id)
        return self._names[member_id]
