"""The simple assignor where all members subscribe to the same topics: all partitions are shared out together (share_out.py).

The order of the partitions is that of a HashMap of TopicIdPartitions, filled with what members own, then with the rest. Such keys
have no natural order: where two of equal hash meet in a bucket of eight or more, Java goes by memory addresses, and no answer is
certain; ``order_is_certain`` tells.

Source: org.apache.kafka.coordinator.group.assignor.SimpleHomogeneousAssignmentBuilder (every
release since 4.2.0).
"""

import numpy as np

from service.core.assignors.coordinator import TopicIds, member_order, topic_ids, topic_order
from service.core.assignors.share.share_out import owned_entries, rows_of, share_out
from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, iteration_order, order_in_large_table, table_length
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Group, Int32s, Ragged, RaggedArrays


def assign(group: Group, order: Int32s, ids: TopicIds) -> Assignment:
    """Ragged member → partitions, in no particular order; partitions are numbered as the HashMap of all partitions gives them.

    order, ids : ``member_order`` and ``topic_ids`` of the group
    """
    targets = _targets(group, order)
    entry_of, entries = owned_entries(group, order, ids, targets)
    hashes = _topic_id_partition_hashes(group, ids)
    partitions = _hash_map_order(_entry_ranks(group.topics.first, targets, entries), hashes)
    members = np.arange(len(group), dtype=np.int32)
    return Assignment(Ragged(*_share_out_together(order, members, RaggedArrays(entry_of, entries), partitions, hashes)))


def _hash_map_order(ranks: Int32s, hashes: Int32s) -> Int32s:
    """The partitions in the order of the HashMap. ranks : see ``_entry_ranks``; hashes : int32[partitions]"""
    size = int(ranks.max(initial=NONE)) + 1
    keys = order_in_large_table(hashes, ranks, table_length(_capacity_for(size)))
    if len(keys) < size:
        partitions = _entered(ranks)
        keys = partitions[iteration_order(hashes[partitions], capacity=_capacity_for(size), compute=True)]
    return keys


def order_is_certain(group: Group) -> bool:
    """Is the order of every HashMap and HashSet of TopicIdPartitions certain? Errs on the side of no.

    group : all members, and there are some, subscribe to the same names
    """
    if not _equal_hashes(group):
        return True
    order, ids = member_order(group), topic_ids(group.topics)
    targets = _targets(group, order)
    _, keys = owned_entries(group, order, ids, targets)
    partitions = _entered(_entry_ranks(group.topics.first, targets, keys))
    hashes = _topic_id_partition_hashes(group, ids)
    sets = [(hashes[partitions], _capacity_for(len(partitions)))]
    sets += [
        (hashes[row[row < group.topics.partitions_count]], DEFAULT_CAPACITY) for row in map(group.owned.row, range(len(group)))
    ]
    return not any(_order_is_undefined(*one) for one in sets)


def _equal_hashes(group: Group) -> bool:
    """May two partitions of different topics have the same hash? A topic's are consecutive numbers."""
    starts = topic_ids(group.topics).hashes.astype(np.int64) * 31 % 2**32
    by_start = np.argsort(starts)
    starts, counts = starts[by_start], group.topics.partitions_counts()[by_start]
    return bool(len(starts) > 1 and np.any(starts + counts > np.append(starts[1:], starts[0] + 2**32)))


def _order_is_undefined(hashes: Int32s, capacity: int) -> bool:
    """May two equal ones of these hashes have stood in a tree? Looks at every table that there has been."""
    length = 64
    while length < capacity:
        length *= 2
    while True:
        some = hashes[: length * 3 // 4 + 1]
        buckets = (some ^ (some.view(np.uint32) >> np.uint32(16)).view(np.int32)) & np.int32(length - 1)
        crowded = some[np.bincount(buckets, minlength=length)[buckets] >= 8]
        if len(np.unique(crowded)) < len(crowded):
            return True
        if len(some) == len(hashes):
            return False
        length *= 2


def _capacity_for(size: int) -> int:
    """What AssignorHelpers.newHashMap and newHashSet ask for, given the number of entries expected."""
    return int(np.float32(size + 1) / np.float32(0.75) + np.float32(1.0))


def _targets(group: Group, order: Int32s) -> Int32s:
    """int32[...], the topics of a homogeneous group, in the first member's order."""
    names = java_hash_codes(group.topic_names)
    return topic_order(group, int(order[0]), names)


def _topic_id_partition_hashes(group: Group, ids: TopicIds) -> Int32s:
    """int32[partitions], TopicIdPartition.hashCode() (the server's, a record) of each partition."""
    first = group.topics.first
    bases = np.uint32(31) * ids.hashes.view(np.uint32) - first[:-1].view(np.uint32)
    partitions = np.arange(first[-1], dtype=np.uint32)
    partitions += np.repeat(bases, np.diff(first))
    return partitions.view(np.int32)


@kernel
def _entry_ranks(first: Int32s, topics: Int32s, entries: Int32s) -> Int32s:
    """int32[partitions]: how many enter the HashMap before each partition of ``topics``, first those owned; NONE elsewhere."""
    ranks = np.full(first[-1], NONE, np.int32)
    rank = 0
    for partition in entries:
        if ranks[partition] == NONE:
            ranks[partition] = rank
            rank += 1
    for topic in topics:
        for partition in range(first[topic], first[topic + 1]):
            if ranks[partition] == NONE:
                ranks[partition] = rank
                rank += 1
    return ranks


def _entered(ranks: Int32s) -> Int32s:
    """The partitions that enter the HashMap, in this order. ranks : see ``_entry_ranks``"""
    entered = np.flatnonzero(ranks != NONE).astype(np.int32)
    partitions = np.empty(len(entered), np.int32)
    partitions[ranks[entered]] = entered
    return partitions


@kernel
def _share_out_together(
    order: Int32s, members: Int32s, owned: RaggedArrays, partitions: Int32s, hashes: Int32s
) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions.

    owned : number → partitions, in Java's order
    The others are as for ``share_out``.
    """
    entries = owned.values
    entry_numbers = np.empty(len(entries), np.int32)
    for number in range(len(members)):
        entry_numbers[owned.offsets[number] : owned.offsets[number + 1]] = number
    scratch = np.full((4, len(members)), NONE, np.int32)
    stays, numbers, given = share_out(members, entry_numbers, entries, partitions, hashes, scratch, 0)
    return rows_of(order, np.concatenate((entry_numbers[stays], numbers)), np.concatenate((entries[stays], given)))
