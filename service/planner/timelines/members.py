"""The members of a timeline: each start of a client is one *incarnation*, with a number that stands for it in arrays."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.assignors import Assignor
from service.core.jvm.hashing import string_hash_code
from service.core.model import NONE, Bools, Int32s, Int64s, distinct
from service.core.ragged import grouped
from service.planner.member_ids import IdDraw, further_instance_ids
from service.planner.timelines.ledger import Ledger, Wait
from service.planner.timelines.model import NEVER, NewMember, Timing


@dataclass
class Member:
    """An incarnation of a member: what never changes of it.

    name : the member_id that its first incarnation had, or what the request calls it
    assignors : its ``partition.assignment.strategy``; protocol : its ``group.protocol``
    number : its index in ``Members``, which numbers it when it starts
    """

    name: str
    member_id: str
    instance_id: str | None
    rack_id: str | None
    assignors: tuple[Assignor, ...]
    protocol: str
    number: int = NONE
    started_ms: int = 0

    @property
    def is_static(self) -> bool:
        """Has it a ``group.instance.id``?"""
        return self.instance_id is not None


PHASES: Final = 16
"""Members poll at as many times of an interval, and no more, so that those of a large group can be computed together."""


class Present(dict[int, Member]):
    """The members that a coordinator has, by number, in the order in which it got them."""

    _numbers: Int32s | None = None

    def __init__(self) -> None:
        super().__init__()
        self._static: dict[str, Member] = {}

    def __setitem__(self, number: int, member: Member) -> None:
        super().__setitem__(number, member)
        self._numbers = None
        if member.instance_id is not None:
            self._static[member.instance_id] = member

    def __delitem__(self, number: int) -> None:
        super().__delitem__(number)
        self._numbers = None

    def numbers(self) -> Int32s:
        """int32[...], their numbers."""
        if self._numbers is None:
            self._numbers = np.fromiter(self, np.int32, len(self))
        return self._numbers

    def with_instance(self, instance_id: str | None) -> Member | None:
        """The member with this ``group.instance.id``."""
        member = None if instance_id is None else self._static.get(instance_id)
        return member if member is not None and member.number in self else None


class MemberColumns(NamedTuple):
    """What changes of incarnations, or is computed for many of them at once, by number.

    beat : a time from which it heartbeats at every interval
    joins : when its JoinGroup of this rebalance arrives; NEVER if it will not. syncs : likewise its SyncGroup
    stalled_until : until when it does not poll; died : when its process ended; NEVER while it runs
    phase : when it polls, in PHASES parts of the interval
    metadata_ms : its last request for metadata of its own: at its start, for a new subscription, or as the last was old
    topics : what it subscribes to now, as an index of ``Members.subscriptions``; joined : what it said when it last joined
    generation : of its last assignment
    metadata_version : a version of the topology: who is assigned a partition that it does not know asks for metadata
    hash_code : of its id; assignors : its assignors, as an index of ``Members.assignor_lists``
    eager : does it support an eager assignor? is_new : does it wait for its first generation?
    away : is it a static member that has left for a while? classic : is its protocol the classic one?
    """

    beat: Int64s
    joins: Int64s
    syncs: Int64s
    stalled_until: Int64s
    died: Int64s
    phase: Int64s
    metadata_ms: Int64s
    topics: Int64s
    joined: Int64s
    generation: Int64s
    metadata_version: Int64s
    hash_code: Int64s
    assignors: Int64s
    eager: Bools
    is_new: Bools
    away: Bools
    classic: Bools


class Members:
    """All incarnations, by number, and their columns, which are longer: the last row, which NONE is an index of, stays 0."""

    def __init__(self, draw: IdDraw | None = None) -> None:
        self.draw = draw or IdDraw()
        self.all: list[Member] = []
        self.ids: list[str] = []
        self.instance_ids: list[str | None] = []
        self.columns = MemberColumns(*(np.zeros(64, kind) for kind in (*[np.int64] * 13, *[np.bool_] * 4)))
        self.derived: list[tuple[str, str]] = []
        self.subscriptions: list[tuple[int, ...]] = []
        self.assignor_lists: list[tuple[Assignor, ...]] = []
        self._subscription_index: dict[tuple[int, ...], int] = {}
        self._joined_topics: tuple[list[int], list[int]] = ([], [])
        self._taken: set[str] = set()

    def start(self, now_ms: int, member: Member, topics: tuple[int, ...]) -> None:
        """Enter an incarnation, which this numbers."""
        number = member.number = len(self.all)
        member.started_ms = now_ms
        if number + 1 == len(self.columns.beat):
            self.columns = MemberColumns(*(np.concatenate([column, np.zeros_like(column)]) for column in self.columns))
        self.all.append(member)
        self.ids.append(member.member_id)
        self.instance_ids.append(member.instance_id)
        self._taken.add(member.member_id)
        columns, subscription = self.columns, self.subscription(topics)
        if member.assignors not in self.assignor_lists:
            self.assignor_lists.append(member.assignors)
        columns.beat[number] = columns.metadata_ms[number] = now_ms
        columns.joins[number] = columns.syncs[number] = columns.died[number] = NEVER
        columns.phase[number] = zlib.crc32(member.name.encode("utf-8", "surrogatepass")) % PHASES
        columns.topics[number] = columns.joined[number] = subscription
        columns.generation[number] = -1
        columns.hash_code[number] = string_hash_code(member.member_id)
        columns.assignors[number] = self.assignor_lists.index(member.assignors)
        columns.eager[number] = not all(assignor.is_cooperative for assignor in member.assignors)
        columns.is_new[number] = True
        columns.classic[number] = member.protocol == "classic"

    def subscription(self, topics: tuple[int, ...]) -> int:
        """The index of a subscription. topics : as ``World.names`` indices"""
        index = self._subscription_index.setdefault(topics, len(self.subscriptions))
        if index == len(self.subscriptions):
            self.subscriptions.append(topics)
        return index

    def topics_of(self, number: int) -> tuple[int, ...]:
        """What a member subscribes to now."""
        return self.subscriptions[int(self.columns.topics[number])]

    def joined_topics(self, numbers: Int32s) -> list[int]:
        """The topics that these members said they subscribe to, ascending; the last list again for the same subscriptions."""
        codes: list[int] = distinct(self.columns.joined[numbers]).tolist()
        if codes != self._joined_topics[0]:
            self._joined_topics = codes, sorted({topic for code in codes for topic in self.subscriptions[code]})
        return self._joined_topics[1]

    def successor(self, member: Member, member_id: str | None, **changes: Any) -> Member:
        """A member's next incarnation, not started yet. member_id : drawn if None; changes : of its other fields"""
        again = replace(member, **changes)
        if member_id is None:
            migrates = member.protocol == "classic" != again.protocol
            member_id = self.draw.again(member.name, member.member_id, member.instance_id, self._taken, migrates=migrates)
            self.derived.append((member_id, member.name))
        return replace(again, member_id=member_id)

    def further(self, present: list[Member], count: int, protocol: str, name: str | None = None) -> list[NewMember]:
        """Members that come to these and subscribe to nothing yet, as the broker or they themselves name them.

        They are static if the last one is, and on the members' racks in turn. name : what the request calls the only one
        """
        ids = self.draw.further([one.member_id for one in present], count, protocol, self._taken)
        instance_ids: list[str | None] = [None] * count
        if present and present[-1].instance_id is not None:
            instance_ids[:] = further_instance_ids([one.instance_id for one in present if one.instance_id is not None], ids)
            ids = [self.draw.again(one or "", ids[i], one, self._taken) for i, one in enumerate(instance_ids)]
        racks = [present[i % len(present)].rack_id if present else None for i in range(count)]
        self.derived += [(member_id, name or member_id) for member_id in ids]
        return [NewMember(*each, (), name) for each in zip(ids, instance_ids, racks, strict=True)]

    def is_taken(self, member_id: str) -> bool:
        """Has any incarnation this id?"""
        return member_id in self._taken


@dataclass(frozen=True)
class Paces:
    """The heartbeats and polls of members."""

    timing: Timing
    members: Members
    ledger: Ledger

    def next_beats(self, numbers: Int32s, now_ms: int) -> Int64s:
        """int64[...], the next heartbeat of each member after now: Heartbeat.timeToNextHeartbeat."""
        every, base = self.timing.heartbeat_interval_ms, self.members.columns.beat[numbers]
        return base + ((now_ms - base) // every + 1) * every

    def coming_beats(self, numbers: Int32s, now_ms: int) -> Int64s:
        """int64[...], the next heartbeat of each member, one that is due now included, if it has not just sent another."""
        base = self.members.columns.beat[numbers]
        due = (base < now_ms) & ((now_ms - base) % self.timing.heartbeat_interval_ms == 0)
        return np.where(due, now_ms, self.next_beats(numbers, now_ms))

    def next_polls(self, numbers: Int32s, from_ms: Int64s) -> Int64s:
        """int64[...], the first poll of each member then or later. from_ms : int64[...]"""
        polls = np.maximum(from_ms, self.members.columns.stalled_until[numbers])
        every = self.timing.poll_interval_ms
        if every:
            polls += (self.members.columns.phase[numbers] * every // PHASES - polls) % every
        return polls

    def next_poll(self, number: int, from_ms: int) -> int:
        """The same for one member."""
        polls = max(from_ms, int(self.members.columns.stalled_until[number]))
        every = self.timing.poll_interval_ms
        return polls + (int(self.members.columns.phase[number]) * every // PHASES - polls) % every if every else polls

    def busy(self, numbers: Int32s) -> Bools:
        """bool[...], which of these members read a partition, so that their poll returns at once; none if polls take no time."""
        if not self.timing.poll_interval_ms:
            return np.zeros(len(numbers), np.bool_)
        reads = np.zeros(len(self.members.all) + 1, np.bool_)
        reads[self.ledger.reader] = True  # NONE is the last
        return reads[numbers]

    def last_beat(self, number: int, now_ms: int) -> int:
        """The last heartbeat of a member until now."""
        base, every = int(self.members.columns.beat[number]), self.timing.heartbeat_interval_ms
        return base + max(0, now_ms - base) // every * every


# In which polls the members of a classic group go through a rebalance.
#
# A poll of a member that reads nothing waits for responses. One that has records returns at once, and a response is handled in
# the next: ClassicKafkaConsumer.pollForFetches; ConsumerCoordinator.poll, which does not wait for the group.


def stop_eager_readers(paces: Paces, numbers: Int32s, now_ms: int) -> None:
    """Eager members have stopped reading when they joined: ConsumerCoordinator.onJoinPrepare."""
    columns, ledger = paces.members.columns, paces.ledger
    eager = columns.eager[numbers]
    if not eager.any():
        return
    stops = np.zeros(len(columns.beat) + 1, np.bool_)
    stops[numbers] = eager & (columns.joins[numbers] <= now_ms)
    read = np.flatnonzero(stops[ledger.reader]).astype(np.int32)
    ledger.stop(read, columns.joins[ledger.reader[read]])


def syncs(paces: Paces, numbers: Int32s, now_ms: int) -> Int64s:
    """int64[...], in which poll each of these members gets the response to its JoinGroup, and sends SyncGroup."""
    busy, columns = paces.busy(numbers), paces.members.columns
    in_this_poll = ~busy & (columns.joins[numbers] == now_ms) & (columns.stalled_until[numbers] <= now_ms)
    return np.where(in_this_poll, now_ms, paces.next_polls(numbers, now_ms + busy.astype(np.int64)))


def receipts(paces: Paces, numbers: Int32s, now_ms: int) -> Int64s:
    """int64[...], in which poll each gets its assignment, now that the leader's SyncGroup has come; NEVER: in none.

    Reproduces ConsumerCoordinator.onJoinComplete. The heartbeat thread receives the response to SyncGroup, a poll handles it.
    """
    sent, busy = paces.members.columns.syncs[numbers], paces.busy(numbers)
    polls = paces.next_polls(numbers, np.maximum(sent, now_ms) + busy)
    return np.where((sent < NEVER) & (busy | (sent < now_ms)), polls, sent)


def batches(owner: Int32s, reader: Int32s, starts: Int64s, late: Int32s) -> Iterator[tuple[int, Int32s, Int32s]]:
    """What late members gain and lose, together for those that poll at the same time; times at which none does are left out.

    owner, reader : int32[partitions], the number of the member that is assigned each, and of the one that reads it, or NONE
    starts : int64[members], when each polls; late : the numbers of the late ones

    Yields (time, partitions gained, partitions lost).
    """
    if not len(late):
        return
    changing = np.flatnonzero(owner != reader).astype(np.int32)
    if len(changing):
        times, batch_of = distinct(starts[late]), np.full(len(starts) + 1, NONE, np.int32)
        batch_of[late] = np.searchsorted(times, starts[late])
        gains, loses = (grouped(batch_of[numbers[changing]], len(times)) for numbers in (owner, reader))
        for i in np.flatnonzero(gains.lengths() + loses.lengths()).tolist():
            yield int(times[i]), changing[gains.row(i)], changing[loses.row(i)]


def polls_wait(paces: Paces, first_rejoin: int) -> Wait | None:
    """How long partitions wait for polls: of the last member to rejoin, of the leader, and of the member that gets them."""
    polls = paces.timing.poll_interval_ms
    return Wait(first_rejoin, 3 * polls, is_middle=False) if polls else None
