"""The simple assignor where members subscribe to different topics: each topic is shared out by itself (share_out.py).

Source: org.apache.kafka.coordinator.group.assignor.SimpleHeterogeneousAssignmentBuilder (every
release since 4.2.0).
"""

import numpy as np

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.coordinator import TopicIds
from service.core.assignors.share.share_out import by_spread, owned_entries, rows_of, share_out
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped_arrays, put


def assign(group: Group, order: Int32s, ids: TopicIds) -> Assignment:
    """Ragged member → partitions, in no particular order; topic by topic, a partition's number is its id.

    order, ids : ``member_order`` and ``topic_ids`` of the group
    """
    topics = group.topics
    subscribers = topic_subscribers(group, order)
    if not len(subscribers.values):  # without any topic to share out, Kafka keeps nothing of what no member subscribes to either
        return Assignment(Ragged(np.zeros(len(group) + 1, np.int32), np.empty(0, np.int32)))
    entry_of, entries = owned_entries(group, order, ids, np.arange(len(topics), dtype=np.int32))
    return Assignment(
        Ragged(*_share_out_by_topic(order, topics.first, subscribers.offsets, subscribers.values, entry_of, entries))
    )


@kernel
def _share_out_by_topic(
    order: Int32s, first: Int32s, subscribers_of: Int32s, subscribers: Int32s, entry_of: Int32s, entries: Int32s
) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions.

    order : int32[members]   the member of each number
    first : int32[topics + 1]
    subscribers_of, subscribers : topic → numbers of its subscribers, ascending
    entry_of, entries : number → partitions, in Java's order
    """
    members, topics = len(order), len(first) - 1
    # Topic → its entries, numbers ascending, each number's in Java's order.
    numbers_of_entries = np.empty(len(entries), np.int32)
    for number in range(members):
        numbers_of_entries[entry_of[number] : entry_of[number + 1]] = number
    topic_of_entry = (np.searchsorted(first, entries, side="right") - 1).astype(np.int32)
    in_topic_of, in_topic = grouped_arrays(topic_of_entry, topics)

    total = len(entries)
    for topic in range(topics):
        count, subscribers_count = first[topic + 1] - first[topic], subscribers_of[topic + 1] - subscribers_of[topic]
        if count and subscribers_count:
            total += count * ((subscribers_count + count - 1) // count)
    numbers = np.empty(total, np.int32)
    partitions = np.empty(total, np.int32)
    end = 0
    scratch = np.full((4, members), NONE, np.int32)
    for topic in range(topics):
        mine = in_topic[in_topic_of[topic] : in_topic_of[topic + 1]]
        base = first[topic]
        subscribers_of_topic = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        if len(subscribers_of_topic) == 0:
            put(numbers_of_entries[mine], numbers, end)
            end = put(entries[mine], partitions, end)
            continue
        ids = np.arange(first[topic + 1] - base, dtype=np.int32)
        stays, given_numbers, given = share_out(
            subscribers_of_topic, numbers_of_entries[mine], entries[mine] - base, by_spread(ids), ids, scratch, base
        )
        kept = mine[stays]
        put(numbers_of_entries[kept], numbers, end)
        end = put(entries[kept], partitions, end)
        put(given_numbers, numbers, end)
        end = put(given + base, partitions, end)
    return rows_of(order, numbers[:end], partitions[:end])
