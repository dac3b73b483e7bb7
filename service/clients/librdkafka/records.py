"""The records of librdkafka's cooperative-sticky: which partitions have moved from whom to whom.

Where they differ from Kafka's (``classic.sticky.movements``), they do so by mistakes that decide the answer, and are kept:

* A partition that has moved back to its first owner leaves its list, but keeps its record. When it is to move again, an assertion
  about that record ends the process.
* Of the partitions that went the opposite way the first is to move back in place of the one chosen. It is taken out of its list
  while it is still read through the list's first element: the next one of the list moves in its stead. If there is none, freed
  memory is read.
* A list is found by the pair of members in the record that created it. If that record is replaced while the list has others, the
  pair is freed, and the next search for it reads freed memory.

Source: PartitionMovements_t in rdkafka_sticky_assignor.c (librdkafka 1.9.2 to 2.15.1).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from service.core.model import NONE

ASSERTION: Final = 1
FREED: Final = 2
NULL: Final = 3
ENDLESS: Final = 4
"""How the library ends without an answer: by an assertion; by reading freed memory, or a null pointer; never."""

Record = list[int]
"""A member that a partition has moved from, and the one that it has moved to: an object of its own, which can be freed."""


class Ends(Exception):
    """The library ends its own process, or never returns.

    status : ASSERTION, FREED, NULL or ENDLESS
    partition : at which it does, or NONE
    """

    def __init__(self, status: int, partition: int = NONE) -> None:
        super().__init__(status)
        self.status, self.partition = status, partition


@dataclass(eq=False)
class MovedPartitions:
    """A list of partitions, in order, that have moved from one member to another.

    creator, record : the partition whose record created the list, and that record
    """

    creator: int
    record: Record
    partitions: dict[int, None] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """The first of the list."""
        return next(iter(self.partitions))


class MoveRecords:
    """All records, and the lists of each topic by the pair of members. Its methods raise Ends."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._lists: defaultdict[int, dict[tuple[int, int], MovedPartitions]] = defaultdict(dict)

    def chosen(self, topic: int, partition: int, owner: int, to: int) -> tuple[int, MovedPartitions | None]:
        """What is to move when ``partition`` is to go from ``owner`` to ``to``, and the list through which it is read, if any.

        Reproduces getTheActualPartitionToBeMoved.
        """
        if not self._lists[topic]:
            return partition, None
        if partition in self._records and self._records[partition][1] != owner:
            raise Ends(ASSERTION)
        opposite = self._find(topic, to, owner)
        return (partition, None) if opposite is None else (opposite.first, opposite)

    def record(self, topic: int, partition: int, through: MovedPartitions | None, owner: int, to: int) -> int:
        """Record that the partition goes from ``owner`` to ``to`` (movePartition); the partition that is read afterwards.

        through : the list through which the partition is read
        """
        if partition not in self._records:
            self._add(topic, partition, owner, to)
            return partition
        if not self._lists[topic]:
            raise Ends(NULL)
        source, target = self._records[partition]
        moved = self._find(topic, source, target)
        if moved is None:
            raise Ends(ASSERTION)
        if partition in moved.partitions:
            del moved.partitions[partition]
            if not moved.partitions:
                del self._lists[topic][source, target]
                if through is moved:
                    raise Ends(FREED)
        if target != owner:
            raise Ends(ASSERTION)
        if source != to:
            self._add(topic, partition, source, to)
        return partition if through is None else through.first

    def _find(self, topic: int, source: int, target: int) -> MovedPartitions | None:
        moved = self._lists[topic].get((source, target))
        if moved is not None and self._records[moved.creator] is not moved.record:
            raise Ends(FREED)
        return moved

    def _add(self, topic: int, partition: int, source: int, target: int) -> None:
        """The partition's record, which replaces the one that it may have, and its place at the end of the list."""
        self._records[partition] = [source, target]
        moved = self._find(topic, source, target)
        if moved is None:
            moved = self._lists[topic][source, target] = MovedPartitions(partition, self._records[partition])
        moved.partitions[partition] = None
