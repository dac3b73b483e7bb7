"""The members of a timeline: each start of a client is one *incarnation*, with a number that stands for it in arrays."""

import hashlib
import zlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from service.core.assignors import Assignor
from service.core.jvm.hashing import string_hash_code
from service.core.model import Bools, Int32s, Int64s
from service.core.timelines.model import NEVER


@dataclass
class Member:
    """An incarnation of a member: what never changes of it.

    number : its index in ``Members``; name : the member_id that the request gave its first incarnation
    assignors : its ``partition.assignment.strategy``; protocol : its ``group.protocol``
    """

    number: int
    name: str
    member_id: str
    instance_id: str | None
    rack_id: str | None
    assignors: tuple[Assignor, ...]
    protocol: str
    started_ms: int

    @property
    def is_static(self) -> bool:
        """Has it a ``group.instance.id``?"""
        return self.instance_id is not None


PHASES: Final = 16
"""Members poll at as many times of an interval, and no more, so that those of a large group can be computed together."""


def distinct(codes: Int64s) -> list[int]:
    """The distinct values, ascending. Most often there is one."""
    if len(codes) and (codes == codes[0]).all():
        return [int(codes[0])]
    values: list[int] = np.unique(codes).tolist()
    return values


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


class Members:
    """All incarnations, and as columns by number what changes or is computed for many of them at once.

    beat : int64, a time from which it heartbeats at every interval
    joins : int64, when its JoinGroup of this rebalance arrives; NEVER if it will not
    syncs : int64, likewise its SyncGroup
    stalled_until : int64, until when it does not poll
    died : int64, when its process ended; NEVER while it runs
    phase : int64, when it polls, in PHASES parts of the interval
    metadata_ms : int64, its last request for metadata of its own: at its start, for a new subscription, or as the last was old
    topics : int64, what it subscribes to now, as an index of ``subscriptions``; joined : what it said when it last joined
    generation : int64, of its last assignment
    metadata_version : int64, a version of the topology: who is assigned a partition that it does not know asks for metadata
    hash_code : int64, of its id; assignors : int64, its assignors, as an index of ``assignor_lists``
    eager : bool, does it support an eager assignor? is_new : bool, waits it for its first generation?
    away : bool, is it a static member that has left for a while? classic : bool, is its protocol the classic one?
    """

    TIMES = ("beat", "joins", "syncs", "stalled_until", "died", "phase", "metadata_ms")
    NUMBERS = ("topics", "joined", "generation", "metadata_version", "hash_code", "assignors")
    FLAGS = ("eager", "is_new", "away", "classic")

    def __init__(self) -> None:
        self.all: list[Member] = []
        self.ids: list[str] = []
        self.instance_ids: list[str | None] = []
        self.racks: list[str | None] = []
        self.derived: list[tuple[str, str]] = []
        self.subscriptions: list[tuple[int, ...]] = []
        self.assignor_lists: list[tuple[Assignor, ...]] = []
        self.beat: Int64s = np.zeros(0, np.int64)
        self.joins: Int64s = np.zeros(0, np.int64)
        self.syncs: Int64s = np.zeros(0, np.int64)
        self.stalled_until: Int64s = np.zeros(0, np.int64)
        self.died: Int64s = np.zeros(0, np.int64)
        self.phase: Int64s = np.zeros(0, np.int64)
        self.metadata_ms: Int64s = np.zeros(0, np.int64)
        self.topics: Int64s = np.zeros(0, np.int64)
        self.joined: Int64s = np.zeros(0, np.int64)
        self.generation: Int64s = np.zeros(0, np.int64)
        self.metadata_version: Int64s = np.zeros(0, np.int64)
        self.hash_code: Int64s = np.zeros(0, np.int64)
        self.assignors: Int64s = np.zeros(0, np.int64)
        self.eager: Bools = np.zeros(0, np.bool_)
        self.is_new: Bools = np.zeros(0, np.bool_)
        self.away: Bools = np.zeros(0, np.bool_)
        self.classic: Bools = np.zeros(0, np.bool_)
        self._subscription_index: dict[tuple[int, ...], int] = {}
        self._starts: dict[str, int] = {}
        self._taken: set[str] = set()

    def start(self, now_ms: int, member: Member, topics: tuple[int, ...]) -> Member:
        """Enter an incarnation, whose ``number`` this sets."""
        number = member.number = len(self.all)
        if number == len(self.beat):
            for column in (*self.TIMES, *self.NUMBERS, *self.FLAGS):
                old = getattr(self, column)
                setattr(self, column, np.concatenate([old, np.zeros(max(64, len(old)), old.dtype)]))
        self.all.append(member)
        self.ids.append(member.member_id)
        self.instance_ids.append(member.instance_id)
        self.racks.append(member.rack_id)
        self._taken.add(member.member_id)
        self.beat[number], self.metadata_ms[number], self.joins[number], self.syncs[number] = now_ms, now_ms, NEVER, NEVER
        self.stalled_until[number], self.died[number] = 0, NEVER
        self.phase[number] = zlib.crc32(member.name.encode("utf-8", "surrogatepass")) % PHASES
        self.topics[number] = self.joined[number] = self.subscription(topics)
        self.generation[number], self.metadata_version[number], self.is_new[number] = -1, 0, True
        self.classic[number] = member.protocol == "classic"
        self.hash_code[number] = string_hash_code(member.member_id)
        if member.assignors not in self.assignor_lists:
            self.assignor_lists.append(member.assignors)
        self.assignors[number] = self.assignor_lists.index(member.assignors)
        self.eager[number] = any(assignor.name != "cooperative-sticky" for assignor in member.assignors)
        return member

    def subscription(self, topics: tuple[int, ...]) -> int:
        """The index of a subscription. topics : as ``World.names`` indices"""
        index = self._subscription_index.setdefault(topics, len(self.subscriptions))
        if index == len(self.subscriptions):
            self.subscriptions.append(topics)
        return index

    def topics_of(self, number: int) -> tuple[int, ...]:
        """What a member subscribes to now."""
        return self.subscriptions[int(self.topics[number])]

    def joined_topics(self, numbers: Int32s) -> list[int]:
        """The topics that these members said they subscribe to, ascending."""
        return sorted({topic for code in distinct(self.joined[numbers]) for topic in self.subscriptions[code]})

    def next_id(self, name: str, new_id: str | None, instance_id: str | None) -> str:
        """The id of a member's next incarnation: as given, or derived in the form in which a broker draws them.

        Reproduces ClassicGroup.generateMemberId (Apache Kafka 4.3.1), with an RFC 9562 UUID of version 3 of the member's name and
        the number of its start in the place of a random one.
        """
        if new_id is not None:
            return new_id
        while True:
            self._starts[name] = self._starts.get(name, 0) + 1
            text = f"{name}\0{self._starts[name]}".encode("utf-8", "surrogatepass")
            drawn = UUID(bytes=hashlib.md5(text, usedforsecurity=False).digest(), version=3)
            member_id = f"{instance_id or name}-{drawn}"
            if member_id not in self._taken:
                self.derived.append((member_id, name))
                return member_id

    def is_taken(self, member_id: str) -> bool:
        """Has any incarnation this id?"""
        return member_id in self._taken
