"""The fewest copies of any plan that is as even, or within a tolerance: a bound, as if amounts could be divided at will.

What a plan copies is what leaves the brokers and what replication factors grow by, and it is what comes to the brokers. Of a
broker leaves at least what it has above a level, or above its band, and of that the largest replicas are the fewest.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from service.core.model import Float64s, Int32s, Int64s
from service.core.reassignments.evenness import band
from service.core.reassignments.model import Brokers, Goal, Placements, Plan, bytes_on
from service.core.reassignments.permits import Permits

if TYPE_CHECKING:
    from collections.abc import Callable

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
    kept, homes = _Kept.of(brokers, placements, amounts), placements.replicas
    copies, amount, able = kept.copies, kept.amount, kept.able
    of_each = amounts[homes.row_of_each_value()[able]].astype(np.float64)
    if isinstance(most, tuple):
        differences = kept.loads - most[1], most[0] - kept.loads
        leaving, coming = (np.where(brokers.usable, np.maximum(each, 0), 0.0) for each in differences)
        copies += _largest(of_each, homes.values[able], leaving)
        largest = np.cumsum(np.sort(amounts[~placements.excluded].astype(np.float64))[::-1])
        come = np.searchsorted(largest, coming[coming > 0] * (1 - _ROUNDING)) + 1
        copies, amount = max(copies, int(come.sum())), max(amount + float(leaving.sum()), float(coming.sum()))
    elif most is not None and kept.rest is not None:
        rest, limit = kept.rest, most * (1 + _ROUNDING)
        above = rest.leaves(rest.around(lambda level: rest.unevenness(level) <= limit)[1]) * (1 - _ROUNDING)
        copies += _largest(of_each, np.zeros(len(able), np.int32), np.array([above]))
        amount += above
    return max(0, copies), max(0.0, amount)


def evenest_with(brokers: Brokers, placements: Placements, amounts: Float64s | Int64s, most: float) -> float:
    """The least sum of (load of a usable broker)² ÷ weight of any plan that copies at most so much. amounts : as above"""
    kept = _Kept.of(brokers, placements, amounts)
    if kept.rest is None:
        return 0.0
    rest, room = kept.rest, max(0.0, most - kept.amount)
    return rest.unevenness(rest.around(lambda level: rest.leaves(level) > room * (1 + _ROUNDING))[0]) * (1 - _ROUNDING)


def fewest_bytes(brokers: Brokers, placements: Placements, goal: Goal, best: Plan) -> int:
    """A bound of the bytes that any plan copies which is as even as this one, or within the tolerance as it is."""
    usable, sizes = brokers.usable, placements.bytes_of_each()
    most: float | tuple[Float64s, Float64s] | None = None
    if goal.tolerance is not None and not len(best.outside):
        low, high = band(usable, brokers.weights, bytes_on(best.replicas, sizes, len(brokers)), goal.tolerance)
        most = low.astype(np.float64), high.astype(np.float64)
    elif goal.tolerance is None and goal.objective == "even":
        most = best.evenness
    return ceil(fewest_copied(brokers, placements, sizes, most)[1])


def _largest(amounts: Float64s, groups: Int32s, least: Float64s) -> int:
    """How many of the amounts there are at least in subsets that have the least of each group."""
    order = np.lexsort((-amounts, groups))
    before = np.cumsum(amounts[order]) - amounts[order]
    first = np.searchsorted(groups[order], np.arange(len(least)))
    starts = np.append(before, 0.0)[first]
    within = before - starts[groups[order]]
    return int(np.count_nonzero(within < least[groups[order]] * (1 - _ROUNDING)))


class _Kept(NamedTuple):
    """What may stay where it is.

    loads : float64[brokers], of all that may stay
    copies, amount : what is copied because replicas may not stay, or are to be more
    able : int64[...], the replicas that may stay and may leave
    rest : the usable brokers; None if there are none, or some replica is given up
    """

    loads: Float64s
    copies: int
    amount: float
    able: Int64s
    rest: _Brokers | None

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, amounts: Float64s | Int64s) -> _Kept:
        """Amounts : of a replica of each partition"""
        now, usable, free = placements.replicas, brokers.usable, ~placements.excluded
        rows = now.row_of_each_value()
        of_each, moves = amounts[rows], free[rows]
        stays = Permits.of(brokers, placements).kept(now) | ~moves
        loads = np.bincount(now.values[stays], of_each[stays], len(brokers)).astype(np.float64)
        grows = (placements.replication_factors - now.lengths())[free]
        copies, amount = int(np.count_nonzero(~stays) + grows.sum()), float(of_each[~stays].sum() + amounts[free] @ grows)
        rest = _Brokers(loads[usable], brokers.weights[usable], amount) if usable.any() and (grows >= 0).all() else None
        return cls(loads, copies, amount, np.flatnonzero(stays & moves & usable[now.values]), rest)


class _Brokers(NamedTuple):
    """Brokers that keep what is below a level, and get what is above it with what comes from elsewhere.

    loads, weights : float64[brokers]; more : what comes from elsewhere in any case
    """

    loads: Float64s
    weights: Float64s
    more: float

    def leaves(self, level: float) -> float:
        """What is above the level."""
        return float(np.maximum(self.loads - level * self.weights, 0).sum())

    def unevenness(self, level: float) -> float:
        """The least sum of squares ÷ weight if so much leaves."""
        lowered = np.minimum(self.loads, level * self.weights)
        filled = np.maximum(lowered, _level(lowered, self.weights, self.leaves(level) + self.more) * self.weights)
        return float((filled**2 / self.weights).sum())

    def around(self, is_low: Callable[[float], bool]) -> tuple[float, float]:
        """The levels next to each other of which the first is low, and the second is not."""
        low = (self.loads.sum() + self.more) / self.weights.sum()
        high = max(low, float((self.loads / self.weights).max()))
        if is_low(high):
            return high, high
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if is_low(middle) else (low, middle)
        return low, high


def _level(loads: Float64s, weights: Float64s, more: float) -> float:
    """The level to which so much more fills these brokers, the emptiest first."""
    order = np.argsort(loads / weights)
    levels, sums, widths = (loads / weights)[order], np.cumsum(loads[order]), np.cumsum(weights[order])
    reached = (sums + more) / widths  # if the first i take all of it
    fits = np.append(reached[:-1] <= levels[1:], True)
    return float(reached[int(np.argmax(fits))])
