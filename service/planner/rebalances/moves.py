"""Which partitions an assignment moves, one by one, and what follows a cooperative rebalance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from service.core.assignors import Assignor
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Int64s, Ragged, distinct
from service.core.ragged import taken, transposed
from service.planner.rebalances.rebalance import Rebalance, rebalance


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

    def without(self, partitions: Int32s) -> Differences:
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
