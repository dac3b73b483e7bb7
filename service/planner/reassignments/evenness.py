"""How even a placement is, and the most even that one could be.

The measure is what ``even`` makes least: the sum of (replicas of a broker)² ÷ weight over the brokers that may have replicas, or
of bytes. Where the search does not prove its optimum, a bound does without everything but the totals and limits of the brokers:
what no plan moves stays, and the rest is divided like water (x = λ × weight, between what stays and the limit of the broker).
"""

from typing import Final

import numpy as np

from service.core.model import Bools, Float64s, Int32s, Int64s, Ragged
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, bytes_on
from service.planner.reassignments.permits import Permits

_ROUNDING: Final = 1e-9
"""A bound from floats is lowered by this share, so that it is one; see ``Plan.evenness_gap``."""


def unevenness(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged) -> float:
    """The sum of load² ÷ weight over the usable brokers. replicas : Ragged partition → brokers"""
    sizes = _sizes(placements, goal)
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
    sizes, permits = _sizes(placements, goal), Permits.of(brokers, placements)
    now = placements.replicas
    rows = now.row_of_each_value()
    factors = placements.replication_factors
    at_home = permits.kept(now)
    may_stay, stays = placements.excluded[rows] | at_home, that_stay(placements, at_home, copies)
    kept_at_most = np.bincount(now.values[may_stay], sizes[rows[may_stay]], len(brokers))
    fixed = np.bincount(now.values[stays], sizes[rows[stays]], len(brokers)).astype(np.float64)
    free = placements.chosen()
    settled = stays & ~placements.excluded[rows]
    more = float((sizes[free] * factors[free]).sum() - sizes[rows[settled]].sum())
    limits = brokers.capacity_bytes if goal.balance == "bytes" else brokers.max_replicas
    most = np.where(limits != NO_LIMIT, limits, np.inf)
    most = np.where(permits.receives.any(axis=0), most, np.minimum(most, kept_at_most))
    return least_squares(brokers, fixed, more, most) * (1 - _ROUNDING)


def that_stay(placements: Placements, at_home: Bools, copies: Int64s | None) -> Bools:
    """bool[replicas], those of now that no plan moves. at_home : those that may stay; copies : as of ``least_unevenness``"""
    rows = placements.replicas.row_of_each_value()
    stays: Bools = placements.excluded[rows]
    if copies is not None:
        kept = np.bincount(rows[at_home], minlength=len(placements))
        stays |= at_home & (kept == placements.replication_factors - copies)[rows]
    return stays


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
    in_bytes, count = goal.balance == "bytes", len(brokers)
    loads = bytes_on(replicas, placements.bytes_of_each() if in_bytes else np.ones(len(placements), np.int64), count)
    low, high = band(brokers.usable, brokers.weights, loads, goal.tolerance)
    return np.flatnonzero(brokers.usable & ((loads < low) | (loads > high))).astype(np.int32)


_NEAR: Final = 1e-9
"""A bound this near to an integer is this integer: 10 × 1.1 is a little more than 11."""


def _sizes(placements: Placements, goal: Goal) -> Float64s:
    """float64[partitions], what a replica counts."""
    return placements.bytes_of_each().astype(np.float64) if goal.balance == "bytes" else np.ones(len(placements))
