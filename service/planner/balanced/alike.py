"""The most even assignment where all members subscribe alike and no member claims what another does: a formula.

Every member gets ⌊n ÷ m⌋ of n partitions or one more. One more goes first to members that own as many, by member_id; so a member
keeps what it owns up to its load, and no assignment as even keeps more. What is left over is dealt in turns, so that the
partitions of a topic go to different members.

If fewer may move, the most loaded members give up one partition after the other, and the least loaded get these and what no
member owned: no assignment that moves as few is more even.
"""

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Int32s, Int64s


@kernel
def assign_alike(owned_of: Int32s, owned: Int32s, order: Int32s, counting: Bools, room: Int64s) -> Int32s:  # noqa: C901, PLR0912 (a kernel)
    """The member of each partition, int32[partitions], NONE where it does not count.

    owned_of, owned : member → partitions it claims, none claimed twice; those from ``len(counting)`` on do not exist
    order : int32[members], the members by member_id; at least one
    counting : bool[partitions], those that are to be assigned
    room : int64[members], how many each member gets; counted down

    Plain-Python twin, by trying everything: tests/reference/balanced_groups.py.
    """
    holder = np.full(len(counting), NONE, np.int32)
    for member in range(len(order)):
        for i in range(owned_of[member], owned_of[member + 1]):
            if owned[i] < len(counting) and counting[owned[i]]:
                holder[owned[i]] = member
    for partition in range(len(holder)):
        member = holder[partition]
        if member != NONE:
            if room[member] > 0:
                room[member] -= 1
            else:
                holder[partition] = NONE
    turns = np.empty(len(order), np.int32)  # those with room, who are dealt what no member holds
    size = 0
    for member in order:
        if room[member] > 0:
            turns[size] = member
            size += 1
    at, kept = 0, 0
    for partition in range(len(holder)):
        if counting[partition] and holder[partition] == NONE:
            if at == size:  # the next round, without those that are full
                at, size, kept = 0, kept, 0
            member = turns[at]
            at += 1
            holder[partition] = member
            room[member] -= 1
            if room[member] > 0:
                turns[kept] = member
                kept += 1
    return holder


def rooms(claims: Int32s, order: Int32s, count: int, max_moves: int | None) -> Int64s:
    """int64[members], how many of ``count`` partitions each member gets. claims : int32[members], how many it owns"""
    each, more = divmod(count, len(order))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    most_even = np.full(len(order), each, np.int64)
    most_even[np.lexsort((rank, claims <= each))[:more]] += 1
    if max_moves is None or np.maximum(claims - most_even, 0).sum() <= max_moves:
        return most_even
    kept = _levelled(claims.astype(np.int64), rank, -max_moves)
    return _levelled(kept, rank, count - int(kept.sum()))


def _levelled(loads: Int64s, rank: Int64s, change: int) -> Int64s:
    """The loads, after the least have got some, or the most given some, one by one. rank : int64[members], for ties"""
    if change < 0:
        return -_levelled(-loads, rank, -change)
    low, high = int(loads.min()), int(loads.max()) + change  # the level up to which all can be filled
    while low < high:
        middle = (low + high + 1) // 2
        if np.maximum(middle - loads, 0).sum() <= change:
            low = middle
        else:
            high = middle - 1
    filled = np.maximum(loads, low)
    rest = change - int((filled - loads).sum())
    at_level = np.flatnonzero(filled == low)
    filled[at_level[np.argsort(rank[at_level])[:rest]]] += 1
    return filled
