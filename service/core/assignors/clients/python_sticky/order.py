"""The order in which the sticky assignors of kafka-python and aiokafka look at partitions, and what of it is left to chance.

Source: StickyAssignmentExecutor._populate_sorted_partitions (kafka-python 3.0.12, aiokafka 0.14.0).
"""

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Int32s, Int64s
from service.core.optimize.heap import heapify, sift_down


@kernel
def from_the_fullest(  # noqa: C901 (a kernel)
    kept: Int32s, previous_owners: Int32s, claimed: Int32s, returning: Int32s, ranks: Int64s, rest: Int32s
) -> tuple[Int32s, bool]:
    """The order of the partitions if all members subscribe alike: int32[partitions]; and does that of a set have a part in it?

    kept, previous_owners : int32[partitions]   the member that keeps each partition, and the previous owner; or NONE
    claimed : int32[...]    the partitions in the order in which they stand with their owners
    returning : int32[...]  the same in the order in which they stand in a set
    ranks : int64[members]  the rank of each by member_id
    rest : int32[partitions]   all partitions, in the order of those that no member keeps

    Again and again the member with the most partitions left gives one: one that has a previous owner if there is any, taken from
    a set of all of them; otherwise its last.
    """
    members = len(ranks)
    counts, had_others = np.zeros(members + 1, np.int32), np.zeros(members, np.int32)
    for partition in claimed:
        if kept[partition] != NONE:
            counts[kept[partition] + 1] += 1
            had_others[kept[partition]] += previous_owners[partition] != NONE
    offsets = np.cumsum(counts).astype(np.int32)
    stacks = np.empty(offsets[-1], np.int32)
    plain, last = offsets[:-1].copy(), offsets[1:] - had_others
    keys = np.empty(members, np.int64)
    for member in range(members):
        keys[member] = -(np.int64(offsets[member + 1] - offsets[member]) * members + ranks[member])
    for partition in claimed:
        if kept[partition] != NONE and previous_owners[partition] == NONE:
            stacks[plain[kept[partition]]] = partition
            plain[kept[partition]] += 1
    for partition in returning:
        if kept[partition] != NONE and previous_owners[partition] != NONE:
            stacks[last[kept[partition]]] = partition
            last[kept[partition]] += 1
    order = np.empty(len(kept), np.int32)
    heap, where = np.arange(members).astype(np.int32), np.zeros(members, np.int32)
    heapify(heap, members, where, keys)
    for end in range(len(stacks)):
        member = heap[0]
        last[member] -= 1
        order[end] = stacks[last[member]]
        keys[member] += members
        sift_down(heap, members, where, keys, 0)
    end = len(stacks)
    for partition in rest:
        if kept[partition] == NONE:
            order[end] = partition
            end += 1
    return order, bool(had_others.max() > 1)
