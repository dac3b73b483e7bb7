"""sarama's range: Kafka's algorithm without racks, over members in the order of their member_ids.

Source: NewBalanceStrategyRange in balance_strategy.go (sarama 1.61.1). The previous assignment and racks play no part.
"""

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.range import owners_in_ranges
from service.core.assignors.clients.names import by_bytes
from service.core.model import Assignment, Group
from service.core.ragged import grouped


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    order = by_bytes(group.member_ids)
    subscribers = topic_subscribers(group, order)
    return Assignment(grouped(owners_in_ranges(order, subscribers.offsets, subscribers.values, group.topics.first), len(group)))
