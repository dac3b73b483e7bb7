"""What an assignment moves, seen from what the members say they owned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numba import njit

from service.core.ragged import transposed

if TYPE_CHECKING:
    from service.core.model import Group, Int32s, Ragged


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
        if before_stop - i == 1 and after_stop - j == 1:  # most often
            if owners[i] == holders[j]:
                retained += 1
            else:
                moved += 1
                revoked += 1
            continue
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
