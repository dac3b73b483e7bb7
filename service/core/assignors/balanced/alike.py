"""The most even assignment where all members subscribe alike and nobody claims what another does: a formula.

Every member gets ⌊n ÷ m⌋ of n partitions or one more. One more goes first to members that own as many, by member_id; so a member
keeps what it owns up to its load, and no assignment as even keeps more. What is left over is dealt in turns, so that the
partitions of a topic go to different members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE

if TYPE_CHECKING:
    from service.core.model import Bools, Int32s, Int64s


@kernel
def assign_alike(owned_of: Int32s, owned: Int32s, order: Int32s, counting: Bools, claims: Int32s) -> tuple[Int32s, int]:
    """The member of each partition, int32[partitions], NONE where it does not count; and how many of the claimed change hands.

    owned_of, owned : member → partitions it claims, none claimed twice; those from ``len(counting)`` on do not exist
    order : int32[members], the members by member_id; at least one
    counting : bool[partitions], those that are to be assigned
    claims : int32[members], how many of those each member claims

    Plain-Python twin, by trying everything: tests/reference/balanced_groups.py.
    """
    room = _rooms(counting, order, claims)
    holder = np.full(len(counting), NONE, np.int32)
    for member in range(len(order)):
        for i in range(owned_of[member], owned_of[member + 1]):
            if owned[i] < len(counting) and counting[owned[i]]:
                holder[owned[i]] = member
    moved = 0
    for partition in range(len(holder)):
        member = holder[partition]
        if member != NONE:
            if room[member] > 0:
                room[member] -= 1
            else:
                holder[partition] = NONE
                moved += 1
    _deal(holder, counting, order, room)
    return holder, moved


@inner_kernel
def _rooms(counting: Bools, order: Int32s, claims: Int32s) -> Int64s:
    """int64[members], how many partitions each member gets."""
    count = np.int64(0)
    for counts in counting:
        count += counts
    each, more = count // len(order), count % len(order)
    room = np.full(len(order), each, np.int64)
    for owns_more in (True, False):
        for member in order:
            if more > 0 and (claims[member] > each) == owns_more:
                room[member] += 1
                more -= 1
    return room


@inner_kernel
def _deal(holder: Int32s, counting: Bools, order: Int32s, room: Int64s) -> None:
    """Deal what nobody holds in turns to members that have room. holder : int32[partitions]; holder and room are updated"""
    turns = np.empty(len(order), np.int32)  # those with room, in the order of their turns
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
