"""Of each topic a run of consecutive partitions for each subscriber: what range assignors do where racks play no part.

Of a topic's n partitions each of its s subscribers gets ``n // s``, and the first ``n % s`` one more.
"""

from collections.abc import Callable

import numpy as np

from service.core.assignors.classic.members import alike, topic_subscribers
from service.core.kernels import kernel
from service.core.model import Assignment, Group, Int32s, Ragged


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
