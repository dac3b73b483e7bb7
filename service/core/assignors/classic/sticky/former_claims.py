"""What the members of a sticky group say of themselves, as leaders up to Kafka 3.4 read it; claims.py is for those since.

They know no racks (KIP-881 came with 3.5), and the order of a member's list counts: it keeps the first partitions of it. The
sticky assignor sends the list topic by topic in the order of a HashMap, and so does the cooperative one of 2.4; later that one
sends it in the order of (topic, id).

Conflicts are settled differently:

* 3.4: a later claimant of a lower generation does not get the partition, but the next one is compared with it (KAFKA-15106).
* 2.8, equal subscriptions: only claims of the newest generation of all members count; of two neither does.
* 2.8, subscriptions that differ, and 2.4 always: the claim of the newest generation of those that claim the partition counts, of
  one generation the first; the one of the second-newest is remembered as the previous owner. 2.8 reads the members before the
  first one whose subscription differs twice, but their data can be read only once: of the sticky assignor they lose their claims,
  of the cooperative one the generation. With 2.4 the cooperative assignor sends no generation; the last claim counts.

If all members subscribe to the same topics and anybody claims anything, 2.4 assigns partitions in an order of its own: first
those that are owned, one of the member with most at a time, those with a previous owner before its others; then the rest by
their HashMap.

Source: AbstractStickyAssignor.allSubscriptionsEqual (2.8.2, 3.4.1), prepopulateCurrentAssignments (2.4.1, 2.8.2) and
sortPartitions (2.4.1); CollectionUtils.groupPartitionsByTopic, ConsumerProtocol.serializeSubscription.
Plain-Python twin: tests/reference/former_sticky.py.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from service.core.assignors.classic.sticky.claims import Claims, claims_of_older_generations, from_the_fullest, read_subscriptions
from service.core.assignors.classic.sticky.constrained import Constrained, deal, keep_first
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.jvm.hashing import java_hash_codes, topic_partition_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, LONGEST_CHAIN, hash_order, iteration_order
from service.core.kernels import kernel
from service.core.model import NONE, Bools, Group, Int32s, Ragged, first_occurrences, java_order, ranks_of
from service.core.ragged import indices_of

# Sticky assignment up to Kafka 2.8 when all members subscribe to the same topics; constrained.py is for later releases.
#
# With P partitions and N members, *minimum* = P // N and *maximum* = P / N rounded up.
#
# 1. *Keep.* Each member keeps the first *maximum* of its list, however many members do.
# 2. *Deal.* What is left goes round the members short of the minimum by member_id, then one each to those that have the
#    minimum, in the order of the leader's HashMap, then in that in which they came to it.
# 3. *Take.* If it does not reach, members still short of the minimum take the first partition of those that keep the maximum.
#
# Example: t has 4 partitions; A owned t-0 and t-1, B t-2 and t-3; C joins. 4 // 3 = 1: C takes t-0.
#
# Source: AbstractStickyAssignor.constrainedAssign (Apache Kafka 2.8.2; KAFKA-9987).
# Plain-Python twin: tests/reference/former_sticky.py.


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


NEVER: Final = NONE - 1
"""No generation."""


def read_claims_3_4(group: Group, *, cooperative: bool) -> Claims:
    """As a leader of 3.4 reads them; raises InvalidQuestion where it takes one partition as owned by several members."""
    claims = read_subscriptions(group)
    owned = _by_partition(claims) if cooperative else _by_hashed_topic(claims)
    counting = claims.topics[claims.topic_of]
    owners, contested, shared = _settle_by_last_claim(claims.order, group.generations, owned.offsets, owned.values, counting)
    if shared != NONE:
        raise InvalidQuestion(
            f"Members of three generations claim {group.partition_name(shared)}. "
            "Kafka 3.4 counts it as owned by several of them, which is not reproduced.",
            "members",
        )
    previous_owners = owners[:0]
    if claims.first_differing != NONE:
        previous_owners = claims_of_older_generations(claims.order, group.generations, owned.offsets, owned.values, len(owners))
    listed = _kept_lists(owned, owners, contested)
    return replace(claims, owners=owners, contested=contested, previous_owners=previous_owners, listed=listed)


def read_claims_2_8(group: Group, *, cooperative: bool) -> Claims:
    """As a leader of 2.8 reads them."""
    claims = read_subscriptions(group)
    owned = _by_partition(claims) if cooperative else _by_hashed_topic(claims)
    if claims.first_differing == NONE:
        counting = claims.topics[claims.topic_of]
        newest = group.generations == group.generations.max(initial=NONE)
        claims_of = owned.row_of_each_value()
        counted = newest[claims_of] & counting[owned.values]
        claimed = owned.values[counted]
        contested = np.bincount(claimed, minlength=len(counting)) > 1
        owners = np.full(len(counting), NONE, np.int32)
        owners[claimed] = claims_of[counted]
        owners[contested] = NONE
        return replace(claims, owners=owners, contested=contested, listed=_kept_lists(owned, owners, contested))
    read_twice = np.zeros(len(group), np.bool_)
    read_twice[claims.order[: np.flatnonzero(claims.order == claims.first_differing)[0]]] = True
    if cooperative:
        return _with_newest_claims(claims, owned, np.where(read_twice, np.int32(NONE), group.generations))
    return _with_newest_claims(claims, owned.where(~read_twice[owned.row_of_each_value()]), group.generations)


def read_claims_2_4(group: Group, *, cooperative: bool) -> Claims:
    """As a leader of 2.4 reads them; raises KafkaAssignorFails if there are no members."""
    if len(group) == 0:
        raise KafkaAssignorFails(
            "java.util.NoSuchElementException",
            None,
            cause="the group has no members (/members is empty), and the assignor takes the one with most partitions",
            remedy="name at least one member",
        )
    claims = read_subscriptions(group)
    owned = _by_hashed_topic(claims)
    generations = np.full(len(group), NONE, np.int32) if cooperative else group.generations
    claims = _with_newest_claims(claims, owned, generations, last_counts=NONE if cooperative else NEVER)
    subscriptions = group.subscriptions
    counted = np.bincount(subscriptions.row_of_each_value()[claims.topics[subscriptions.values]], minlength=len(group))
    if len(owned.values) == 0 or (counted != claims.topics.sum()).any():
        return claims
    return replace(claims, sequence=_owned_first(claims, owned))


def _with_newest_claims(claims: Claims, owned: Ragged, generations: Int32s, *, last_counts: int = NEVER) -> Claims:
    """The claims, settled partition by partition (prepopulateCurrentAssignments). Claims to what does not exist are dropped."""
    owners, previous_owners = newest_two(claims.order, generations, owned.offsets, owned.values, len(claims.owners), last_counts)
    owners[claims.group.topics.partitions_count :] = NONE
    owners[~claims.topics[claims.topic_of]] = NONE
    return replace(claims, owners=owners, previous_owners=previous_owners)


def warnings_2_4(group: Group) -> list[str]:
    """A sentence if the leader's HashMap has partitions in a tree that memory addresses order."""
    hashes = np.repeat(java_hash_codes(group.topics.names), group.topics.partitions_counts())
    ids = np.arange(len(hashes), dtype=np.int32) - np.repeat(group.topics.first[:-1], group.topics.partitions_counts())
    codes = topic_partition_hash_codes(hashes, ids)
    if np.unique(codes, return_counts=True)[1].max(initial=0) <= LONGEST_CHAIN:
        return []
    warning = (
        "Nine partitions or more have one hash code, because those of their topics' names are equal. A leader of Kafka 2.4 "
        "orders them by memory addresses: two runs of it may give different answers, of which this is one."
    )
    return [warning]


# ---- the order of lists ------------------------------------------------------------------------------------------------


def _by_partition(claims: Claims) -> Ragged:
    """The members' lists, by (topic, id)."""
    owned = claims.group.owned
    order = np.lexsort((claims.partition_ids[owned.values], claims.topic_of[owned.values], owned.row_of_each_value()))
    return Ragged(owned.offsets, owned.values[order])


def _by_hashed_topic(claims: Claims) -> Ragged:
    """The members' lists, topic by topic as a HashMap gives them, the partitions of each in the order of the list."""
    owned = claims.group.owned
    hashes, ranks = _topic_hashes(claims.group)
    return Ragged(owned.offsets, _regrouped(owned.offsets, owned.values, claims.topic_of, hashes, ranks))


def _topic_hashes(group: Group) -> tuple[Int32s, Int32s]:
    """int32[topics] each, unknown ones included: hash code and rank of each topic's name."""
    names = group.topic_names
    return java_hash_codes(names), ranks_of(java_order(names))


@kernel
def _regrouped(offsets: Int32s, values: Int32s, topic_of: Int32s, hashes: Int32s, ranks: Int32s) -> Int32s:
    """The partitions of each row by topic, in the order of a HashMap to which ``computeIfAbsent`` has added the topics.

    hashes, ranks : int32[topics]
    """
    regrouped = np.empty_like(values)
    row_of = np.full(len(hashes), NONE, np.int32)
    end_of = np.zeros(len(hashes), np.int32)
    distinct = np.empty(len(hashes), np.int32)
    for row in range(len(offsets) - 1):
        count = 0
        for i in range(offsets[row], offsets[row + 1]):
            topic = topic_of[values[i]]
            if row_of[topic] != row:
                row_of[topic], end_of[topic] = row, 0
                distinct[count] = topic
                count += 1
            end_of[topic] += 1
        topics = distinct[:count]
        end = offsets[row]
        for at in hash_order(hashes[topics], ranks[topics], DEFAULT_CAPACITY, True, topics[:0]):
            end_of[topics[at]], end = end, end + end_of[topics[at]]
        for i in range(offsets[row], offsets[row + 1]):
            topic = topic_of[values[i]]
            regrouped[end_of[topic]] = values[i]
            end_of[topic] += 1
    return regrouped


def _kept_lists(owned: Ragged, owners: Int32s, contested: Bools) -> Ragged:
    """``Claims.listed``: of each list what the member owns."""
    rows = owned.row_of_each_value()
    own = (owners[owned.values] == rows) & ~contested[owned.values]
    return owned.where(own)


# ---- conflicts ---------------------------------------------------------------------------------------------------------


@kernel
def _settle_by_last_claim(
    order: Int32s, generations: Int32s, owned_of: Int32s, owned: Int32s, counting: Bools
) -> tuple[Int32s, Bools, int]:
    """The owner of each partition, whether it is contested, and a partition that several own, or NONE.

    counting : bool[partitions]   is the partition's topic one that counts?
    """
    owners = np.full(len(counting), NONE, np.int32)
    last = owners.copy()
    contested = np.zeros(len(counting), np.bool_)
    for member in order:
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if not counting[partition]:
                continue
            other = last[partition]
            last[partition] = member
            if other == NONE:
                owners[partition] = member
            elif generations[member] >= generations[other]:
                if owners[partition] == other:
                    owners[partition] = NONE
                if generations[member] == generations[other]:
                    contested[partition] = True
                elif owners[partition] == NONE:
                    owners[partition] = member
                else:
                    return owners, contested, int(partition)
    return owners, contested, NONE


@kernel
def newest_two(
    order: Int32s,
    generations: Int32s,
    owned_of: Int32s,
    owned: Int32s,
    partitions: int,
    last_counts: int,
) -> tuple[Int32s, Int32s]:
    """The claimants of each partition of the newest and of the second-newest generation that claim it, or NONE.

    owned_of, owned : member → partitions it claims, each below ``partitions``
    last_counts : the generation of whose claims the last counts, of any other the first
    """
    owners = np.full(partitions, NONE, np.int32)
    previous_owners = owners.copy()
    for member in order:
        generation = generations[member]
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            owner, previous = owners[partition], previous_owners[partition]
            if owner == NONE or generation > generations[owner]:
                owners[partition], previous_owners[partition] = member, owner
            elif generation == generations[owner]:
                if generation == last_counts:
                    owners[partition] = member
            elif previous == NONE or generation > generations[previous] or generation == generations[previous] == last_counts:
                previous_owners[partition] = member
    return owners, previous_owners


# ---- 2.4 ---------------------------------------------------------------------------------------------------------------


def _owned_first(claims: Claims, owned: Ragged) -> Int32s:
    """``Claims.sequence`` of 2.4 where all subscribe to the same topics (sortPartitions). owned : the lists as they are read"""
    group, owners = claims.group, claims.owners
    topic_hashes, topic_ranks = _topic_hashes(group)
    hashes = topic_partition_hash_codes(topic_hashes[claims.topic_of], claims.partition_ids)

    def in_map(partitions: Int32s) -> Int32s:
        return partitions[iteration_order(hashes[partitions])]

    claimed = in_map(first_occurrences(_end_to_end(owned, claims.order)))
    with_previous = in_map(claimed[claims.previous_owners[claimed] != NONE])
    candidates = np.concatenate([with_previous, claimed[claims.previous_owners[claimed] == NONE]])
    candidates = candidates[owners[candidates] != NONE]
    first = candidates[from_the_fullest(owners[candidates], ranks_of(claims.by_id))]

    topics = first_occurrences(_end_to_end(group.subscriptions, claims.order))
    for _ in range(2):  # the set of all topics, then the map of those that exist
        topics = topics[iteration_order(topic_hashes[topics], ranks=topic_ranks[topics])]
        topics = topics[claims.topics[topics]]
    first_of, counts = group.topics.first, group.topics.partitions_counts()
    everything = in_map(
        np.concatenate([np.arange(first_of[t], first_of[t] + counts[t], dtype=np.int32) for t in topics.tolist()])
        if len(topics)
        else topics
    )
    return np.concatenate([first, everything[owners[everything] == NONE]])


def _end_to_end(rows: Ragged, order: Int32s) -> Int32s:
    """The values, row by row in this order."""
    return rows.values[np.argsort(ranks_of(order)[rows.row_of_each_value()], kind="stable")]
