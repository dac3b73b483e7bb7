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
    of_ids, of_instances = ranks(group)
    return np.array(_sorted([*range(len(group))], of_ids.tolist(), of_instances.tolist()), np.int32)


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
    rows = {row.tobytes(): row for row in map(subscribers.row, range(len(subscribers)))}
    both = of_ids.tolist(), of_instances.tolist()
    in_order = {key: np.array(_sorted(row.tolist(), *both), np.int32) for key, row in rows.items()}
    return order, Ragged.of_rows([in_order[subscribers.row(topic).tobytes()] for topic in range(len(subscribers))])


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


def _sorted(members: list[int], of_ids: list[int], of_instances: list[int]) -> list[int]:
    """Members sorted by rd_kafka_group_member_cmp (librdkafka 2.12.1), and with the merges of glibc's qsort.

    of_ids, of_instances : see ``ranks``

    qsort halves the members, the first half the smaller one, and merges the sorted halves; of two equal members the one of the
    first half comes first.
    """
    if len(members) < 2:
        return members
    middle = len(members) // 2
    one, other = (_sorted(half, of_ids, of_instances) for half in (members[:middle], members[middle:]))
    merged: list[int] = []
    i = j = 0
    while i < len(one) and j < len(other):
        static = of_instances[one[i]] != NONE and of_instances[other[j]] != NONE
        places = of_instances if static else of_ids
        if places[one[i]] <= places[other[j]]:
            merged.append(one[i])
            i += 1
        else:
            merged.append(other[j])
            j += 1
    return merged + one[i:] + other[j:]
