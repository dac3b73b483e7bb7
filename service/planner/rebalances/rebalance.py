"""A rebalance: what an assignor assigns, how even that is, which partitions it moves, and what follows a cooperative one."""

from dataclasses import dataclass, replace

import numpy as np

from service.core.assignors import Assignor
from service.core.kernels import kernel
from service.core.measures.skew import Spread, spread
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Int64s, Ragged, distinct
from service.core.ragged import taken, transposed
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


@dataclass(frozen=True)
class Moves:
    """Partitions that somebody owned and that change hands, ascending.

    partitions, source, target : int32[n]; the member that had the partition and does not get it, and the one that gets it and did
        not have it; NONE where there are more of the others: a partition that no member gets, or that one more member gets
    """

    partitions: Int32s
    source: Int32s
    target: Int32s

    def __len__(self) -> int:
        return len(self.partitions)


def moves(group: Group, rows: Ragged) -> Moves:
    """The moves from ``group.owned`` to an assignment. rows : Ragged member → partitions"""
    members = max(len(group), 1)
    before, after = _pairs(group.owned, members), _pairs(rows, members)
    lost, gained = np.setdiff1d(before, after, assume_unique=True), np.setdiff1d(after, before, assume_unique=True)
    owned = distinct(before // members)
    gained = gained[np.isin(gained // members, owned)]
    lost_ranks, gained_ranks = _ranks(lost // members), _ranks(gained // members)
    # The first that loses a partition gives it to the first that gains it, and so on.
    key_lost, key_gained = (pairs // members * members + ranks for pairs, ranks in ((lost, lost_ranks), (gained, gained_ranks)))
    keys = distinct(np.concatenate([key_lost, key_gained]))
    source, target = (_looked_up(keys, of, pairs % members) for of, pairs in ((key_lost, lost), (key_gained, gained)))
    return Moves((keys // members).astype(np.int32), source, target)


def final_rows(assignment: Assignment) -> Ragged:
    """Ragged member → partitions, with what it gets only in the follow-up rebalance."""
    if assignment.withheld is None or not len(assignment.withheld.values):
        return assignment.rows
    parts = (assignment.rows, assignment.withheld)
    members = np.concatenate([part.row_of_each_value() for part in parts])
    return Ragged.of_pairs(members, np.concatenate([part.values for part in parts]), len(assignment.rows))


def _pairs(rows: Ragged, members: int) -> Int64s:
    """The pairs of an assignment, as partition × members + member, ascending, each once."""
    return distinct(rows.values.astype(np.int64) * members + rows.row_of_each_value())


def _ranks(partitions: Int64s) -> Int64s:
    """For each element of an ascending array, how many of the same stand before it."""
    starts = np.flatnonzero(np.diff(partitions, prepend=-1))
    return np.arange(len(partitions)) - np.repeat(starts, np.diff(np.append(starts, len(partitions))))


def _looked_up(keys: Int64s, known: Int64s, members: Int64s) -> Int32s:
    values = np.full(len(keys), NONE, np.int32)
    values[np.searchsorted(keys, known)] = members
    return values


def follow_up(group: Group, outcome: Rebalance, assignor: Assignor) -> tuple[Group, Rebalance]:
    """The group after a rebalance that leaves partitions to a second one, and that one.

    Every member joins again with what it was assigned, in the next generation.
    """
    generation = min(int(group.generations.max(initial=NONE)) + 1, np.iinfo(np.int32).max)
    after = replace(group, owned=outcome.assignment.rows, generations=np.full(len(group), max(generation, 1), np.int32))
    return after, rebalance(after, assignor)


@dataclass(frozen=True)
class Differences:
    """Where an assignment is not the one expected, by partition, ascending.

    partitions : int32[n]
    expected, actual : Ragged n → members
    """

    partitions: Int32s
    expected: Ragged
    actual: Ragged

    def __len__(self) -> int:
        return len(self.partitions)

    def without(self, partitions: Int32s) -> "Differences":
        """Those of all other partitions."""
        rest = np.flatnonzero(~np.isin(self.partitions, partitions)).astype(np.int32)
        return Differences(self.partitions[rest], taken(self.expected, rest), taken(self.actual, rest))


def differences(expected: Ragged, rows: Ragged, partitions_count: int) -> Differences:
    """The partitions whose members differ. expected, rows : Ragged member → partitions, each below partitions_count"""
    by_partition = [transposed(each, partitions_count) for each in (expected, rows)]
    lengths = [each.lengths() for each in by_partition]
    differ: Bools = lengths[0] != lengths[1]
    same = np.flatnonzero(~differ & (lengths[0] > 0))
    sizes = lengths[0][same]
    inner = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = [np.repeat(each.offsets[same].astype(np.int64), sizes) + inner for each in by_partition]
    unequal = by_partition[0].values[places[0]] != by_partition[1].values[places[1]]
    differ[np.repeat(same, sizes)[unequal]] = True
    partitions = np.flatnonzero(differ).astype(np.int32)
    return Differences(partitions, *(taken(each, partitions) for each in by_partition))
