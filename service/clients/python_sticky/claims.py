"""What the members of a sticky group say that they own, as kafka-python and aiokafka read it.

A partition that several members claim belongs to the one of the newest generation. That of the second newest is its *previous
owner*, to whom it may return (reassign.py). Of two claims of one generation the first counts, save in generation 0, which the
code takes for none: there the last counts.

Source: StickyAssignmentExecutor._init_current_assignments (kafka-python 3.0.12, aiokafka 0.14.0).
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.assignors.classic.sticky.former_claims import newest_two
from service.core.model import NONE, Group, Int32s, first_occurrences
from service.core.ragged import ascending

NO_GENERATION: Final = 0
"""What the code takes for none."""


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
    existing, total = group.topics.partitions_count, group.total_partitions
    sent, in_turn = _sent(group, ids_ascend=ids_ascend), np.arange(len(group), dtype=np.int32)
    owners, previous_owners = newest_two(in_turn, generations, group.owned.offsets, sent, total, NO_GENERATION)
    last_claimants = np.full(total, NONE, np.int32)
    last_claimants[sent] = group.owned.row_of_each_value()
    claimed = first_occurrences(sent[sent < existing])
    return ClaimedPartitions(owners[:existing], previous_owners[:existing], last_claimants[:existing], claimed)


def _sent(group: Group, *, ids_ascend: bool) -> Int32s:
    """int32[owned], what each member owns in the order in which it sends it: topics as they first occur."""
    owned = group.owned
    if ascending(owned.offsets, owned.values):
        return owned.values
    topics, ids = group.topic_partitions(owned.values)
    places = np.arange(len(ids))
    pairs = owned.row_of_each_value() * np.int64(group.total_topics) + topics
    _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    return owned.values[np.lexsort((ids if ids_ascend else places, first[pair]))]
