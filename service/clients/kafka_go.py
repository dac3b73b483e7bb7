"""segmentio/kafka-go: its group leader's balancers.

Members stand in the order of the bytes of their member_ids. The previous assignment and instance_ids play no part.

Source: groupbalancer.go, consumergroup.go of each of RELEASES.
"""

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from service.clients.names import by_member_id
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.model import Assignor
from service.core.budget import check_time, looking
from service.core.model import NONE, Assignment, Bools, Group, Int32s, LeftOpen
from service.core.ragged import grouped, indices_of
from service.core.registry import Implementation

# kafka-go's rack-affinity: topic by topic, as even as possible, and on the rack of each leader where that is possible.
#
# Of a topic's n partitions each of its s subscribers gets at least the *target* ``n // s``; the *remainder* ``n % s`` get one
# more.
#
# 1. Rack by rack: the partitions whose leaders are on the rack are divided among the subscribers on it, up to the target. If
#    these reach it, the first of them get one more each, as long as there are partitions and remainder; otherwise the first get
#    one more each until no partition is left.
# 2. What is left, rack after rack, goes to the subscribers that have less than the target and, as long as there is remainder,
#    one more, in the order in which they joined.
#
# Partitions without a known leader and members without a rack count as on a rack of their own.
#
# *Left to chance*: Go iterates over the racks, a map, in a random order, and in another in step 2. So it is open which racks'
# subscribers get the remainder, if not all do that could; and which subscriber gets what in step 2, as far as a partition may
# come before or after the end of somebody's share.
#
# Example: the leaders of 0 and 1 are on rack a, that of 2 on b; A and B have no rack. What is left is 0, 1, 2 or 2, 0, 1, and A
# takes two. So A always gets 0, while 1 and 2 are open.
#
# Source: RackAffinityGroupBalancer in groupbalancer.go (kafka-go 0.4.51).

# kafka-go's range and roundrobin: formulas that look at one topic at a time.
#
# Of n partitions and s subscribers, range gives the i-th subscriber the ids from ``i * n // s`` to ``(i + 1) * n // s - 1``. So
# the longer runs are not those of the first subscribers, as with Kafka's range: 5 partitions among 3 are 1, 2 and 2. Roundrobin
# gives it the ids whose remainder modulo s is i; with few partitions in each of many topics, the first members get nearly all.
#
# Source: RangeGroupBalancer, RoundRobinGroupBalancer, findMembersByTopic in groupbalancer.go (kafka-go 0.4.51).


def assign_by_topic(group: Group, *, in_ranges: bool) -> Assignment:
    """Ragged member → partitions, ascending. in_ranges : range, or roundrobin?"""
    order = by_member_id(group)
    subscribers = topic_subscribers(group, order)
    topics, ids = group.topics.topic_of, group.topic_partitions(np.arange(group.topics.partitions_count, dtype=np.int32))[1]
    sizes, counts = subscribers.lengths()[topics].astype(np.int64), group.topics.partitions_counts()[topics]
    read = np.flatnonzero(sizes)
    sizes, counts, ids = sizes[read], counts[read], ids[read]
    turns = ((ids + 1) * sizes - 1) // counts if in_ranges else ids % sizes
    owners = np.full(len(topics), NONE, np.int32)
    owners[read] = order[subscribers.values[subscribers.offsets[topics[read]] + turns]]
    return Assignment(grouped(owners, len(group)))


OFTEN: Final = 16
"""After so many topics the clock is looked at."""


def assign_by_racks(group: Group) -> Assignment:
    """Ragged member → partitions, ascending; without those whose members chance decides."""
    topics, racks_count = group.topics, len(group.rack_ids)
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    leaders = np.full(topics.partitions_count, NONE, np.int32) if topics.leader_racks is None else topics.leader_racks
    rack_of = np.where(group.racks == NONE, np.int32(racks_count), group.racks)
    leader_racks = np.where(leaders == NONE, np.int32(racks_count), leaders)
    owners = np.full(topics.partitions_count, NONE, np.int32)
    left_open = np.zeros(topics.partitions_count, np.bool_)
    for topic in looking(np.flatnonzero(subscribers.lengths()).tolist(), OFTEN):
        of_topic, members = slice(topics.first[topic], topics.first[topic + 1]), subscribers.row(topic)
        takers, left_open[of_topic] = _certain(rack_of[members].tolist(), leader_racks[of_topic].tolist())
        owners[of_topic] = np.where(takers == NONE, np.int32(NONE), members[takers])
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


def _certain(rack_of: list[int], leader_racks: list[int]) -> tuple[Int32s, Bools]:
    """One topic (assignTopic): the subscriber that gets each partition in every run, or NONE; and does chance decide?

    rack_of : of each subscriber; leader_racks : of each partition. Plain-Python twin: tests/reference/clients/kafka_go.py, which
    goes through all orders.
    """
    target, remainder = divmod(len(leader_racks), len(rack_of))
    takers, counts = np.full(len(leader_racks), NONE, np.int32), [0] * len(rack_of)
    left_open = np.zeros(len(leader_racks), np.bool_)
    left: dict[int, list[int]] = {rack: [] for rack in {*leader_racks, *rack_of}}
    here: dict[int, list[int]] = {rack: [] for rack in left}
    for partition, rack in enumerate(leader_racks):
        left[rack].append(partition)
    for subscriber, rack in enumerate(rack_of):
        here[rack].append(subscriber)

    def give(rack: int, receivers: list[int]) -> None:
        takers[left[rack][: len(receivers)]] = receivers
        del left[rack][: len(receivers)]
        for receiver in receivers:
            counts[receiver] += 1

    wanted = {}  # how many could get one more
    for rack, subscribers in here.items():
        each = min(len(left[rack]) // len(subscribers), target) if subscribers else 0
        give(rack, [subscriber for subscriber in subscribers for _ in range(each)])
        more = min(len(left[rack]), len(subscribers))
        wanted[rack] = more if each == target else 0
        if each < target:
            give(rack, subscribers[:more])
    total = sum(wanted.values())
    for rack, count in wanted.items():
        certain, most = max(0, min(count, remainder - (total - count))), min(count, remainder)
        give(rack, here[rack][:certain])
        left_open[left[rack][: most - certain]] = True
        del left[rack][: most - certain]
    lacking = [max(target - count, 0) for count in counts]
    for i in [i for i, count in enumerate(counts) if count <= target][: max(0, remainder - total)]:
        lacking[i] += 1
    further = np.repeat(np.arange(len(counts)), lacking)
    for of_rack in left.values():
        earliest, latest = further[: len(of_rack)], further[len(further) - len(of_rack) :]
        takers[of_rack] = np.where(earliest == latest, earliest, NONE)
        left_open[of_rack] = earliest != latest
    return takers, left_open


RELEASES: Final = ("0.3.10", "0.4.20", "0.4.51")
RELEASE: Final = RELEASES[-1]

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="kafka-go:range",
        run=partial(assign_by_topic, in_ranges=True),
        implementation=Implementation("kafka-go", RELEASE, "RangeGroupBalancer"),
        client_releases=RELEASES,
        summary="Topic by topic, each subscriber gets a run of partitions; the longer runs are spread over the subscribers.",
        setting="GroupBalancers: []kafka.GroupBalancer{kafka.RangeGroupBalancer{}}",
        is_default=True,
    ),
    Assignor(
        name="kafka-go:roundrobin",
        run=partial(assign_by_topic, in_ranges=False),
        implementation=Implementation("kafka-go", RELEASE, "RoundRobinGroupBalancer"),
        client_releases=RELEASES,
        summary="Topic by topic, partitions go to the subscribers in turn; each topic begins with the first.",
        setting="GroupBalancers: []kafka.GroupBalancer{kafka.RoundRobinGroupBalancer{}}",
    ),
    Assignor(
        name="kafka-go:rack-affinity",
        run=assign_by_racks,
        implementation=Implementation("kafka-go", RELEASE, "RackAffinityGroupBalancer"),
        client_releases=RELEASES,
        summary="Topic by topic, as even as possible, and on the rack of the partition's leader where that is possible.",
        setting="GroupBalancers: []kafka.GroupBalancer{kafka.RackAffinityGroupBalancer{Rack: rack}}",
    ),
)
