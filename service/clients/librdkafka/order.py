"""In which order librdkafka's members stand.

Two static members are compared by instance_id, all others by member_id (rd_kafka_group_member_cmp). Where static and dynamic
members meet, that need not be an order: with member_ids a < d < b, d dynamic and the instance_id of b before that of a, each
comes before the next in a circle. What the C library's qsort then makes of the members depends on its algorithm and on the
order in which they joined. Here it is glibc's merge sort, that of most machines with Linux; another (musl in Alpine's images,
macOS, Windows) may differ.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from service.clients.names import byte_ranks
from service.core.assignors.classic.members import topic_subscribers
from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Group, Int32s, Ragged

NO_ORDER: Final = (
    "librdkafka compares two static members by instance_id and all others by member_id, which puts these members in no order. "
    "This is the answer with glibc's qsort; with another C library it may differ."
)


def ranks(group: Group) -> tuple[Int32s, Int32s]:
    """The place of each member among the member_ids, and among the instance_ids, NONE for a dynamic one: int32[members] each."""
    of_instances = np.full(len(group), NONE, np.int32)
    static = [member for member, instance_id in enumerate(group.instance_ids) if instance_id is not None]
    of_instances[np.array(static, np.int32)] = byte_ranks([group.instance_ids[member] or "" for member in static])
    return byte_ranks(group.member_ids), of_instances


def members_in_order(group: Group) -> Int32s:
    """int32[members], all members as qsort leaves them."""
    members = np.arange(len(group), dtype=np.int32)
    _sort_rows(np.array([0, len(group)], np.int32), members, *ranks(group))
    return members


def subscribers_in_order(group: Group) -> tuple[Int32s, Ragged]:
    """int32[members], an order of the members, and Ragged topic → positions in it of its subscribers, as qsort leaves them.

    Topics that do not exist have no row. Where the comparison is no order, each topic's subscribers fall into one of their own.
    """
    of_ids, of_instances = ranks(group)
    if is_order(of_ids, of_instances):
        order = members_in_order(group)
        return order, topic_subscribers(group, order)
    order = np.arange(len(group), dtype=np.int32)
    subscribers = topic_subscribers(group, order)
    _sort_rows(subscribers.offsets, subscribers.values, of_ids, of_instances)
    return order, subscribers


def warnings(group: Group) -> list[str]:
    """A sentence if the members' comparisons are no order, so that the machine's qsort decides."""
    of_ids, of_instances = ranks(group)
    if is_order(of_ids, of_instances):
        return []
    return [NO_ORDER]


def is_order(of_ids: Int32s, of_instances: Int32s) -> bool:
    """Is the comparison of these members an order? Only if static members between which a dynamic one stands agree in both."""
    by_id = of_instances[np.argsort(of_ids)]
    static = by_id != NONE
    before_dynamic = np.where(static, NONE, np.maximum.accumulate(by_id))  # the highest instance_id before a dynamic member
    return bool((by_id[static] > np.maximum.accumulate(before_dynamic)[static]).all())


@kernel
def _sort_rows(offsets: Int32s, members: Int32s, of_ids: Int32s, of_instances: Int32s) -> None:
    """Sort each row of members in place, by rd_kafka_group_member_cmp (librdkafka 2.12.1) and with the merges of glibc's qsort.

    offsets, members : row → members, members changed
    of_ids, of_instances : int32[members]   see ``ranks``

    qsort halves a row, the first half the smaller one, until single members are left, and merges the halves.
    Plain-Python twin: tests/reference/clients/librdkafka.py.
    """
    longest = 0
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    room = np.empty(longest, np.int32)
    for row in range(len(offsets) - 1):
        _sort(members[offsets[row] : offsets[row + 1]], room, of_ids, of_instances)


@inner_kernel
def _sort(members: Int32s, room: Int32s, of_ids: Int32s, of_instances: Int32s) -> None:
    """One row, as ``_sort_rows``: from the deepest halves to the whole. room : int32[at least as many]"""
    count = len(members)
    depth = 0
    while (1 << depth) < count:
        depth += 1
    starts = np.zeros((1 << depth) + 1, np.int32)
    for level in range(depth, 0, -1):
        parts = 1 << level
        for part in range(parts + 1):
            starts[part] = _start(part, level, count)
        for part in range(0, parts, 2):
            _merge(members, starts[part], starts[part + 1], starts[part + 2], room, of_ids, of_instances)


@borrowing_kernel
def _start(part: int, level: int, count: int) -> int:
    """Where a part begins after a number of halvings of ``count`` members; behind the last part, their end."""
    start, stop = 0, count
    if part == 1 << level:
        return count
    for bit in range(level - 1, -1, -1):
        middle = start + (stop - start) // 2
        if (part >> bit) & 1:
            start = middle
        else:
            stop = middle
    return start


@borrowing_kernel
def _merge(members: Int32s, start: int, middle: int, stop: int, room: Int32s, of_ids: Int32s, of_instances: Int32s) -> None:
    """Merge two sorted halves; of two equal members the one of the first half comes first."""
    at, other, put = start, middle, 0
    while at < middle and other < stop:
        one, two = members[at], members[other]
        static = of_instances[one] != NONE and of_instances[two] != NONE
        first = of_instances[one] <= of_instances[two] if static else of_ids[one] <= of_ids[two]
        if first:
            room[put] = one
            at += 1
        else:
            room[put] = two
            other += 1
        put += 1
    while at < middle:
        room[put] = members[at]
        at += 1
        put += 1
    for i in range(put):
        members[start + i] = room[i]
