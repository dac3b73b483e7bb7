"""How librdkafka's cooperative-sticky gives free partitions away and evens the group out: the steps of ``cooperative_sticky``.

librdkafka asks before every partition whether the group is balanced, and ends the pass if so. In a balanced group no member has
two fewer than the owner of a partition that he could have; so that changes nothing unless partitions may go to other members,
those that claim them under an older generation. Only then (``watched``) the question is put, and again after a move. Up to 2.6.0
it is put always, for its answer was wrong: the index of the outer loop served the inner one too, so that members were passed
over, or looked at for ever.

Racks count for free partitions, and for what members may keep. They are also asked while the group is evened out, to no effect:
the partition goes to the member with the fewest on whatever rack.

Source: maybeAssign, performReassignments, isBalanced in rdkafka_sticky_assignor.c (librdkafka 1.9.2, 2.2.0, 2.12.1).
Tested against tests/reference/clients/librdkafka_sticky.py, which follows the library's maps.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from service.clients.names import Standings, byte_ranks, circles_of
from service.core.assignors.classic.sticky.claims import from_the_fullest
from service.core.budget import looking
from service.core.model import NONE, Group, Int32s, Ragged

# What the members of a group claim, as librdkafka's cooperative-sticky takes it, and the order of its partitions.
#
# Source: prepopulateCurrentAssignments, sortPartitions in rdkafka_sticky_assignor.c (librdkafka 1.9.2, 2.12.1).
# Tested against tests/reference/clients/librdkafka_sticky.py.


class Claimants(NamedTuple):
    """Who claims each partition, existing or not: int32[partitions] each, NONE for no member.

    holders : the member that has it; no member if two claim it under one generation
    previous : the member that claims it under the next older generation
    owners : the last in the members' order that claims it, whom librdkafka takes for its owner; no member as with ``holders``
    last : the last that claims it
    """

    holders: Int32s
    previous: Int32s
    owners: Int32s
    last: Int32s


def claims(claimants: Ragged, generations: Int32s) -> Claimants:
    """The claims since 2.2.0. claimants : Ragged partition → members, ascending; generations : int32[members]"""
    partitions, members = claimants.row_of_each_value(), claimants.values
    order = np.lexsort((generations[members], partitions))
    by_generation, of_claims = members[order], generations[members[order]]
    follows = partitions[1:] == partitions[:-1]  # the claim before it, which is one to the same partition
    holders, previous, owners, last = (np.full(len(claimants), NONE, np.int32) for _ in range(4))
    last[partitions] = members  # of several, the one that is written last stays
    owners[partitions] = members
    holders[partitions] = by_generation
    previous[partitions[1:][follows]] = by_generation[:-1][follows]
    contested = partitions[1:][follows & (of_claims[1:] == of_claims[:-1])]
    for array in (holders, previous, owners):
        array[contested] = NONE
    return Claimants(holders, previous, owners, last)


def claims_without_generations(claimants: Ragged) -> Claimants:
    """The claims up to 2.1.1, where the first has the partition and the second is the one of old. Arguments as ``claims``."""
    starts, stops = claimants.offsets[:-1], claimants.offsets[1:]
    values = np.append(claimants.values, np.int32(NONE))
    holders, last = (np.where(starts < stops, values[at], np.int32(NONE)) for at in (starts, stops - 1))
    return Claimants(
        holders, np.where(starts + 1 < stops, values[np.minimum(starts + 1, stops)], np.int32(NONE)), last.copy(), last
    )


def owned_first(holders: Int32s, previous: Int32s, id_rank: Int32s, listed: Int32s) -> Int32s:
    """All partitions in the order in which they are considered if all members subscribe to the same topics: int32[...].

    holders, previous : int32[partitions]
    id_rank : int32[members]
    listed : int32[...]   the partitions, topics as in the metadata

    Again and again the member that has most, of equals the last by member_id, gives one: first those that had another holder.
    What no member has comes last, in the reverse of the metadata's order; by topic and id if no member has anything.
    """
    held, moved = holders != NONE, previous != NONE
    had = np.concatenate([np.flatnonzero(held & moved), np.flatnonzero(held & ~moved)]).astype(np.int32)
    free = listed[~held[listed]][::-1]
    if not len(had):
        return np.sort(free)
    return np.concatenate([had[from_the_fullest(holders[had], id_rank)], free])


# The records of librdkafka's cooperative-sticky: which partitions have moved from whom to whom.
#
# Where they differ from Kafka's (``classic.sticky.movements``), they do so by mistakes that decide the answer, and are kept:
#
# * A partition that has moved back to its first owner leaves its list, but keeps its record. When it is to move again, an
#   assertion about that record ends the process.
# * Of the partitions that went the opposite way the first is to move back in place of the one chosen. It is taken out of its
#   list while it is still read through the list's first element: the next one of the list moves in its stead. If there is none,
#   freed memory is read.
# * A list is found by the pair of members in the record that created it. If that record is replaced while the list has others,
#   the pair is freed, and the next search for it reads freed memory.
#
# Source: PartitionMovements_t in rdkafka_sticky_assignor.c (librdkafka 1.9.2 to 2.15.1).

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


OFTEN: Final = 64
"""Partitions after which the time is checked: each may take a pass over all partitions and members."""


class Balancing:
    """The group, and who has what so far. A partition may have several holders if its claims were of several generations.

    topic_of : the topic of each partition; partitions_of : the partitions of each topic
    subscribers : the members that subscribe to each topic; topics : the topics that exist to which each member subscribes
    possible : the number of partitions of each member's topics
    previous : the member that claims each partition under the next older generation, or NONE
    watched, clobbered : must it be asked whether the group is balanced? as up to 2.6.0?
    blind : as up to 1.6.1? A member with as many partitions as there are members then counts as one that has all that it can, and
        a group is as uneven as two of its members are

    owners : currentPartitionConsumer: to librdkafka's knowledge the owner of each partition, or NONE
    holders : the members that hold each partition
    standings : how many partitions each member holds, and the order of those that take part
    """

    def __init__(
        self, group: Group, subscribers: Ragged, claimed: Claimants, kept: Int32s, *, clobbered: bool, blind: bool
    ) -> None:
        """Who has what after step 1. kept : int32[partitions], the member that keeps each, or NONE"""
        topics, count = group.topics, len(kept)
        self.topic_of = topics.topic_of.tolist()
        self.partitions_of = [range(*ends) for ends in pairwise(topics.first.tolist())]
        self.subscribers = circles_of(subscribers)
        self.topics = [row[row < len(topics)].tolist() for row in map(group.subscriptions.row, range(len(group)))]
        self.possible = [sum(len(self.partitions_of[topic]) for topic in of_member) for of_member in self.topics]
        self.previous: list[int] = claimed.previous[:count].tolist()
        self.clobbered, self.blind = clobbered, blind
        self.watched = clobbered or bool((claimed.previous[:count] != NONE).any())
        self.owners = claimed.owners[:count].tolist()
        self.holders = [[] if member == NONE else [member] for member in kept.tolist()]
        counts = np.bincount(kept[kept != NONE], minlength=len(group)).tolist()
        self.standings = Standings(counts, byte_ranks(group.member_ids).tolist(), range(len(group)))
        self.counts = self.standings.counts
        self.records = MoveRecords()

    def run(self, free: Int32s, order: Int32s, racks: tuple[Int32s, Ragged] | None, *, revoked: bool) -> Int32s:
        """Steps 2 and 3; the last holder of each partition, int32[partitions], or NONE. Raises Ends with its partition.

        free, order : int32[...]   the partitions that are free, and all that have subscribers, in order
        racks : the rack of each member, and partition → racks of its replicas; None: racks do not count
        revoked : was anything taken from a member in step 1?
        """
        fresh = not any(self.counts) and not self.blind
        left = self._give_out(free.tolist(), racks) if racks else free.tolist()
        self._give_out(left, None)
        # Members that have all they can have, none of it shareable, take no part (consumerCanParticipateInReassignment).
        lack = {member for member, possible in enumerate(self.possible) if self.counts[member] < possible}
        holders = enumerate(looking(self.holders, OFTEN))
        share = {member for partition, of_one in holders if self._is_shared(partition) for member in of_one}
        self.standings.only(lack | share)
        before, score = self._last_holders(), self._score(copied=True)
        shared = [partition for partition in looking(order.tolist(), OFTEN) if self._is_shared(partition)]
        if not revoked:
            self._even_out([partition for partition in free.tolist() if self._is_shared(partition)])
        performed = self._even_out(shared)
        return before if performed and not fresh and self._score() >= score else self._last_holders()

    def _last_holders(self) -> Int32s:
        """Of the holders of each partition the last in the members' order, or NONE: int32[partitions]."""
        return np.array([max(holders, default=NONE) for holders in self.holders], np.int32)

    def _score(self, *, copied: bool = False) -> int:
        """What the members that take part have more than one another (getBalanceScore), in C's int.

        copied : is it of a copy of the map of members, which goes through them in the opposite order?
        """
        if self.blind:
            sizes = [self.counts[member] for member in sorted(self.standings.members)]
            two = sizes[-2:] if copied else sizes[:2]
            return max(two, default=0) - min(two, default=0)
        total = sum((2 * i - len(self.standings.order) + 1) * count for i, (count, _, _) in enumerate(self.standings.order))
        return (total + 2**31) % 2**32 - 2**31

    def _is_shared(self, partition: int) -> bool:
        return len(self.subscribers[self.topic_of[partition]]) > 1

    def _give_out(self, partitions: list[int], racks: tuple[Int32s, Ragged] | None) -> list[int]:
        """Give each partition to the first subscriber in order, only on one of its racks if these count (maybeAssign).

        Returns those for which there is none.
        """
        left = []
        rack_of = racks[0].tolist() if racks else []
        for partition in looking(partitions, OFTEN):
            topic = self.topic_of[partition]
            if racks is None:
                taker = self.standings.fewest(self.subscribers[topic])
            else:
                here, subscribers = racks[1].row(partition).tolist(), self.subscribers[topic]
                takers = (member for _, _, member in self.standings.order if rack_of[member] in here and member in subscribers)
                taker = next(takers, NONE)
            if taker == NONE:
                left.append(partition)
            else:
                self.holders[partition].append(taker)
                self.owners[partition] = taker
                self.standings.add(taker, 1)
        return left

    def _even_out(self, partitions: list[int]) -> bool:
        """Move partitions of topics with several subscribers until nothing can be evened out any more (performReassignments).

        Returns whether anything moved.
        """
        performed, modified = False, True
        while modified:
            modified, known = False, False
            for partition in looking(partitions, OFTEN):
                try:
                    if self.watched and not known:
                        if self._is_balanced():
                            break
                        known = True
                    to = self._where_to(partition)
                    if to != NONE:
                        self._move(partition, to)
                        performed, modified, known = True, True, False
                except Ends as end:
                    end.partition = partition
                    raise
        return performed

    def _where_to(self, partition: int) -> int:
        """The member that is to get the partition; NONE: it stays."""
        owner, previous = self.owners[partition], self.previous[partition]
        if owner == NONE:
            raise Ends(ASSERTION)
        if owner not in self.standings.members or (previous != NONE and previous not in self.standings.members):
            raise Ends(NULL)
        if previous != NONE and self.counts[owner] > self.counts[previous] + 1:
            return previous
        fewest = self.standings.fewest(self.subscribers[self.topic_of[partition]])
        return fewest if self.counts[owner] > self.counts[fewest] + 1 else NONE

    def _move(self, partition: int, to: int) -> None:
        """Move the partition, or the one that its records name instead (reassignPartitionToConsumer)."""
        topic = self.topic_of[partition]
        moving, through = self.records.chosen(topic, partition, self.owners[partition], to)
        owner = self.owners[moving]
        moving = self.records.record(topic, moving, through, owner, to)
        self.holders[moving].append(to)
        self.standings.add(to, 1)
        if owner in self.holders[moving]:
            self.holders[moving].remove(owner)
            self.standings.add(owner, -1)
        self.owners[moving] = to

    def _is_balanced(self) -> bool:
        """Is it balanced (isBalanced)? Of several holders of a partition the first in the members' order counts."""
        if self.standings.order[0][0] >= self.standings.order[-1][0] - 1:
            return True
        held = cache(self._held)
        seen = set()
        place = 0
        while place < len(self.standings.order):
            count, _, member = self.standings.order[place]
            if count != (len(self.counts) if self.blind else self.possible[member]):
                if place in seen:
                    raise Ends(ENDLESS)
                seen.add(place)
                if any(self._could_have(member, *held(topic)) for topic in self.topics[member]):
                    return False
                if self.clobbered:
                    place = self.possible[member]
            place += 1
        return True

    def _held(self, topic: int) -> tuple[int, list[list[int]]]:
        """The most that the only holder of one of the topic's partitions has, and the holders of those that have several."""
        holders = [self.holders[partition] for partition in self.partitions_of[topic]]
        only = {of_one[0] for of_one in holders if len(of_one) == 1}
        most = max((self.counts[member] for member in only & self.standings.members), default=NONE)
        return most, [of_one for of_one in holders if len(of_one) > 1]

    def _could_have(self, member: int, most: int, several: list[list[int]]) -> bool:
        """Does the holder of a partition that the member could have hold more? most, several : as ``_held``"""
        firsts = (min(self.standings.members.intersection(of_one), default=NONE) for of_one in several if member not in of_one)
        return most > self.counts[member] or any(first != NONE and self.counts[first] > self.counts[member] for first in firsts)
