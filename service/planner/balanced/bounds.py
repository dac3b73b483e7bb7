"""What no assignment of weighted partitions can beat.

*Largest load*: the largest of (a) the heaviest partition on its strongest subscriber; (b) for sets of members, the weight of the
topics that only they read ÷ their capacity, for the worst set, which a least cut finds; (c) of the k × members + 1 heaviest
partitions, k + 1 are on one member. If the moves are limited, (d) what members keep that give up that number.

*Moves*: a member that owns more than the largest load gives up its heaviest partitions.
"""

from typing import Final

import numpy as np

from service.core.clock import check_time
from service.core.kernels import kernel
from service.core.model import NONE, Int32s, Int64s
from service.planner.balanced.items import Items
from service.planner.flows import augment, network

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
