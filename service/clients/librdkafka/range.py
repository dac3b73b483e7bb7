"""librdkafka's range: Kafka's algorithm, over members in an order of its own (``order``), and with other rules for racks.

*Racks* (since 2.2.0): topics with the same subscribers and the same number of partitions are always matched together, and then a
subscriber without a rack fits nowhere; in Kafka's own it fits everywhere. Where a topic stands alone the rules are Kafka's.

Source: rdkafka_range_assignor.c (librdkafka 1.9.2, 2.12.1). The previous assignment plays no part.
"""

import numpy as np

from service.clients.librdkafka.order import subscribers_in_order
from service.core.assignors.classic.range import co_partitioned, owners_on_racks, where_racks_matter
from service.core.assignors.classic.ranges import in_ranges
from service.core.model import Assignment, Group
from service.core.ragged import grouped


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    racks, first = group.topics.racks, group.topics.first
    if racks is None:
        return assign_without_racks(group)
    order, subscribers = subscribers_in_order(group)
    racks_count = len(group.rack_ids)
    matters, _ = where_racks_matter(
        group.racks[order], racks_count, subscribers.offsets, subscribers.values, first, racks.offsets, racks.values
    )
    sets = co_partitioned(group, subscribers)
    together = (sets.lengths() > 1) | matters[sets.firsts()]
    owners = owners_on_racks(
        order, group.racks, subscribers.arrays(), first, racks.arrays(), sets.arrays(), np.array(together), racks_count, False
    )
    return Assignment(grouped(owners, len(group)))


def assign_without_racks(group: Group) -> Assignment:
    """Ragged member → partitions, ascending, as until 2.2."""
    return in_ranges(group, *subscribers_in_order(group))
