"""The fewest copies of any plan that is as even, or within a tolerance: a bound, as if amounts could be divided at will.

What a plan copies is what leaves the brokers and what replication factors grow by, and it is what comes to the brokers. Of a
broker leaves at least what it has above a level, or above its band, and of that the largest replicas are the fewest.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from service.core.model import Float64s, Int32s, Int64s
from service.core.reassignments.evenness import band
from service.core.reassignments.model import Brokers, Goal, Placements, Plan, bytes_on
from service.core.reassignments.permits import Permits

_STEPS: Final = 100
"""Halvings of an interval: more than a float has digits."""

_ROUNDING: Final = 1e-9
"""A bound from floats is lowered by this share, so that it is one."""


def fewest_copied(
    brokers: Brokers, placements: Placements, amounts: Float64s | Int64s, most: float | tuple[Float64s, Float64s] | None
) -> tuple[int, float]:
    """The replicas, and their amounts, that every plan copies which keeps what is said by ``most``.

    amounts : of a replica of each partition, whoever leads it
    most : of the sum of (load of a usable broker)² ÷ weight; or the least and the most load, float64[brokers]; None: nothing
    """
    now, usable = placements.replicas, brokers.usable
    rows, free = now.row_of_each_value(), ~placements.excluded
    of_each, moves = amounts[rows].astype(np.float64), free[rows]
    stays = Permits.of(brokers, placements).kept(now) | ~moves
    loads = np.bincount(now.values[stays], of_each[stays], len(brokers)).astype(np.float64)
    grows = (placements.replication_factors - now.lengths())[free]
    copies, amount = int(np.count_nonzero(~stays) + grows.sum()), float(of_each[~stays].sum() + amounts[free] @ grows)
    able = np.flatnonzero(stays & moves & usable[now.values])  # what may leave
    if isinstance(most, tuple):
        leaving, coming = (np.where(usable, np.maximum(each, 0), 0.0) for each in (loads - most[1], most[0] - loads))
        needed = _largest(of_each[able], now.values[able], leaving)
        largest = np.cumsum(np.sort(amounts[free].astype(np.float64))[::-1])
        come = np.searchsorted(largest, coming[coming > 0] * (1 - _ROUNDING)) + 1
        return max(0, copies + needed, int(come.sum())), max(0.0, amount + float(leaving.sum()), float(coming.sum()))
    if most is not None:
        more = float((amounts * placements.replication_factors)[free].sum() - of_each[stays & moves & usable[now.values]].sum())
        above = _above_level(loads[usable], brokers.weights[usable], more, most) if more >= 0 and usable.any() else 0.0
        copies += _largest(of_each[able], np.zeros(len(able), np.int32), np.array([above]))
        amount += above
    return max(0, copies), max(0.0, amount)


def fewest_bytes(brokers: Brokers, placements: Placements, goal: Goal, best: Plan) -> int:
    """A bound of the bytes that any plan copies which is as even as this one, or within the tolerance as it is."""
    usable, sizes = brokers.usable, placements.bytes_of_each()
    most: float | tuple[Float64s, Float64s] | None = None
    if goal.tolerance is not None and not len(best.outside):
        low, high = band(usable, brokers.weights, bytes_on(best.replicas, sizes, len(brokers)), goal.tolerance)
        most = low.astype(np.float64), high.astype(np.float64)
    elif goal.tolerance is None and goal.objective == "even":
        most = best.evenness
    return int(fewest_copied(brokers, placements, sizes, most)[1])


def _largest(amounts: Float64s, groups: Int32s, least: Float64s) -> int:
    """How many of the amounts there are at least in subsets that have the least of each group."""
    order = np.lexsort((-amounts, groups))
    before = np.cumsum(amounts[order]) - amounts[order]
    first = np.searchsorted(groups[order], np.arange(len(least)))
    starts = np.append(before, 0.0)[first]
    within = before - starts[groups[order]]
    return int(np.count_nonzero(within < least[groups[order]] * (1 - _ROUNDING)))


def _above_level(loads: Float64s, weights: Float64s, more: float, evenness: float) -> float:
    """The least amount that leaves these brokers so that the sum of squares ÷ weight is at most ``evenness``.

    loads, weights : float64[brokers]; more : what comes from elsewhere in any case
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
    """The level to which so much more fills these brokers, the emptiest first."""
    order = np.argsort(loads / weights)
    levels, sums, widths = (loads / weights)[order], np.cumsum(loads[order]), np.cumsum(weights[order])
    reached = (sums + more) / widths  # if the first i take all of it
    fits = np.append(reached[:-1] <= levels[1:], True)
    return float(reached[int(np.argmax(fits))])
