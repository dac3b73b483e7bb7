"""librdkafka's roundrobin: Kafka's algorithm, over members in an order of its own (``order``).

Source: rdkafka_roundrobin_assignor.c (librdkafka 1.9.2 to 2.12.1). The previous assignment and racks play no part.
"""

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.roundrobin import owners_in_turn
from service.core.assignors.clients.librdkafka.order import members_in_order
from service.core.model import Assignment, Group
from service.core.ragged import grouped


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    order = members_in_order(group)
    subscribers = topic_subscribers(group, order)
    return Assignment(grouped(owners_in_turn(order, subscribers.offsets, subscribers.values, group.topics.first), len(group)))
