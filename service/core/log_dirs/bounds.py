"""What no plan for a broker's directories does better."""

from typing import Final

import numpy as np

from service.core.model import Float64s
from service.core.reassignments.evenness import band
from service.core.reassignments.model import Brokers, Goal, Placements, Plan, bytes_on

_STEPS: Final = 100
"""Halvings of an interval: more than a float has digits."""

_ROUNDING: Final = 1e-9
"""A bound from floats is lowered by this share, so that it is one."""


def least_unevenness(brokers: Brokers, placements: Placements) -> float:
    """A bound of the sum of (bytes of a disk)² ÷ weight that knows of large replicas; 0 where disks differ in weight.

    The k fullest disks together have at least as many bytes as the k largest replicas. The least sum under these rules has the
    largest ones alone on a disk each, as long as they are above the mean of the rest, which is divided at will.
    """
    usable = brokers.usable
    weights = brokers.weights[usable]
    if not len(weights) or (weights != weights[0]).any():
        return 0.0
    sizes = placements.bytes_of_each()
    stays_away = placements.excluded & ~usable[placements.replicas.values]
    sizes = np.sort(sizes[~stays_away])[::-1].astype(np.float64)
    rest, left, alone = float(sizes.sum()), len(weights), 0.0
    for size in sizes[: left - 1].tolist():
        if size * left <= rest:
            break
        alone, rest, left = alone + size**2, rest - size, left - 1
    return float((alone + rest**2 / left) / weights[0]) * (1 - _ROUNDING)


def least_bytes(brokers: Brokers, placements: Placements, goal: Goal, best: Plan) -> int:
    """A bound of the bytes that any plan moves which is as even as this one, or within the tolerance as it is.

    Bytes could be divided at will: what is above a level leaves, and what leaves fills up to another level.
    """
    usable, sizes = brokers.usable, placements.bytes_of_each()
    homes = placements.replicas
    loads = bytes_on(homes, sizes, len(brokers))
    drained = int(sizes[~usable[homes.values] & ~placements.excluded].sum())
    if goal.tolerance is not None:
        if len(best.outside):
            return drained
        total = loads + 0
        total[np.argmax(usable)] += drained  # the band is one of all that is to be on these disks
        low, high = band(usable, brokers.weights, total, goal.tolerance)
        gone, come = np.maximum(loads - high, 0)[usable].sum(), np.maximum(low - loads, 0)[usable].sum()
        return int(max(drained + gone, come))
    if goal.objective != "even":
        return drained
    return drained + int(_above_level(loads[usable].astype(np.float64), brokers.weights[usable], drained, best.evenness))


def _above_level(loads: Float64s, weights: Float64s, more: float, evenness: float) -> float:
    """The least bytes that leave these disks so that the sum of squares ÷ weight is at most ``evenness``.

    loads, weights : float64[disks]; more : bytes that come from elsewhere in any case
    """

    def leaves(level: float) -> float:
        return float(np.maximum(loads - level * weights, 0).sum())

    def unevenness(level: float) -> float:
        lowered = np.minimum(loads, level * weights)
        filled = np.maximum(lowered, _level(lowered, weights, leaves(level) + more) * weights)
        return float((filled**2 / weights).sum())

    low = (loads.sum() + more) / weights.sum()
    high = float((loads / weights).max(initial=low))
    if unevenness(high) <= evenness * (1 + _ROUNDING):
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if unevenness(middle) <= evenness * (1 + _ROUNDING):
            low = middle
        else:
            high = middle
    return leaves(high) * (1 - _ROUNDING)


def _level(loads: Float64s, weights: Float64s, more: float) -> float:
    """The level to which so many more bytes fill these disks, the emptiest first."""
    order = np.argsort(loads / weights)
    levels, sums, widths = (loads / weights)[order], np.cumsum(loads[order]), np.cumsum(weights[order])
    reached = (sums + more) / widths  # if the first i take them all
    fits = np.append(reached[:-1] <= levels[1:], True)
    return float(reached[int(np.argmax(fits))])
