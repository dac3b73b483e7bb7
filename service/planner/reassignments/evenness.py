"""How even a placement is, and the most even that one could be.

The measure is what ``even`` makes least: the sum of (replicas of a broker)² ÷ weight over the brokers that may have replicas, or
of bytes. Where the search does not prove its optimum, a bound does without everything but the totals and limits of the brokers:
what no plan moves stays, and the rest is divided like water (x = λ × weight, between what stays and the limit of the broker).

*The fewest copies* of any plan that is as even, or within a tolerance, have a bound as if amounts could be divided at will. What
a plan copies is what leaves the brokers and what replication factors grow by, and it is what comes to the brokers. Of a broker
leaves at least what it has above a level, or above its band, and of that the largest replicas are the fewest. Where leaders take
more than followers, a broker without copies has between what it has if it leads nothing, and if it leads all.
"""

from collections.abc import Callable
from math import ceil
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np

from service.core.model import Bools, Float64s, Int32s, Int64s, Ragged
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, Plan, bytes_on
from service.planner.reassignments.sets import Permits

_ROUNDING: Final = 1e-9
"""A bound from floats is lowered by this share, so that it is one; see ``Plan.evenness_gap``."""


def unevenness(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged) -> float:
    """The sum of load² ÷ weight over the usable brokers. replicas : Ragged partition → brokers"""
    sizes = placements.amounts(goal.balance)
    loads = np.bincount(replicas.values, sizes[replicas.row_of_each_value()], len(brokers))
    return squares(brokers, loads)


def squares(brokers: Brokers, loads: Int64s | Float64s) -> float:
    """The same of loads, int64 or float64[brokers]."""
    usable = brokers.usable
    return float((loads[usable].astype(np.float64) ** 2 / brokers.weights[usable]).sum())


def least_unevenness(brokers: Brokers, placements: Placements, goal: Goal, copies: Int64s | None) -> float:
    """A bound: no plan that keeps the rules is more even.

    A broker that gets no replicas, as a cordoned one, has no more than it keeps.

    copies : int64[partitions]   counts only plans in which each partition copies this number of replicas, the fewest that it
        could copy alone; None: counts all
    """
    sizes = placements.amounts(goal.balance).astype(np.float64)
    of_each = sizes[placements.replicas.row_of_each_value()]
    limits = brokers.capacity_bytes if goal.balance == "bytes" else brokers.max_replicas
    fixed, most = fixed_and_most(brokers, placements, copies)(of_each, of_each, limits)
    lengths = np.where(placements.excluded, placements.replicas.lengths(), placements.replication_factors)
    return least_squares(brokers, fixed, float((sizes * lengths).sum() - fixed.sum()), most) * (1 - _ROUNDING)


def fixed_and_most(
    brokers: Brokers, placements: Placements, copies: Int64s | None
) -> Callable[[Float64s, Float64s, Int64s], tuple[Float64s, Float64s]]:
    """What no plan takes from each broker, and the most that it may get, inf without a limit: float64[brokers] each.

    copies : as of ``least_unevenness``
    Returns a function of what each replica of now takes of its broker at least and at most, float64[replicas], and of the limits
    of brokers, int64[brokers].
    """
    now, permits = placements.replicas, Permits.of(brokers, placements)
    excluded, at_home = placements.excluded[now.row_of_each_value()], permits.kept(now)
    stays, may_stay, receives = excluded, excluded | at_home, permits.receives.any(axis=0)
    if copies is not None:
        as_many = now.count(at_home) == placements.replication_factors - copies
        stays = stays | (at_home & as_many[now.row_of_each_value()])

    def of_amounts(least: Float64s, most: Float64s, limits: Int64s) -> tuple[Float64s, Float64s]:
        fixed, kept = (
            np.bincount(now.values[which], amounts[which], len(brokers)).astype(np.float64)
            for which, amounts in ((stays, least), (may_stay, most))
        )
        limited = np.where(limits != NO_LIMIT, limits, np.inf)
        return fixed, np.where(receives, limited, np.minimum(limited, kept))

    return of_amounts


def least_squares(brokers: Brokers, fixed: Float64s, more: float, limits: Float64s) -> float:
    """The least sum of load² ÷ weight with ``more`` on the usable brokers. fixed, limits : float64[brokers], see ``filled``"""
    usable = brokers.usable
    weights = brokers.weights[usable]
    return float((filled(weights, fixed[usable], more, limits[usable]) ** 2 / weights).sum())


def filled(weights: Float64s, fixed: Float64s, more: float, limits: Float64s | float = np.inf) -> Float64s:
    """float64[...], loads with ``more`` in all, filled up like water: one level × weight, between the least and the most of each.

    weights : above 0; fixed : the least of each; limits : the most of each; if all are full, the rest is left out
    """
    most = np.maximum(fixed, limits)
    points, slopes = np.concatenate([fixed, most]) / np.tile(weights, 2), np.concatenate([weights, -weights])
    order = np.argsort(points, kind="stable")
    order = order[np.isfinite(points[order])]
    if not len(order):
        return fixed
    levels, rise = points[order], np.cumsum(slopes[order])
    poured = np.append(0.0, np.cumsum(rise[:-1] * np.diff(levels)))
    at = max(0, int(np.searchsorted(poured, more, side="right")) - 1)
    level = levels[at] + ((more - poured[at]) / rise[at] if rise[at] > 0 else 0.0)
    return np.asarray(np.clip(level * weights, fixed, most), np.float64)


def band(usable: Bools, weights: Float64s | Int64s, loads: Int64s, tolerance: float) -> tuple[Int64s, Int64s]:
    """int64[brokers] twice, the least and the most within this share of the mean, which a broker's weight multiplies.

    Rounded outwards, as Cruise Control's ``ReplicaDistributionAbstractGoal``, so that the band of tolerance 0 has an integer.
    """
    least, most = exact_band(usable, weights, loads, tolerance)
    low, high = np.floor(least + _NEAR), np.minimum(np.ceil(most - _NEAR), float(NO_LIMIT))
    return low.astype(np.int64), high.astype(np.int64)


def exact_band(usable: Bools, weights: Float64s | Int64s, loads: Int64s, tolerance: float) -> tuple[Float64s, Float64s]:
    """float64[brokers] twice, the same before it is rounded."""
    mean = loads[usable].sum() / max(float(weights[usable].sum()), 1e-300)
    shares = np.where(usable, weights, 0.0) * mean
    return shares * max(0.0, 1 - tolerance), shares * (1 + tolerance)


def outside_band(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged) -> Int32s:
    """int32[...], the brokers with a load that is not within the tolerance. replicas : Ragged partition → brokers"""
    if goal.tolerance is None:
        return np.empty(0, np.int32)
    loads = bytes_on(replicas, placements.amounts(goal.balance), len(brokers))
    low, high = band(brokers.usable, brokers.weights, loads, goal.tolerance)
    return np.flatnonzero(brokers.usable & ((loads < low) | (loads > high))).astype(np.int32)


_NEAR: Final = 1e-9
"""A bound this near to an integer is this integer: 10 × 1.1 is a little more than 11."""


Amounts: TypeAlias = tuple[Float64s | Int64s, Float64s | Int64s]
"""What a replica of each partition takes of its broker, as the leader and as a follower."""

_STEPS: Final = 50
"""Halvings of an interval, which leave less of it than ``_ROUNDING``."""


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
    def of(cls, brokers: Brokers, placements: Placements, amounts: Amounts) -> Self:
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


def _around(low: float, high: float, is_low: Callable[[float], bool]) -> tuple[float, float]:
    """The two next to each other of which the first is low, and the second is not, by halving."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low, high
