"""What the members of a sticky group say of themselves, as their leader reads it: who owns what, and do all want the same.

A partition that two members claim is a conflict, which the generations settle:

* the claim of a higher generation wins, that of a lower one is ignored;
* of two claims of one generation neither counts: the partition is *contested*, and stays so; the later claimant bars older ones.

Members are read in the order of the leader's HashMap, on which the outcome depends when three claim one partition.

Source: AbstractStickyAssignor.allSubscriptionsEqual and RackInfo.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from service.core.assignors.classic.members import racks_matter
from service.core.jvm.hashing import member_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, hash_order
from service.core.kernels import kernel
from service.core.model import NO_ROWS, NONE, Bools, Group, Int32s, Ragged, offsets_of, ranks_of
from service.core.ragged import PIECE, ascending, grouped, rows_and_places

# The order in which the first sticky assignors look at what members own: that of those with the most first.


def from_the_fullest(owners: Int32s, ranks: Int32s) -> Int32s:
    """int32[items]: again and again the owner with the most items left gives its first one, of equals the last by rank.

    owners : int32[items], of each; ranks : int32[owners]
    """
    lists = grouped(owners, len(ranks))
    left = np.repeat(lists.offsets[1:], lists.lengths()) - np.arange(len(owners), dtype=np.int32)
    return lists.values[np.argsort(-(left * np.int64(len(ranks)) + ranks[lists.row_of_each_value()]))]


@dataclass
class Claims:
    """A group as a sticky assignor sees it. Not frozen: a small group is read in less time than copies of it would take.

    Arrays over partitions hold the partitions that exist, then those that only members mention; as ``Group`` has them.

    group : what the members said
    order : int32[members]       the members, as the leader's HashMap gives them
    second_order : int32[members]   the members, as a HashMap that is filled in ``order`` gives them; trees apart the same
    by_id : int32[members]       the members, sorted by member_id
    topics : bool[topics]        the topics that count: they exist and somebody subscribes to them; unknown ones are in it too
    owners : int32[partitions]         the member that owns each, or NONE
    contested : bool[partitions]       two members of one generation have claimed it
    previous_owners : int32[partitions]   if subscriptions differ, the member that claims each from an older generation, or NONE;
        else empty
    first_differing : the first member in ``order`` whose subscription is not that of those before it, or NONE
    rack_aware : do racks matter?
    racks : int32[members]       each member's rack, or NONE; all NONE if racks do not matter
    partition_racks : Ragged partition → racks, ascending; all empty if racks do not matter
    listed : Ragged member → partitions it owns, in the order of its list, of which it keeps the first; no rows where it keeps
        the first by (id, topic name)
    sequence : int32[partitions]   the partitions that exist and count, in the order in which they are assigned, where that is not
        the order of topics; else None
    """

    group: Group
    order: Int32s
    second_order: Int32s
    by_id: Int32s
    topics: Bools
    owners: Int32s
    contested: Bools
    previous_owners: Int32s
    first_differing: int
    rack_aware: bool
    racks: Int32s
    partition_racks: Ragged
    listed: Ragged
    sequence: Int32s | None = None

    @cached_property
    def _topics_and_ids(self) -> tuple[Int32s, Int32s]:
        topic_of, partition_ids = rows_and_places(self.group.topics.first)
        unknown = self.group.unknown_partitions
        if not len(unknown):
            return topic_of, partition_ids
        return np.concatenate([topic_of, unknown[:, 0]]), np.concatenate([partition_ids, unknown[:, 1]])

    @property
    def topic_of(self) -> Int32s:
        """int32[partitions], each partition's topic. Made when first used: most groups are assigned without."""
        return self._topics_and_ids[0]

    @property
    def partition_ids(self) -> Int32s:
        """int32[partitions], likewise."""
        return self._topics_and_ids[1]

    def free(self, group: Group, kept: Int32s, rank: Int32s) -> Bools:
        """bool[partitions], which partitions Kafka takes for unassigned when these are kept.

        kept : int32[partitions]   the member that keeps each, or NONE
        rank : int32[topics]       where each topic stands in the assignor's order

        Those that no member keeps; but also, by a flaw of getUnassignedPartitions, all of the topics behind one of which somebody
        keeps a partition that does not exist.
        """
        existing = group.topics.partitions_count
        free: Bools = kept == NONE
        if len(free) > existing:
            free[existing:] = False
            beyond = existing + np.flatnonzero(kept[existing:] != NONE)
            if len(beyond):
                free[:existing] |= rank[self.topic_of[:existing]] > rank[self.topic_of[beyond]].min()
        if not self.topics.all():
            free[:existing] &= self.topics[self.topic_of[:existing]]
        return free

    def beyond_the_end(self, group: Group, kept: Int32s) -> str:
        """A sentence that names the first partition that is kept though it does not exist."""
        existing = group.topics.partitions_count
        partition = existing + int(np.flatnonzero(kept[existing:] != NONE)[0])
        topic = self.topic_of[partition]
        count = group.topics.partitions_counts()[topic]
        has = f"the topic {group.topics.names[topic]} has {count} {'partition' if count == 1 else 'partitions'}"
        claims = f"member {group.member_ids[kept[partition]]!r} still claims {group.partition_name(partition)}"
        return f"{claims}, but {has} (it was deleted and made again with fewer)"


def read_claims(group: Group) -> Claims:
    """Read a group's subscriptions and owned partitions."""
    claims, owned, unknown = _unclaimed(group), group.owned, group.unknown_partitions
    owners, contested = _settle(
        claims.order, group.generations, owned.offsets, owned.values, group.topics.first, unknown[:, 0].copy(), claims.topics
    )
    previous_owners = owners[:0]
    if claims.first_differing != NONE:
        previous_owners = claims_of_older_generations(claims.order, group.generations, owned.offsets, owned.values, len(owners))
    claims.owners, claims.contested, claims.previous_owners = owners, contested, previous_owners
    racks = _partition_racks(group)
    if racks is not None and _rack_aware(group, racks, claims.topics):
        claims.rack_aware, claims.racks, claims.partition_racks = True, group.racks, racks
    return claims


def read_subscriptions(group: Group) -> Claims:
    """The claims of a group whose members own nothing and have no racks."""
    claims = _unclaimed(group)
    nobody = np.full(group.total_partitions, NONE, np.int32)
    claims.owners, claims.contested = nobody, np.zeros(len(nobody), np.bool_)
    claims.previous_owners = nobody[:0] if claims.first_differing == NONE else nobody
    return claims


def _unclaimed(group: Group) -> Claims:
    """What follows from ids and subscriptions; who owns what is left out, and racks do not matter."""
    subscriptions, topics, by_id, nothing = group.subscriptions, group.topics, group.by_id, NO_ROWS.values
    order, second_order = _orders(member_hash_codes(group), ranks_of(by_id))
    counts = np.zeros(group.total_topics, np.int32)
    counts[: len(topics)] = topics.partitions_counts()
    first_differing, subscribed = _first_other_subscription(order, subscriptions.offsets, subscriptions.values, len(counts))
    if first_differing != NONE:
        subscribed = np.bincount(subscriptions.values, minlength=len(counts)) > 0
    return Claims(
        group=group,
        order=order,
        second_order=second_order,
        by_id=by_id,
        topics=subscribed & (counts > 0),
        owners=nothing,
        contested=np.empty(0, np.bool_),
        previous_owners=nothing,
        first_differing=first_differing,
        rack_aware=False,
        racks=np.full(len(group), NONE, np.int32),
        partition_racks=Ragged(np.zeros(group.total_partitions + 1, np.int32), nothing),
        listed=NO_ROWS,
    )


def _partition_racks(group: Group) -> Ragged | None:
    """Ragged partition → racks, those that do not exist included; None when no member or no partition has a rack."""
    racks = group.topics.racks
    if racks is None or not (group.racks != NONE).any():
        return None
    beyond = np.full(len(group.unknown_partitions), racks.offsets[-1], np.int32)
    return Ragged(np.concatenate([racks.offsets, beyond]), racks.values)


def _rack_aware(group: Group, racks: Ragged, counting: Bools) -> bool:
    """Do racks matter for the partitions of all topics that count, taken together?"""
    counts = group.topics.partitions_counts()
    concerned = np.flatnonzero(np.repeat(counting[: len(counts)], counts))
    lengths = racks.lengths()[concerned]
    offsets = offsets_of(lengths)
    places = np.arange(offsets[-1], dtype=np.int32) + np.repeat(racks.offsets[concerned] - offsets[:-1], lengths)
    consumers = np.zeros(len(group.rack_ids), np.bool_)
    consumers[group.racks[group.racks != NONE]] = True
    return bool(racks_matter(consumers, 0, len(concerned), offsets, racks.values[places]))


@kernel
def _orders(hashes: Int32s, ranks: Int32s) -> tuple[Int32s, Int32s]:
    """The members in the order of the leader's HashMap, and of one that is filled in that order: int32[members] each.

    hashes, ranks : int32[members]   of their ids
    """
    order = hash_order(hashes, ranks, DEFAULT_CAPACITY, False, hashes[:0])
    return order, order[hash_order(hashes[order], ranks[order], DEFAULT_CAPACITY, False, hashes[:0])]


@kernel
def _settle(  # noqa: C901 (a kernel)
    order: Int32s, generations: Int32s, owned_of: Int32s, owned: Int32s, first: Int32s, unknown_topics: Int32s, counting: Bools
) -> tuple[Int32s, Bools]:
    """The owner of each partition, and whether it is contested.

    first : int32[topics + 1]   the first partition of each topic
    unknown_topics : int32[...]   the topic of each partition that does not exist

    A member that names a partition twice is in conflict with itself. Twin: tests/reference/sticky.py, ``settle``.
    """
    # A claim costs one look into memory: the claimant so far is m if it owns the partition, ~m if it only bars older claims.
    nobody, no_matter = np.int32(len(order)), np.int32(len(order) + 1)
    existing = first[-1]
    claimants = np.empty(existing + len(unknown_topics), np.int32)
    for topic in range(len(first) - 1):
        claimants[first[topic] : first[topic + 1]] = nobody if counting[topic] else no_matter
    for i in range(len(unknown_topics)):
        claimants[existing + i] = nobody if counting[unknown_topics[i]] else no_matter
    contested = np.zeros(len(claimants), np.bool_)
    # Partitions come in pieces that fit into the processor's cache; each member goes on where it stopped. A list that does not
    # ascend would have its members pass each other, so then there is one piece.
    cursor = owned_of[:-1].copy()
    piece = PIECE if ascending(owned_of, owned) else len(claimants)
    stop = 0
    while stop < len(claimants):
        stop += piece
        for member in order:
            i, end = cursor[member], owned_of[member + 1]
            while i < end and owned[i] < stop:
                partition = owned[i]
                i += 1
                other = claimants[partition]
                if other == nobody:
                    claimants[partition] = member
                elif other != no_matter:
                    other = max(other, ~other)
                    if generations[member] > generations[other]:
                        claimants[partition] = member
                    elif generations[member] == generations[other]:
                        contested[partition] = True
                        claimants[partition] = ~member
            cursor[member] = i
    for partition in range(len(claimants)):
        claimants[partition] = claimants[partition] if 0 <= claimants[partition] < nobody else NONE
    return claimants, contested


@kernel
def _first_other_subscription(order: Int32s, subscribed_of: Int32s, subscribed: Int32s, topics: int) -> tuple[int, Bools]:
    """The first member whose topics, unknown ones included, are not those of the first member that has any, or NONE; and those.

    Members without topics before that one go unnoticed.
    """
    reference = np.zeros(topics, np.bool_)
    example = subscribed[:0]
    for member in order:
        of_member = subscribed[subscribed_of[member] : subscribed_of[member + 1]]
        if len(example) == 0:
            example = of_member
            for topic in example:
                reference[topic] = True
            continue
        if len(of_member) != len(example):
            return int(member), reference
        differ = 0  # most often all lists are one list, which a loop without a way out finds faster
        for i in range(len(example)):
            differ += of_member[i] != example[i]
        if differ == 0:
            continue
        for topic in of_member:
            if not reference[topic]:
                return int(member), reference
    return NONE, reference


@kernel
def claims_of_older_generations(order: Int32s, generations: Int32s, owned_of: Int32s, owned: Int32s, partitions: int) -> Int32s:
    """The member of an older generation, of several the newest of these, that claims each partition (prepopulate…)."""
    newest = NONE
    for generation in generations:
        newest = max(newest, generation)
    previous_owners = np.full(partitions, NONE, np.int32)
    for member in order:
        if generations[member] < newest:
            for i in range(owned_of[member], owned_of[member + 1]):
                other = previous_owners[owned[i]]
                if other == NONE or generations[member] > generations[other]:
                    previous_owners[owned[i]] = member
    return previous_owners
