"""kafka-go's range and roundrobin: formulas that look at one topic at a time.

Of n partitions and s subscribers, range gives the i-th subscriber the ids from ``i * n // s`` to ``(i + 1) * n // s - 1``. So
the longer runs are not those of the first subscribers, as with Kafka's range: 5 partitions among 3 are 1, 2 and 2. Roundrobin
gives it the ids whose remainder modulo s is i; with few partitions in each of many topics, the first members get nearly all.

Source: RangeGroupBalancer, RoundRobinGroupBalancer, findMembersByTopic in groupbalancer.go (kafka-go 0.4.51).
"""

import numpy as np

from service.clients.names import by_member_id
from service.core.assignors.classic.members import topic_subscribers
from service.core.model import NONE, Assignment, Group
from service.core.ragged import grouped


def assign(group: Group, *, in_ranges: bool) -> Assignment:
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
