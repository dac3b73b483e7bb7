"""The group coordinator's SimpleAssignor for share groups (KIP-932): every partition to equally many members, evenly.

*Goals*: a partition is shared by as many members as it takes for everybody to have one; members' counts differ by at most one;
then, that few partitions change hands.

*Constraints*: with K partitions and M members, ``sharing = ceil(M / K)`` members have each partition. The i-th member is to have
``ceil(r (i + 1)) - ceil(r i)`` partitions, ``r = sharing × K / M``.

*Algorithm*: members are numbered in their order. If all subscribe to the same topics, all partitions are shared out together;
else each topic by itself, among its subscribers.

1. Members with more than they are to have give up partitions, in the order of a HashSet.
2. Partitions that more than ``sharing`` members have are taken from members, in the order of a HashSet of numbers.
3. Partitions in the order of a HashMap are given to members below what they are to have, in turn, in the order of a HashSet of
   numbers; a member that has the partition already is passed over.

A topic that no member subscribes to any more stays with whoever has it, unless all subscribe to the same topics, or no member to
any topic that exists.

The two cases are ``assign_alike`` and ``assign_unlike``, the three steps are in share_out.py.

Source: org.apache.kafka.coordinator.group.assignor.SimpleAssignor, SimpleHomogeneousAssignmentBuilder and
SimpleHeterogeneousAssignmentBuilder (every release since 4.2.0).
"""

from typing import Any, Final

import numpy as np

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.coordinator import (
    TopicArrays,
    changes,
    is_homogeneous,
    member_order,
    partition_beyond_the_end,
    topic_arrays,
    topic_order,
)
from service.core.assignors.share.share_out import by_spread, owned_entries, rows_of, share_out
from service.core.errors import InvalidQuestion
from service.core.jvm.ordering import DEFAULT_CAPACITY, iteration_order, order_in_large_table, table_length
from service.core.kernels import kernel
from service.core.model import NO_ROWS, NONE, Assignment, Bools, Group, Int32s, Ragged
from service.core.ragged import grouped_arrays, put

# The simple assignor where members subscribe to different topics: each topic is shared out by itself (share_out.py).
#
# Source: org.apache.kafka.coordinator.group.assignor.SimpleHeterogeneousAssignmentBuilder (every
# release since 4.2.0).


def assign_unlike(group: Group, order: Int32s, table: TopicArrays) -> Assignment:
    """Ragged member → partitions, in no particular order; topic by topic, a partition's number is its id.

    order, table : ``member_order`` and ``topic_arrays`` of the group
    """
    subscribers = topic_subscribers(group, order)
    if not len(subscribers.values):  # without any topic to share out, Kafka keeps nothing of what no member subscribes to either
        return Assignment(Ragged(np.zeros(len(group) + 1, np.int32), np.empty(0, np.int32)))
    entries = owned_entries(order, np.arange(len(group.topics), dtype=np.int32), table, group.owned.arrays())
    return Assignment(Ragged(*_share_out_by_topic(order, table.first, subscribers.offsets, subscribers.values, *entries)))


@kernel
def _share_out_by_topic(
    order: Int32s, first: Int32s, subscribers_of: Int32s, subscribers: Int32s, entry_numbers: Int32s, entries: Int32s
) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions.

    order : int32[members]   the member of each number
    first : int32[topics + 1]
    subscribers_of, subscribers : topic → numbers of its subscribers, ascending
    entry_numbers, entries : as ``owned_entries`` gives them
    """
    members, topics = len(order), len(first) - 1
    # Topic → its entries, numbers ascending, each number's in Java's order.
    topic_of_entry = (np.searchsorted(first, entries, side="right") - 1).astype(np.int32)
    in_topic_of, in_topic = grouped_arrays(topic_of_entry, topics)

    total = len(entries)
    for topic in range(topics):
        count, subscribers_count = first[topic + 1] - first[topic], subscribers_of[topic + 1] - subscribers_of[topic]
        if count and subscribers_count:
            total += count * ((subscribers_count + count - 1) // count)
    numbers = np.empty(total, np.int32)
    partitions = np.empty(total, np.int32)
    end = 0
    scratch = np.full((4, members), NONE, np.int32)
    for topic in range(topics):
        mine = in_topic[in_topic_of[topic] : in_topic_of[topic + 1]]
        base = first[topic]
        subscribers_of_topic = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        if len(subscribers_of_topic) == 0:
            put(entry_numbers[mine], numbers, end)
            end = put(entries[mine], partitions, end)
            continue
        ids = np.arange(first[topic + 1] - base, dtype=np.int32)
        stays, given_numbers, given = share_out(
            subscribers_of_topic, entry_numbers[mine], entries[mine] - base, by_spread(ids), ids, scratch, base
        )
        kept = mine[stays]
        put(entry_numbers[kept], numbers, end)
        end = put(entries[kept], partitions, end)
        put(given_numbers, numbers, end)
        end = put(given + base, partitions, end)
    return rows_of(order, numbers[:end], partitions[:end])


# The simple assignor where all members subscribe to the same topics: all partitions are shared out together (share_out.py).
#
# The order of the partitions is that of a HashMap of TopicIdPartitions, filled with what members own, then with the rest. Such
# keys have no natural order: where two of equal hash meet in a bucket of eight or more, Java goes by memory addresses, and no
# answer is certain; ``order_is_certain`` tells.
#
# Source: org.apache.kafka.coordinator.group.assignor.SimpleHomogeneousAssignmentBuilder (every
# release since 4.2.0).


def assign_alike(group: Group, order: Int32s, table: TopicArrays) -> Assignment:
    """Ragged member → partitions, in no particular order; partitions are numbered as the HashMap of all partitions gives them.

    order, table : ``member_order`` and ``topic_arrays`` of the group
    """
    targets = topic_order(group, int(order[0]))
    entry_numbers, entries = owned_entries(order, targets, table, group.owned.arrays())
    hashes = _topic_id_partition_hashes(table)
    partitions = _hash_map_order(_entry_ranks(table.first, targets, entries), hashes)
    return Assignment(Ragged(*_share_out_together(order, entry_numbers, entries, partitions, hashes)))


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
    table = topic_arrays(group.topics)
    if not _equal_hashes(table):
        return True
    order = member_order(group)
    targets = topic_order(group, int(order[0]))
    _, keys = owned_entries(order, targets, table, group.owned.arrays())
    partitions = _entered(_entry_ranks(table.first, targets, keys))
    hashes = _topic_id_partition_hashes(table)
    sets = [(hashes[partitions], _capacity_for(len(partitions)))]
    sets += [
        (hashes[row[row < group.topics.partitions_count]], DEFAULT_CAPACITY) for row in map(group.owned.row, range(len(group)))
    ]
    return not any(_order_is_undefined(*one) for one in sets)


def _equal_hashes(table: TopicArrays) -> bool:
    """May two partitions of different topics have the same hash? A topic's are consecutive numbers."""
    starts = table.hashes.astype(np.int64) * 31 % 2**32
    by_start = np.argsort(starts)
    starts, counts = starts[by_start], np.diff(table.first)[by_start]
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


def _topic_id_partition_hashes(table: TopicArrays) -> Int32s:
    """int32[partitions], TopicIdPartition.hashCode() (the server's, a record) of each partition."""
    first = table.first
    bases = np.uint32(31) * table.hashes.view(np.uint32) - first[:-1].view(np.uint32)
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
    order: Int32s, entry_numbers: Int32s, entries: Int32s, partitions: Int32s, hashes: Int32s
) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions.

    order : int32[members]   the member of each number; the others are as for ``share_out``
    """
    members = np.arange(len(order), dtype=np.int32)
    scratch = np.full((4, len(members)), NONE, np.int32)
    stays, numbers, given = share_out(members, entry_numbers, entries, partitions, hashes, scratch, 0)
    return rows_of(order, np.concatenate((entry_numbers[stays], numbers)), np.concatenate((entries[stays], given)))


UNDEFINED_ORDER: Final = (
    "Some partitions have the same TopicIdPartition.hashCode and fall into one crowded bucket of a HashMap, where Java goes by "
    "memory addresses: two brokers may answer differently, and this is one of the possible answers."
)


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, in no particular order.

    Raises InvalidQuestion where a member owns a partition that one of the subscribed topics does not have.
    """
    if len(group) == 0:
        return Assignment(NO_ROWS)
    table = topic_arrays(group.topics)
    order = member_order(group)
    homogeneously = is_homogeneous(group)
    subscribed = np.zeros(group.total_topics, np.bool_)
    subscribed[group.subscriptions.row(0) if homogeneously else group.subscriptions.values] = True
    _refuse_beyond_the_end(group, subscribed[: len(group.topics)])
    if homogeneously:
        return assign_alike(group, order, table)
    return assign_unlike(group, order, table)


def _refuse_beyond_the_end(group: Group, subscribed: Bools) -> None:
    beyond = partition_beyond_the_end(group, subscribed)
    if beyond is not None:
        member, topic, partition_id = beyond
        raise InvalidQuestion(
            f"{group.member_ids[member]!r} owns partition {partition_id} of {group.topics.names[topic]!r}, which has "
            f"{group.topics.partitions_counts()[topic]}; the target assignment of a share group holds none that does not exist.",
            "members",
            member,
            "owned_partitions",
        )


def warnings(group: Group) -> list[str]:
    """What a reader must know before trusting the answer to the letter; most often nothing.

    Errs on the side of warning: whether a doubtful order decides anything is not checked.
    """
    if len(group) == 0 or not is_homogeneous(group) or order_is_certain(group):
        return []
    return [UNDEFINED_ORDER]


def explain(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """Which algorithm was used and why, sharing, and what each member in order kept, gave up and got.

    limit : bounds the members, and the topics, listed
    """
    order, alike, existing = member_order(group), is_homogeneous(group), group.topics.partitions_counts()
    subscribers = topic_subscribers(group, order)
    lengths = subscribers.lengths()
    members, kept_in_all, revoked_in_all = changes(group, assignment, limit)
    total = int(existing[lengths > 0].sum())
    explanation: dict[str, Any] = {
        "algorithm": "homogeneous" if alike else "heterogeneous",
        "because": "all members subscribe to the same topics" if alike else "members subscribe to different topics",
        "phases": [
            {
                "phase": "take from members with too many, and from partitions with too many members",
                "revoked": revoked_in_all,
            },
            {
                "phase": "give partitions with too few members to members with too few",
                "assigned": len(assignment.rows.values) - kept_in_all,
            },
        ],
        "order_rule": "the coordinator's TimelineHashMap of member ids, read into a HashMap",
        "order": members,
    }
    if alike:
        explanation["members_per_partition"] = -(-len(group) // total) if total else 0
        explanation["partitions_per_member"] = explanation["members_per_partition"] * total / len(group) if len(group) else 0.0
    else:
        explanation["topics"] = [
            {
                "topic_name": group.topics.names[topic],
                "subscribers_count": int(lengths[topic]),
                "members_per_partition": -(-int(lengths[topic]) // int(existing[topic])),
                "partitions_per_member": -(-int(lengths[topic]) // int(existing[topic]))
                * int(existing[topic])
                / int(lengths[topic]),
            }
            for topic in np.flatnonzero(lengths)[:limit].tolist()
        ]
    return explanation
