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
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.clients.names import byte_ranks
from service.core.assignors.classic.members import only_subscribers, topic_subscribers
from service.core.assignors.classic.sticky.cooperative import withholding
from service.core.assignors.classic.sticky.fullest import from_the_fullest
from service.core.clock import OUT_OF_TIME, UNLIMITED, Deadline, TimeLimit, in_time, is_over
from service.core.errors import KafkaAssignorFails
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Assignment, Group, Int32s, Int64s, LeftOpen, Ragged
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


MOST_PASSES: Final = 10_000
"""Passes over the partitions after which a run with drawn orders counts as endless."""


class Chance(NamedTuple):
    """What Go draws in a run; all empty: nothing is to be drawn.

    previous : int32[partitions]   who claims each in an older generation, or NONE
    possible : int32[members]      how many partitions each could have
    seed : int64[1]
    """

    previous: Int32s
    possible: Int32s
    seed: Int64s


def assign(group: Group, check_time: TimeLimit = UNLIMITED) -> Assignment:
    """Ragged member → partitions, ascending: those of every run."""
    owners = _owners(group, check_time)
    left_open = np.flatnonzero(owners == OPEN).astype(np.int32)
    common = Assignment(grouped(owners, len(group)))
    if not len(left_open):
        return common
    return replace(common, left_open=LeftOpen(left_open, BECAUSE, partial(_one_of_many, group, check_time)))


def assign_cooperatively(group: Group, check_time: TimeLimit = UNLIMITED) -> Assignment:
    """The same, but what changes hands is withheld (adjustCooperativeAssignment)."""
    settled = assign(group, check_time)
    common, chance = withholding(group, settled.rows), settled.left_open
    if chance is None:
        return common

    def of_run(seed: int) -> Assignment:
        return withholding(group, _one_of_many(group, check_time, seed).rows)

    return replace(common, left_open=replace(chance, run=of_run))


def _one_of_many(group: Group, check_time: TimeLimit, seed: int) -> Assignment:
    """One run, with all orders of Go's drawn (Plan)."""
    random, topic_of = np.random.default_rng(seed), group.topics.topic_of
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    of_topic = subscribers.lengths()[topic_of]
    turns, in_turn = random.permutation(len(group)), random.permutation(len(topic_of)).astype(np.int32)
    newest, previous = _claimants(group, turns)
    pairs = np.repeat(np.arange(len(subscribers)), subscribers.lengths()) * len(group) + subscribers.values
    subscribes = np.isin(topic_of * np.int64(len(group)) + newest, pairs) & (newest != NONE)
    owners = np.where(subscribes, newest, np.int32(NONE))
    counts = np.bincount(owners[subscribes], minlength=len(group)).astype(np.int32)
    id_rank = byte_ranks(group.member_ids)

    order = np.argsort(of_topic, kind="stable").astype(np.int32)
    if len(group.owned.values) and _pass_for_identical(group, subscribers, turns):
        kept = in_turn[subscribes[in_turn]]
        kept = kept[np.argsort(previous[kept] == NONE, kind="stable")]
        order = np.concatenate([kept[from_the_fullest(owners[kept], id_rank)], in_turn[~subscribes[in_turn]]])
    order = order[of_topic[order] > 1]

    free = in_turn[~subscribes[in_turn] & (of_topic[in_turn] > 0)]
    of_owner = np.where(newest[free] == NONE, len(group), turns[newest[free]])  # of members that no longer subscribe, first
    free = free[np.argsort(of_owner, kind="stable")]
    owners[free], status = _takers(topic_of[free], *subscribers.arrays(), counts, id_rank, check_time.deadline)
    in_time(status, check_time)
    possible = np.bincount(
        subscribers.values, np.repeat(group.topics.partitions_counts()[: len(subscribers)], subscribers.lengths()), len(group)
    ).astype(np.int32)
    status = _play(
        owners, order, topic_of, group.topics.first, *subscribers.arrays(), counts, id_rank,
        Chance(previous, possible, np.array([seed], np.int64)), check_time.deadline,
    )  # fmt: skip
    if in_time(status, check_time) == ENDLESS:
        raise _endless()
    return Assignment(grouped(owners, len(group)))


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
    no_chance = Chance(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))
    first = group.topics.first
    status = _play(owners, order, topic_of, first, *subscribers.arrays(), counts, id_rank, no_chance, check_time.deadline)
    if in_time(status, check_time) == ENDLESS:
        raise _endless()
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
    takers, status = _takers(topic_of[several], *subscribers.arrays(), counts, id_rank, check_time.deadline)
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
def _takers(
    topics: Int32s, subscribers_of: Int32s, subscribers: Int32s, counts: Int32s, id_rank: Int32s, deadline: Deadline
) -> tuple[Int32s, int]:
    """Who takes the first, the second … of free partitions of these topics (assignPartition): int32[topics]; counts is written.

    Returns also how it ended.

    subscribers_of, subscribers : topic → members
    """
    takers = np.empty(len(topics), np.int32)
    for i in range(len(topics)):
        if i % OFTEN == 0 and is_over(deadline):
            return takers, OUT_OF_TIME
        taker = _least(subscribers[subscribers_of[topics[i]] : subscribers_of[topics[i] + 1]], counts, id_rank)
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


@inner_kernel
def _is_balanced(
    owners: Int32s, topic_of: Int32s, subscribers_of: Int32s, subscribers: Int32s, counts: Int32s, chance: Chance
) -> bool:
    """Is there nobody who has fewer than the owner of a partition that he could have (isBalanced)?"""
    fewest, most = np.int64(len(owners)), np.int64(0)
    for partition in range(len(owners)):
        start, stop = subscribers_of[topic_of[partition]], subscribers_of[topic_of[partition] + 1]
        if stop - start > 1:
            most = max(most, counts[owners[partition]])
            for i in range(start, stop):
                fewest = min(fewest, counts[subscribers[i]])
    if fewest >= most - 1:
        return True
    for partition in range(len(owners)):
        if owners[partition] == NONE:
            continue
        for i in range(subscribers_of[topic_of[partition]], subscribers_of[topic_of[partition] + 1]):
            member = subscribers[i]
            if counts[member] != chance.possible[member] and counts[member] < counts[owners[partition]]:
                return False
    return True


@kernel
def _play(  # noqa: C901, PLR0912 (a kernel)
    owners: Int32s,
    order: Int32s,
    topic_of: Int32s,
    first: Int32s,
    subscribers_of: Int32s,
    subscribers: Int32s,
    counts: Int32s,
    id_rank: Int32s,
    chance: Chance,
    deadline: Deadline,
) -> int:
    """Move partitions until no member has two fewer than the owner of one that he could have (performReassignments).

    owners : int32[partitions]   written; counts : int32[members], written
    order : int32[partitions]    the order in which they are looked at
    first : int32[topics + 1]
    subscribers_of, subscribers : topic → members
    Returns how it ended: CHANCE as soon as several partitions have moved the way that one is to move back, unless one is drawn.
    Endless movement is recognised by a state that was there before: after 1, 2, 4 … passes it is remembered, and compared with
    until the next is. Where partitions are drawn, the same state need not come again: then by MOST_PASSES.
    """
    draws = len(chance.seed) > 0
    if draws:
        np.random.seed(chance.seed[0] & 0xFFFFFFFF)  # noqa: NPY002 (Numba's)
    source = np.full(len(owners), NONE, np.int32)  # of those that have moved, their first owner
    remembered, of_sources = owners.copy(), source.copy()
    passes, modified = 0, True
    while modified:
        modified = False
        if passes & (passes - 1) == 0:
            remembered, of_sources = owners.copy(), source.copy()
        elif (passes == MOST_PASSES) if draws else (np.array_equal(remembered, owners) and np.array_equal(of_sources, source)):
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
            if draws and chance.previous[partition] != NONE and counts[owner] > counts[chance.previous[partition]] + 1:
                if counts[owner] <= counts[to] + 1 and _is_balanced(
                    owners, topic_of, subscribers_of, subscribers, counts, chance
                ):
                    break
                to = chance.previous[partition]
            elif counts[owner] <= counts[to] + 1:
                continue
            target = owner if source[partition] == NONE else source[partition]
            moving, back = partition, 0
            for other in range(first[topic], first[topic + 1]):
                if source[other] == to and owners[other] == target:
                    back += 1
                    if back == 1 or (draws and np.random.randint(back) == 0):  # noqa: NPY002 (each as likely as any other)
                        moving = other
            if back > 1 and not draws:
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
