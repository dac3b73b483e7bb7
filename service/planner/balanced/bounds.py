"""What no assignment of weighted partitions can beat.

*Largest load*: the largest of (a) the heaviest partition on its strongest subscriber; (b) for sets of members, the weight of the
topics that only they read ÷ their capacity, for the worst set, which a least cut finds; (c) of the k × members + 1 heaviest
partitions, k + 1 are on one member. If the moves are limited, (d) what members keep that give up that number.

*Moves*: a member that owns more than the largest load gives up its heaviest partitions.
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.budget import check_time
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.planner.balanced.exchanges import Items
from service.planner.flows import augment, network

# Every assignment of a few weighted partitions, as far as it may be better than the best so far (branch and bound).

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
    holders, largest = search(weights, capacities, choices, holders, max_moves, True, nodes)
    check_time()
    if not largest:
        return holders, False, False
    holders, exact = search(weights, capacities, choices, holders, max_moves, False, nodes)
    return holders, True, exact


@kernel
def search(  # noqa: C901 (a kernel)
    weights: Int64s,
    capacities: Float64s,
    choices: Choices,
    holders: Int32s,
    max_moves: int,
    strict: bool,  # noqa: FBT001 - for Numba
    nodes: int,
) -> tuple[Int32s, bool]:
    """The best assignment, and whether the search came to its end within this number of nodes.

    weights : int64[items]; capacities : float64[members]
    holders : int32[items], an assignment; max_moves : more items may not move
    strict : look only for smaller largest loads ÷ capacity

    Plain-Python twin, by trying everything: tests/reference/balanced_groups.py.
    """
    may, moves, _ = choices
    items, members = may.shape
    best = holders.copy()
    score = _score(weights, capacities, choices, best)
    trial = np.full(items, NONE, np.int32)
    loads = np.zeros(members, np.int64)
    item, moving = 0, 0
    while item >= 0:
        if item == items:
            new, at = _score(weights, capacities, choices, trial), 0
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
def _score(weights: Int64s, capacities: Float64s, choices: Choices, holders: Int32s) -> Float64s:
    """float64[members + 2]: the loads ÷ capacity, largest first, the moves, and how many are not near."""
    members = len(capacities)
    score = np.zeros(members + 2, np.float64)
    for item in range(len(holders)):
        member = holders[item]
        score[member] -= weights[item]
        score[members] += choices.moves[item, member]
        score[members + 1] += not choices.near[item, member]
    for member in range(members):
        score[member] /= capacities[member]
    score[:members].sort()
    for member in range(members):
        score[member] = -score[member]
    return score


FEWEST_CUTS: Final = 64
"""Cuts after which the bound is taken as it stands."""


def least_maximum(items: Items) -> float:
    """What the largest load ÷ capacity is at least, in units."""
    weights, capacities = items.weights, items.capacities
    if not len(weights):
        return 0.0
    strongest = np.zeros(int(items.kinds.max()) + 1)
    np.maximum.at(strongest, items.kinds, capacities)
    best = np.maximum.reduceat(strongest[items.readers], items.readers_of[:-1])
    bound = float((weights / best[items.topics]).max())
    members, most = len(capacities), capacities.max()
    sums = np.append(0, np.cumsum(weights))
    # More than 8 × members of them approach the mean.
    k = np.arange(1, min((len(weights) - 1) // members, 8 * members) + 1)
    bound = max(bound, float((sums[k * members + 1] - sums[k * members - k]).max(initial=0)) / most)
    return float(max(bound, _worst_set(items)))


def _worst_set(items: Items) -> float:
    """The weight of what only a set of members reads ÷ their capacity, for the worst set (Dinkelbach's)."""
    kinds = int(items.kinds.max()) + 1
    topics = len(items.readers_of) - 1
    weights = np.bincount(items.topics, items.weights, topics).astype(np.int64)
    capacities = np.bincount(items.kinds, items.capacities, kinds)
    total = int(weights.sum())
    worst = float(total / capacities.sum())
    if kinds == 1:
        return worst
    of_topics = np.repeat(np.arange(topics), np.diff(items.readers_of))
    tails = np.concatenate([np.zeros(topics), 1 + of_topics, 1 + topics + np.arange(kinds)]).astype(np.int32)
    heads = np.concatenate([1 + np.arange(topics), 1 + topics + items.readers, np.full(kinds, 1 + topics + kinds)])
    nothing = np.zeros(len(tails), np.int64)
    for _ in range(FEWEST_CUTS):
        room = np.minimum(np.ceil(capacities * worst), total).astype(np.int64)
        limits = np.concatenate([weights, np.full(len(of_topics), total), room])
        through = network(topics + kinds + 2, tails, heads.astype(np.int32), limits, nothing)
        more, steps = augment(through)
        while more:
            check_time()
            more, steps = augment(through)
        inside = steps[1:-1] >= 0
        if not inside[:topics].any():
            break
        worse = float(weights[inside[:topics]].sum() / capacities[inside[topics:]].sum())
        if worse <= worst:
            break
        worst = worse
    return worst


@kernel
def keep(items: Items, holders: Int32s, bound: float) -> Int64s:
    """Take from members what is beyond their share by the bound; int64[members], the loads that remain.

    holders : int32[items], the owner of each; NONE is written where it is taken away

    While a member has too much, it gives the lightest partition that is enough, or if none is, the heaviest: the fewest it can.
    """
    members = len(items.kinds)
    loads = np.zeros(members, np.int64)
    for item in range(len(holders)):
        if holders[item] != NONE:
            loads[holders[item]] += items.weights[item]
    gives = np.full(members, NONE, np.int32)  # the lightest that is enough
    for item in range(len(holders)):
        member = holders[item]
        if member != NONE and loads[member] / items.capacities[member] > bound:
            if (loads[member] - items.weights[item]) / items.capacities[member] <= bound:
                gives[member] = item
            elif gives[member] == NONE:
                holders[item] = NONE
                loads[member] -= items.weights[item]
            else:
                given = gives[member]
                holders[given] = NONE
                loads[member] -= items.weights[given]
                gives[member] = NONE
    for member in range(members):
        given = gives[member]
        if given != NONE and loads[member] / items.capacities[member] > bound:
            holders[given] = NONE
            loads[member] -= items.weights[given]
    return loads


def fewest_given(items: Items, most: float) -> int:
    """How many items must leave their owners at least, if no load ÷ capacity may be above ``most``."""
    holders = items.owners.copy()
    keep(items, holders, most)
    return int(np.count_nonzero(holders != items.owners))


def least_within(items: Items, least: float, max_moves: int) -> float:
    """The least bound from ``least`` on that no load ÷ capacity exceeds after ``max_moves`` items have left their owners."""
    if fewest_given(items, least) <= max_moves:
        return least
    owned = items.owners != NONE
    loads = np.bincount(items.owners[owned], items.weights[owned], len(items.kinds))
    low, high = least, float((loads / items.capacities).max())
    while (middle := low + (high - low) / 2) not in (low, high):
        if fewest_given(items, middle) <= max_moves:
            high = middle
        else:
            low = middle
    return high
