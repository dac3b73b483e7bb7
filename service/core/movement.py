"""What an assignment moves, seen from what the members say they owned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from service.core.grouping import transposed
from service.core.model import NONE

if TYPE_CHECKING:
    from service.core.model import Bools, Group, Int32s, Ragged


@dataclass(frozen=True)
class Movement:
    """How many partitions stay, come and go, counted per member and partition.

    A member *owned* a partition if its ``owned_partitions`` name it: claims count as they are made, whatever their generation,
    also those of several members to one partition (each of them will have to give it up unless it is assigned to it) and
    those to partitions that no longer exist. Naming a partition twice counts once.

    retained : the member owned it and still has it
    moved : the member has it, did not own it, and another member did
    added : the member has it, and nobody owned it
    revoked : the member owned it and has it no longer

    So ``retained + moved + added`` is what is assigned, and ``retained + revoked`` what was owned.
    """

    retained: int
    moved: int
    added: int
    revoked: int


def movement(group: Group, holders: Ragged) -> Movement:
    """The movement from ``group.owned`` to an assignment.

    holders : Ragged partition → its members, ascending: the assignment, transposed
    """
    owners = transposed(group.owned, len(holders))
    return Movement(*_movement(owners.offsets, owners.values, holders.offsets, holders.values))


@njit(nogil=True, cache=True)
def _movement(owners_of: Int32s, owners: Int32s, holders_of: Int32s, holders: Int32s) -> tuple[int, int, int, int]:
    """Merge, partition by partition, the ascending members before (owners) and after (holders).

    Plain-Python twin: tests/reference/movement.py.
    """
    retained = moved = added = revoked = 0
    for partition in range(len(owners_of) - 1):
        i, before_stop = owners_of[partition], owners_of[partition + 1]
        j, after_stop = holders_of[partition], holders_of[partition + 1]
        owned = i < before_stop
        while i < before_stop or j < after_stop:
            before = owners[i] if i < before_stop else holders[j]
            after = holders[j] if j < after_stop else owners[i]
            member = min(before, after)
            had = i < before_stop and before == member
            has = j < after_stop and after == member
            while i < before_stop and owners[i] == member:
                i += 1
            while j < after_stop and holders[j] == member:
                j += 1
            if had and has:
                retained += 1
            elif had:
                revoked += 1
            elif owned:
                moved += 1
            else:
                added += 1
    return retained, moved, added, revoked


def fewest_possible_moves(group: Group, loads: Int32s) -> int | None:
    """The least number of partitions that another member must take over, whichever assignor were to do it.

    loads : int32[members]   what each member gets; an assignment counts as as balanced as this one if its members' loads are
        these, in any order

    Members that own most keep most: with the loads and what each member owns both in descending order, each keeps the lesser of
    the two, and no pairing keeps more. Who must hand over the rest is settled thereby, not how.

    None where that is not the whole story: members that subscribe to different topics, a partition that several of them claim.
    """
    odd_one, wanted = _common_topics(group.subscriptions.offsets, group.subscriptions.values, len(group.topics))
    if odd_one != NONE:
        return None
    contested, owned = _owned(group.owned.offsets, group.owned.values, wanted, group.topics.first)
    if contested:
        return None
    return int(owned.sum() - np.minimum(np.sort(owned), np.sort(loads)).sum())


@njit(nogil=True, cache=True)
def _owned(owned_of: Int32s, owned: Int32s, wanted: Bools, first: Int32s) -> tuple[bool, Int32s]:
    """Is a partition claimed twice? And how many each member owns: int32[members].

    owned_of, owned : member → partitions it claims
    wanted : bool[topics]       the topics whose partitions count
    first : int32[topics + 1]   the first partition of each topic
    """
    unclaimed = np.zeros(first[-1], np.bool_)
    for topic in range(len(wanted)):
        unclaimed[first[topic] : first[topic + 1]] = wanted[topic]
    counting = unclaimed.copy()
    counts = np.zeros(len(owned_of) - 1, np.int32)
    for member in range(len(counts)):
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < len(counting) and counting[partition]:
                if not unclaimed[partition]:
                    return True, counts
                unclaimed[partition] = False
                counts[member] += 1
    return False, counts


@njit(nogil=True, cache=True)
def _common_topics(offsets: Int32s, topics: Int32s, topics_count: int) -> tuple[int, Bools]:
    """The first member that subscribes to other existing topics than the first member does, or NONE; and the latter's topics.

    offsets, topics : member → topics it subscribes to, none twice
    """
    common = np.zeros(topics_count, np.bool_)
    size = 0
    for member in range(len(offsets) - 1):
        alike = existing = 0
        for topic in topics[offsets[member] : offsets[member + 1]]:
            if topic < topics_count:
                existing += 1
                if member == 0:
                    common[topic] = True
                alike += common[topic]
        if member == 0:
            size = existing
        elif alike != size or existing != size:
            return member, common
    return NONE, common
