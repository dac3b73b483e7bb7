"""How librdkafka's cooperative-sticky gives free partitions away and evens the group out: the steps of ``cooperative_sticky``.

librdkafka asks before every partition whether the group is balanced, and ends the pass if so. In a balanced group no member has
two fewer than the owner of a partition that he could have; so that changes nothing unless partitions may go to other members,
those that claim them under an older generation. Only then (``State.watched``) the question is put, and again after a move. Up to
2.6.0 it is put always, for its answer was wrong: the index of the outer loop served the inner one too, so that members were
passed over, or looked at for ever.

Racks count for free partitions, and for what members may keep. They are also asked while the group is evened out, to no effect:
the partition goes to the member with the fewest on whatever rack.

Source: maybeAssign, performReassignments, isBalanced in rdkafka_sticky_assignor.c (librdkafka 1.9.2, 2.2.0, 2.12.1).
Plain-Python twin: tests/reference/clients/librdkafka_sticky.py.
"""

from typing import NamedTuple

import numpy as np

from service.clients.librdkafka.records import (
    ASSERTION,
    ENDLESS,
    FINE,
    NULL,
    MoveRecords,
    chosen,
    no_records,
    record,
)
from service.core.assignors.classic.racks import on_rack
from service.core.assignors.classic.sticky.reassign import OFTEN, inequality
from service.core.clock import OUT_OF_TIME, Deadline, is_over
from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s


class BalanceState(NamedTuple):
    """The group, and who has what so far. A partition may have several holders if its claims were of several generations.

    first : int32[topics + 1]            the first partition of each topic
    topic_of : int32[partitions]         the topic of each partition
    subscribers_of, subscribers          topic → its subscribers, ascending
    topics_of, topics                    member → the topics that exist to which it subscribes
    id_rank : int32[members]             the place of each among the member_ids
    possible : int32[members]            the number of partitions of each member's topics
    previous : int32[partitions]         the member that claims each under the next older generation, or NONE
    watched, clobbered : bool            must it be asked whether the group is balanced? as up to 2.6.0?

    owners : int32[partitions]           currentPartitionConsumer: to librdkafka's knowledge the owner of each, or NONE
    counts : int32[members]              how many partitions each holds
    order, place : int32[members] each   the members in ascending order of (count, member_id), and the place of each in it
    taking_part : bool[members], size : int32[1]   False for members set aside; how many are not: ``order[:size]``
    head, member, after : int32[...]     the holders of each partition: its first entry; an entry's member, and the next one
    free : int32[1]                      the first free entry
    """

    first: Int32s
    topic_of: Int32s
    subscribers_of: Int32s
    subscribers: Int32s
    topics_of: Int32s
    topics: Int32s
    id_rank: Int32s
    possible: Int32s
    previous: Int32s
    watched: bool
    clobbered: bool
    owners: Int32s
    counts: Int32s
    order: Int32s
    place: Int32s
    taking_part: Bools
    size: Int32s
    head: Int32s
    member: Int32s
    after: Int32s
    free: Int32s


@kernel
def balance(
    state: BalanceState,
    free: Int32s,
    order: Int32s,
    revoked: bool,  # noqa: FBT001 (a kernel)
    member_racks: Int32s,
    racks_of: Int32s,
    racks: Int32s,
    deadline: Deadline,
) -> tuple[int, int, Int32s]:
    """Steps 2 and 3: give out what is free, then even the group out.

    free, order : int32[...]          the partitions that are free, and all that have subscribers, in order
    revoked : was anything taken from a member in step 1?
    member_racks : int32[members]     empty: racks do not count
    racks_of, racks : partition → racks of its replicas
    Returns how it ended, at which partition if not well, and the last holder of each partition, int32[partitions], or NONE.
    """
    _stand(state)
    fresh = state.counts.max() == 0
    left, in_time = free, True
    if len(member_racks) > 0:
        left, in_time = _give_out(state, free, member_racks, racks_of, racks, deadline)
    if in_time:
        _, in_time = _give_out(state, left, member_racks[:0], racks_of, racks, deadline)
    if not in_time:
        return OUT_OF_TIME, NONE, state.owners
    _set_aside(state)
    head, member, after, counts = state.head.copy(), state.member.copy(), state.after.copy(), state.counts.copy()
    records = no_records(len(state.topic_of), len(state.first) - 1)
    shared = state.subscribers_of[state.topic_of + 1] - state.subscribers_of[state.topic_of] >= 2
    status, at, performed = FINE, NONE, False
    if not revoked:
        status, at, _, records = _even_out(state, free[shared[free]], records, deadline)
    if status == FINE:
        status, at, performed, records = _even_out(state, order[shared[order]], records, deadline)
    if status != FINE:
        return status, at, state.owners
    if not fresh and performed and inequality(state.counts, state.taking_part) >= inequality(counts, state.taking_part):
        return FINE, NONE, _last_holders(head, member, after)
    return FINE, NONE, _last_holders(state.head, state.member, state.after)


@inner_kernel
def _last_holders(head: Int32s, member: Int32s, after: Int32s) -> Int32s:
    """Of the holders of each partition the last in the members' order, or NONE: int32[partitions]."""
    last = np.full(len(head), NONE, np.int32)
    for partition in range(len(head)):
        entry = head[partition]
        while entry != NONE:
            last[partition] = max(last[partition], member[entry])
            entry = after[entry]
    return last


@borrowing_kernel
def _hold(state: BalanceState, partition: int, member: int) -> None:
    """The member holds the partition, too."""
    entry = state.free[0]
    state.free[0] = state.after[entry]
    state.member[entry] = member
    state.after[entry] = state.head[partition]
    state.head[partition] = entry
    state.counts[member] += 1


@borrowing_kernel
def _let_go(state: BalanceState, partition: int, member: int) -> None:
    """The member holds the partition no longer, if it did."""
    last, entry = NONE, state.head[partition]
    while entry != NONE and state.member[entry] != member:
        last, entry = entry, state.after[entry]
    if entry == NONE:
        return
    if last == NONE:
        state.head[partition] = state.after[entry]
    else:
        state.after[last] = state.after[entry]
    state.after[entry] = state.free[0]
    state.free[0] = entry
    state.counts[member] -= 1


@borrowing_kernel
def _holds(state: BalanceState, partition: int, member: int) -> bool:
    """Does the member hold the partition?"""
    entry = state.head[partition]
    while entry != NONE and state.member[entry] != member:
        entry = state.after[entry]
    return bool(entry != NONE)


@borrowing_kernel
def _before(state: BalanceState, one: int, other: int) -> bool:
    if state.counts[one] != state.counts[other]:
        return bool(state.counts[one] < state.counts[other])
    return bool(state.id_rank[one] < state.id_rank[other])


@inner_kernel
def _stand(state: BalanceState) -> None:
    """Put the members that take part in order."""
    size = 0
    keys = np.empty(len(state.counts), np.int64)
    for member in range(len(state.counts)):
        if state.taking_part[member]:
            keys[size] = np.int64(state.counts[member]) * len(state.counts) + state.id_rank[member]
            state.order[size] = member
            size += 1
    sorted_members = state.order[:size][np.argsort(keys[:size])]
    for place in range(size):
        state.order[place] = sorted_members[place]
        state.place[sorted_members[place]] = place
    state.size[0] = size


@borrowing_kernel
def _settle(state: BalanceState, member: int) -> None:
    """Move the member to its place in the order after its count has changed."""
    place = state.place[member]
    while place > 0 and _before(state, member, state.order[place - 1]):
        state.order[place] = state.order[place - 1]
        state.place[state.order[place]] = place
        place -= 1
    while place + 1 < state.size[0] and _before(state, state.order[place + 1], member):
        state.order[place] = state.order[place + 1]
        state.place[state.order[place]] = place
        place += 1
    state.order[place] = member
    state.place[member] = place


@borrowing_kernel
def _subscribes(state: BalanceState, member: int, topic: int) -> bool:
    subscribers = state.subscribers[state.subscribers_of[topic] : state.subscribers_of[topic + 1]]
    if len(subscribers) == len(state.counts):
        return True
    place = np.searchsorted(subscribers, np.int32(member))
    return bool(place < len(subscribers) and subscribers[place] == member)


@borrowing_kernel
def _fewest(state: BalanceState, topic: int) -> int:
    """The first member in order that subscribes to the topic, or NONE."""
    for place in range(state.size[0]):
        if _subscribes(state, state.order[place], topic):
            return int(state.order[place])
    return NONE


@inner_kernel
def _give_out(
    state: BalanceState, partitions: Int32s, member_racks: Int32s, racks_of: Int32s, racks: Int32s, deadline: Deadline
) -> tuple[Int32s, bool]:
    """Give each partition to the first subscriber in order (maybeAssign).

    Returns those for which there is none, and whether it was done in time.

    partitions : int32[...]          the free partitions in order
    member_racks : int32[members]    only members on one of the partition's racks get it; empty: racks do not count
    racks_of, racks : partition → racks of its replicas
    """
    left = np.empty(len(partitions), np.int32)
    count = 0
    for i in range(len(partitions)):
        if i % OFTEN == 0 and is_over(deadline):
            return left[:count], False
        partition = partitions[i]
        topic = state.topic_of[partition]
        taker = NONE
        if len(member_racks) == 0:
            taker = _fewest(state, topic)
        elif racks_of[partition] < racks_of[partition + 1]:
            for place in range(state.size[0]):
                member = state.order[place]
                rack = member_racks[member]
                if rack != NONE and on_rack(racks_of, racks, partition, rack) and _subscribes(state, member, topic):
                    taker = member
                    break
        if taker == NONE:
            left[count] = partition
            count += 1
        else:
            _hold(state, partition, taker)
            state.owners[partition] = taker
            _settle(state, taker)
    return left[:count], True


@inner_kernel
def _set_aside(state: BalanceState) -> None:
    """Members that have all they can have, none of it shareable, take no part any more (consumerCanParticipateInReassignment)."""
    for member in range(len(state.counts)):
        state.taking_part[member] = state.counts[member] < state.possible[member]
    for partition in range(len(state.topic_of)):
        topic = state.topic_of[partition]
        if state.subscribers_of[topic + 1] - state.subscribers_of[topic] >= 2:
            entry = state.head[partition]
            while entry != NONE:
                state.taking_part[state.member[entry]] = True
                entry = state.after[entry]
    _stand(state)


@inner_kernel
def _even_out(
    state: BalanceState, partitions: Int32s, records: MoveRecords, deadline: Deadline
) -> tuple[int, int, bool, MoveRecords]:
    """Move partitions until nothing can be evened out any more (performReassignments).

    partitions : int32[...]   those of topics with two subscribers or more, in order
    Returns how it ended, at which partition if not well, whether anything moved, and the records.
    """
    performed, modified = False, True
    while modified:
        modified = False
        balanced, known = False, False
        for i in range(len(partitions)):
            if i % OFTEN == 0 and is_over(deadline):
                return OUT_OF_TIME, NONE, performed, records
            partition = partitions[i]
            if state.watched:
                if not known:
                    status, balanced = _balanced(state)
                    if status != FINE:
                        return status, partition, performed, records
                    known = True
                if balanced:
                    break
            status, to = _where_to(state, partition)
            if status == FINE and to != NONE:
                status, records = _move(state, records, partition, to)
                performed, modified, known = True, True, False
            if status != FINE:
                return status, partition, performed, records
    return FINE, NONE, performed, records


@borrowing_kernel
def _where_to(state: BalanceState, partition: int) -> tuple[int, int]:
    """Whether this is fine, and the member that is to get the partition; NONE: it stays."""
    owner, previous = state.owners[partition], state.previous[partition]
    if owner == NONE:
        return ASSERTION, NONE
    if not state.taking_part[owner] or (previous != NONE and not state.taking_part[previous]):
        return NULL, NONE
    if previous != NONE and state.counts[owner] > state.counts[previous] + 1:
        return FINE, previous
    fewest = _fewest(state, state.topic_of[partition])
    return FINE, fewest if state.counts[owner] > state.counts[fewest] + 1 else NONE


@inner_kernel
def _move(state: BalanceState, records: MoveRecords, partition: int, to: int) -> tuple[int, MoveRecords]:
    """Move the partition, or the one that its records name instead (reassignPartitionToConsumer)."""
    topic = state.topic_of[partition]
    status, moving, through = chosen(records, topic, partition, state.owners[partition], to)
    if status != FINE:
        return status, records
    owner = state.owners[moving]
    status, moving, records = record(records, topic, moving, through, owner, to)
    if status != FINE:
        return status, records
    _hold(state, moving, to)
    _let_go(state, moving, owner)
    state.owners[moving] = to
    _settle(state, to)
    if state.taking_part[owner]:
        _settle(state, owner)
    return FINE, records


@inner_kernel
def _balanced(state: BalanceState) -> tuple[int, bool]:  # noqa: C901 (a kernel)
    """How it ends, and: is the group balanced (isBalanced)? Of several holders the first in the members' order counts."""
    size = state.size[0]
    if state.counts[state.order[0]] >= state.counts[state.order[size - 1]] - 1:
        return FINE, True
    most = np.full(len(state.first) - 1, NONE, np.int32)  # of each topic's holders, but not of partitions with several
    several = np.zeros(len(state.first) - 1, np.bool_)
    for partition in range(len(state.topic_of)):
        entry = state.head[partition]
        if entry != NONE:
            topic = state.topic_of[partition]
            if state.after[entry] != NONE:
                several[topic] = True
            elif state.taking_part[state.member[entry]]:
                most[topic] = max(most[topic], state.counts[state.member[entry]])
    seen = np.zeros(size, np.bool_)
    place = 0
    while place < size:
        member = state.order[place]
        if state.counts[member] != state.possible[member]:
            if seen[place]:
                return ENDLESS, False
            seen[place] = True
            for i in range(state.topics_of[member], state.topics_of[member + 1]):
                topic = state.topics[i]
                if most[topic] > state.counts[member] or (several[topic] and _could_have(state, member, topic)):
                    return FINE, False
            if state.clobbered:
                place = state.possible[member]
        place += 1
    return FINE, True


@borrowing_kernel
def _could_have(state: BalanceState, member: int, topic: int) -> bool:
    """Is there a partition of the topic with several holders, not the member among them, of which the first has more?"""
    for partition in range(state.first[topic], state.first[topic + 1]):
        entry = state.head[partition]
        if entry == NONE or state.after[entry] == NONE or _holds(state, partition, member):
            continue
        holder = len(state.counts)
        while entry != NONE:
            if state.taking_part[state.member[entry]]:
                holder = min(holder, state.member[entry])
            entry = state.after[entry]
        if holder < len(state.counts) and state.counts[holder] > state.counts[member]:
            return True
    return False
