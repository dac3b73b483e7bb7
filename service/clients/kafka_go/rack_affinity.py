"""kafka-go's rack-affinity: topic by topic, as even as possible, and on the rack of each leader where that is possible.

Of a topic's n partitions each of its s subscribers gets at least the *target* ``n // s``; the *remainder* ``n % s`` get one more.

1. Rack by rack: the partitions whose leaders are on the rack are divided among the subscribers on it, up to the target. If these
   reach it, the first of them get one more each, as long as there are partitions and remainder; otherwise the first get one more
   each until no partition is left.
2. What is left, rack after rack, goes to the subscribers that have less than the target and, as long as there is remainder, one
   more, in the order in which they joined.

Partitions without a known leader and members without a rack count as on a rack of their own.

*Left to chance*: Go iterates over the racks, a map, in a random order, and in another in step 2. So it is open which racks'
subscribers get the remainder, if not all do that could; and which subscriber gets what in step 2, as far as a partition may come
before or after the end of somebody's share.

Example: the leaders of 0 and 1 are on rack a, that of 2 on b; A and B have no rack. What is left is 0, 1, 2 or 2, 0, 1, and A
takes two. So A always gets 0, while 1 and 2 are open.

Source: RackAffinityGroupBalancer in groupbalancer.go (kafka-go 0.4.51).
"""

from dataclasses import replace
from typing import Final

import numpy as np

from service.core.assignors.classic.members import topic_subscribers
from service.core.clock import OUT_OF_TIME, UNLIMITED, Deadline, TimeLimit, in_time, is_over
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Int64s, LeftOpen
from service.core.ragged import grouped, grouped_arrays, indices_of

OFTEN: Final = 16
"""After so many topics the clock is looked at."""


def assign(group: Group, check_time: TimeLimit = UNLIMITED) -> Assignment:
    """Ragged member → partitions, ascending; without those whose members chance decides."""
    topics, racks_count = group.topics, len(group.rack_ids)
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    leaders = np.full(topics.partitions_count, NONE, np.int32) if topics.leader_racks is None else topics.leader_racks
    rack_of = np.where(group.racks == NONE, np.int32(racks_count), group.racks)
    leader_racks = np.where(leaders == NONE, np.int32(racks_count), leaders)
    owners, left_open, status = _owners(
        *subscribers.arrays(), rack_of, topics.first, leader_racks, racks_count + 1, check_time.deadline
    )
    in_time(status, check_time)
    common = Assignment(grouped(owners, len(group)))
    if not left_open.any():
        return common

    def of_run(seed: int) -> Assignment:
        random, owners = np.random.default_rng(seed), np.full(topics.partitions_count, NONE, np.int32)
        for topic in np.flatnonzero(subscribers.lengths()).tolist():
            check_time()
            of_topic, members = slice(topics.first[topic], topics.first[topic + 1]), subscribers.row(topic)
            owners[of_topic] = members[_one_of_many(rack_of[members], leader_racks[of_topic], random)]
        return Assignment(grouped(owners, len(group)))

    return replace(common, left_open=LeftOpen(indices_of(left_open), "Go iterates over the racks in a random order", of_run))


def _one_of_many(rack_of: Int32s, leader_racks: Int32s, random: np.random.Generator) -> Int32s:
    """One run for a topic (assignTopic), with both orders of racks drawn: the subscriber that gets each partition, int32[...].

    rack_of : int32[subscribers]; leader_racks : int32[partitions]
    """
    target, remainder = divmod(len(leader_racks), len(rack_of))
    takers, counts = np.full(len(leader_racks), NONE, np.int32), np.zeros(len(rack_of), np.int64)
    racks = np.unique(leader_racks)
    left = {rack: np.flatnonzero(leader_racks == rack) for rack in racks.tolist()}
    for rack in random.permutation(racks).tolist():
        here = np.flatnonzero(rack_of == rack)
        if not len(here):
            continue
        each = min(len(left[rack]) // len(here), target)
        more = len(left[rack]) - each * len(here)
        if each == target:
            more = min(more, remainder, len(here))
            remainder -= more
        given, left[rack] = np.split(left[rack], [each * len(here) + more])
        takers[given] = np.concatenate([np.repeat(here, each), here[:more]])
        counts += np.bincount(takers[given], minlength=len(counts))
    may_have_more = counts <= target
    lacking = np.maximum(target - counts, 0) + (may_have_more & (np.cumsum(may_have_more) <= remainder))
    remaining = np.concatenate([left[rack] for rack in random.permutation(racks).tolist()])
    takers[remaining] = np.repeat(np.arange(len(counts)), lacking)[: len(remaining)]
    return takers


@kernel
def _owners(
    subscribers_of: Int32s,
    subscribers: Int32s,
    rack_of: Int32s,
    first: Int32s,
    leader_racks: Int32s,
    racks_count: int,
    deadline: Deadline,
) -> tuple[Int32s, Bools, int]:
    """The owner of each partition, or NONE where no member subscribes or chance decides; and whether it does: [partitions] each.

    Returns also whether it ran OUT_OF_TIME, else 0. Each topic takes a look at all racks.

    subscribers_of, subscribers : topic → its subscribers, in the order in which they joined
    rack_of : int32[members]             the rack of each, 0 … ``racks_count`` - 1
    first : int32[topics + 1]            the first partition of each topic
    leader_racks : int32[partitions]     the rack of each partition's leader, likewise

    Plain-Python twin: tests/reference/clients/kafka_go.py, which goes through all orders.
    """
    owners = np.full(first[-1], NONE, np.int32)
    left_open = np.zeros(first[-1], np.bool_)
    for topic in range(len(first) - 1):
        if topic % OFTEN == 0 and is_over(deadline):
            return owners, left_open, OUT_OF_TIME
        members = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        if len(members) > 0:
            stop = first[topic + 1]
            _assign_topic(
                members,
                rack_of[members],
                leader_racks[first[topic] : stop],
                racks_count,
                owners[first[topic] : stop],
                left_open[first[topic] : stop],
            )
    return owners, left_open, 0


@inner_kernel
def _assign_topic(  # noqa: C901 (a kernel)
    members: Int32s, rack_of: Int32s, leader_racks: Int32s, racks_count: int, owners: Int32s, left_open: Bools
) -> None:
    """One topic (assignTopic). rack_of : int32[subscribers]; leader_racks, owners, left_open : [partitions of the topic]"""
    target, remainder = divmod(len(leader_racks), len(members))
    ids_of, ids = grouped_arrays(leader_racks, racks_count)
    consumers_of, consumers = grouped_arrays(rack_of, racks_count)
    counts = np.zeros(len(members), np.int64)
    wanted = np.zeros(racks_count, np.int64)  # how many could get one more
    assigned = np.zeros(racks_count, np.int64)  # how many partitions certainly go to subscribers on the rack
    for rack in range(racks_count):
        here = consumers[consumers_of[rack] : consumers_of[rack + 1]]
        count = ids_of[rack + 1] - ids_of[rack]
        if len(here) == 0:
            continue
        each = min(count // len(here), target)
        for i in range(each * len(here)):
            owners[ids[ids_of[rack] + i]] = members[here[i // each]]
        for consumer in here:
            counts[consumer] += each
        assigned[rack] = each * len(here)
        if each == target:
            wanted[rack] = min(count - assigned[rack], len(here))
        else:
            _give_one_each(rack, count - assigned[rack], members, counts, here, ids_of, ids, assigned, owners)
    total = wanted.sum()
    for rack in range(racks_count):
        here = consumers[consumers_of[rack] : consumers_of[rack + 1]]
        certain = max(0, min(wanted[rack], remainder - (total - wanted[rack])))
        most = min(wanted[rack], remainder)
        _give_one_each(rack, certain, members, counts, here, ids_of, ids, assigned, owners)
        for i in range(most - certain):
            left_open[ids[ids_of[rack] + assigned[rack] + i]] = True
        assigned[rack] += most - certain
    takers = _takers(counts, target, max(0, remainder - total))
    for rack in range(racks_count):
        for i in range(ids_of[rack] + assigned[rack], ids_of[rack + 1]):
            earliest = takers[i - ids_of[rack] - assigned[rack]]
            if earliest == takers[len(takers) - (ids_of[rack + 1] - i)]:
                owners[ids[i]] = members[earliest]
            else:
                left_open[ids[i]] = True


@inner_kernel
def _give_one_each(
    rack: int,
    count: int,
    members: Int32s,
    counts: Int64s,
    here: Int32s,
    ids_of: Int32s,
    ids: Int32s,
    assigned: Int64s,
    owners: Int32s,
) -> None:
    """Give the next ``count`` partitions of the rack to the first subscribers on it."""
    for i in range(count):
        owners[ids[ids_of[rack] + assigned[rack] + i]] = members[here[i]]
        counts[here[i]] += 1
    assigned[rack] += count


@inner_kernel
def _takers(counts: Int64s, target: int, remainder: int) -> Int64s:
    """int64[...], the subscribers that step 2 gives partitions, each as often as it gets one."""
    lacking = np.maximum(target - counts, 0)
    for i in range(len(counts)):
        if counts[i] <= target and remainder > 0:
            lacking[i] += 1
            remainder -= 1
    return np.repeat(np.arange(len(counts)), lacking)
