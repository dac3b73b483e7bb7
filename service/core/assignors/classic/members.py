"""Who subscribes to what, and when racks count: what the classic assignors begin with."""

from dataclasses import replace

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Group, Int32s, Ragged
from service.core.ragged import alike

# When rack awareness (KIP-881) comes into play: the rule that range and both sticky assignors share.


def without_racks(group: Group) -> Group:
    """The group as leaders up to Kafka 3.4 see it."""
    return replace(group, topics=replace(group.topics, racks=None), racks=np.full(len(group), NONE, np.int32))


@inner_kernel
def on_rack(racks_of: Int32s, racks: Int32s, partition: int, rack: int) -> bool:
    """Has the partition a replica on the rack?

    racks_of, racks : int32[partitions + 1], int32[...]   partition → racks of its replicas
    """
    for i in range(racks_of[partition], racks_of[partition + 1]):  # noqa: SIM110 (a kernel)
        if racks[i] == rack:
            return True
    return False


@kernel
def racks_matter(consumer_racks: Bools, first: int, stop: int, racks_of: Int32s, racks: Int32s) -> bool:
    """Is there something to gain from racks for the partitions ``first`` … ``stop - 1``?

    consumer_racks : bool[racks]   the racks of the consumers concerned
    racks_of, racks : int32[partitions + 1], int32[...]   partition → racks of its replicas, none twice

    Yes if some consumer is on the rack of some replica, and some partition is not on all the racks that occur.
    Reproduces AbstractPartitionAssignor.useRackAwareAssignment.
    """
    occurs = np.zeros(len(consumer_racks), np.bool_)
    union = 0
    shared = False
    for i in range(racks_of[first], racks_of[stop]):
        rack = racks[i]
        if not occurs[rack]:
            occurs[rack] = True
            union += 1
            shared |= consumer_racks[rack]
    if not shared:
        return False
    for partition in range(first, stop):  # noqa: SIM110 (a kernel)
        if racks_of[partition + 1] - racks_of[partition] != union:
            return True
    return False


def topic_subscribers(group: Group, order: Int32s) -> Ragged:
    """Ragged topic → its subscribers, as ascending positions in ``order``. Topics that do not exist have no row.

    order : int32[members]
    """
    subscriptions = group.subscriptions
    return Ragged(*_topic_subscribers(order, subscriptions.offsets, subscriptions.values, len(group.topics)))


def only_subscribers(subscribers: Ragged) -> Int32s:
    """The only subscriber of each topic, int32[topics]; NONE without any, or with several."""
    only = np.full(len(subscribers), NONE, np.int32)
    single = np.flatnonzero(subscribers.lengths() == 1)
    only[single] = subscribers.values[subscribers.offsets[single]]
    return only


@kernel
def _topic_subscribers(order: Int32s, offsets: Int32s, topics: Int32s, topics_count: int) -> tuple[Int32s, Int32s]:
    """A counting sort of the subscriptions ``topics[offsets[member]:offsets[member + 1]]`` by topic, members in order."""
    first = np.zeros(topics_count + 1, np.int32)
    for topic in topics:
        if topic < topics_count:
            first[topic + 1] += 1
    for topic in range(topics_count):
        first[topic + 1] += first[topic]
    positions = np.empty(first[topics_count], np.int32)
    if alike(offsets, topics):  # topic after topic is how memory likes it
        for topic in range(topics_count):
            for position in range(first[topic + 1] - first[topic]):
                positions[first[topic] + position] = position
        return first, positions
    cursor = first[:-1].copy()
    for position in range(len(order)):
        member = order[position]
        for i in range(offsets[member], offsets[member + 1]):
            topic = topics[i]
            if topic < topics_count:
                positions[cursor[topic]] = position
                cursor[topic] += 1
    return first, positions
