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

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from service.clients.librdkafka.records import ASSERTION, ENDLESS, NULL, Ends, MoveRecords
from service.clients.names import byte_ranks
from service.clients.standings import Standings
from service.core.clock import looking
from service.core.model import NONE, Group, Int32s, Ragged

if TYPE_CHECKING:
    from service.clients.librdkafka.claims import Claimants

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
        sets = {row.tobytes(): frozenset(row.tolist()) for row in map(subscribers.row, range(len(subscribers)))}
        self.topic_of = topics.topic_of.tolist()
        self.partitions_of = [range(*ends) for ends in pairwise(topics.first.tolist())]
        self.subscribers = [sets[subscribers.row(topic).tobytes()] for topic in range(len(subscribers))]
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
        self._set_aside()
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

    def _set_aside(self) -> None:
        """Members that have all they can have, none of it shareable, take no part (consumerCanParticipateInReassignment)."""
        lack = {member for member, possible in enumerate(self.possible) if self.counts[member] < possible}
        holders = enumerate(looking(self.holders, OFTEN))
        share = {member for partition, of_one in holders if self._is_shared(partition) for member in of_one}
        self.standings.only(lack | share)

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
