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

from dataclasses import replace
from typing import Final

import numpy as np

from service.core.assignors.classic.members import only_subscribers, topic_subscribers
from service.core.assignors.classic.sticky.cooperative import withholding
from service.core.assignors.clients.names import byte_ranks
from service.core.clock import OUT_OF_TIME, UNLIMITED, Deadline, TimeLimit, in_time, is_over
from service.core.errors import KafkaAssignorFails
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Assignment, Group, Int32s, LeftOpen, Ragged
from service.core.ragged import grouped, transposed

BECAUSE: Final = "Go iterates over the maps of partitions and members in a random order"

OPEN: Final = -2
"""In place of a member: which one is left to chance."""

OFTEN: Final = 16
"""Partitions after which the time is checked: each may take a pass over all partitions of its topic."""

SETTLED: Final = 0
CHANCE: Final = 1
ENDLESS: Final = 2
"""How moves end: nothing moves any more; chance decides; never."""


def assign(group: Group, check_time: TimeLimit = UNLIMITED) -> Assignment:
    """Ragged member → partitions, ascending: those of every run."""
    owners = _owners(group, check_time)
    left_open = np.flatnonzero(owners == OPEN).astype(np.int32)
    return Assignment(grouped(owners, len(group)), left_open=LeftOpen(left_open, BECAUSE) if len(left_open) else None)


def assign_cooperatively(group: Group, check_time: TimeLimit = UNLIMITED) -> Assignment:
    """The same, but what changes hands is withheld (adjustCooperativeAssignment)."""
    settled = assign(group, check_time)
    return replace(withholding(group, settled.rows), left_open=settled.left_open)


def _owners(group: Group, check_time: TimeLimit) -> Int32s:
    """Who has each partition in the end, int32[partitions]; NONE: no member subscribes to it; OPEN: chance decides."""
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    topic_of = group.topics.topic_of
    claimants = transposed(group.owned, group.total_partitions)
    first_rule = np.where(subscribers.lengths() > 1, np.int32(OPEN), only_subscribers(subscribers))[topic_of]
    owners, contested = _kept(topic_of, *subscribers.arrays(), *claimants.arrays())
    if contested:
        return first_rule
    counts = np.bincount(owners[owners != NONE], minlength=len(group)).astype(np.int32)
    id_rank = byte_ranks(group.member_ids)
    most = _give_out(owners, counts, id_rank, topic_of, first_rule, subscribers, check_time)
    if most == NONE:
        return first_rule
    if not _would_move(owners, topic_of, *subscribers.arrays(), counts, most):
        return owners
    subscribed = subscribers.lengths() > 0
    if (subscribers.lengths()[subscribed] == len(group)).all():
        settled, status = _given_up(owners, counts, id_rank, check_time.deadline)
        in_time(status, check_time)
        return settled
    same = len({subscribers.row(topic).tobytes() for topic in np.flatnonzero(subscribed).tolist()}) == 1
    if same or (owners == OPEN).any():  # those without topics may be seen first, so that subscriptions pass for the same
        return first_rule
    order = np.argsort(subscribers.lengths()[topic_of], kind="stable").astype(np.int32)
    status = _play(owners, order, topic_of, group.topics.first, *subscribers.arrays(), counts, id_rank, check_time.deadline)
    if in_time(status, check_time) == ENDLESS:
        raise KafkaAssignorFails(
            None,
            None,
            cause="partitions move back and forth between members with different subscriptions",
            remedy="let all members subscribe to the same topics, or join without partitions",
            library="sarama",
        )
    return owners if status == SETTLED else first_rule


def _give_out(
    owners: Int32s,
    counts: Int32s,
    id_rank: Int32s,
    topic_of: Int32s,
    first_rule: Int32s,
    subscribers: Ragged,
    check_time: TimeLimit,
) -> int:
    """Give the free partitions to members or to OPEN, and count what members get; both arrays are written.

    Returns the most that a member has who may have got one that is OPEN, 0 if there is none; NONE if chance decides how many
    each member gets.
    """
    free = np.flatnonzero((owners == NONE) & (first_rule != NONE)).astype(np.int32)
    single = free[first_rule[free] != OPEN]
    several = free[first_rule[free] == OPEN]
    circles = {subscribers.row(topic).tobytes(): topic for topic in np.unique(topic_of[several]).tolist()}
    owners[single] = first_rule[single]
    if len(circles) == 0:
        counts += np.bincount(first_rule[single], minlength=len(counts)).astype(np.int32)
        return 0
    circle = subscribers.row(next(iter(circles.values())))
    if len(circles) > 1 or np.isin(first_rule[single], circle).any():
        return NONE
    counts += np.bincount(first_rule[single], minlength=len(counts)).astype(np.int32)
    takers, status = _takers(len(several), circle, counts, id_rank, check_time.deadline)
    in_time(status, check_time)
    one = bool((takers == takers[0]).all())
    owners[several] = takers[0] if one else OPEN
    return 0 if one else int(counts[takers].max())


@kernel
def _kept(
    topic_of: Int32s, subscribers_of: Int32s, subscribers: Int32s, claimants_of: Int32s, claimants: Int32s
) -> tuple[Int32s, bool]:
    """Who keeps each partition, int32[partitions], else NONE; and: do two members claim one to whose topic anybody subscribes?

    topic_of : int32[partitions]
    subscribers_of, subscribers : topic → members, ascending
    claimants_of, claimants : partition → members, ascending
    """
    kept = np.full(len(topic_of), NONE, np.int32)
    for partition in range(len(topic_of)):
        topic = topic_of[partition]
        members = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        claims = claimants[claimants_of[partition] : claimants_of[partition + 1]]
        if len(members) == 0 or len(claims) == 0:
            continue
        if claims[0] != claims[-1]:
            return kept, True
        place = np.searchsorted(members, claims[0])
        if place < len(members) and members[place] == claims[0]:
            kept[partition] = claims[0]
    return kept, False


@kernel
def _takers(free_count: int, circle: Int32s, counts: Int32s, id_rank: Int32s, deadline: Deadline) -> tuple[Int32s, int]:
    """Who takes the first, the second … of so many free partitions (assignPartition): int32[free_count]; counts is written.

    Returns also how it ended.

    circle : int32[...]   the members that subscribe to them
    """
    takers = np.empty(free_count, np.int32)
    for i in range(free_count):
        if i % OFTEN == 0 and is_over(deadline):
            return takers, OUT_OF_TIME
        taker = _least(circle, counts, id_rank)
        counts[taker] += 1
        takers[i] = taker
    return takers, SETTLED


@inner_kernel
def _least(members: Int32s, counts: Int32s, id_rank: Int32s) -> int:
    """The member with the fewest, of equals the first by member_id."""
    least = members[0]
    for member in members:
        if counts[member] < counts[least] or (counts[member] == counts[least] and id_rank[member] < id_rank[least]):
            least = member
    return int(least)


@kernel
def _would_move(owners: Int32s, topic_of: Int32s, subscribers_of: Int32s, subscribers: Int32s, counts: Int32s, most: int) -> bool:
    """May anybody have two fewer than the owner of a partition that he could have?

    owners : int32[partitions]; counts : int32[members]; most : the most that the owner of one that is OPEN may have
    """
    fewest = np.full(len(subscribers_of) - 1, NONE, np.int32)
    for topic in range(len(fewest)):
        for i in range(subscribers_of[topic], subscribers_of[topic + 1]):
            count = counts[subscribers[i]]
            fewest[topic] = count if fewest[topic] == NONE else min(fewest[topic], count)
    for partition in range(len(owners)):
        owner = owners[partition]
        if owner != NONE and (most if owner == OPEN else counts[owner]) > fewest[topic_of[partition]] + 1:
            return True
    return False


@kernel
def _given_up(  # noqa: C901 (a kernel)
    owners: Int32s, counts: Int32s, id_rank: Int32s, deadline: Deadline
) -> tuple[Int32s, int]:
    """Who has each partition in the end if all members subscribe to the same topics: int32[partitions], or OPEN.

    owners : int32[partitions]   who keeps or gets each at first, OPEN if chance decides who gets it
    counts : int32[members]      written

    In the order of the partitions (sortPartitions) members come by turns, those who have most first: chance decides which
    partition it is, but not whose. No member gives up what he gets, for he had the fewest.

    Returns also how it ended.
    """
    members_count = len(counts)
    members = np.empty(members_count, np.int32)
    for member in range(members_count):
        members[members_count - 1 - id_rank[member]] = member
    kept = np.zeros(members_count, np.int32)
    for owner in owners:
        if owner >= 0:
            kept[owner] += 1
    given = np.zeros(members_count, np.int32)
    receivers = np.full(members_count, NONE, np.int32)
    looked_at = 0
    for level in range(kept.max(), 0, -1):
        if counts.max() - counts.min() <= 1:
            break
        for giver in members:
            if kept[giver] < level:
                continue
            looked_at += 1
            if looked_at % OFTEN == 0 and is_over(deadline):
                return owners, OUT_OF_TIME
            receiver = _least(members, counts, id_rank)
            if counts[giver] > counts[receiver] + 1:
                counts[giver] -= 1
                counts[receiver] += 1
                given[giver] += 1
                receivers[giver] = receiver if given[giver] == 1 or receivers[giver] == receiver else OPEN
    final = owners.copy()
    for partition in range(len(owners)):
        owner = owners[partition]
        if owner >= 0 and given[owner] > 0:
            final[partition] = receivers[owner] if given[owner] == kept[owner] else OPEN
    return final, SETTLED


@kernel
def _play(  # noqa: C901 (a kernel)
    owners: Int32s,
    order: Int32s,
    topic_of: Int32s,
    first: Int32s,
    subscribers_of: Int32s,
    subscribers: Int32s,
    counts: Int32s,
    id_rank: Int32s,
    deadline: Deadline,
) -> int:
    """Move partitions until no member has two fewer than the owner of one that he could have (performReassignments).

    owners : int32[partitions]   written; counts : int32[members], written
    order : int32[partitions]    the order in which they are looked at
    first : int32[topics + 1]
    subscribers_of, subscribers : topic → members
    Returns how it ended: CHANCE as soon as several partitions have moved the way that one is to move back. Endless movement is
    recognised by a state that was there before: after 1, 2, 4 … passes it is remembered, and compared with until the next is.
    """
    source = np.full(len(owners), NONE, np.int32)  # of those that have moved, their first owner
    remembered, of_sources = owners.copy(), source.copy()
    passes, modified = 0, True
    while modified:
        modified = False
        if passes & (passes - 1) == 0:
            remembered, of_sources = owners.copy(), source.copy()
        elif np.array_equal(remembered, owners) and np.array_equal(of_sources, source):
            return ENDLESS
        passes += 1
        for place in range(len(order)):
            if place % OFTEN == 0 and is_over(deadline):
                return OUT_OF_TIME
            partition = order[place]
            topic, owner = topic_of[partition], owners[partition]
            circle = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
            if owner == NONE or len(circle) < 2:
                continue
            to = _least(circle, counts, id_rank)
            if counts[owner] <= counts[to] + 1:
                continue
            target = owner if source[partition] == NONE else source[partition]
            moving, back = partition, 0
            for other in range(first[topic], first[topic + 1]):
                if source[other] == to and owners[other] == target:
                    moving = other
                    back += 1
            if back > 1:
                return CHANCE
            holder = owners[moving]
            if source[moving] == NONE:
                source[moving] = holder
            elif source[moving] == to:
                source[moving] = NONE
            owners[moving] = to
            counts[holder] -= 1
            counts[to] += 1
            modified = True
    return SETTLED
