"""The groups that assignors are measured on, as arrays for us and as JSON for the JVM."""

from __future__ import annotations

import base64
import hashlib
import random
import sys
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.model import NONE, Group, Ragged, Topics

if TYPE_CHECKING:
    from service.core.model import Int32s

SCENARIOS: Final = ("fresh", "leaves", "joins", "added")
"""No partition is owned; then the fresh assignment is owned, and one member leaves, one joins, or each topic grows by a tenth."""


@dataclass(frozen=True)
class Shape:
    """A group before a scenario.

    partitions : per topic
    heterogeneous : each member leaves out every tenth topic, neighbours different ones; otherwise all subscribe to all topics
    """

    members: int
    topics: int
    partitions: int
    heterogeneous: bool = False

    def __str__(self) -> str:
        return f"{self.members}x{self.topics * self.partitions}{'-heterogeneous' if self.heterogeneous else ''}"


def numbers_of(shape: Shape, scenario: str) -> list[int]:
    """The numbers of the members, which determine ids and subscriptions. The middle one leaves; a new one is last."""
    numbers = list(range(shape.members + (scenario == "joins")))
    if scenario == "leaves":
        del numbers[shape.members // 2]
    return numbers


def member_id(number: int) -> str:
    """An id like those of Kafka's consumers: ``consumer-orders-17-`` and a random UUID."""
    made = uuid.UUID(int=random.Random(number).getrandbits(128), version=4)
    return f"consumer-orders-{number + 1}-{made}"


def topic_names(shape: Shape) -> tuple[str, ...]:
    """``topic-0000`` … in order."""
    return tuple(f"topic-{i:04d}" for i in range(shape.topics))


def topic_ids(shape: Shape) -> tuple[str, ...]:
    """A base64 Uuid for each topic, pseudo-random."""
    return tuple(base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()).decode()[:22] for name in topic_names(shape))


def partitions_of_each(shape: Shape, scenario: str) -> int:
    """Partitions per topic."""
    return shape.partitions + (shape.partitions + 9) // 10 if scenario == "added" else shape.partitions


def subscription(shape: Shape, number: int) -> Int32s:
    """int32[...], the topics of a member."""
    topics = np.arange(shape.topics, dtype=np.int32)
    return topics[(topics + number) % 10 != 0] if shape.heterogeneous else topics


def group_of(shape: Shape, scenario: str = "fresh", before: Ragged | None = None) -> Group:
    """The group as arrays.

    before : member → partitions of the fresh group that it owns
    """
    numbers = numbers_of(shape, scenario)
    size = partitions_of_each(shape, scenario)
    subscribed = [subscription(shape, number) for number in numbers]
    owned = []
    for number in numbers:
        had = np.sort(before.row(number)) if before is not None and number < shape.members else np.empty(0, np.int32)
        owned.append(had // shape.partitions * size + had % shape.partitions)
    owns = np.array([before is not None and number < shape.members for number in numbers])
    return Group(
        topics=Topics(
            names=topic_names(shape),
            first=np.arange(0, (shape.topics + 1) * size, size, dtype=np.int32),
            racks=None,
            ids=topic_ids(shape),
        ),
        member_ids=tuple(map(member_id, numbers)),
        instance_ids=(None,) * len(numbers),
        rack_ids=(),
        racks=np.full(len(numbers), NONE, np.int32),
        subscriptions=_ragged(subscribed),
        generations=np.where(owns, 1, -1).astype(np.int32),
        owned=_ragged(owned),
        unknown_topic_names=(),
        unknown_partitions=np.empty((0, 2), np.int32),
    )


def body_of(shape: Shape, scenario: str = "fresh") -> dict[str, Any]:
    """The same group as ``topics`` and ``members`` of a request, without owned partitions."""
    size = partitions_of_each(shape, scenario)
    names = topic_names(shape)
    members: list[dict[str, Any]] = []
    for number in numbers_of(shape, scenario):
        members.append({"member_id": member_id(number)})
        if shape.heterogeneous:
            members[-1]["topic_names"] = [names[topic] for topic in subscription(shape, number)]
    topics = zip(names, topic_ids(shape), strict=True)
    return {
        "topics": [{"topic_name": name, "topic_id": topic_id, "partitions_count": size} for name, topic_id in topics],
        "members": members,
    }


def fingerprint(assignment: Ragged) -> int:
    """A sum of hashes over all pairs of member and partition; TimeAssignors.java computes the same."""
    pairs = assignment.row_of_each_value().astype(np.uint64) << np.uint64(32)
    pairs = (pairs + assignment.values.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return int(((pairs ^ (pairs >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)).sum())


def bytes_of(group: Group) -> int:
    """Memory of the group: its arrays and names."""
    arrays = (group.topics.first, group.racks, group.generations, group.unknown_partitions)
    rows = (group.subscriptions, group.owned)
    names = (*group.member_ids, *group.topics.names, *(topic_id or "" for topic_id in group.topics.ids))
    return (
        sum(array.nbytes for array in arrays)
        + sum(part.nbytes for one in rows for part in (one.offsets, one.values))
        + sum(map(sys.getsizeof, names))
    )


def _ragged(rows: list[Int32s]) -> Ragged:
    offsets = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int32)
    return Ragged(offsets, np.concatenate([*rows, np.empty(0, np.int32)]).astype(np.int32))
