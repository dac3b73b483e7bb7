"""kafka-python's range: Kafka's algorithm without racks, over the members that its code remembers (members.py).

Source: kafka.coordinator.assignors.range.RangePartitionAssignor (kafka-python 3.0.12). The previous assignment plays no part.
"""

import numpy as np

from service.clients.kafka_python.members import warning, without_forgotten
from service.clients.names import static_first
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.ranges import in_ranges
from service.core.model import Assignment, Group


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    order = static_first(group)
    return in_ranges(group, order, without_forgotten(group, order, topic_subscribers(group, order)))


def warnings(group: Group) -> list[str]:
    """A sentence if members are forgotten by every topic that they subscribe to."""
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    return warning(len(np.setdiff1d(subscribers.values, without_forgotten(group, order, subscribers).values)))
