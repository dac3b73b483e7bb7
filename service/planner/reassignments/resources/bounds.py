"""How even each of several resources is, and the most even that it could be by itself. As ``evenness`` for one."""

from typing import Final

import numpy as np

from service.core.model import Float64s, Int64s, Ragged
from service.planner.reassignments.evenness import least_squares, squares, that_stay
from service.planner.reassignments.fewest import fewest_copied
from service.planner.reassignments.model import NO_LIMIT, ROUNDING, Brokers, Goal, Placements, Plan, ResourceEvenness
from service.planner.reassignments.permits import Permits
from service.planner.reassignments.resources.loads import COUNTS, Loads, band_of

_STEPS: Final = 200
"""Halvings of an interval: more than a float has digits."""


def evenness_of_resources(
    brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, copies: Int64s | None
) -> tuple[ResourceEvenness, ...]:
    """The resources of the goal. replicas : leaders first; copies : as in ``least_unevenness``"""
    loads, now = Loads.of(brokers, placements, goal, replicas), placements.replicas
    rows, excluded = now.row_of_each_value(), placements.excluded[now.row_of_each_value()]
    usable, count = brokers.usable, len(brokers)
    on_usable, permits = usable[now.values], Permits.of(brokers, placements)
    at_home = permits.kept(now)
    stays = that_stay(placements, at_home, copies) & on_usable
    may_stay, receives = (at_home | excluded) & on_usable, permits.receives.any(axis=0)
    leads = np.zeros(len(rows), np.bool_)
    leads[now.offsets[:-1]] = True
    found = []
    for name, part, totals in zip(loads.names, loads.parts, loads.totals.T, strict=True):
        # Of a partition that may change any replica may lead, so what stays takes at least the lesser of the two.
        leader, follower = (each[rows] for each in part)
        of_excluded = np.where(leads, leader, follower)
        least, most = (np.where(excluded, of_excluded, bound(leader, follower)) for bound in (np.minimum, np.maximum))
        fixed, kept = (
            np.bincount(now.values[which], taken[which], count).astype(np.float64)
            for which, taken in ((stays, least), (may_stay, most))
        )
        limits = {"bytes": brokers.capacity_bytes, "replicas": brokers.max_replicas}.get(name, np.full(count, NO_LIMIT))
        most_of_each = np.where(limits == NO_LIMIT, np.inf, limits)
        most_of_each = np.where(receives, most_of_each, np.minimum(most_of_each, kept))
        more = max(0.0, float(totals[usable].sum() - fixed.sum()))
        value = squares(brokers, totals)
        if name in COUNTS:
            bound = _filled_whole(brokers, fixed, round(fixed.sum() + more), most_of_each)
        else:
            bound = least_squares(brokers, fixed, more, most_of_each)
        found.append(ResourceEvenness(name, value, min(value, bound * (1 - ROUNDING / 10))))
    return tuple(found)


def weighted(goal: Goal, resources: tuple[ResourceEvenness, ...], scales: Float64s) -> tuple[float, float]:
    """The value and the bound of the evenness of the first priority: the weighted sum of its resources, each ÷ its scale.

    scales : float64[resources], the sums of squares of the resources divided at will; 0 for what nothing takes
    """
    of_first = zip(goal.resources[0], resources, scales.tolist(), strict=False)
    first = [(weight / scale, each) for (_, weight), each, scale in of_first if scale > 0]
    return sum(share * each.value for share, each in first), sum(share * each.lower_bound for share, each in first)


def fewest_for_resources(brokers: Brokers, placements: Placements, goal: Goal, best: Plan) -> int:
    """A bound of the replicas that any plan copies which is as even as this one, or within the tolerance as it is.

    That is the most of what each resource needs by itself.
    """
    if goal.objective != "even" or len(best.outside):
        return 0
    loads, first = Loads.of(brokers, placements, goal, best.replicas), len(goal.resources[0])
    scales, fewest = loads.scales(brokers), 0
    shares = [
        weight / scale if scale > 0 else 0.0 for (_, weight), scale in zip(goal.resources[0], scales.tolist(), strict=False)
    ]
    for i, (name, part) in enumerate(zip(loads.names, loads.parts, strict=True)):
        most: float | tuple[Float64s, Float64s] | None = None
        if goal.tolerance is not None:
            low, high = band_of(brokers, name, loads.totals[:, i], goal.tolerance)
            most = low * (1 - ROUNDING), high * (1 + ROUNDING)
        elif i < first and shares[i] > 0:  # of the sum of the first priority, the others leave no more than this
            most = best.resources[i].lower_bound + (best.evenness - best.evenness_bound) / shares[i]
        if most is not None:
            fewest = max(fewest, fewest_copied(brokers, placements, part, most)[0])
    return fewest


def _filled_whole(brokers: Brokers, fixed: Float64s, total: int, limits: Float64s) -> float:
    """The least sum of squares ÷ weight with ``total`` whole replicas on the usable brokers.

    fixed, limits : as of ``least_squares``
    """
    weights = np.where(brokers.usable, brokers.weights, 0.0)
    most = np.maximum(fixed, np.where(brokers.usable, limits, np.inf))

    def up_to(level: float) -> Float64s:  # all replicas that add at most this much each
        return np.clip(np.floor((level * weights + 1) / 2), fixed, most)

    low, high = 0.0, 2.0 * (total + 1.0) / max(float(brokers.weights[brokers.usable].min(initial=1.0)), 1e-300)
    for _ in range(_STEPS):
        level = (low + high) / 2
        low, high = (level, high) if up_to(level).sum() <= total else (low, level)
    return squares(brokers, up_to(low)) + low * max(0.0, total - float(up_to(low).sum()))
