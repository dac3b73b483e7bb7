"""librdkafka's roundrobin before 1.5.3, which takes places in the circle of all members for places among a topic's subscribers.

Of a topic with n subscribers only those get partitions that are among the first n of all members. The next such member gets the
next partition. In 1.5.0 an assertion fails where the last of them is not the n-th member, and had its turn; from 1.5.2 on the
first of them follows. If there is none at all, 1.5.2 looks for one forever.

Source: rd_kafka_roundrobin_assignor_assign_cb (librdkafka 1.5.0, 1.5.2). Racks and the previous assignment play no part.
"""

import numpy as np

from service.clients.librdkafka.order import members_in_order
from service.core.assignors.classic.members import topic_subscribers
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Assignment, Group
from service.core.ragged import grouped


def assign(group: Group, *, asserts: bool) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails where there is no answer. asserts : as in 1.5.0?"""
    order = members_in_order(group)
    subscribers = topic_subscribers(group, order)
    first = group.topics.first
    owners = np.full(group.topics.partitions_count, NONE, np.int32)
    last = NONE
    for topic in np.flatnonzero((subscribers.lengths() > 0) & (np.diff(first) > 0)).tolist():
        count, length = int(first[topic + 1] - first[topic]), len(subscribers.row(topic))
        able = subscribers.row(topic)
        able = able[able < length]
        begin = int(np.searchsorted(able, (last + 1) % length))
        if len(able) == 0 or (asserts and able[-1] != length - 1 and begin + count > len(able)):
            raise _failure(group, topic, asserts=asserts)
        turns = able[(begin + np.arange(count)) % len(able)]
        owners[first[topic] : first[topic + 1]] = order[turns]
        last = int(turns[-1])
    return Assignment(grouped(owners, len(group)))


def _failure(group: Group, topic: int, *, asserts: bool) -> KafkaAssignorFails:
    return KafkaAssignorFails(
        None,
        "Aborted" if asserts else None,
        cause=f"it looks for a subscriber of topic {group.topics.names[topic]!r} among too few of the members",
        remedy="use release 1.5.3 or later, or let all members subscribe to the same topics",
        library="librdkafka",
        does="ends its own process (Aborted: an assertion fails)" if asserts else "never returns",
    )
