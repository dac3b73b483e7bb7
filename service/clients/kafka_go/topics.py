"""kafka-go's range and roundrobin: formulas that look at one topic at a time.

Of n partitions and s subscribers, range gives the i-th subscriber the ids from ``i * n // s`` to ``(i + 1) * n // s - 1``. So
the longer runs are not those of the first subscribers, as with Kafka's range: 5 partitions among 3 are 1, 2 and 2. Roundrobin
gives it the ids whose remainder modulo s is i; with few partitions in each of many topics, the first members get nearly all.

Source: RangeGroupBalancer, RoundRobinGroupBalancer, findMembersByTopic in groupbalancer.go (kafka-go 0.4.51).
Plain-Python twin: tests/reference/clients/kafka_go.py.
"""

import numpy as np

from service.clients.names import by_member_id
from service.core.assignors.classic.members import topic_subscribers
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Group, Int32s
from service.core.ragged import grouped


def assign(group: Group, *, in_ranges: bool) -> Assignment:
    """Ragged member → partitions, ascending. in_ranges : range, or roundrobin?"""
    order = by_member_id(group)
    subscribers = topic_subscribers(group, order)
    owners = _owners(order, subscribers.offsets, subscribers.values, group.topics.first, in_ranges)
    return Assignment(grouped(owners, len(group)))


@kernel
def _owners(order: Int32s, subscribers_of: Int32s, subscribers: Int32s, first: Int32s, in_ranges: bool) -> Int32s:  # noqa: FBT001
    """The owner of each partition, or NONE where no member subscribes: int32[partitions].

    order : int32[members]              the member at each position
    subscribers_of, subscribers : int32[topics + 1], int32[...]   topic → positions of its subscribers, ascending
    first : int32[topics + 1]           the first partition of each topic
    in_ranges : range, or roundrobin?
    """
    owners = np.full(first[-1], NONE, np.int32)
    for topic in range(len(first) - 1):
        circle = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        count = np.int64(first[topic + 1] - first[topic])
        turn = 0
        for partition_id in range(count if len(circle) > 0 else 0):
            if in_ranges:
                while partition_id >= (turn + 1) * count // len(circle):
                    turn += 1
            elif turn == len(circle):
                turn = 0
            owners[first[topic] + partition_id] = order[circle[turn]]
            turn += not in_ranges
    return owners
