"""A rebalance as a whole: what an assignor assigns, how even that is, and what it moves."""

from dataclasses import dataclass

import numpy as np

from service.core.assignors import Assignor
from service.core.kernels import kernel
from service.core.measures.skew import Spread, spread
from service.core.model import Assignment, Group, Int32s, Ragged
from service.core.ragged import transposed
from service.planner.rebalances.fewest_moves import fewest_possible_moves


@dataclass(frozen=True)
class Movement:
    """How many partitions members retain, get and revoke, counted per member and partition.

    A member *owned* a partition if its ``owned_partitions`` include it. Every claim counts, whatever its generation, even if
    several members claim the partition (each must revoke it unless it is assigned to it) or the partition no longer exists.
    Duplicate claims of one member count once.

    retained : the member owned it and is assigned it again
    moved : the member is assigned it and did not own it, but another member did
    added : the member is assigned it, and no member owned it
    revoked : the member owned it and is not assigned it

    So ``retained + moved + added`` partitions are assigned, and ``retained + revoked`` were owned.
    """

    retained: int
    moved: int
    added: int
    revoked: int


@dataclass(frozen=True)
class Rebalance:
    """The outcome of a rebalance.

    owners : Ragged partition → the members it is assigned to, ascending; partitions that do not exist included
    unassigned : int32[...], the partitions that exist and are assigned to no member, ascending; none that is left open
    load : how even the numbers of partitions per member are
    fewest_possible_moves : see ``rebalances.fewest_moves``
    """

    assignment: Assignment
    owners: Ragged
    unassigned: Int32s
    load: Spread
    movement: Movement
    fewest_possible_moves: int | None


def rebalance(group: Group, assignor: Assignor) -> Rebalance:
    """Rebalance the group. Raises KafkaAssignorFails and InvalidQuestion, as the assignor does."""
    return rebalance_by(group, assignor.run(group))


def rebalance_by(group: Group, assignment: Assignment) -> Rebalance:
    """The rebalance in which the group is assigned so."""
    owners = transposed(assignment.rows, group.total_partitions)
    unassigned = np.flatnonzero(owners.lengths()[: group.topics.partitions_count] == 0).astype(np.int32)
    if assignment.left_open is not None:
        unassigned = np.setdiff1d(unassigned, assignment.left_open.partitions, assume_unique=True)
    moves, certificate = movement(group, owners), assignment.certificate
    if certificate is not None and certificate.proves_even:
        fewest: int | None = moves.moved  # of the most even numbers of partitions, which may not be the most even weights
    else:
        fewest = fewest_possible_moves(group, assignment.final_loads())
    return Rebalance(assignment, owners, unassigned, spread(assignment.rows.lengths()), moves, fewest)


def movement(group: Group, holders: Ragged) -> Movement:
    """The movement from ``group.owned`` to an assignment. holders : Ragged partition → its members, ascending"""
    owners = transposed(group.owned, len(holders))
    return Movement(*_movement(owners.offsets, owners.values, holders.offsets, holders.values))


@kernel
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
