"""Every assignment of a few weighted partitions, as far as it may be better than the best so far (branch and bound)."""

from typing import Final, NamedTuple

import numpy as np

from service.core.clock import check_time
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s

MOST_ITEMS: Final = 64
"""More partitions are not tried."""

MOST_NODES: Final = 2_000_000
"""Partitions that are tried on a member, at most, in each of the two searches: a tenth of a second."""


class Choices(NamedTuple):
    """What follows from giving an item to a member.

    may, moves, near : bool[items, members], may the member have it, does it then move, is it then read on its rack?
    """

    may: Bools
    moves: Bools
    near: Bools


def exhaust(
    weights: Int64s, capacities: Float64s, choices: Choices, holders: Int32s, max_moves: int, nodes: int
) -> tuple[Int32s, bool, bool]:
    """The best assignment found, int32[items]; is its largest load ÷ capacity the least? Is it the best in every aim?

    The aims: the loads ÷ capacity, largest first; the items that move; those that are not near. The first search wants
    smaller largest loads only, the second looks through all.

    weights : int64[items]; capacities : float64[members]; holders : int32[items], the best so far
    max_moves : more items may not move; nodes : of each search
    """
    check_time()
    holders, largest = search(weights, capacities, *choices, holders, max_moves, True, nodes)
    check_time()
    if not largest:
        return holders, False, False
    holders, exact = search(weights, capacities, *choices, holders, max_moves, False, nodes)
    return holders, True, exact


@kernel
def search(  # noqa: C901 (a kernel)
    weights: Int64s,
    capacities: Float64s,
    may: Bools,
    moves: Bools,
    near: Bools,
    holders: Int32s,
    max_moves: int,
    strict: bool,  # noqa: FBT001 - for Numba
    nodes: int,
) -> tuple[Int32s, bool]:
    """The best assignment, and whether the search came to its end within this number of nodes.

    weights : int64[items]; capacities : float64[members]
    may, moves, near : as in ``Choices``
    holders : int32[items], an assignment; max_moves : more items may not move
    strict : look only for smaller largest loads ÷ capacity

    Plain-Python twin, by trying everything: tests/reference/balanced_groups.py.
    """
    items, members = may.shape
    best = holders.copy()
    score = _score(weights, capacities, moves, near, best)
    trial = np.full(items, NONE, np.int32)
    loads = np.zeros(members, np.int64)
    item, moving = 0, 0
    while item >= 0:
        if item == items:
            new, at = _score(weights, capacities, moves, near, trial), 0
            while at < len(score) - 1 and new[at] == score[at]:
                at += 1
            if new[at] < score[at]:
                best[:] = trial
                score = new
            item -= 1
            continue
        member = trial[item]
        if member != NONE:
            loads[member] -= weights[item]
            moving -= moves[item, member]
        member += 1
        while member < members:
            if may[item, member] and moving + moves[item, member] <= max_moves:
                nodes -= 1
                ratio = (loads[member] + weights[item]) / capacities[member]
                if ratio < score[0] or (ratio == score[0] and not strict):
                    break
            member += 1
        if nodes <= 0:
            return best, False
        if member < members:
            trial[item] = member
            loads[member] += weights[item]
            moving += moves[item, member]
            item += 1
        else:
            trial[item] = NONE
            item -= 1
    return best, True


@inner_kernel
def _score(weights: Int64s, capacities: Float64s, moves: Bools, near: Bools, holders: Int32s) -> Float64s:
    """float64[members + 2]: the loads ÷ capacity, largest first, the moves, and how many are not near."""
    members = len(capacities)
    score = np.zeros(members + 2, np.float64)
    for item in range(len(holders)):
        member = holders[item]
        score[member] -= weights[item]
        score[members] += moves[item, member]
        score[members + 1] += not near[item, member]
    for member in range(members):
        score[member] /= capacities[member]
    score[:members].sort()
    for member in range(members):
        score[member] = -score[member]
    return score
