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

A topic that nobody subscribes to any more stays with whoever has it, unless all subscribe to the same topics, or nobody to any
topic that exists.

HashMaps here hold keys without a natural order. Where two such keys of equal hash meet in a bucket of eight or more, Java goes by
memory addresses, and no answer is certain; ``warnings`` tells.

Source: org.apache.kafka.coordinator.group.assignor.SimpleAssignor, SimpleHomogeneousAssignmentBuilder and
SimpleHeterogeneousAssignmentBuilder (Apache Kafka 4.3.1, and every release since 4.2.0).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import njit

from service.core.assignors.classic.members import subscribers
from service.core.assignors.coordinator import (
    homogeneous,
    member_order,
    partition_beyond_the_end,
    target_rows,
    topic_ids,
    topic_order,
)
from service.core.errors import InvalidQuestion
from service.core.grouping import grouped_arrays
from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, hash_order, iteration_order
from service.core.model import NONE, Ragged

if TYPE_CHECKING:
    from service.core.assignors.coordinator import TopicIds
    from service.core.model import Bools, Group, Int32s


UNDEFINED_ORDER: Final = (
    "Some partitions have the same TopicIdPartition.hashCode and fall into one crowded bucket of a HashMap, where Java goes by "
    "memory addresses: two brokers may answer differently, and this is one of the possible answers."
)


def capacity_for(size: int) -> int:
    """What AssignorHelpers.newHashMap and newHashSet ask for, given the number of entries expected."""
    return int(np.float32(size + 1) / np.float32(0.75) + np.float32(1.0))


def assign(group: Group) -> Ragged:
    """Ragged member → partitions, in no particular order.

    Raises InvalidQuestion where a member owns a partition that one of the subscribed topics does not have.
    """
    if len(group) == 0:
        return Ragged(np.zeros(1, np.int32), np.empty(0, np.int32))
    ids = topic_ids(group.topics)
    order = member_order(group)
    subscribed = np.zeros(len(group.topics) + len(group.unknown_topic_names), np.bool_)
    subscribed[group.subscriptions.values] = True
    _refuse_beyond_the_end(group, subscribed[: len(group.topics)])
    return _homogeneous(group, order, ids) if homogeneous(group) else _heterogeneous(group, order, ids)


def _refuse_beyond_the_end(group: Group, subscribed: Bools) -> None:
    beyond = partition_beyond_the_end(group, subscribed)
    if beyond is not None:
        member, topic, partition_id = beyond
        raise InvalidQuestion(
            f"{group.member_ids[member]!r} owns partition {partition_id} of {group.topics.names[topic]!r}, which has "
            f"{group.topics.partitions_counts()[topic]}; the target assignment of a share group holds none that does not exist",
            f"/members/{member}/owned_partitions",
        )


def warnings(group: Group) -> list[str]:
    """What a reader must know before trusting the answer to the letter; most often nothing.

    Errs on the side of warning: whether a doubtful order decides anything is not looked at.
    """
    if len(group) == 0 or not homogeneous(group) or not _equal_hashes(group):
        return []
    order, ids = member_order(group), topic_ids(group.topics)
    targets = _targets(group, order)
    _, keys = _entries(group, order, ids, targets)
    partitions = _entered(group.topics.first, targets, keys)
    hashes = _topic_id_partition_hashes(group, ids)
    sets = [(hashes[partitions], capacity_for(len(partitions)))]
    sets += [
        (hashes[row[row < group.topics.partitions_count]], DEFAULT_CAPACITY) for row in map(group.owned.row, range(len(group)))
    ]
    if not any(_order_is_undefined(*one) for one in sets):
        return []
    return [UNDEFINED_ORDER]


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


def explain(group: Group, assignment: Ragged, limit: int) -> dict[str, Any]:
    """Which algorithm was used and why, sharing, and what each member in order kept, gave up and got.

    limit : bounds the members, and the topics, told of
    """
    order, alike, existing = member_order(group), homogeneous(group), group.topics.partitions_counts()
    readers = subscribers(group, order)
    lengths = readers.lengths()
    members, kept_in_all = [], 0
    for at, member in enumerate(order.tolist()):
        assigned, owned = assignment.row(member), np.unique(group.owned.row(member))
        kept = int(np.isin(assigned, owned, kind="table").sum()) if len(owned) and len(assigned) else 0
        kept_in_all += kept
        if at < limit:
            members.append(
                {
                    "member_id": group.member_ids[member],
                    "kept": kept,
                    "revoked": int((owned < group.topics.partitions_count).sum()) - kept,
                    "assigned": len(assigned) - kept,
                    "partitions": len(assigned),
                }
            )
    total = int(existing[lengths > 0].sum())
    told: dict[str, Any] = {
        "algorithm": "homogeneous" if alike else "heterogeneous",
        "because": "all members subscribe to the same topics" if alike else "members subscribe to different topics",
        "phases": [
            {
                "phase": "take from members with too many, and from partitions with too many members",
                "revoked": int((group.owned.values < group.topics.partitions_count).sum()) - kept_in_all,
            },
            {
                "phase": "give partitions with too few members to members with too few",
                "assigned": len(assignment.values) - kept_in_all,
            },
        ],
        "order_rule": "the coordinator's TimelineHashMap of member ids, read into a HashMap",
        "order": members,
    }
    if alike:
        told["members_per_partition"] = -(-len(group) // total) if total else 0
        told["partitions_per_member"] = told["members_per_partition"] * total / len(group) if len(group) else 0.0
    else:
        told["topics"] = [
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
    return told


def _homogeneous(group: Group, order: Int32s, ids: TopicIds) -> Ragged:
    """SimpleHomogeneousAssignmentBuilder.build: partitions are numbered as the HashMap of all partitions gives them."""
    targets = _targets(group, order)
    entry_of, entries = _entries(group, order, ids, targets)
    partitions = _entered(group.topics.first, targets, entries)
    hashes = _topic_id_partition_hashes(group, ids)
    keys = partitions[iteration_order(hashes[partitions], capacity=capacity_for(len(partitions)), compute=True)]
    key_of = np.empty(group.topics.partitions_count, np.int32)
    key_of[keys] = np.arange(len(keys), dtype=np.int32)
    members = np.arange(len(group), dtype=np.int32)
    return Ragged(*_share_out_together(order, members, entry_of, key_of[entries], keys, hashes[keys]))


def _heterogeneous(group: Group, order: Int32s, ids: TopicIds) -> Ragged:
    """SimpleHeterogeneousAssignmentBuilder.build: topic by topic; a partition's number is its id."""
    topics = group.topics
    readers = subscribers(group, order)
    if not len(readers.values):  # without any topic to share out, Kafka keeps nothing of what nobody subscribes to either
        return Ragged(np.zeros(len(group) + 1, np.int32), np.empty(0, np.int32))
    entry_of, entries = _entries(group, order, ids, np.arange(len(topics), dtype=np.int32))
    return Ragged(*_share_out_by_topic(order, topics.first, readers.offsets, readers.values, entry_of, entries))


def _targets(group: Group, order: Int32s) -> Int32s:
    """int32[...], the topics of a homogeneous group, in the first member's order."""
    names = java_hash_codes((*group.topics.names, *group.unknown_topic_names))
    return topic_order(group, int(order[0]), names)


def _entries(group: Group, order: Int32s, ids: TopicIds, topics: Int32s) -> tuple[Int32s, Int32s]:
    """int32[members + 1], int32[...]: what the member of each number owns of ``topics``, as Kafka comes by it."""
    first, owned = group.topics.first, group.owned
    topic_of = np.repeat(np.arange(len(ids.hashes), dtype=np.int32), np.diff(first))
    return _owned_in_order(order, topics, first, topic_of, owned.offsets, owned.values, ids.hashes, ids.ranks)


def _topic_id_partition_hashes(group: Group, ids: TopicIds) -> Int32s:
    """int32[partitions], TopicIdPartition.hashCode() (the server's, a record) of each partition."""
    first = group.topics.first
    bases = np.uint32(31) * ids.hashes.view(np.uint32) - first[:-1].view(np.uint32)
    partitions = np.arange(first[-1], dtype=np.uint32)
    partitions += np.repeat(bases, np.diff(first))
    return partitions.view(np.int32)


@njit(nogil=True, cache=True)
def _owned_in_order(
    order: Int32s, topics: Int32s, first: Int32s, topic_of: Int32s, owned_of: Int32s, owned: Int32s, hashes: Int32s, ranks: Int32s
) -> tuple[Int32s, Int32s]:
    """What ``_entries`` gives; hashes, ranks : int32[topics], see TopicIds."""
    wanted = np.zeros(len(hashes), np.bool_)
    wanted[topics] = True
    place = np.full(len(hashes), NONE, np.int32)
    last_seen = np.full(first[-1], NONE, np.int32)
    entry_of = np.zeros(len(order) + 1, np.int32)
    entries = np.empty(len(owned), np.int32)
    end = 0
    for number in range(len(order)):
        member = order[number]
        start = end
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < first[-1] and last_seen[partition] != number and wanted[topic_of[partition]]:
                last_seen[partition] = number
                entries[end] = partition
                end += 1
        if end - start > 1:
            entries[start:end] = target_rows(entries[start:end], topic_of, first, hashes, ranks, place)[2]
        entry_of[number + 1] = end
    return entry_of, entries[:end]


@njit(nogil=True, cache=True)
def _entered(first: Int32s, topics: Int32s, entries: Int32s) -> Int32s:
    """The partitions of ``topics`` in the order in which they come to be in the HashMap: owned ones, then the rest."""
    seen = np.zeros(first[-1], np.bool_)
    total = 0
    for topic in topics:
        total += first[topic + 1] - first[topic]
    partitions = np.empty(total, np.int32)
    end = 0
    for partition in entries:
        if not seen[partition]:
            seen[partition] = True
            partitions[end] = partition
            end += 1
    for topic in topics:
        for partition in range(first[topic], first[topic + 1]):
            if not seen[partition]:
                partitions[end] = partition
                end += 1
    return partitions


@njit(nogil=True, cache=True)
def _share_out_together(
    order: Int32s, members: Int32s, entry_of: Int32s, entry_keys: Int32s, partition_of_key: Int32s, key_hashes: Int32s
) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions. Arguments as for ``_share_out``."""
    entry_numbers = np.empty(len(entry_keys), np.int32)
    for number in range(len(members)):
        entry_numbers[entry_of[number] : entry_of[number + 1]] = number
    scratch = np.full((4, len(members)), NONE, np.int32)
    stays, numbers, keys = _share_out(members, entry_numbers, entry_keys, key_hashes, scratch, 0)
    return _rows(
        order,
        np.concatenate((entry_numbers[stays], numbers)),
        np.concatenate((partition_of_key[entry_keys[stays]], partition_of_key[keys])),
    )


@njit(nogil=True, cache=True)
def _share_out_by_topic(
    order: Int32s, first: Int32s, readers_of: Int32s, readers: Int32s, entry_of: Int32s, entries: Int32s
) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions.

    order : int32[members]   the member of each number
    first : int32[topics + 1]
    readers_of, readers : topic → numbers of its subscribers, ascending
    entry_of, entries : number → partitions, in Java's order
    """
    members, topics = len(order), len(first) - 1
    # Topic → its entries, numbers ascending, each number's in Java's order.
    numbers_of_entries = np.empty(len(entries), np.int32)
    for number in range(members):
        numbers_of_entries[entry_of[number] : entry_of[number + 1]] = number
    topic_of_entry = (np.searchsorted(first, entries, side="right") - 1).astype(np.int32)
    in_topic_of, in_topic = grouped_arrays(topic_of_entry, topics)

    total = len(entries)
    for topic in range(topics):
        count, subscribers_count = first[topic + 1] - first[topic], readers_of[topic + 1] - readers_of[topic]
        if count and subscribers_count:
            total += count * ((subscribers_count + count - 1) // count)
    numbers = np.empty(total, np.int32)
    partitions = np.empty(total, np.int32)
    end = 0
    scratch = np.full((4, members), NONE, np.int32)
    for topic in range(topics):
        mine = in_topic[in_topic_of[topic] : in_topic_of[topic + 1]]
        base = first[topic]
        subscribers_of_topic = readers[readers_of[topic] : readers_of[topic + 1]]
        if len(subscribers_of_topic) == 0:
            numbers[end : end + len(mine)] = numbers_of_entries[mine]
            partitions[end : end + len(mine)] = entries[mine]
            end += len(mine)
            continue
        ids = _by_spread(np.arange(first[topic + 1] - base, dtype=np.int32))
        key_of = np.empty(len(ids), np.int32)
        key_of[ids] = np.arange(len(ids), dtype=np.int32)
        stays, given_numbers, given_keys = _share_out(
            subscribers_of_topic, numbers_of_entries[mine], key_of[entries[mine] - base], ids, scratch, base
        )
        kept = mine[stays]
        numbers[end : end + len(kept)] = numbers_of_entries[kept]
        partitions[end : end + len(kept)] = entries[kept]
        end += len(kept)
        numbers[end : end + len(given_numbers)] = given_numbers
        partitions[end : end + len(given_numbers)] = ids[given_keys] + base
        end += len(given_numbers)
    return _rows(order, numbers[:end], partitions[:end])


@njit(nogil=True, cache=True)
def _rows(order: Int32s, numbers: Int32s, partitions: Int32s) -> tuple[Int32s, Int32s]:
    """Offsets int32[members + 1] and partitions, from the number of the member that has each."""
    offsets = np.zeros(len(order) + 1, np.int32)
    for number in numbers:
        offsets[order[number] + 1] += 1
    for member in range(len(order)):
        offsets[member + 1] += offsets[member]
    cursor = offsets[:-1].copy()
    rows = np.empty(len(partitions), np.int32)
    for i in range(len(partitions)):
        member = order[numbers[i]]
        rows[cursor[member]] = partitions[i]
        cursor[member] += 1
    return offsets, rows


@njit(nogil=True, cache=True)
def _by_spread(numbers: Int32s) -> Int32s:
    """Small Integers (ascending) as a HashSet larger than any of them gives them: ascending, as far as 65,535."""
    if len(numbers) == 0 or numbers[-1] < 1 << 16:
        return numbers
    return numbers[np.argsort(numbers ^ (numbers >> 16), kind="mergesort")]


@njit(nogil=True, cache=True)
def _share_out(
    numbers: Int32s, entry_numbers: Int32s, entry_keys: Int32s, key_hashes: Int32s, scratch: Int32s, base: int
) -> tuple[Int32s, Int32s, Int32s]:
    """Share out partitions among members.

    numbers : int32[members]         the numbers of the members that share, ascending
    entry_numbers, entry_keys : int32[entries]   who has which partition before, in Java's order, numbers ascending
    key_hashes : int32[partitions]   hashCode() of each partition, in the order of the HashMap of partitions
    scratch : int32[4, all members]  NONE at first, then used again
    base : distinct from call to call, as is base + any partition

    Returns the entries that stay (int32[...], ascending), and who is given what: numbers and partitions, int32[...] each.

    Reproduces the steps of SimpleHomogeneousAssignmentBuilder.build and TopicAssignmentPartialBuilder.build (Apache Kafka 4.3.1).
    Plain-Python twin: tests/reference/server_assignors.py.
    """
    desired, counts, last_had, last_given = scratch[0], scratch[1], scratch[2], scratch[3]
    keys, size = len(key_hashes), len(numbers)
    sharing = (size + keys - 1) // keys if keys else 0
    ratio = sharing * keys / size
    for number in entry_numbers:
        desired[number] = counts[number] = 0
    for i in range(size):
        desired[numbers[i]] = math.ceil(ratio * (i + 1)) - math.ceil(ratio * i)
        counts[numbers[i]] = 0
    for number in entry_numbers:
        counts[number] += 1

    stays = np.ones(len(entry_numbers), np.bool_)
    _revoke_from_members(entry_numbers, entry_keys, key_hashes, desired, counts, stays)
    entries_of, entries = grouped_arrays(entry_keys, keys)
    shared = np.zeros(keys, np.int32)
    for key in range(keys):
        start, stop = entries_of[key], entries_of[key + 1]
        for i in range(start, stop):
            shared[key] += stays[entries[i]]
        if shared[key] > sharing:
            _revoke_from_partition(entries[start:stop], shared[key] - sharing, entry_numbers, counts, stays)
            shared[key] = sharing

    below = _by_spread(numbers)
    below = below[counts[below] < desired[below]]
    given = _give(below, sharing, shared, entry_numbers[entries[stays[entries]]], desired, counts, last_had, last_given, base)
    return np.flatnonzero(stays).astype(np.int32), given[0], given[1]


@njit(nogil=True, cache=True)
def _revoke_from_members(
    entry_numbers: Int32s, entry_keys: Int32s, key_hashes: Int32s, desired: Int32s, counts: Int32s, stays: Bools
) -> None:
    """Of each member's partitions, those over what it is to have go, in the order of its HashSet.

    Reproduces revokeOverfilledMembers (Apache Kafka 4.3.1).
    """
    start = 0
    while start < len(entry_numbers):
        number = entry_numbers[start]
        stop = start + counts[number]
        over = counts[number] - desired[number]
        if over > 0:
            if desired[number] == 0:
                stays[start:stop] = False
            else:
                hashes = key_hashes[entry_keys[start:stop]]
                indices = np.arange(stop - start, dtype=np.int32)
                for i in hash_order(hashes, indices, DEFAULT_CAPACITY, False, indices[:0])[:over]:
                    stays[start + i] = False
            counts[number] = desired[number]
        start = stop


@njit(nogil=True, cache=True)
def _revoke_from_partition(entries: Int32s, over: int, entry_numbers: Int32s, counts: Int32s, stays: Bools) -> None:
    """Of one partition's members so many go, in the order of its HashSet.

    entries : int32[...]   the partition's entries, ascending

    Reproduces revokeOversharedPartitions (Apache Kafka 4.3.1).
    """
    holders = entry_numbers[entries]
    gone = np.flatnonzero(~stays[entries]).astype(np.int32)
    for i in hash_order(holders, holders, DEFAULT_CAPACITY, False, gone)[:over]:
        stays[entries[i]] = False
        counts[holders[i]] -= 1


@njit(nogil=True, cache=True)
def _give(  # noqa: C901 (a kernel)
    below: Int32s,
    sharing: int,
    shared: Int32s,
    holders: Int32s,
    desired: Int32s,
    counts: Int32s,
    last_had: Int32s,
    last_given: Int32s,
    base: int,
) -> tuple[Int32s, Int32s]:
    """Give partitions with too few members to members with too few: who is given what, int32[...] each.

    below : int32[...]            the numbers of the members with too few, in the order of their HashSet
    sharing : how many members each partition is to have
    shared, holders : int32[partitions], int32[...]   how many it has, and which, partition after partition
    desired, counts : int32[all members]   what each is to have, and has; the latter written
    last_had, last_given, base : see ``_share_out``

    Reproduces assignRemainingPartitions (Apache Kafka 4.3.1).
    """
    # A linked list: following[i] comes after below[i]; following[end] is the first.
    end = len(below)
    following = np.arange(1, end + 2, dtype=np.int32)
    following[end] = 0
    before = end
    gave = False  # to anybody, since the start of the list
    wanted = 0
    for have in shared:
        wanted += sharing - have
    numbers = np.empty(wanted, np.int32)
    keys = np.empty(wanted, np.int32)
    given = first_holder = 0
    for key in range(len(shared)):
        if following[end] == end or (following[before] == end and not gave):
            break  # nobody has too few, or none of those could take any last time round: Kafka never starts again
        for i in range(first_holder, first_holder + shared[key]):
            last_had[holders[i]] = base + key
        first_holder += shared[key]
        wants = sharing - shared[key]
        while wants > 0:
            if following[before] == end:
                if not gave or following[end] == end:
                    break
                before, gave = end, False
            at = following[before]
            number = below[at]
            if last_had[number] == base + key:
                before = at
                continue
            if last_given[number] != base + key:  # the second time round somebody may be given what was just given
                last_given[number] = base + key
                numbers[given], keys[given] = number, key
                given += 1
                counts[number] += 1
            wants -= 1
            gave = True
            if counts[number] >= desired[number]:
                following[before] = following[at]
            else:
                before = at
    return numbers[:given], keys[:given]
