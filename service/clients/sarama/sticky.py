"""sarama's sticky and cooperative-sticky: Kafka's general sticky algorithm before KIP-881, in orders that Go draws each time.

*Algorithm*: members keep what they own of the topics they subscribe to; of several claims to a partition the one of the newest
generation counts. What is free goes to the subscriber with the fewest, of equals the first by member_id. Then partitions move
while somebody has two fewer than the owner of one that he could have. In the cooperative protocol a partition that changes hands
is withheld until its owner has revoked it.

*Chance*: Go goes through a map in another order each time. That decides in which order free partitions are given out; which of
its partitions a member gives up, where all subscribe to the same topics; which of two claims of one generation counts; and which
partition moves back, where several have moved the other way. This module works out what is certain all the same:

* A partition with one subscriber goes to it.
* If all free partitions with several subscribers have the same ones, it is certain how many each member gets, and so, if only one
  gets any, who has them.
* If all members subscribe to the same topics, it is certain how many each then gives up, and to whom; so it is certain what
  becomes of its partitions if it gives up none, or all to one member.
* If subscriptions differ, the moves are played, provided that it is certain who has what is free. If chance decides then, or
  several members claim a partition, only what the first rule gives is called certain, though more may be.

Source: stickyBalanceStrategy, adjustCooperativeAssignment in balance_strategy*.go (sarama 1.61.1).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.clients.names import Standings, byte_ranks, circles_of
from service.core.assignors.classic.members import only_subscribers, topic_subscribers
from service.core.assignors.classic.sticky.claims import from_the_fullest
from service.core.assignors.classic.sticky.cooperative import withholding
from service.core.budget import looking, reserve_in_turn
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Assignment, Group, Int32s, Int64s, LeftOpen, Ragged
from service.core.ragged import grouped, transposed

BECAUSE: Final = "Go iterates over the maps of partitions and members in a random order"

OPEN: Final = -2
"""In place of a member: which one is left to chance."""

STOP: Final = -3
"""In place of a member: the group is balanced."""

OFTEN: Final = 16
"""Partitions after which the time is checked: each may take a pass over all partitions of its topic."""

SETTLED: Final = 0
CHANCE: Final = 1
ENDLESS: Final = 2
"""How moves end: nothing moves any more; chance decides; never."""


MOST_PASSES: Final = 10_000
"""Passes over the partitions after which a run with drawn orders counts as endless."""


class Chance(NamedTuple):
    """What Go draws in a run.

    previous : who claims each partition in an older generation, or NONE
    possible : how many partitions each member could have
    """

    previous: list[int]
    possible: list[int]
    random: np.random.RandomState


PARTITION_BYTES: Final = 330
SUBSCRIPTION_BYTES: Final = 110
"""Memory of the state for each partition and subscription, beyond that of any assignment: as librdkafka's."""


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending: those of every run."""
    reserve_in_turn(PARTITION_BYTES * group.topics.partitions_count + SUBSCRIPTION_BYTES * len(group.subscriptions.values))
    owners = _owners(group)
    left_open = np.flatnonzero(owners == OPEN).astype(np.int32)
    common = Assignment(grouped(owners, len(group)))
    if not len(left_open):
        return common
    return replace(common, left_open=LeftOpen(left_open, BECAUSE, partial(_one_of_many, group)))


def assign_cooperatively(group: Group) -> Assignment:
    """The same, but what changes hands is withheld (adjustCooperativeAssignment)."""
    settled = assign(group)
    common, chance = withholding(group, settled.rows), settled.left_open
    if chance is None:
        return common

    def of_run(seed: int) -> Assignment:
        return withholding(group, _one_of_many(group, seed).rows)

    return replace(common, left_open=replace(chance, run=of_run))


def _one_of_many(group: Group, seed: int) -> Assignment:
    """One run, with all orders of Go's drawn (Plan)."""
    random, topic_of = np.random.default_rng(seed), group.topics.topic_of
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    of_topic = subscribers.lengths()[topic_of]
    turns, in_turn = random.permutation(len(group)), random.permutation(len(topic_of)).astype(np.int32)
    newest, previous = _claimants(group, turns)
    subscribes = np.isin(topic_of * np.int64(len(group)) + newest, _pairs(group, subscribers)) & (newest != NONE)
    owners = np.where(subscribes, newest, np.int32(NONE))
    standings, circles = _standings(group, owners), circles_of(subscribers)

    order = np.argsort(of_topic, kind="stable").astype(np.int32)
    if len(group.owned.values) and _pass_for_identical(group, subscribers, turns):
        kept = in_turn[subscribes[in_turn]]
        kept = kept[np.argsort(previous[kept] == NONE, kind="stable")]
        order = np.concatenate(
            [kept[from_the_fullest(owners[kept], byte_ranks(group.member_ids))], in_turn[~subscribes[in_turn]]]
        )
    order = order[of_topic[order] > 1]

    free = in_turn[~subscribes[in_turn] & (of_topic[in_turn] > 0)]
    of_owner = np.where(newest[free] == NONE, len(group), turns[newest[free]])  # of members that no longer subscribe, first
    free = free[np.argsort(of_owner, kind="stable")]
    owners[free] = _takers(topic_of[free], circles, standings)
    possible = np.bincount(
        subscribers.values, np.repeat(group.topics.partitions_counts()[: len(subscribers)], subscribers.lengths()), len(group)
    ).astype(np.int64)
    chance = Chance(previous.tolist(), possible.tolist(), np.random.RandomState(seed & 0xFFFFFFFF))
    play = _Play(owners, topic_of, circles, standings, chance)
    if play.run(order) == ENDLESS:
        raise _endless()
    return Assignment(grouped(np.array(play.owners, np.int32), len(group)))


def _standings(group: Group, owners: Int32s) -> Standings:
    """Of all members. owners : int32[partitions]"""
    counts = np.bincount(owners[owners >= 0], minlength=len(group)).tolist()
    return Standings(counts, byte_ranks(group.member_ids).tolist(), range(len(group)))


def _claimants(group: Group, turns: npt.NDArray[np.int64]) -> tuple[Int32s, Int32s]:
    """Who has each partition at first, int32[partitions], and who claims it in an older generation; NONE: nobody.

    Of several members in one generation it is the first in Go's order (prepopulateCurrentAssignments). turns : of the members
    """
    members, partitions = group.owned.row_of_each_value(), group.owned.values
    order = np.lexsort((turns[members], -group.generations[members], partitions))
    members, partitions = members[order], partitions[order]
    newest = np.full(group.total_partitions, NONE, np.int32)
    older = newest.copy()
    newest[partitions[::-1]] = members[::-1]  # of several, the one that is written last stays
    is_older = group.generations[members] < group.generations[newest[partitions]]
    older[partitions[is_older][::-1]] = members[is_older][::-1]
    return newest[: group.topics.partitions_count], older[: group.topics.partitions_count]


def _pass_for_identical(group: Group, subscribers: Ragged, turns: npt.NDArray[np.int64]) -> bool:
    """Do subscriptions seem alike (areSubscriptionsIdentical)? Members without partitions that are seen first count as alike."""
    topics = np.flatnonzero((subscribers.lengths() > 0) & (group.topics.partitions_counts() > 0)).tolist()
    if len({subscribers.row(topic).tobytes() for topic in topics}) > 1:
        return False
    reads = np.zeros(len(group), np.bool_)
    for topic in topics[:1]:
        reads[subscribers.row(topic)] = True
    return bool(turns[~reads].max(initial=NONE) < turns[reads].min(initial=len(group)))


def _endless() -> KafkaAssignorFails:
    return KafkaAssignorFails(
        None,
        None,
        cause="partitions move back and forth between members with different subscriptions",
        remedy="let all members subscribe to the same topics, or join without partitions",
        library="sarama",
    )


def _owners(group: Group) -> Int32s:
    """Who has each partition in the end, int32[partitions]; NONE: no member subscribes to it; OPEN: chance decides."""
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    topic_of = group.topics.topic_of
    first_rule = np.where(subscribers.lengths() > 1, np.int32(OPEN), only_subscribers(subscribers))[topic_of]
    owners, contested = _kept(group, subscribers)
    if contested:
        return first_rule
    standings, circles = _standings(group, owners), circles_of(subscribers)
    most = _give_out(owners, standings, topic_of, first_rule, subscribers)
    if most == NONE:
        return first_rule
    if not _would_move(owners, topic_of, subscribers, np.array(standings.counts, np.int32), most):
        return owners
    subscribed = subscribers.lengths() > 0
    if (subscribers.lengths()[subscribed] == len(group)).all():
        return _given_up(owners, standings)
    # Those without topics may be seen first, so that subscriptions pass for the same.
    if len({circle for circle in circles if circle}) == 1 or (owners == OPEN).any():
        return first_rule
    play = _Play(owners, topic_of, circles, standings, None)
    status = play.run(np.argsort(subscribers.lengths()[topic_of], kind="stable").astype(np.int32))
    if status == ENDLESS:
        raise _endless()
    return np.array(play.owners, np.int32) if status == SETTLED else first_rule


def _give_out(owners: Int32s, standings: Standings, topic_of: Int32s, first_rule: Int32s, subscribers: Ragged) -> int:
    """Give the free partitions to members or to OPEN, and count what members get; owners and standings are written.

    Returns the most that a member has who may have got one that is OPEN, 0 if there is none; NONE if chance decides how many
    each member gets.
    """
    free = np.flatnonzero((owners == NONE) & (first_rule != NONE)).astype(np.int32)
    single = free[first_rule[free] != OPEN]
    several = free[first_rule[free] == OPEN]
    circles = circles_of(subscribers)
    takers_of = {circles[topic] for topic in np.unique(topic_of[several]).tolist()}
    owners[single] = first_rule[single]
    if len(takers_of) > 1 or any(not circle.isdisjoint(first_rule[single].tolist()) for circle in takers_of):
        return NONE
    for member, count in enumerate(np.bincount(first_rule[single]).tolist()):
        standings.add(member, count)
    if not takers_of:
        return 0
    takers = _takers(topic_of[several], circles, standings)
    one = bool((takers == takers[0]).all())
    owners[several] = takers[0] if one else OPEN
    return 0 if one else max(standings.counts[member] for member in set(takers.tolist()))


def _kept(group: Group, subscribers: Ragged) -> tuple[Int32s, bool]:
    """Who keeps each partition, int32[partitions], else NONE; and: do two members claim one to whose topic anybody subscribes?"""
    topic_of = group.topics.topic_of
    claimants = transposed(group.owned, group.total_partitions).first_rows(len(topic_of))
    claimed = np.flatnonzero((claimants.lengths() > 0) & (subscribers.lengths()[topic_of] > 0))
    members, last = claimants.values[claimants.offsets[claimed]], claimants.values[claimants.offsets[claimed + 1] - 1]
    keeps = np.isin(topic_of[claimed] * np.int64(len(group)) + members, _pairs(group, subscribers))
    kept = np.full(len(topic_of), NONE, np.int32)
    kept[claimed[keeps]] = members[keeps]
    return kept, bool((members != last).any())


def _pairs(group: Group, subscribers: Ragged) -> Int64s:
    """int64[...], topic * members + member of each subscription to a topic that exists."""
    return subscribers.row_of_each_value() * np.int64(len(group)) + subscribers.values


def _takers(topics: Int32s, circles: list[frozenset[int]], standings: Standings) -> Int32s:
    """Who takes the first, the second … of free partitions of these topics (assignPartition): int32[topics].

    standings : of all members, written
    """
    takers = np.empty(len(topics), np.int32)
    for i, topic in looking(enumerate(topics.tolist()), OFTEN):
        takers[i] = standings.fewest(circles[topic])
        standings.add(int(takers[i]), 1)
    return takers


def _would_move(owners: Int32s, topic_of: Int32s, subscribers: Ragged, counts: Int32s, most: int) -> bool:
    """May anybody have two fewer than the owner of a partition that he could have?

    owners : int32[partitions]; counts : int32[members]; most : the most that the owner of one that is OPEN may have
    """
    read = np.flatnonzero(subscribers.lengths())
    fewest = np.zeros(len(subscribers), np.int32)
    if len(read):
        fewest[read] = np.minimum.reduceat(counts[subscribers.values], subscribers.offsets[read])
    owned = np.flatnonzero(owners != NONE)
    of_owners = np.where(owners[owned] == OPEN, most, counts[owners[owned]])
    return bool((of_owners > fewest[topic_of[owned]] + 1).any())


def _given_up(owners: Int32s, standings: Standings) -> Int32s:
    """Who has each partition in the end if all members subscribe to the same topics: int32[partitions], or OPEN.

    owners : int32[partitions]   who keeps or gets each at first, OPEN if chance decides who gets it
    standings : of all members, written

    In the order of the partitions (sortPartitions) members come by turns, those who have most first: chance decides which
    partition it is, but not whose. No member gives up what he gets, for he had the fewest.
    """
    counts, order = standings.counts, standings.order
    kept = np.bincount(owners[owners >= 0], minlength=len(counts)).tolist()
    given, receivers = [0] * len(counts), [NONE] * len(counts)
    members = [member for _, member in sorted(((rank, member) for _, rank, member in order), reverse=True)]
    turns = ((level, giver) for level in range(max(kept), 0, -1) for giver in members if kept[giver] >= level)
    for _, giver in looking(turns, OFTEN):
        if order[-1][0] - order[0][0] <= 1:
            break
        receiver = order[0][2]
        if counts[giver] > counts[receiver] + 1:
            standings.add(giver, -1)
            standings.add(receiver, 1)
            given[giver] += 1
            receivers[giver] = receiver if given[giver] == 1 or receivers[giver] == receiver else OPEN
    gives, keeps_none = np.array(given) > 0, np.array(given) == np.array(kept)
    of_owner = np.where(gives, np.where(keeps_none, receivers, OPEN), np.arange(len(counts))).astype(np.int32)
    return np.where(owners >= 0, of_owner[owners], owners)


class _Play:
    """The moves of a group (performReassignments).

    owners : of each partition
    topic_of, circles : the topic of each partition; the subscribers of each topic
    standings : of all members
    chance : what Go draws in a run; None: nothing is to be drawn
    """

    def __init__(
        self, owners: Int32s, topic_of: Int32s, circles: list[frozenset[int]], standings: Standings, chance: Chance | None
    ) -> None:
        self.owners, self.topic_of, self.circles = owners.tolist(), topic_of.tolist(), circles
        self.standings, self.chance = standings, chance
        self.source: dict[int, int] = {}  # of those that have moved, their first owner
        self.moved: defaultdict[int, set[int]] = defaultdict(set)  # the partitions of each topic that have moved

    def run(self, order: Int32s) -> int:
        """Move partitions until no member has two fewer than the owner of one that he could have.

        order : int32[partitions]    the order in which they are looked at
        Returns how it ended: CHANCE as soon as several partitions have moved the way that one is to move back, unless one is
        drawn. Endless movement is recognised by a state that was there before: after 1, 2, 4 … passes it is remembered, and
        compared with until the next is. Where partitions are drawn, the same state need not come again: then by MOST_PASSES.
        """
        shared = [partition for partition in order.tolist() if len(self.circles[self.topic_of[partition]]) > 1]
        remembered: tuple[list[int], dict[int, int]] = ([], {})
        passes, modified = 0, True
        while modified:
            modified = False
            if passes & (passes - 1) == 0:
                remembered = self.owners.copy(), self.source.copy()
            elif passes == MOST_PASSES if self.chance else remembered == (self.owners, self.source):
                return ENDLESS
            passes += 1
            for partition in looking(shared, OFTEN):
                to = self._receiver(partition)
                if to == STOP:
                    break
                if to != NONE:
                    moving = self._moving(partition, to)
                    if moving == NONE:
                        return CHANCE
                    self._move(moving, to)
                    modified = True
        return SETTLED

    def _receiver(self, partition: int) -> int:
        """The member that is to get the partition; NONE: it stays; STOP: the group is balanced, so the pass ends."""
        owner, counts = self.owners[partition], self.standings.counts
        if owner == NONE:
            return NONE
        to = self.standings.fewest(self.circles[self.topic_of[partition]])
        too_many = counts[owner] > counts[to] + 1
        if self.chance:
            previous = self.chance.previous[partition]
            if previous != NONE and counts[owner] > counts[previous] + 1:
                return previous if too_many or not self._is_balanced(self.chance.possible) else STOP
        return to if too_many else NONE

    def _moving(self, partition: int, to: int) -> int:
        """The partition, or one that has moved the way that it is to move back; NONE if chance decides which."""
        topic = self.topic_of[partition]
        target = self.source.get(partition, self.owners[partition])
        opposite = sorted(each for each in self.moved[topic] if self.source[each] == to and self.owners[each] == target)
        if len(opposite) > 1 and not self.chance:
            return NONE
        moving = partition
        for back, each in enumerate(opposite, 1):
            if back == 1 or (self.chance and self.chance.random.randint(back) == 0):  # each as likely as any other
                moving = each
        return moving

    def _move(self, partition: int, to: int) -> None:
        owner = self.owners[partition]
        if self.source.setdefault(partition, owner) == to:
            del self.source[partition]
            self.moved[self.topic_of[partition]].discard(partition)
        else:
            self.moved[self.topic_of[partition]].add(partition)
        self.owners[partition] = to
        self.standings.add(owner, -1)
        self.standings.add(to, 1)

    def _is_balanced(self, possible: list[int]) -> bool:
        """Is there nobody who has fewer than the owner of a partition that he could have (isBalanced)?"""
        counts = self.standings.counts
        most = [NONE] * len(self.circles)
        for owner, topic in zip(self.owners, self.topic_of, strict=True):
            if owner != NONE:
                most[topic] = max(most[topic], counts[owner])
        shared = [topic for topic, circle in enumerate(self.circles) if len(circle) > 1 and most[topic] != NONE]
        takers = frozenset().union(*(self.circles[topic] for topic in shared))
        if min((counts[member] for member in takers), default=0) >= max((most[topic] for topic in shared), default=0) - 1:
            return True
        return not any(
            counts[member] < most[topic] and counts[member] != possible[member]
            for topic, circle in enumerate(self.circles)
            for member in circle
        )
