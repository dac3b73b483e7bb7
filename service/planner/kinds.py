"""What nothing tells apart in a group: kinds of partitions, topics and members; and what members claim.

A network needs a node for each kind only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Group, Int32s, Int64s, Ragged, ranks_of
from service.core.ragged import taken, transposed


def claims_of(owned: Ragged, subscribed: Ragged, topic_of: Int32s) -> tuple[Ragged, Bools]:
    """Each member's claims to partitions of its topics, without duplicates; and the partitions that any member claims.

    owned : Ragged member → claimed partitions; those from ``len(topic_of)`` on do not exist
    subscribed : Ragged member → topics that exist
    topic_of : int32[partitions]
    Returns Ragged member → partitions, and bool[partitions].
    """
    topics = int(max(topic_of.max(initial=NONE), subscribed.values.max(initial=NONE))) + 1
    offsets, claims, claimed = _claims(*owned.arrays(), topic_of, *subscribed.arrays(), topics)
    return Ragged(offsets, claims), claimed


@kernel
def _claims(
    owned_of: Int32s, owned: Int32s, topic_of: Int32s, subscribed_of: Int32s, subscribed: Int32s, topics: int
) -> tuple[Int32s, Int32s, Bools]:
    """``claims_of``, as offsets int32[members + 1], partitions and bool[partitions]."""
    members = len(owned_of) - 1
    claimed = np.zeros(len(topic_of), np.bool_)
    last_claimant = np.full(len(topic_of), NONE, np.int32)
    last_subscriber = np.full(topics, NONE, np.int32)
    offsets = np.zeros(members + 1, np.int32)
    claims = np.empty(len(owned), np.int32)
    end = 0
    for member in range(members):
        for i in range(subscribed_of[member], subscribed_of[member + 1]):
            last_subscriber[subscribed[i]] = member
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < len(topic_of):
                claimed[partition] = True
                if last_subscriber[topic_of[partition]] == member and last_claimant[partition] != member:
                    last_claimant[partition] = member
                    claims[end] = partition
                    end += 1
        offsets[member + 1] = end
    return offsets, claims[:end], claimed


@kernel
def split_kinds(kinds: Int32s, offsets: Int32s, values: Int32s) -> Int32s:  # noqa: C901 (a kernel)
    """Split kinds until all values of a kind are in the same rows (partition refinement, O(values)).

    kinds : int32[...]   the initial kind of each value, or NONE for values that do not count
    offsets, values : row → values, without duplicates in a row

    Returns int32[...], the kind of each value; without gaps if ``kinds`` has none.
    """
    kinds = kinds.copy()
    count = 0
    for kind in kinds:
        count = max(count, kind + 1)
    sizes = np.zeros(count + len(kinds), np.int32)
    for kind in kinds:
        if kind != NONE:
            sizes[kind] += 1
    here = np.zeros(len(sizes), np.int32)  # values of each kind in the row
    becomes = np.zeros(len(sizes), np.int32)
    met = np.empty(len(sizes), np.int32)
    for row in range(len(offsets) - 1):
        kinds_met = 0
        for i in range(offsets[row], offsets[row + 1]):
            kind = kinds[values[i]]
            if kind != NONE:
                if here[kind] == 0:
                    met[kinds_met] = kind
                    kinds_met += 1
                here[kind] += 1
        for i in range(kinds_met):
            kind = met[i]
            becomes[kind] = kind
            if here[kind] < sizes[kind]:
                becomes[kind] = count
                sizes[count] = here[kind]
                sizes[kind] -= here[kind]
                count += 1
            here[kind] = 0
        for i in range(offsets[row], offsets[row + 1]):
            kind = kinds[values[i]]
            if kind != NONE:
                kinds[values[i]] = becomes[kind]
    return kinds


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
        of_topics = _in_order(split_kinds(offered, subscribed.offsets, subscribed.values))
        racks = group.racks[order] if racks_matter else np.full(len(order), NONE, np.int32)
        of_members = _in_order(split_kinds(racks - np.int32(NONE), subscribers.offsets, subscribers.values))
        samples = _firsts(of_members)
        stands_for = np.zeros(len(order), np.bool_)
        stands_for[samples] = True
        rows = taken(subscribers, _firsts(of_topics))
        some = rows.where(stands_for[rows.values])
        subscribing = Ragged(some.offsets, of_members[some.values])
        known = of_topics != NONE
        sizes = np.bincount(of_topics[known], group.topics.partitions_counts()[known], len(subscribing))
        counts = np.bincount(of_members).astype(np.int64)
        return cls(of_topics, of_members, counts, racks[samples], sizes.astype(np.int64), subscribing, subscribed)


def _in_order(kinds: Int32s) -> Int32s:
    """The same kinds, numbered by the first of each; NONE stays."""
    known = np.flatnonzero(kinds != NONE)
    first = np.full(kinds.max(initial=NONE) + 1, len(kinds))
    first[kinds[known[::-1]]] = known[::-1]  # of several of a kind the first is written last
    numbered = np.full(len(kinds), NONE, np.int32)
    numbered[known] = ranks_of(np.argsort(first))[kinds[known]]
    return numbered


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
    def of(
        cls, group: Group, order: Int32s, kinds: Kinds, levels: tuple[Int64s, Int64s] | None, *, racks_matter: bool
    ) -> Claimed:
        """The kinds of a group's partitions.

        levels : of kinds of topics and of members, which may keep only topics of their own; None: whatever they read
        """
        count = group.topics.partitions_count
        topic_of = group.topics.topic_of
        pools = kinds.topics[topic_of]
        racks = Ragged(np.zeros(count + 1, np.int32), np.empty(0, np.int32))
        if racks_matter and group.topics.racks is not None:
            racks = group.topics.racks.where(np.isin(group.topics.racks.values, kinds.racks))
            by_rack = transposed(racks, len(group.rack_ids))
            pools = _in_order(split_kinds(pools, by_rack.offsets, by_rack.values))
        owned = taken(group.owned, order)
        claims, claimed = claims_of(owned, kinds.subscribed, topic_of)
        if levels is not None:
            of_topics, of_members = kinds.topics[topic_of[claims.values]], kinds.members[claims.row_of_each_value()]
            claims = claims.where(levels[0][of_topics] == levels[1][of_members])
        at_first = np.where(pools == NONE, NONE, 2 * pools + claimed).astype(np.int32)
        each = _in_order(split_kinds(at_first, claims.offsets, claims.values))
        samples = _firsts(each)
        of_pools = _firsts(pools)
        claimants = taken(transposed(claims, count), samples)
        return cls(each, pools[samples], kinds.topics[topic_of[of_pools]], taken(racks, of_pools), claimed[samples], claimants)

    @cached_property
    def sizes(self) -> Int64s:
        """int64[kinds], the partitions of each."""
        return np.bincount(self.kinds[self.kinds != NONE], minlength=len(self.pools)).astype(np.int64)


def _firsts(kinds: Int32s) -> Int32s:
    """int32[kinds], the first of each kind. kinds : as of ``in_order``"""
    highest = np.maximum.accumulate(kinds)
    return np.flatnonzero(highest > np.append(NONE, highest[:-1])).astype(np.int32)
