"""A rebalance as a whole: what an assignor assigns, how even that is, and what it moves."""

from dataclasses import dataclass

import numpy as np

from service.core.assignors import Assignor
from service.core.measures.skew import Spread, spread
from service.core.model import Assignment, Group, Int32s, Ragged
from service.core.ragged import transposed
from service.planner.rebalances.fewest_moves import fewest_possible_moves
from service.planner.rebalances.movement import Movement, movement


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
