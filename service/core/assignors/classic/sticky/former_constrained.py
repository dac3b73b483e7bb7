"""Sticky assignment up to Kafka 2.8 when all members subscribe to the same topics; constrained.py is for later releases.

With P partitions and N members, *minimum* = P // N and *maximum* = P / N rounded up.

1. *Keep.* Each member keeps the first *maximum* of its list, however many members do.
2. *Deal.* What is left goes round the members short of the minimum by member_id, then one each to those that have the minimum, in
   the order of the leader's HashMap, then in that in which they came to it.
3. *Take.* If it does not reach, members still short of the minimum take the first partition of those that keep the maximum.

Example: t has 4 partitions; A owned t-0 and t-1, B t-2 and t-3; C joins. 4 // 3 = 1: C takes t-0.

Source: AbstractStickyAssignor.constrainedAssign (Apache Kafka 2.8.2; KAFKA-9987).
Plain-Python twin: tests/reference/former_sticky.py.
"""

import numpy as np

from service.core.assignors.classic.sticky.claims import Claims
from service.core.assignors.classic.sticky.constrained import Constrained, deal, keep_first
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Group, Int32s
from service.core.ragged import indices_of


def solve(group: Group, claims: Claims) -> Constrained:
    """Assign a group whose members all subscribe to the same topics; raises KafkaAssignorFails where Kafka throws."""
    counts, listed = group.topics.partitions_counts(), claims.listed
    total, members = int(counts[claims.topics[: len(counts)]].sum()), max(len(group), 1)
    minimum, members_with_more = divmod(total, members)
    maximum = minimum + (members_with_more > 0)
    owned = listed.lengths()
    held = np.minimum(owned, np.int32(maximum))
    kept = keep_first(listed, held, len(claims.owners))
    in_map = claims.second_order[owned[claims.second_order] >= minimum]
    under_quota = claims.by_id[owned[claims.by_id] < minimum]
    full = in_map[held[in_map] == maximum]
    free = kept == NONE
    free[group.topics.partitions_count :] = False
    free &= claims.topics[claims.topic_of]
    given = indices_of(free)
    takers, all_dealt = deal(len(given), under_quota, in_map[held[in_map] == minimum], held, minimum)
    if not all_dealt:
        raise _illegal_state("Some partitions are unassigned but all consumers are at maximum capacity", group, claims, kept)
    missing = np.repeat(under_quota, minimum - held[under_quota])
    if len(missing) > len(full):
        raise _illegal_state("Some consumers are under capacity but all partitions have been assigned", group, claims, kept)
    taken = listed.values[listed.offsets[full[: len(missing)]]]
    kept[taken] = NONE
    return Constrained(
        kept,
        kept[:0],
        np.concatenate([given, taken]),
        np.concatenate([takers, missing]),
        minimum,
        members_with_more,
    )


def _illegal_state(message: str, group: Group, claims: Claims, kept: Int32s) -> KafkaAssignorFails:
    return KafkaAssignorFails(
        "java.lang.IllegalStateException",
        message,
        cause=claims.beyond_the_end(group, kept) + ", which counts for what the member has, and not for what there is",
        remedy="restart that member, or reset what it owns, so that it no longer claims the partition",
    )
