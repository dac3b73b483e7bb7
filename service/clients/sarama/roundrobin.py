"""sarama's roundrobin: all partitions dealt in turn, in the order of their names as texts.

*Algorithm*: that of Kafka's, but members stand in the order of their member_ids, and the partitions in that of the texts
``topic-partition_id``: t-10 comes before t-2.

Source: roundRobinBalancer in balance_strategy.go (sarama 1.61.1). The previous assignment and racks play no part.
"""

from bisect import bisect_left
from typing import Final

import numpy as np

from service.clients.names import by_bytes
from service.core.assignors.classic.members import topic_subscribers
from service.core.clock import check_time, reserve_in_turn
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Assignment, Group
from service.core.ragged import grouped

TEXT_BYTES: Final = 210
"""Most memory for the text of each partition, beside the name of its topic, and for its place. Measured: 190."""


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails for a group without subscriptions."""
    if len(group.subscriptions.values) == 0:
        raise KafkaAssignorFails(
            "error",
            "members and topics are not provided",
            cause="no member subscribes to a topic",
            remedy="name at least one member with a topic",
            library="sarama",
        )
    order = by_bytes(group.member_ids)
    subscribers = topic_subscribers(group, order)
    topic_of = group.topics.topic_of
    counts = group.topics.partitions_counts().tolist()
    reserve_in_turn(sum(count * (TEXT_BYTES + len(name)) for name, count in zip(group.topics.names, counts, strict=True)))
    texts = _texts(group)
    check_time()
    sequence = by_bytes(texts)
    check_time()
    circles = [subscribers.row(topic).tolist() for topic in range(len(subscribers))]
    members, owners, at = order.tolist(), np.full(len(sequence), NONE, np.int32), 0
    for partition, topic in zip(sequence.tolist(), topic_of[sequence].tolist(), strict=True):
        if circles[topic]:
            position = circles[topic][bisect_left(circles[topic], at) % len(circles[topic])]
            owners[partition] = members[position]
            at = position + 1
    return Assignment(grouped(owners, len(group)))


def _texts(group: Group) -> list[str]:
    """Each partition as it is compared."""
    counts = group.topics.partitions_counts().tolist()
    return [f"{name}-{i}" for name, count in zip(group.topics.names, counts, strict=True) for i in range(count)]
