"""Kafka's RangeAssignor: topic by topic, a run of consecutive partitions for each subscriber.

*Goals*: co-partitioned topics (the same subscribers, the same number of partitions) are assigned alike, so that a member can
join them; each member reads from its own rack where that is possible (KIP-881).

*Constraints*: of a topic's n partitions each of its s subscribers gets ``n // s``, and the first ``n % s`` one more.

*Algorithm*: subscribers stand in order, static ones first. A subscriber's *room* is what it may still get: its quota, and one
more while such *extra* partitions last.

1. With racks, if they matter for any topic: co-partitioned topics are matched together; partition by partition, the first
   subscriber with room whose rack has a replica of that partition of every one of the topics gets it of them all. A topic that
   stands alone is matched, if racks matter for it, subscriber by subscriber.
2. Each subscriber in turn takes the first partitions that are left, as far as it has room.

A topic's state after step 1 is the same for all topics that are matched together, so step 2 gives them the same owners: one
*pattern*, id → subscriber, is worked out for them all.

Example: members A, B; topics t and u of 3 partitions: A gets t-0, t-1, u-0, u-1 and B gets t-2, u-2.

Source: org.apache.kafka.clients.consumer.RangeAssignor. The previous assignment plays no part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from service.core.assignors.classic.members import on_rack, racks_matter, topic_subscribers, without_racks
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Ragged, RaggedArrays, static_first, why_there
from service.core.ragged import alike, grouped, grouped_arrays, put

# Of each topic a run of consecutive partitions for each subscriber: what range assignors do where racks play no part.
#
# Of a topic's n partitions each of its s subscribers gets ``n // s``, and the first ``n % s`` one more.


def ranges_by(order_of: Callable[[Group], Int32s], group: Group) -> Assignment:
    """Ragged member → partitions, ascending. order_of : gives int32[members], the member at each position"""
    order = order_of(group)
    if alike(group.subscriptions.offsets, group.subscriptions.values):
        topics = np.sort(group.subscriptions.values[: group.subscriptions.offsets[1]])
        return Assignment(Ragged(*_ranges_alike(order, topics[topics < len(group.topics)], group.topics.first)))
    return in_ranges(group, order, topic_subscribers(group, order))


def in_ranges(group: Group, order: Int32s, subscribers: Ragged) -> Assignment:
    """The same among these subscribers: Ragged topic → positions in ``order``, ascending."""
    return Assignment(Ragged(*_ranges(order, subscribers.offsets, subscribers.values, group.topics.first)))


@kernel
def _ranges(order: Int32s, subscribers_of: Int32s, subscribers: Int32s, first: Int32s) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions.

    order : int32[members]              the member at each position
    subscribers_of, subscribers : int32[topics + 1], int32[...]   topic → positions of its subscribers, ascending
    first : int32[topics + 1]           the first partition of each topic

    Reproduces RangeAssignor.assignRanges, and the group coordinator's RangeAssignor.assign. Plain-Python twins:
    tests/reference/assignors.py and tests/reference/server_assignors.py.
    """
    topics = len(first) - 1
    offsets = np.zeros(len(order) + 1, np.int32)
    for topic in range(topics):
        stop = subscribers_of[topic + 1] - subscribers_of[topic]
        count = first[topic + 1] - first[topic]
        quota, extra = divmod(count, stop) if stop else (0, 0)
        for i in range(min(stop, count)):
            offsets[order[subscribers[subscribers_of[topic] + i]] + 1] += quota + (i < extra)
    for member in range(len(order)):
        offsets[member + 1] += offsets[member]
    cursor = offsets[:-1].copy()
    partitions = np.empty(offsets[-1], np.int32)
    for topic in range(topics):
        stop = subscribers_of[topic + 1] - subscribers_of[topic]
        count = first[topic + 1] - first[topic]
        quota, extra = divmod(count, stop) if stop else (0, 0)
        partition = first[topic]
        for i in range(min(stop, count)):
            member = order[subscribers[subscribers_of[topic] + i]]
            for _ in range(quota + (i < extra)):
                partitions[cursor[member]] = partition
                cursor[member] += 1
                partition += 1
    return offsets, partitions


@kernel
def _ranges_alike(order: Int32s, topics: Int32s, first: Int32s) -> tuple[Int32s, Int32s]:
    """``_ranges`` where all members subscribe to the same topics: what each gets follows from its position alone.

    order : int32[members]   the member at each position
    topics : int32[...]      the topics, ascending, those that do not exist left out
    first : int32[topics + 1]
    """
    members = len(order)
    quotas = np.empty(len(topics), np.int32)
    extras = np.empty(len(topics), np.int32)
    more = np.zeros(members + 1, np.int32)  # at first the number of topics with this number of extra partitions
    for i in range(len(topics)):
        quotas[i], extras[i] = divmod(first[topics[i] + 1] - first[topics[i]], members)
        more[extras[i]] += 1
    of_each = quotas.sum()
    offsets = np.zeros(members + 1, np.int32)
    for position in range(members - 1, -1, -1):
        more[position] += more[position + 1]
        offsets[order[position] + 1] = of_each + more[position + 1]
    for member in range(members):
        offsets[member + 1] += offsets[member]
    partitions = np.empty(offsets[-1], np.int32)
    for position in range(members):
        at = offsets[order[position]]
        for i in range(len(topics)):
            start = first[topics[i]] + position * quotas[i] + min(position, extras[i])
            for partition in range(start, start + quotas[i] + (position < extras[i])):
                partitions[at] = partition
                at += 1
    return offsets, partitions


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    racks = group.topics.racks
    if racks is None:
        return ranges_by(static_first, group)
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    matching = _matching(group, racks, order, subscribers)
    if matching is None:
        return in_ranges(group, order, subscribers)
    rows = (subscribers.arrays(), group.topics.first, racks.arrays(), matching.sets.arrays())
    owners = owners_on_racks(order, group.racks, *rows, matching.together, len(group.rack_ids), True)
    return Assignment(grouped(owners, len(group)))


def assign_until_3_4(group: Group) -> Assignment:
    """The same without regard to racks, which came with 3.5 (KIP-881)."""
    return assign(without_racks(group))


def explain_until_3_4(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """``explain`` for ``assign_until_3_4``."""
    return explain(without_racks(group), assignment, limit)


def explain(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """Per set of co-partitioned topics its subscribers in order, quota, extra, and whether racks counted and why.

    limit : bounds the number of topics, and the number of subscribers, listed in all
    """
    topics, counts = group.topics, group.topics.partitions_counts()
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    sets = co_partitioned(group, subscribers)
    matching = None if topics.racks is None else _matching(group, topics.racks, order, subscribers)
    owners = np.zeros(topics.partitions_count, np.int32)  # where no member subscribes no member is listed either
    owners[assignment.rows.values] = assignment.rows.row_of_each_value()
    entries: list[dict[str, Any]] = []
    topics_left = members_left = limit
    for number in range(len(sets)):
        if topics_left <= 0:
            break
        alike = sets.row(number)
        leader = int(alike[0])
        circle = order[subscribers.row(leader)]
        quota, extra = divmod(int(counts[leader]), len(circle)) if len(circle) else (0, 0)
        got = np.bincount(owners[topics.first[leader] : topics.first[leader + 1]], minlength=len(group))
        together = matching is not None and bool(matching.together[number])
        entries.append(
            {
                "topics": [
                    {"topic_name": topics.names[topic], "racks": _why(group, circle, matching, int(topic))}
                    for topic in alike[:topics_left]
                ],
                "partitions_count": int(counts[leader]),
                "quota": quota,
                "subscribers_with_one_more": extra,
                "step_1": _step_1(len(alike), together=together),
                "subscribers": [
                    {
                        "member_id": group.member_ids[member],
                        "because": why_there(group, member),
                        "partitions_of_each_topic": int(got[member]),
                        "one_more": bool(got[member] > quota),
                    }
                    for member in circle[:members_left]
                ],
            }
        )
        topics_left -= len(alike)
        members_left = max(0, members_left - len(circle))
    return {
        "rule": "of each topic every subscriber gets its quota, and those that are first in order (or first matched by rack) "
        "one more; so members early in the order gather one more from every topic",
        "co_partitioned": entries,
    }


def _step_1(topics: int, *, together: bool) -> str:
    if not together:
        return "skipped: each subscriber takes a run of consecutive partitions"
    if topics > 1:
        return "racks matched for all these topics together, partition by partition"
    return "racks matched for this topic, subscriber by subscriber"


def _why(group: Group, circle: Int32s, matching: "_Matching | None", topic: int) -> str:
    """Whether racks matter for the topic, and why."""
    racks, first = group.topics.racks, group.topics.first
    if not (group.racks[circle] != NONE).any():
        return "do not matter: no subscriber has a rack"
    if racks is None or racks.offsets[first[topic]] == racks.offsets[first[topic + 1]]:
        return "do not matter: no replica has a rack"
    if matching is not None and matching.racks_matter[topic]:
        return "matter: subscribers are on racks of the replicas, and not every partition is on all of these"
    if np.isin(racks.values[racks.offsets[first[topic]] : racks.offsets[first[topic + 1]]], group.racks[circle]).any():
        return "do not matter: every partition has a replica on each of the racks"
    return "do not matter: no subscriber is on the rack of any replica"


@dataclass(frozen=True)
class _Matching:
    """Which topics are matched with racks, and with which others.

    racks_matter : bool[topics]   the topics for which racks matter
    sets : Ragged set → topics    all topics, each in one set: with its co-partitioned ones
    together : bool[sets]         is the set matched with racks (step 1)?
    """

    racks_matter: Bools
    sets: Ragged
    together: Bools


def co_partitioned(group: Group, subscribers: Ragged) -> Ragged:
    """Ragged set → topics: those of equal subscribers and equal partition count."""
    counts = group.topics.partitions_counts()
    sets: dict[tuple[int, bytes], int] = {}
    labels = [sets.setdefault((int(counts[topic]), subscribers.row(topic).tobytes()), len(sets)) for topic in range(len(counts))]
    return grouped(np.array(labels, np.int32), len(sets))


def _matching(group: Group, racks: Ragged, order: Int32s, subscribers: Ragged) -> _Matching | None:
    """None when racks matter for no topic, and step 1 falls away for all."""
    matters, racked = where_racks_matter(
        group.racks[order],
        len(group.rack_ids),
        subscribers.offsets,
        subscribers.values,
        group.topics.first,
        racks.offsets,
        racks.values,
    )
    if not matters.any():
        return None
    sets = co_partitioned(group, subscribers)
    leaders = sets.firsts()
    # Kafka counts no partitions for topics without any subscriber on a rack, so that step 1 has nothing to do there.
    together = np.where(sets.lengths() > 1, racked[leaders], matters[leaders])
    return _Matching(matters, sets, together)


@kernel
def where_racks_matter(
    rack_at: Int32s, racks_count: int, subscribers_of: Int32s, subscribers: Int32s, first: Int32s, racks_of: Int32s, racks: Int32s
) -> tuple[Bools, Bools]:
    """For each topic, bool[topics] each: do racks matter (racks_matter), and is any of its subscribers on a rack?

    rack_at : int32[members]   the rack of the member at each position, or NONE
    subscribers_of, subscribers : topic → positions of its subscribers
    first : int32[topics + 1]
    racks_of, racks : partition → racks
    """
    matters = np.zeros(len(first) - 1, np.bool_)
    racked = np.zeros(len(first) - 1, np.bool_)
    consumer_racks = np.empty(racks_count, np.bool_)
    for topic in range(len(first) - 1):
        consumer_racks[:] = False
        for i in range(subscribers_of[topic], subscribers_of[topic + 1]):
            rack = rack_at[subscribers[i]]
            if rack != NONE:
                consumer_racks[rack] = True
                racked[topic] = True
        matters[topic] = racked[topic] and racks_matter(consumer_racks, first[topic], first[topic + 1], racks_of, racks)
    return matters, racked


@kernel
def owners_on_racks(
    order: Int32s,
    member_racks: Int32s,
    subscribers: RaggedArrays,
    first: Int32s,
    racks: RaggedArrays,
    sets: RaggedArrays,
    together: Bools,
    racks_count: int,
    fits_everywhere: bool,  # noqa: FBT001 (a kernel)
) -> Int32s:
    """The owner of each partition where racks matter for some topic, or NONE where no member subscribes: int32[partitions].

    order : int32[members]              the member at each position
    member_racks : int32[members]       each member's rack, or NONE
    subscribers : topic → positions of its subscribers, ascending
    first : int32[topics + 1]           the first partition of each topic
    racks : partition → racks of its replicas, none twice
    sets : set → its co-partitioned topics
    together : bool[sets]               is the set matched with racks?
    fits_everywhere : when several topics are matched together, does a subscriber without a rack fit every partition?

    Reproduces RangeAssignor.assignWithRackMatching and assignRanges. Who has no room now will never have
    any, and what is taken stays taken; so a look for the first match goes on where the last one for that rack ended, and
    the whole is O(partitions × racks of a partition + members × sets). Plain-Python twin: tests/reference/assignors.py.
    """
    owners = np.full(first[-1], NONE, np.int32)
    for one in range(len(sets.offsets) - 1):
        alike = sets.values[sets.offsets[one] : sets.offsets[one + 1]]
        leader = alike[0]
        circle = order[subscribers.values[subscribers.offsets[leader] : subscribers.offsets[leader + 1]]]
        if len(circle) == 0:
            continue
        count = first[leader + 1] - first[leader]
        pattern = np.full(count, NONE, np.int32)
        counts = np.zeros(len(circle), np.int32)
        quota, extra = divmod(count, len(circle))
        if together[one]:
            rack_at = member_racks[circle]
            rack_at[rack_at == NONE] = racks_count
            if len(alike) > 1:
                extra = _match_together(pattern, counts, quota, extra, rack_at, racks_count, first[alike], racks, fits_everywhere)
            else:
                extra = _match_alone(pattern, counts, quota, extra, rack_at, racks_count, first[leader], racks)
        _share_out_the_rest(pattern, counts, quota, extra)
        owner_of_id = circle[pattern]
        for topic in alike:
            put(owner_of_id, owners, first[topic])
    return owners


@inner_kernel
def _match_together(
    pattern: Int32s,
    counts: Int32s,
    quota: int,
    extra: int,
    rack_at: Int32s,
    racks_count: int,
    starts: Int32s,
    racks: RaggedArrays,
    fits_everywhere: bool,  # noqa: FBT001 (a kernel)
) -> int:
    """Step 1 for a set of topics: each id to the first subscriber with room on a rack that it has in all of them.

    pattern : int32[ids]          id → subscriber or NONE; written
    counts : int32[subscribers]    how many ids each has; written
    quota, extra : a subscriber has room for ``quota`` ids, and one more while ``extra`` is not used up
    rack_at : int32[subscribers]  the rack of each, ``racks_count`` for none
    starts : int32[topics]        the first partition of each topic of the set
    racks : partition → racks
    fits_everywhere : does a subscriber without a rack fit every partition?
    Returns the extra that is left.

    Reproduces RangeAssignor.assignCoPartitionedWithRackMatching.
    """
    # The subscribers of each rack in order, those without one last, and the first of each that may still have room.
    queue_of, queue = grouped_arrays(rack_at, racks_count + 1)
    head = queue_of[:-1].copy()
    topics_on = np.zeros(racks_count + 1, np.int32)
    topics_on[racks_count] = len(starts) if fits_everywhere else NONE  # of who has no rack
    for partition_id in range(len(pattern)):
        for start in starts:
            for i in range(racks.offsets[start + partition_id], racks.offsets[start + partition_id + 1]):
                topics_on[racks.values[i]] += 1
        best = len(counts)
        one, stop = racks.offsets[starts[0] + partition_id], racks.offsets[starts[0] + partition_id + 1]
        for i in range(one, stop + 1):  # a rack that all topics share is one of the first topic's
            rack = racks.values[i] if i < stop else racks_count
            if topics_on[rack] == len(starts):
                while head[rack] < queue_of[rack + 1] and counts[queue[head[rack]]] >= quota + (extra > 0):
                    head[rack] += 1
                if head[rack] < queue_of[rack + 1]:
                    best = min(best, queue[head[rack]])
        if best < len(counts):
            pattern[partition_id] = best
            counts[best] += 1
            extra -= counts[best] > quota
        topics_on[:racks_count] = 0
    return extra


@inner_kernel
def _match_alone(
    pattern: Int32s,
    counts: Int32s,
    quota: int,
    extra: int,
    rack_at: Int32s,
    racks_count: int,
    start: int,
    racks: RaggedArrays,
) -> int:
    """Step 1 for one topic: to each subscriber the first free ids with a replica on its rack, as far as it has room.

    Arguments as in ``_match_together``; ``start`` is the topic's first partition.

    Reproduces RangeAssignor.assignRanges with racksMatch.
    """
    next_id = np.zeros(racks_count + 1, np.int32)  # per rack: every id before it is taken or has no replica there
    for subscriber in range(len(counts)):
        rack = rack_at[subscriber]
        while next_id[rack] < len(pattern) and counts[subscriber] < quota + (extra > 0):
            partition_id = next_id[rack]
            if pattern[partition_id] == NONE and (
                rack == racks_count or on_rack(racks.offsets, racks.values, start + partition_id, rack)
            ):
                pattern[partition_id] = subscriber
                counts[subscriber] += 1
            next_id[rack] += 1
        extra -= counts[subscriber] > quota
    return extra


@inner_kernel
def _share_out_the_rest(pattern: Int32s, counts: Int32s, quota: int, extra: int) -> None:
    """Step 2: to each subscriber the first free ids, as far as it has room. Arguments as in ``_match_together``.

    Reproduces RangeAssignor.assignRanges without racks.
    """
    partition_id = 0
    for subscriber in range(len(counts)):
        had = counts[subscriber]
        while partition_id < len(pattern) and counts[subscriber] < quota + (extra > 0):
            if pattern[partition_id] == NONE:
                pattern[partition_id] = subscriber
                counts[subscriber] += 1
            partition_id += 1
        extra -= counts[subscriber] > max(had, quota)
