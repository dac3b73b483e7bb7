"""franz-go's roundrobin: Kafka's algorithm; texts are compared by their bytes.

Source: roundRobinBalancer in group_balancer.go (franz-go 1.22.2). The previous assignment and racks play no part.
"""

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.roundrobin import owners_in_turn
from service.core.assignors.clients.franz_go.members import static_first
from service.core.model import Assignment, Group
from service.core.ragged import grouped


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    return Assignment(grouped(owners_in_turn(order, subscribers.offsets, subscribers.values, group.topics.first), len(group)))
