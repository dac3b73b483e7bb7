"""The members of a timeline: each start of a client is one *incarnation*, with a number that stands for it in arrays."""

import hashlib
import zlib
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from service.core.assignors import Assignor
from service.core.jvm.hashing import string_hash_code
from service.core.model import Bools, Int64s
from service.core.timelines.model import NEVER


@dataclass
class Member:
    """An incarnation of a member.

    number : its index in ``Members``; name : the member_id that the request gave its first incarnation
    topics : what it subscribes to now, as World.names indices; joined_topics : what it said when it last joined
    assignors : its ``partition.assignment.strategy``; protocol : its ``group.protocol``
    seen_version : a version of the topology that it has seen: who is assigned a partition that it does not know asks for metadata
    """

    number: int
    name: str
    member_id: str
    instance_id: str | None
    rack_id: str | None
    topics: tuple[int, ...]
    assignors: tuple[Assignor, ...]
    protocol: str
    started_ms: int
    hash_code: int
    joined_topics: tuple[int, ...] = ()
    generation: int = -1
    is_new: bool = True
    seen_version: int = 0

    @property
    def is_static(self) -> bool:
        """Has it a ``group.instance.id``?"""
        return self.instance_id is not None


class Members:
    """All incarnations, and what is computed for many of them at once, as columns by number.

    beat : int64, a time from which it heartbeats at every interval
    joins : int64, when its JoinGroup of this rebalance arrives; NEVER if it will not
    syncs : int64, likewise its SyncGroup
    stalled_until : int64, until when it does not poll
    died : int64, when its process ended; NEVER while it runs
    phase : int64, its first poll
    """

    COLUMNS = ("beat", "joins", "syncs", "stalled_until", "died", "phase")

    def __init__(self) -> None:
        self.all: list[Member] = []
        self.derived: list[tuple[str, str]] = []
        self.beat: Int64s = np.zeros(0, np.int64)
        self.joins: Int64s = np.zeros(0, np.int64)
        self.syncs: Int64s = np.zeros(0, np.int64)
        self.stalled_until: Int64s = np.zeros(0, np.int64)
        self.died: Int64s = np.zeros(0, np.int64)
        self.phase: Int64s = np.zeros(0, np.int64)
        self.eager: Bools = np.zeros(0, np.bool_)
        self._starts: dict[str, int] = {}
        self._ids: set[str] = set()

    def start(self, now_ms: int, member: Member) -> Member:
        """Enter an incarnation, whose ``number`` this sets."""
        member.number = len(self.all)
        if member.number == len(self.beat):
            for column in (*self.COLUMNS, "eager"):
                old = getattr(self, column)
                setattr(self, column, np.concatenate([old, np.zeros(max(64, len(old)), old.dtype)]))
        self.all.append(member)
        self._ids.add(member.member_id)
        number = member.number
        self.beat[number], self.joins[number], self.syncs[number] = now_ms, NEVER, NEVER
        self.stalled_until[number], self.died[number] = 0, NEVER
        self.phase[number] = zlib.crc32(member.name.encode("utf-8", "surrogatepass"))
        self.eager[number] = any(assignor.name != "cooperative-sticky" for assignor in member.assignors)
        return member

    def next_id(self, name: str, given: str | None, instance_id: str | None) -> str:
        """The id of a member's next incarnation: as given, or derived in the form in which a broker draws them.

        Reproduces ClassicGroup.generateMemberId (Apache Kafka 4.3.1), with an RFC 9562 UUID of version 3 of the member's name and
        the number of its start in the place of a random one.
        """
        if given is not None:
            return given
        while True:
            self._starts[name] = self._starts.get(name, 0) + 1
            text = f"{name}\0{self._starts[name]}".encode("utf-8", "surrogatepass")
            drawn = UUID(bytes=hashlib.md5(text, usedforsecurity=False).digest(), version=3)
            member_id = f"{instance_id or name}-{drawn}"
            if member_id not in self._ids:
                self.derived.append((member_id, name))
                return member_id

    def is_taken(self, member_id: str) -> bool:
        """Has any incarnation this id?"""
        return member_id in self._ids


def incarnation(**fields: object) -> Member:
    """A Member whose number is not known yet."""
    return Member(number=-1, hash_code=string_hash_code(str(fields["member_id"])), **fields)  # type: ignore[arg-type]
