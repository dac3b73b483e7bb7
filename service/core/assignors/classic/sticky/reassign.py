"""Steps 3 to 5 of the general sticky algorithm (general.py): partitions move until nothing can be evened out any more.

Kafka asks before every partition whether the group is balanced, and ends the pass if so. As long as members have only what they
subscribe to, that changes nothing: in a balanced group no member has two fewer than the owner of a partition that he could have.
So the question is put only when it counts: when members may have stale claims (``State.has_stale_claims``), before a move.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder.balance.
Plain-Python twin: tests/reference/sticky.py, ``general``.
"""

from typing import Final

import numpy as np

from service.core.assignors.classic.members import on_rack
from service.core.assignors.classic.sticky.movements import Movements, alike, copied, first_of, move, opposite
from service.core.assignors.classic.sticky.state import State, give
from service.core.budget import OUT_OF_TIME, Deadline, is_over
from service.core.heap import heapify, sift_down, sift_up
from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Int32s
from service.core.ragged import put

SETTLED: Final = 0
NULL_POINTER: Final = 1
ENDLESS: Final = 2
"""How it ends: nothing moves any more; Kafka throws; Kafka moves partitions for ever."""

OFTEN: Final = 64
"""Partitions after which the time is checked: each may take a pass over all partitions and members."""

_STAY: Final = -1
_THROW: Final = -2


@kernel
def set_aside(state: State) -> None:
    """Step 3 for members (canConsumerParticipateInReassignment)."""
    for member in range(len(state.counts)):
        state.taking_part[member] = state.counts[member] < state.possible[member]
    if state.taking_part.all():
        return
    for partition in range(len(state.topic_of)):
        topic, owner = state.topic_of[partition], state.new_owners[partition]
        if owner != NONE and state.subscribers_of[topic + 1] - state.subscribers_of[topic] >= 2:
            state.taking_part[owner] = True
            if state.duplicates[partition] != NONE:
                state.taking_part[state.duplicates[partition]] = True


@kernel
def even_out(
    state: State,
    movements: Movements,
    revoked: bool,  # noqa: FBT001
    fresh: bool,  # noqa: FBT001
    deadline: Deadline,
) -> tuple[int, int, tuple[int, int], tuple[int, int], bool]:
    """Steps 4 and 5 (balance).

    Returns how it ended, where (the partition, if it did not settle), passes and moves of the two reassignments, and whether they
    were undone.
    """
    before = state.new_owners.copy()
    counts = state.counts.copy()
    status, at = SETTLED, NONE
    passes, moves = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for step in range(1 if revoked else 0, 2):  # only the free partitions, then all
        status, at, passes[step], moves[step], movements = _reassign(state, step == 0, movements, deadline)
        if status != SETTLED:
            break
    restored = False
    if status == SETTLED and not fresh and moves[1] > 0:
        taking_part = state.taking_part  # getBalanceScore is an int of Java, with its overflow
        restored = bool(np.int32(differences(state.counts[taking_part])) >= np.int32(differences(counts[taking_part])))
        if restored:
            put(before, state.new_owners, 0)
    return status, at, (passes[0], passes[1]), (moves[0], moves[1]), restored


@inner_kernel
def differences(counts: Int32s) -> int:
    """The differences between the counts of all pairs of members, added up."""
    ascending = np.sort(counts)
    total = np.int64(0)
    for i in range(len(ascending)):
        total += np.int64(2 * i - len(ascending) + 1) * ascending[i]
    return int(total)


@inner_kernel
def _reassign(
    state: State,
    only_free: bool,  # noqa: FBT001
    movements: Movements,
    deadline: Deadline,
) -> tuple[int, int, int, int, Movements]:
    """Step 4 over one list (performReassignments): passes until nothing moves.

    Endless movement is recognised by a state at the start of a pass that is, to the last record, that of an earlier pass. After
    1, 2, 4, 8 … passes the state is remembered, and compared with until the next is (Brent's way to find a cycle).

    Returns how it ended; the partition at which it threw, or one that moves for ever; passes; moves; the records.
    """
    passes = total = 0
    moved = NONE
    heap = np.empty(len(state.counts), np.int32)
    where = np.zeros(len(state.counts), np.int32)
    witness = np.full(2, NONE, np.int32)
    remembered, records = state.new_owners[:0].copy(), movements
    while True:
        if passes & (passes - 1) == 0:
            if passes > 0:
                remembered, records = state.new_owners.copy(), copied(movements)
        elif np.array_equal(remembered, state.new_owners) and alike(records, movements):
            return ENDLESS, moved, passes, total, movements
        status, moved, moves, movements = _pass(state, only_free, movements, heap, where, witness, deadline)
        passes += 1
        total += moves
        if status != SETTLED or moves == 0:
            return status, moved, passes, total, movements


@inner_kernel
def _pass(  # noqa: C901, PLR0912 (a kernel)
    state: State,
    only_free: bool,  # noqa: FBT001
    movements: Movements,
    heap: Int32s,
    where: Int32s,
    witness: Int32s,
    deadline: Deadline,
) -> tuple[int, int, int, Movements]:
    """One pass over the partitions of topics with two subscribers or more.

    heap, where : int32[members]   room to work in
    witness : int32[2]             as in ``_balanced``
    Returns how it ended, the last partition moved (or that at which it threw), the number of moves, and the records.
    """
    moves, last, looked_at = 0, NONE, 0
    for run in range(len(state.runs) - 1):
        of_run = state.sequence[state.runs[run] : state.runs[run + 1]]
        if len(of_run) == 0:
            continue
        topic = state.topic_of[of_run[0]]
        start, stop = state.subscribers_of[topic], state.subscribers_of[topic + 1]
        if stop - start < 2:
            continue
        size, fewest, all_take_part = 0, NONE, True
        for i in range(start, stop):
            subscriber = state.subscribers[i]
            if not state.taking_part[subscriber]:
                all_take_part = False
            elif fewest == NONE or state.keys[subscriber] < state.keys[fewest]:
                fewest = subscriber
        for partition in of_run:
            looked_at += 1
            if looked_at % OFTEN == 0 and is_over(deadline):
                return OUT_OF_TIME, NONE, moves, movements
            if only_free and not state.free[partition]:
                continue
            owner = state.new_owners[partition]
            to = _target(state, topic, partition, owner, fewest, all_take_part)
            if to == _STAY:
                continue
            if state.has_stale_claims and _balanced(state, topic, partition, to, witness):
                return SETTLED, last, moves, movements
            if to == _THROW:
                return NULL_POINTER, partition, moves, movements

            topic = state.topic_of[partition]
            pair = opposite(movements, topic, partition, owner, to)
            moved = partition if pair == NONE else first_of(movements, pair)  # getTheActualPartitionToBeMoved
            if size == 0:  # make a heap of the subscribers that take part
                for i in range(start, stop):
                    if state.taking_part[state.subscribers[i]]:
                        heap[size] = state.subscribers[i]
                        size += 1
                heapify(heap, size, where, state.keys)
            movements = shift(state, movements, heap[:size], where, topic, moved, to)
            fewest = heap[0]
            moves += 1
            last = moved
    return SETTLED, last, moves, movements


@inner_kernel
def shift(state: State, movements: Movements, heap: Int32s, where: Int32s, topic: int, partition: int, to: int) -> Movements:
    """Give the partition to another member (movePartition). heap : int32[...], subscribers of its topic; perhaps not ``to``"""
    source = state.new_owners[partition]
    movements = move(movements, topic, partition, source, to)
    state.counts[source] -= 1
    state.keys[source] -= len(state.counts)
    if where[source] < len(heap) and heap[where[source]] == source:
        sift_up(heap, where, state.keys, where[source])
    give(state, partition, to)
    if where[to] < len(heap) and heap[where[to]] == to:
        sift_down(heap, len(heap), where, state.keys, where[to])
    return movements


@borrowing_kernel
def _target(state: State, topic: int, partition: int, owner: int, fewest: int, all_take_part: bool) -> int:  # noqa: FBT001
    """Where the partition goes, if it moves: back to the member of an older generation that claims it, or to the subscriber with
    the fewest; or _STAY, or _THROW.
    """
    previous = state.previous_owners[partition]
    if previous != NONE:
        if not state.taking_part[previous]:
            return _THROW
        if state.counts[owner] > state.counts[previous] + 1:
            return int(previous)
    if not all_take_part:
        return _to_fewest(state, topic, partition, owner, fewest)
    return fewest if state.counts[owner] > state.counts[fewest] + 1 else _STAY


@inner_kernel
def _to_fewest(state: State, topic: int, partition: int, owner: int, fewest: int) -> int:
    """The same where some subscriber has been set aside, at whose sight Kafka throws if it has not found another before.

    It looks for one with two fewer first among the subscribers on the partition's racks, if the owner is on one of them.
    """
    subscribers = state.subscribers[state.subscribers_of[topic] : state.subscribers_of[topic + 1]]
    rack = state.racks[owner]
    if rack != NONE and on_rack(state.racks_of, state.partition_racks, partition, rack):
        for subscriber in subscribers:
            rack = state.racks[subscriber]
            if rack != NONE and on_rack(state.racks_of, state.partition_racks, partition, rack):
                if not state.taking_part[subscriber]:
                    return _THROW
                if state.counts[owner] > state.counts[subscriber] + 1:
                    return fewest
    for subscriber in subscribers:
        if not state.taking_part[subscriber]:
            return _THROW
        if state.counts[owner] > state.counts[subscriber] + 1:
            return fewest
    return _STAY


@inner_kernel
def _balanced(state: State, topic: int, partition: int, to: int, witness: Int32s) -> bool:  # noqa: C901 (a kernel)
    """Is the group balanced (isBalanced)?

    topic, partition, to : the move that is about to be made, most likely a proof that it is not; or ``to`` is _THROW
    witness : int32[2]   the member and the partition that proved it last, or NONE; written
    """
    if to >= 0:
        for i in range(state.subscribers_of[topic], state.subscribers_of[topic + 1]):
            if state.subscribers[i] == to and _could_have(state, to, partition):
                return False
    if witness[0] != NONE and _could_have(state, witness[0], witness[1]):
        return False
    if nearly_equal(state):
        return True
    for other in state.topics:
        subscribers = state.subscribers[state.subscribers_of[other] : state.subscribers_of[other + 1]]
        least = fewest_of_open(state, subscribers)
        if least == NONE:
            continue
        for odd in range(state.first[other], state.first[other + 1]):
            if state.counts[_owner_in_map(state, odd)] > least + state.tolerance:
                for subscriber in subscribers:
                    if _could_have(state, subscriber, odd):
                        witness[0], witness[1] = subscriber, odd
                        return False
    return True


@kernel
def nearly_equal(state: State) -> bool:
    """Has no member that takes part two more than another? Then nothing moves, provided that nothing is peculiar."""
    least = most = NONE
    for member in range(len(state.counts)):
        if state.taking_part[member]:
            least = state.counts[member] if least == NONE else min(least, state.counts[member])
            most = max(most, state.counts[member])
    return bool(least >= most - 1)


@inner_kernel
def fewest_of_open(state: State, members: Int32s) -> int:
    """The fewest partitions of those that take part and could have more, or NONE."""
    least = NONE
    for member in members:
        if state.taking_part[member] and state.counts[member] != state.possible[member]:
            least = state.counts[member] if least == NONE else min(least, state.counts[member])
    return int(least)


@inner_kernel
def _could_have(state: State, member: int, partition: int) -> bool:
    """Could a subscriber of the partition have it, to make the group more equal?"""
    return bool(
        state.taking_part[member]
        and state.counts[member] != state.possible[member]
        and state.new_owners[partition] != member
        and state.duplicates[partition] != member
        and state.counts[_owner_in_map(state, partition)] > state.counts[member] + state.tolerance
    )


@inner_kernel
def _owner_in_map(state: State, partition: int) -> int:
    """The owner that isBalanced takes into account: of two, the later one in the map of assignments."""
    owner, other = state.new_owners[partition], state.duplicates[partition]
    if other == NONE or not state.taking_part[other]:
        return int(owner)
    return int(other if not state.taking_part[owner] or state.places[other] > state.places[owner] else owner)
