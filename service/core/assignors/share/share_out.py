"""The three steps of the simple assignor (simple): some partitions are shared out among some members.

*Entries* go in: who has which partition before, in the order in which Kafka comes by them. Out come the entries that stay, and
who is given what.

Source: org.apache.kafka.coordinator.group.assignor.SimpleHomogeneousAssignmentBuilder, and
SimpleHeterogeneousAssignmentBuilder.TopicAssignmentPartialBuilder, which do the same.
Plain-Python twin: tests/reference/server_assignors.py.
"""

import math
from typing import NamedTuple

import numpy as np

from service.core.assignors.coordinator import TopicArrays, is_ascending, target_order
from service.core.jvm.ordering import DEFAULT_CAPACITY, first_of_set, hash_order
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, RaggedArrays
from service.core.ragged import grouped_arrays, put


@kernel
def owned_entries(order: Int32s, topics: Int32s, table: TopicArrays, owned: RaggedArrays) -> tuple[Int32s, Int32s]:
    """What members own of ``topics``, as Kafka comes by it: the number of each owner, ascending, and the partition.

    order : int32[members], the member of each number; owned : member → partitions, also those that do not exist
    Returns int32[entries] each.
    """
    existing, topic_of = table.first[-1], table.topic_of
    is_target = np.zeros(len(table.hashes), np.bool_)
    is_target[topics] = True
    all_topics = len(topics) == len(is_target)
    place = np.full(len(table.hashes), NONE, np.int32)
    last_number = np.full(existing, NONE, np.int32)
    numbers = np.empty(len(owned.values), np.int32)
    entries = np.empty(len(owned.values), np.int32)
    end = 0
    for number in range(len(order)):
        member = order[number]
        row = owned.values[owned.offsets[member] : owned.offsets[member + 1]]
        if not (all_topics and len(row) > 0 and row[-1] < existing and is_ascending(row)):  # as most callers send it
            stop = end
            for partition in row:
                if partition < existing and last_number[partition] != number and is_target[topic_of[partition]]:
                    last_number[partition] = number
                    entries[stop] = partition
                    stop += 1
            row = entries[end:stop]
        if len(row) > 1:
            row = target_order(row, table, place)
        start, end = end, put(row, entries, end)
        numbers[start:end] = number
    return numbers[:end], entries[:end]


class _Members(NamedTuple):
    """What all members have, by number.

    desired, counts : int32[members]         how many partitions each is to have, and has
    last_had, last_given : int32[members]    the last partition that each was known to have, and was given, plus ``base``
    """

    desired: Int32s
    counts: Int32s
    last_had: Int32s
    last_given: Int32s


@inner_kernel
def share_out(
    numbers: Int32s, entry_numbers: Int32s, entries: Int32s, partitions: Int32s, hashes: Int32s, scratch: Int32s, base: int
) -> tuple[Bools, Int32s, Int32s]:
    """Share out partitions among members.

    numbers : int32[members]         the numbers of the members that share, ascending
    entry_numbers, entries : int32[entries]   who has which partition before, in Java's order, numbers ascending
    partitions : int32[...]          those to share out, in the order of the HashMap of partitions
    hashes : int32[all partitions]   hashCode() of each
    scratch : int32[4, all members]  NONE at first, then used again
    base : distinct from call to call, as is base + any partition

    Returns which entries stay (bool[entries]), and who is given what: numbers and partitions, int32[...] each.

    Reproduces the steps of SimpleHomogeneousAssignmentBuilder.build and TopicAssignmentPartialBuilder.build.
    Plain-Python twin: tests/reference/server_assignors.py.
    """
    members = _Members(scratch[0], scratch[1], scratch[2], scratch[3])
    desired, counts = members.desired, members.counts
    count, size = len(partitions), len(numbers)
    sharing = (size + count - 1) // count if count else 0
    ratio = sharing * count / size
    for number in entry_numbers:
        desired[number] = counts[number] = 0
    for i in range(size):
        desired[numbers[i]] = math.ceil(ratio * (i + 1)) - math.ceil(ratio * i)
        counts[numbers[i]] = 0
    for number in entry_numbers:
        counts[number] += 1

    stays = np.ones(len(entry_numbers), np.bool_)
    _revoke_from_members(entry_numbers, entries, hashes, members, stays)
    shared = np.zeros(len(hashes), np.int32)
    for entry in range(len(entries)):
        shared[entries[entry]] += stays[entry]
    # Mostly a partition is for one member, and no two have it: then no member has a partition that is yet to be given.
    undisputed = sharing <= 1 and (count == 0 or shared.max() <= 1)
    owners = entry_numbers[:0] if undisputed else _owners(entry_numbers, entries, partitions, sharing, shared, members, stays)

    below = by_spread(numbers)
    below = below[counts[below] < desired[below]]
    given_numbers, given = _give(below, sharing, partitions, shared, owners, members, base)
    return stays, given_numbers, given


@inner_kernel
def _revoke_from_members(entry_numbers: Int32s, entries: Int32s, hashes: Int32s, members: _Members, stays: Bools) -> None:
    """Revokes each member's partitions above its quota, in HashSet order.

    Reproduces revokeOverfilledMembers.
    """
    desired, counts = members.desired, members.counts
    start = 0
    while start < len(entry_numbers):
        number = entry_numbers[start]
        stop = start + counts[number]
        over = counts[number] - desired[number]
        if over > 0:
            if desired[number] == 0:
                stays[start:stop] = False
            else:
                for i in first_of_set(hashes[entries[start:stop]], over):
                    stays[start + i] = False
            counts[number] = desired[number]
        start = stop


@inner_kernel
def _owners(
    entry_numbers: Int32s, entries: Int32s, partitions: Int32s, sharing: int, shared: Int32s, members: _Members, stays: Bools
) -> Int32s:
    """int32[...], the members that each partition keeps, partition after partition; those over ``sharing`` are revoked.

    shared : int32[all partitions]   how many members each partition has; written, as are ``members`` and ``stays``
    """
    places_of, places = grouped_arrays(entries, len(shared))
    owners = np.empty(len(entries), np.int32)
    end = 0
    for partition in partitions:
        of_partition = places[places_of[partition] : places_of[partition + 1]]
        over = shared[partition] - sharing
        if over > 0:  # revokeOversharedPartitions: members go in the order of the partition's HashSet
            numbers = entry_numbers[of_partition]
            gone = np.flatnonzero(~stays[of_partition]).astype(np.int32)
            for i in hash_order(numbers, numbers, int(DEFAULT_CAPACITY), False, gone)[:over]:
                stays[of_partition[i]] = False
                members.counts[numbers[i]] -= 1
            shared[partition] = sharing
        for entry in of_partition:
            if stays[entry]:
                owners[end] = entry_numbers[entry]
                end += 1
    return owners[:end]


@kernel
def _give(
    below: Int32s, sharing: int, partitions: Int32s, shared: Int32s, owners: Int32s, members: _Members, base: int
) -> tuple[Int32s, Int32s]:
    """Give partitions with too few members to members with too few: who is given what, int32[...] each.

    below : int32[...]            the numbers of the members with too few, in the order of their HashSet
    sharing : how many members each partition is to have
    partitions, owners : int32[...]   those to share out, in the order of their HashMap, and which members they have, partition
                                      after partition; ``owners`` is not read where ``sharing`` is 1
    shared : int32[all partitions]    how many members each has
    members : written; base : see ``share_out``

    Reproduces assignRemainingPartitions.
    """
    counts, last_had, last_given = members.counts, members.last_had, members.last_given
    # A linked list: following[i] comes after below[i]; following[end] is the first.
    end = len(below)
    following = np.arange(1, end + 2, dtype=np.int32)
    following[end] = 0
    before = end
    gave = False  # to anybody, since the start of the list
    total_missing = sharing * len(partitions) - shared.sum()
    numbers = np.empty(total_missing, np.int32)
    given = np.empty(total_missing, np.int32)
    count = first_owner = 0
    for partition in partitions:
        if following[end] == end or (following[before] == end and not gave):
            break  # no member has too few, or none of those could take any last time round: Kafka never starts again
        missing = sharing - shared[partition]
        for i in range(first_owner, first_owner + shared[partition] if missing else 0):
            last_had[owners[i]] = base + partition
        first_owner += shared[partition]
        while missing > 0:
            if following[before] == end:
                if not gave or following[end] == end:
                    break
                before, gave = end, False
            at = following[before]
            number = below[at]
            if last_had[number] == base + partition:
                before = at
                continue
            if last_given[number] != base + partition:  # the second time round somebody may be given what was just given
                last_given[number] = base + partition
                numbers[count], given[count] = number, partition
                count += 1
                counts[number] += 1
            missing -= 1
            gave = True
            if counts[number] >= members.desired[number]:
                following[before] = following[at]
            else:
                before = at
    return numbers[:count], given[:count]


@inner_kernel
def by_spread(numbers: Int32s) -> Int32s:
    """Small Integers (ascending) as a HashSet larger than any of them gives them: ascending, as far as 65,535."""
    if len(numbers) == 0 or numbers[-1] < 1 << 16:
        return numbers
    return numbers[np.argsort(numbers ^ (numbers >> 16), kind="mergesort")]


@inner_kernel
def rows_of(order: Int32s, numbers: Int32s, partitions: Int32s) -> tuple[Int32s, Int32s]:
    """Offsets int32[members + 1] and partitions, from the number of the member that has each."""
    offsets, places = grouped_arrays(order[numbers], len(order))
    return offsets, partitions[places]
