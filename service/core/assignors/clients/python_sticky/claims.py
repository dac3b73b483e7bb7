"""What the members of a sticky group say that they own, as kafka-python and aiokafka read it.

A partition that several members claim belongs to the one of the newest generation. That of the second newest is its *previous
owner*, to whom it may return (reassign.py). Of two claims of one generation the first counts, save in generation 0, which the
code takes for none: there the last counts.

Source: StickyAssignmentExecutor._init_current_assignments (kafka-python 3.0.12, aiokafka 0.14.0).
"""

from typing import NamedTuple

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Group, Int32s
from service.core.ragged import ascending


class ClaimedPartitions(NamedTuple):
    """Who claims what.

    owners : int32[partitions]            the member that owns each existing partition, or NONE
    previous_owners : int32[partitions]   the claimant of the second newest generation, or NONE
    last_claimants : int32[partitions]    of all claimants the last in request order, or NONE
    claimed : int32[...]                  the partitions that somebody claims, in the order in which they are first claimed
    """

    owners: Int32s
    previous_owners: Int32s
    last_claimants: Int32s
    claimed: Int32s


def read_claims(group: Group, generations: Int32s, *, ids_ascend: bool) -> ClaimedPartitions:
    """Settle the claims of the members, each of which lists its partitions topic by topic.

    generations : int32[members]   as the leader sees them
    ids_ascend : does a member sort the ids of each topic?
    """
    return ClaimedPartitions(
        *_settle(generations, group.owned.offsets, _sent(group, ids_ascend=ids_ascend), group.topics.partitions_count)
    )


def _sent(group: Group, *, ids_ascend: bool) -> Int32s:
    """int32[owned], what each member owns in the order in which it sends it: topics as they first occur."""
    owned = group.owned
    if ascending(owned.offsets, owned.values):
        return owned.values
    topics, ids = group.topic_partitions(owned.values)
    places = np.arange(len(ids))
    pairs = owned.row_of_each_value() * np.int64(len(group.topics) + len(group.unknown_topic_names)) + topics
    _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    return owned.values[np.lexsort((ids if ids_ascend else places, first[pair]))]


@kernel
def _settle(generations: Int32s, owned_of: Int32s, owned: Int32s, partitions: int) -> tuple[Int32s, Int32s, Int32s, Int32s]:
    """The fields of ``ClaimedPartitions``. Partitions that do not exist count for nothing.

    owned_of, owned : member → partitions it claims, ``partitions`` and above if they do not exist
    """
    owners = np.full(partitions, NONE, np.int32)
    previous_owners = np.full(partitions, NONE, np.int32)
    last_claimants = np.full(partitions, NONE, np.int32)
    claimed = np.empty(len(owned), np.int32)
    count = 0
    for member in range(len(generations)):
        generation = generations[member]
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition >= partitions:
                continue
            if last_claimants[partition] == NONE:
                claimed[count] = partition
                count += 1
            last_claimants[partition] = member
            owner, previous = owners[partition], previous_owners[partition]
            if owner == NONE or generation > generations[owner]:
                owners[partition], previous_owners[partition] = member, owner
            elif generation == generations[owner]:
                if generation == 0:
                    owners[partition] = member
            elif previous == NONE or generation > generations[previous] or (generation == generations[previous] == 0):
                previous_owners[partition] = member
    return owners, previous_owners, last_claimants, claimed[:count].copy()
