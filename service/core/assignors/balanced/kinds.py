"""What nothing tells apart in a group: kinds of topics, members and partitions. A network needs a node for each kind only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from service.core.kernels import kernel
from service.core.kinds import claims_of, one_of_each, split_kinds
from service.core.model import NONE, Bools, Group, Int32s, Int64s, Ragged
from service.core.ragged import taken, transposed

if TYPE_CHECKING:
    from service.core.assignors.balanced.levels import Levels


@dataclass(frozen=True)
class Kinds:
    """What nothing tells apart; kinds are numbered by the first of each. Members are in the order of their member_id.

    topics : int32[topics]         the kind of each topic, NONE without subscribers
    members : int32[members]       the kind of each member
    counts : int64[kinds of members]
    racks : int32[kinds of members], NONE without one, or where racks do not matter
    sizes : int64[kinds of topics], their partitions
    subscribers : Ragged kind of topic → kinds of members, ascending
    subscribed : Ragged member → topics that exist
    """

    topics: Int32s
    members: Int32s
    counts: Int64s
    racks: Int32s
    sizes: Int64s
    subscribers: Ragged
    subscribed: Ragged

    @classmethod
    def of(cls, group: Group, order: Int32s, *, racks_matter: bool) -> Kinds:
        """The kinds of a group's topics and members. order : int32[members], the members by member_id"""
        topics = len(group.topics)
        subscribed = taken(group.subscriptions, order).below(topics)
        subscribers = transposed(subscribed, topics)
        offered = np.where(subscribers.lengths() > 0, 0, NONE).astype(np.int32)
        of_topics = in_order(split_kinds(offered, subscribed.offsets, subscribed.values))
        racks = group.racks[order] if racks_matter else np.full(len(order), NONE, np.int32)
        of_members = in_order(split_kinds(racks - np.int32(NONE), subscribers.offsets, subscribers.values))
        samples = _firsts(of_members)
        stands_for = np.zeros(len(order), np.bool_)
        stands_for[samples] = True
        rows = taken(subscribers, one_of_each(of_topics))
        some = rows.where(stands_for[rows.values])
        subscribing = Ragged(some.offsets, of_members[some.values])
        known = of_topics != NONE
        sizes = np.bincount(of_topics[known], group.topics.partitions_counts()[known], len(subscribing))
        counts = np.bincount(of_members).astype(np.int64)
        return cls(of_topics, of_members, counts, racks[samples], sizes.astype(np.int64), subscribing, subscribed)


@kernel
def in_order(kinds: Int32s) -> Int32s:
    """The same kinds, numbered by the first of each; NONE stays."""
    numbers = np.full(kinds.max() + 1 if len(kinds) else 0, NONE, np.int32)
    renumbered = np.full(len(kinds), NONE, np.int32)
    count = 0
    for i in range(len(kinds)):
        kind = kinds[i]
        if kind != NONE:
            if numbers[kind] == NONE:
                numbers[kind] = count
                count += 1
            renumbered[i] = numbers[kind]
    return renumbered


@dataclass(frozen=True)
class Claimed:
    """Kinds of partitions, numbered by the first of each.

    kinds : int32[partitions]     the kind of each, NONE where no member subscribes to the topic
    pools : int32[kinds]          the kind of each without regard to claims: what may be read where
    topics : int32[pools]         the kind of the topic of each pool
    racks : Ragged pool → racks of its replicas on which a member is
    claimed : bool[kinds]         does any member claim them?
    claimants : Ragged kind → members that claim them and may keep them, ascending
    """

    kinds: Int32s
    pools: Int32s
    topics: Int32s
    racks: Ragged
    claimed: Bools
    claimants: Ragged

    @classmethod
    def of(cls, group: Group, order: Int32s, kinds: Kinds, bounds: Levels | None, *, racks_matter: bool) -> Claimed:
        """The kinds of a group's partitions. bounds : members may keep only topics of their level; None: whatever they read"""
        count = group.topics.partitions_count
        topic_of = group.topics.topic_of
        pools = kinds.topics[topic_of]
        racks = Ragged(np.zeros(count + 1, np.int32), np.empty(0, np.int32))
        if racks_matter and group.topics.racks is not None:
            racks = group.topics.racks.where(np.isin(group.topics.racks.values, kinds.racks))
            by_rack = transposed(racks, len(group.rack_ids))
            pools = in_order(split_kinds(pools, by_rack.offsets, by_rack.values))
        owned = taken(group.owned, order)
        rows = claims_of(
            owned.offsets, owned.values, topic_of, kinds.subscribed.offsets, kinds.subscribed.values, len(group.topics)
        )
        claims, claimed = Ragged(*rows[:2]), rows[2]
        if bounds is not None:
            of_claim = claims.row_of_each_value()
            claims = claims.where(bounds.topics[kinds.topics[topic_of[claims.values]]] == bounds.members[kinds.members[of_claim]])
        at_first = np.where(pools == NONE, NONE, 2 * pools + claimed).astype(np.int32)
        each = in_order(split_kinds(at_first, claims.offsets, claims.values))
        samples = _firsts(each)
        of_pools = _firsts(pools)
        claimants = taken(transposed(claims, count), samples)
        return cls(each, pools[samples], kinds.topics[topic_of[of_pools]], taken(racks, of_pools), claimed[samples], claimants)


def _firsts(kinds: Int32s) -> Int32s:
    """int32[kinds], the first of each kind. kinds : as of ``in_order``"""
    highest = np.maximum.accumulate(kinds)
    return np.flatnonzero(highest > np.append(NONE, highest[:-1])).astype(np.int32)
