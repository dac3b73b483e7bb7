"""Replicas of each topic evened out, while copies and the replicas of each broker stay as they are.

Two partitions of different topics swap brokers: one replaces a by b, the other b by a. That is done as long as it lowers the sum
of squares of (replicas of a topic on a broker) ÷ weight, over all topics and brokers.

One of the two must gain by itself, and their costs must not add up to more than 0. So only the replicas of a topic that would
gain look for a partner, and partners are looked up where they can be: a partition that saves a copy by going to a is one that
left a; one that goes there without a copy has replicas elsewhere than now; a leader that goes there has a replica there. Of each
there are few.
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s, offsets_of
from service.planner.reassignments.search.exchanges import (
    DONE,
    IMPOSSIBLE,
    MORE,
    TURN,
    ReplicaSets,
    breadth,
    exchange_cost,
    in_turns,
    is_home,
    is_member,
    pull,
    push,
    replace_broker,
)

MOST: Final = 1_000_000_000
"""Most work in all, some ten seconds; then no further swaps are tried."""


class _Topics(NamedTuple):
    """What the topics have, and where partners are.

    topics : int32[partitions of the state]
    offsets, partitions : int32   Ragged topic → its partitions
    counts : int32[topics, brokers]   replicas
    home_rows : int32[homes]   the partition of each home
    left : bool[homes]   whether the partition has left this home, which is usable
    left_first : int32[brokers]; left_after, left_before : int32[homes]   for each broker the linked list of the homes left there
    changed : bool[partitions]   whether the partition is elsewhere than now
    guest_first : int32[brokers]; guest_after, guest_before : int32[members]   for each broker the linked list of the places of
        partitions that are not at home there
    choosers_first : int32[brokers, brokers], empty without choices; choosers_after, choosers_before : int32[choices]   for two
        brokers the linked list of the choices of the second by partitions on the first
    choice_rows : int32[choices]   the partition of each choice
    leavers : int32[2, brokers, brokers]   how many partitions are on the first broker and have left a home on the second: not at
        home on the first, and at home there
    """

    topics: Int32s
    offsets: Int32s
    partitions: Int32s
    counts: Int32s
    home_rows: Int32s
    left: Bools
    left_first: Int32s
    left_after: Int32s
    left_before: Int32s
    changed: Bools
    guest_first: Int32s
    guest_after: Int32s
    guest_before: Int32s
    choosers_first: Int32s
    choosers_after: Int32s
    choosers_before: Int32s
    choice_rows: Int32s
    leavers: Int32s


def even_out_topics(s: ReplicaSets, topics: Int32s) -> None:
    """Swap brokers between partitions. topics : int32[partitions of the state]"""
    count, brokers, partitions = int(topics.max(initial=-1)) + 1, len(s.loads), len(topics)
    choices = len(s.choices)
    pairs = brokers if choices else 0
    t = _Topics(
        topics,
        offsets_of(np.bincount(topics, minlength=count)),
        np.argsort(topics, kind="stable").astype(np.int32),
        np.zeros((count, brokers), np.int32),
        np.repeat(np.arange(partitions, dtype=np.int32), np.diff(s.home_offsets)),
        np.zeros(len(s.homes), np.bool_),
        np.full(brokers, NONE, np.int32),
        np.full(len(s.homes), NONE, np.int32),
        np.full(len(s.homes), NONE, np.int32),
        np.zeros(partitions, np.bool_),
        np.full(brokers, NONE, np.int32),
        np.full(len(s.members), NONE, np.int32),
        np.full(len(s.members), NONE, np.int32),
        np.full((pairs, pairs), NONE, np.int32),
        np.full(choices, NONE, np.int32),
        np.full(choices, NONE, np.int32),
        np.repeat(np.arange(partitions if choices else 0, dtype=np.int32), np.diff(s.choice_offsets)),
        np.zeros((2, brokers, brokers), np.int32),
    )
    np.add.at(t.counts, (topics[s.row_of], s.members), 1)
    progress = np.zeros(4, np.int64)
    in_turns(s, lambda: _swap(s, t, progress), MOST)


@borrowing_kernel
def _enlist(s: ReplicaSets, t: _Topics, partition: int) -> None:
    """Put the partition into the lists."""
    changed = False
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        if not is_member(s, partition, s.homes[i]) and s.keeps[s.sets[partition], s.homes[i]]:
            changed = t.left[i] = True
            push(t.left_first, t.left_after, t.left_before, i, s.homes[i])
    for place in range(s.offsets[partition], s.offsets[partition + 1]):
        if not is_home(s, partition, s.members[place]):
            changed = True
            if len(s.choices) > 0:
                for i in range(s.choice_offsets[partition], s.choice_offsets[partition + 1]):
                    push(t.choosers_first[s.members[place]], t.choosers_after, t.choosers_before, i, s.choices[i])
            push(t.guest_first, t.guest_after, t.guest_before, place, s.members[place])
    t.changed[partition] = changed
    _count_leavers(s, t, partition, 1)


@borrowing_kernel
def _count_leavers(s: ReplicaSets, t: _Topics, partition: int, change: int) -> None:
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        if t.left[i]:
            for place in range(s.offsets[partition], s.offsets[partition + 1]):
                at_home = int(is_home(s, partition, s.members[place]))
                t.leavers[at_home, s.members[place], s.homes[i]] += change


@kernel
def _swap(s: ReplicaSets, t: _Topics, progress: Int64s) -> int:
    """Make swaps until none improves anything. DONE or MORE.

    progress : int64[4]   the topic, the next of its partitions, how many topics in a row had no swap, and whether the partitions
        are listed; kept between calls
    """
    topics = len(t.offsets) - 1
    if progress[3] == 0:
        for partition in range(len(s.offsets) - 1):
            _enlist(s, t, partition)
        progress[3] = 1
    while progress[2] < topics:
        topic, swapped, least = progress[0], True, np.inf
        while progress[1] < t.offsets[topic + 1] - t.offsets[topic]:
            if s.work[0] > TURN:
                return MORE
            if swapped:
                least = np.inf  # what one replica more of the topic weighs where it weighs least
                s.work[0] += len(s.loads)
                for b in range(len(s.loads)):
                    if s.usable[b]:
                        least = min(least, (2.0 * t.counts[topic, b] + 1.0) / s.weights[b])
            swapped = _swap_one(s, t, t.partitions[t.offsets[topic] + progress[1]], least)
            if swapped:
                progress[2] = 0
            else:
                progress[1] += 1
        progress[0] = (topic + 1) % topics
        progress[1] = 0
        progress[2] += 1
    return DONE


@inner_kernel
def _swap_one(s: ReplicaSets, t: _Topics, partition: int, least: float) -> bool:  # noqa: C901 (a kernel)
    """Have a replica of the partition change places with one of another topic; False if none gains."""
    topic, changed = t.topics[partition], t.changed[partition]
    s.work[0] += 1
    if not changed and not s.paid[0]:
        return False
    for i in range(s.offsets[partition], s.offsets[partition + 1]):
        a = int(s.members[i])
        if (2.0 * t.counts[topic, a] - 1.0) / s.weights[a] <= least:
            continue
        s.work[0] += len(s.loads) if len(s.choices) == 0 else breadth(s, partition) ** 2
        b = int(NONE)
        while True:  # each broker above b that the partition may choose
            following = b + 1
            if len(s.choices) > 0:
                following = len(s.loads)
                for j in range(s.choice_offsets[partition], s.choice_offsets[partition + 1]):
                    if b < s.choices[j] < following:
                        following = int(s.choices[j])
            b = following
            if b == len(s.loads):
                break
            if not changed and t.leavers[0, b, a] == 0:  # it copies a replica, which no partner saves
                continue
            gain = _gain(t.counts, s.weights, topic, a, b)
            if gain <= 0.0:
                continue
            s.work[0] += breadth(s, partition)
            cost = exchange_cost(s, partition, a, b)
            if cost == IMPOSSIBLE or (cost > 0 and not s.paid[0]):
                continue
            other = _partner(s, t, partition, a, b, cost, gain)
            if other == NONE:
                continue
            _exchange(s, t, partition, a, b)
            _exchange(s, t, other, b, a)
            return True
    return False


@borrowing_kernel
def _exchange(s: ReplicaSets, t: _Topics, partition: int, a: int, b: int) -> None:
    """Replace the partition's broker a by b. It leaves the lists, and comes to those in which it then is."""
    _count_leavers(s, t, partition, -1)
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        if t.left[i]:
            t.left[i] = False
            pull(t.left_first, t.left_after, t.left_before, i, s.homes[i])
    for place in range(s.offsets[partition], s.offsets[partition + 1]):
        if not is_home(s, partition, s.members[place]):
            if len(s.choices) > 0:
                for i in range(s.choice_offsets[partition], s.choice_offsets[partition + 1]):
                    pull(t.choosers_first[s.members[place]], t.choosers_after, t.choosers_before, i, s.choices[i])
            pull(t.guest_first, t.guest_after, t.guest_before, place, s.members[place])
    replace_broker(s, partition, a, b)
    _enlist(s, t, partition)
    t.counts[t.topics[partition], a] -= 1
    t.counts[t.topics[partition], b] += 1


@borrowing_kernel
def _gain(counts: Int32s, weights: Int64s, topic: int, a: int, b: int) -> float:
    """By how much the sum falls if a replica of the topic goes from a to b."""
    return float((2.0 * counts[topic, a] - 1.0) / weights[a] - (2.0 * counts[topic, b] + 1.0) / weights[b])


@borrowing_kernel
def _partner(s: ReplicaSets, t: _Topics, partition: int, a: int, b: int, cost: int, gain: float) -> int:
    """A partition of another topic that replaces b by a without losing what the first gains; NONE if none.

    cost : of the first, which the partner must save
    """
    if t.leavers[0, b, a] > 0 or (cost <= 0 and t.leavers[1, b, a] > 0):
        home = t.left_first[a]
        while home != NONE:
            other = t.home_rows[home]
            home = t.left_after[home]
            if _suits(s, t, partition, other, a, b, -cost, gain):
                return int(other)
    choice = t.choosers_first[b, a] if cost == 0 and len(s.choices) > 0 else NONE
    while choice != NONE:
        other = t.choice_rows[choice]
        choice = t.choosers_after[choice]
        if _suits(s, t, partition, other, a, b, 0, gain):
            return int(other)
    place = t.guest_first[b] if cost == 0 and len(s.choices) == 0 else NONE
    while place != NONE:
        other = s.row_of[place]
        place = t.guest_after[place]
        if _suits(s, t, partition, other, a, b, 0, gain):
            return int(other)
    place = s.first[b] if cost < 0 else NONE
    while place != NONE:
        other = s.row_of[place]
        place = s.after[place]
        if _suits(s, t, partition, other, a, b, -cost, gain):
            return int(other)
    return NONE


@borrowing_kernel
def _suits(s: ReplicaSets, t: _Topics, partition: int, other: int, a: int, b: int, most: int, gain: float) -> bool:
    """Can the other replace b by a, at this cost at most, and lose less than the partition gains?"""
    s.work[0] += 1
    topic = t.topics[other]
    if topic == t.topics[partition] or gain + _gain(t.counts, s.weights, topic, b, a) <= 1e-9 * gain:
        return False
    s.work[0] += breadth(s, other)
    return is_member(s, other, b) and exchange_cost(s, other, b, a) <= most
