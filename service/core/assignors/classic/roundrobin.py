"""Kafka's RoundRobinAssignor: all partitions of all topics, dealt to the members in turn.

*Goal*: counts that differ by at most one, if all members subscribe to the same topics.

*Algorithm*: the members stand in a circle, static ones first. The topics in the order of their names, the partitions of each
ascending: each partition goes to the next member of the circle that subscribes to its topic; those passed over wait for the
next time round.

Example: members A, B; topics t (3 partitions), u (2): A gets t-0, t-2, u-1 and B gets t-1, u-0.

Source: org.apache.kafka.clients.consumer.RoundRobinAssignor. The previous assignment and racks play no part.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from service.core.assignors.classic.members import topic_subscribers
from service.core.errors import KafkaAssignorFails
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Group, Int32s, static_first, why_there
from service.core.ragged import grouped


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails for a group without members."""
    if len(group) == 0:
        raise KafkaAssignorFails(
            "java.lang.IllegalArgumentException",
            "CircularIterator can only be used on non-empty lists",
            cause="the group has no members (/members is empty)",
            remedy="name at least one member",
        )
    return turns_by(static_first, group)


def turns_by(order_of: Callable[[Group], Int32s], group: Group) -> Assignment:
    """Roundrobin over members in another order. order_of : gives int32[members], the member at each position of the circle"""
    order = order_of(group)
    subscribers = topic_subscribers(group, order)
    return Assignment(grouped(owners_in_turn(order, subscribers.offsets, subscribers.values, group.topics.first), len(group)))


def explain(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """The circle, from where the deal begins. ``limit`` bounds the members listed."""
    order = static_first(group)
    counts = assignment.rows.lengths()
    least = int(counts.min())
    return {
        "rule": "each partition, by topic name and id, goes to the next member of the circle that subscribes to its topic",
        "circle": [
            {
                "member_id": group.member_ids[member],
                "because": why_there(group, member),
                "partitions": int(counts[member]),
                "more_than_least": int(counts[member]) - least,
            }
            for member in order[:limit]
        ],
    }


@kernel
def owners_in_turn(order: Int32s, subscribers_of: Int32s, subscribers: Int32s, first: Int32s) -> Int32s:
    """The owner of each partition, or NONE where no member subscribes: int32[partitions].

    order : int32[members]              the member at each position of the circle
    subscribers_of, subscribers : int32[topics + 1], int32[...]   topic → positions of its subscribers, ascending
    first : int32[topics + 1]           the first partition of each topic

    Reproduces RoundRobinAssignor.assignPartitions. Instead of stepping over members that do not subscribe, each topic begins
    at its first subscriber from the circle's position on and goes round its own subscribers: O(partitions + topics log members).
    Plain-Python twin: tests/reference/assignors.py.
    """
    owners = np.full(first[-1], NONE, np.int32)
    at = 0
    for topic in range(len(first) - 1):
        circle = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        if len(circle) == 0:
            continue
        turn = int(np.searchsorted(circle, at)) % len(circle)
        for partition in range(first[topic], first[topic + 1]):
            owners[partition] = order[circle[turn]]
            at = circle[turn] + 1
            turn += 1
            if turn == len(circle):
                turn = 0
    return owners
