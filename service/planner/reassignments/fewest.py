"""The fewest copies of any plan that is as even, or within a tolerance: a bound, as if amounts could be divided at will.

What a plan copies is what leaves the brokers and what replication factors grow by, and it is what comes to the brokers. Of a
broker leaves at least what it has above a level, or above its band, and of that the largest replicas are the fewest. Where
leaders take more than followers, a broker without copies has between what it has if it leads nothing, and if it leads all.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from service.core.model import Float64s, Int32s, Int64s
from service.planner.reassignments.evenness import band, filled
from service.planner.reassignments.model import Brokers, Goal, Placements, Plan, bytes_on
from service.planner.reassignments.permits import Permits

Amounts: TypeAlias = tuple[Float64s | Int64s, Float64s | Int64s]
"""What a replica of each partition takes of its broker, as the leader and as a follower."""

_STEPS: Final = 50
"""Halvings of an interval, which leave less of it than ``_ROUNDING``."""

_ROUNDING: Final = 1e-9
"""A bound from floats is lowered by this share, so that it is one."""


def fewest_copied(
    brokers: Brokers, placements: Placements, amounts: Amounts, most: float | tuple[Float64s, Float64s] | None
) -> tuple[int, float]:
    """The replicas, and their amounts, that every plan copies which keeps what is said by ``most``.

    most : of the sum of (load of a usable broker)² ÷ weight; or the least and the most load, float64[brokers]; None: nothing
    """
    kept, homes = _Kept.of(brokers, placements, amounts), placements.replicas
    least, leaves, come, above = kept.least_of[kept.able], 0, 0, 0.0
    if isinstance(most, tuple):
        differences = kept.least - most[1], most[0] - kept.most
        leaving, lacking = (np.where(brokers.usable, np.maximum(each, 0), 0.0) for each in differences)
        leaves = _largest(least, homes.values[kept.able], leaving)
        come = int(_needed(np.maximum(*amounts)[~placements.excluded], lacking[lacking > 0]).sum())
        return max(0, kept.copies + leaves, come), max(0.0, kept.amount + float(leaving.sum()), float(lacking.sum()))
    if most is not None and kept.rest is not None:
        rest, limit = kept.rest, most * (1 + _ROUNDING)
        above = rest.leaves(rest.around(lambda level: rest.unevenness(level) <= limit)[1]) * (1 - _ROUNDING)
        leaves = _largest(least, np.zeros(len(least), np.int32), np.array([above]))
        if (rest.least < rest.most).any():  # else what comes is what leaves
            coming = rest.comes(limit) * (1 - _ROUNDING)
            free, follower = ~placements.excluded, amounts[1].astype(np.float64)
            more = np.repeat(follower[free], np.maximum(0, placements.replication_factors[free] - 1))
            can_come = np.concatenate([np.maximum(*amounts)[free], more])  # each partition's leader once, and its followers
            come = int(_needed(can_come, np.array([coming] if coming > 0 else [])).sum())
    return max(0, kept.copies + leaves, come), max(0.0, kept.amount + above)


def evenest_with(brokers: Brokers, placements: Placements, amounts: Float64s | Int64s, most: float) -> float:
    """The least sum of (load of a usable broker)² ÷ weight of any plan that copies at most so much.

    amounts : of a replica of each partition, whoever leads it
    """
    kept = _Kept.of(brokers, placements, (amounts, amounts))
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
    return ceil(fewest_copied(brokers, placements, (sizes, sizes), most)[1])


def _largest(amounts: Float64s, groups: Int32s, least: Float64s) -> int:
    """How many of the amounts there are at least in subsets that have the least of each group."""
    order = np.lexsort((-amounts, groups))
    before = np.cumsum(amounts[order]) - amounts[order]
    first = np.searchsorted(groups[order], np.arange(len(least)))
    starts = np.append(before, 0.0)[first]
    within = before - starts[groups[order]]
    return int(np.count_nonzero(within < least[groups[order]] * (1 - _ROUNDING)))


def _needed(amounts: Float64s | Int64s, least: Float64s) -> Int64s:
    """int64[least], how many of the amounts have this sum at least, one more than there are if all have less."""
    return np.searchsorted(np.cumsum(np.sort(amounts.astype(np.float64))[::-1]), least * (1 - _ROUNDING)) + 1


class _Kept(NamedTuple):
    """What may stay where it is.

    least_of : float64[replicas], what each takes of its broker at least, whoever leads
    least, most : float64[brokers], what all that may stay take at least and at most
    copies, amount : what is copied because replicas may not stay, or are to be more
    able : int64[...], the replicas that may stay and may leave
    rest : the usable brokers; None if there are none, or some replica is given up
    """

    least_of: Float64s
    least: Float64s
    most: Float64s
    copies: int
    amount: float
    able: Int64s
    rest: _Brokers | None

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, amounts: Amounts) -> _Kept:
        """What holds of a placement."""
        now, usable, free, factors = placements.replicas, brokers.usable, ~placements.excluded, placements.replication_factors
        rows, count = now.row_of_each_value(), len(brokers)
        moves = free[rows]
        leader, follower = (each[rows].astype(np.float64) for each in amounts)
        leads = np.zeros(len(rows), np.bool_)
        leads[now.offsets[:-1]] = True
        alone = factors[rows] == 1  # of other partitions that may change, any replica may lead
        fixed = np.where((alone & moves) | leads, leader, follower)
        least_of, most_of = (np.where(~moves | alone, fixed, of(leader, follower)) for of in (np.minimum, np.maximum))
        stays = Permits.of(brokers, placements).kept(now) | ~moves
        least, most = (np.bincount(now.values[stays], of[stays], count).astype(np.float64) for of in (least_of, most_of))
        grows = (factors - now.lengths())[free]
        leader, follower = (each[free].astype(np.float64) for each in amounts)
        copies = int(np.count_nonzero(~stays) + grows.sum())
        amount = float(least_of[~stays].sum() + follower @ grows)
        rest = None
        if usable.any() and (grows >= 0).all():
            fixed = least_of[~moves & usable[now.values]].sum()
            total = float((leader + follower * (factors[free] - 1)).sum() + fixed)
            rest = _Brokers(least[usable], most[usable], brokers.weights[usable], total)
        return cls(least_of, least, most, copies, amount, np.flatnonzero(stays & moves & usable[now.values]), rest)


class _Brokers(NamedTuple):
    """Brokers between which loads are divided at will.

    least, most, weights : float64[brokers], what they have if nothing is copied; total : the loads of all
    """

    least: Float64s
    most: Float64s
    weights: Float64s
    total: float

    def leaves(self, level: float) -> float:
        """What is above the level, if each has its least."""
        return float(np.maximum(self.least - level * self.weights, 0).sum())

    def unevenness(self, level: float) -> float:
        """The least sum of squares ÷ weight if so much leaves."""
        lowered = np.minimum(self.least, level * self.weights)
        return self._squares(filled(self.weights, lowered, self.total - float(lowered.sum())))

    def comes(self, limit: float) -> float:
        """What comes to brokers besides the most that they have, if the sum of squares ÷ weight is within the limit.

        Those with least get it, up to a level, and of all others none has more than another level.
        """

        def is_low(level: float) -> bool:
            filled_up = level * self.weights
            most = np.maximum(self.most, filled_up)
            if most.sum() < self.total * (1 - _ROUNDING):
                return True
            return self._squares(filled(self.weights, filled_up, self.total - float(filled_up.sum()), most)) > limit

        low, _ = _around(0.0, self.total / float(self.weights.sum()), is_low)
        return float(np.maximum(low * self.weights - self.most, 0).sum())

    def around(self, is_low: Callable[[float], bool]) -> tuple[float, float]:
        """The levels next to each other of which the first is low, and the second is not."""
        low = self.total / float(self.weights.sum())
        high = max(low, float((self.least / self.weights).max()))
        return (high, high) if is_low(high) else _around(low, high, is_low)

    def _squares(self, loads: Float64s) -> float:
        return float((loads**2 / self.weights).sum())


def _around(low: float, high: float, is_low: Callable[[float], bool]) -> tuple[float, float]:
    """The two next to each other of which the first is low, and the second is not, by halving."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low, high
