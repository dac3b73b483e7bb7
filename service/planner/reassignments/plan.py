"""The plan: where all replicas and leaders end.

*Question*: which sets of brokers keep the hard rules (distinct usable brokers, the rack rule, ``max_replicas``), copy the fewest
replicas, and among these load the brokers most evenly, or the reverse?

*Algorithm*: both orders are minimum-cost flows with a convex cost at each broker, and the network is never built. The sets to
start from (``start``) have the fewest copies. Then paths of exchanges (``paths``) improve what comes next in the order until none
improves, which proves the optimum. As long as no partition copies more than it would alone, an exchange that costs a copy cannot
be part of a path without cost; so "fewest-moves" considers the partitions that move, and no others.

Of plans that are as good in all of that, the replicas stay on their rack where swaps of two partitions let them (``same_rack``).

Where leaders of that plan are fewer than a broker is to have of a topic, replicas are pinned to it first (``topic_leaders``).

``per_topic`` swaps replicas of two topics as long as that evens them out, without a proof that no other swaps would do better.

Between no copy and the evenest load, ``tolerance`` gives each broker a band within which replicas weigh nothing
(``ReplicaSets.low``), and ``max_moves`` goes along the curve of copies against evenness (``trade``).

With bytes, and where ``capacity_bytes`` bind, this is a packing problem: single exchanges improve it, and a bound says how far
it may be from the optimum.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from service.core.model import NONE, Bools, Int64s, Ragged
from service.planner.reassignments.best_sets import BestSets, Search
from service.planner.reassignments.evenness import evenest_with, fewest_bytes, least_unevenness, outside_band, unevenness
from service.planner.reassignments.feasibility.feasible import pins_within
from service.planner.reassignments.feasibility.infeasibility import explain
from service.planner.reassignments.feasibility.start import enough, pin
from service.planner.reassignments.leaders import elect, first_of, leading
from service.planner.reassignments.model import NO_LIMIT, ROUNDING, Brokers, Goal, Pins, Placements, Plan, bytes_on
from service.planner.reassignments.resources.loads import Loads, evenness_of_resources, fewest_for_resources, weighted
from service.planner.reassignments.resources.search import even_out_leaders
from service.planner.reassignments.search.trade import Curve
from service.planner.reassignments.sets import Permits, added, copied, has_room, in_sync_after

_ROUNDS: Final = 100
"""Most plans that are made one after another until the next would not be more even."""
_ROUNDING: Final = 1e-12


def plan(brokers: Brokers, placements: Placements, goal: Goal) -> Plan:
    """The best placement that can be reached from the current one. Raises Infeasible.

    With a limit of copies that the rules alone exceed, the plan is the one with the fewest copies.
    """
    free = _found(brokers, placements, goal)
    if free is None:
        raise explain(brokers, placements, goal)
    free = _keeping_in_sync(brokers, placements, goal, free)
    if enough(placements, free.replicas.firsts()):
        return free
    pinned = None if goal.only_leaders else pin(brokers, placements, goal)
    best = None if pinned is None else _with_pins(brokers, pinned.placements, goal, free)
    if pinned is None or best is None:
        raise explain(brokers, placements, goal)
    return _bounded(brokers, placements, goal, best, free, pinned.lower_bound)


def _keeping_in_sync(brokers: Brokers, placements: Placements, goal: Goal, free: Plan) -> Plan:
    """The plan, in which partitions that get fewer replicas keep one in sync, where any ended without and one may stay."""
    now, then = placements.replicas, free.replicas
    fewer = placements.replication_factors < now.lengths()
    if placements.in_sync is None or goal.only_leaders or not fewer.any():
        return free
    ends_in_sync = first_of(then, in_sync_after(brokers, placements, then) & brokers.live[then.values]) != NONE
    may_stay = placements.in_sync_now(brokers) & Permits.of(brokers, placements).kept(now) & fewer[now.row_of_each_value()]
    any_kept = first_of(now, may_stay)
    if not (~ends_in_sync & (any_kept != NONE)).any():
        return free
    kept = first_of(now, may_stay & ~added(then, now))  # what stays in sync anyway; else the first that may
    kept = np.where(kept == NONE, any_kept, kept)
    partitions = np.flatnonzero(kept != NONE).astype(np.int32)
    result = _found(brokers, replace(placements, pins=Pins(partitions, kept[partitions])), goal)
    if result is None or len(result.outside) > len(free.outside):
        return free
    bounds = min(result.cost, free.lower_bound), min(result.evenness, free.evenness_bound)
    return replace(result, lower_bound=bounds[0], evenness_bound=bounds[1])


def _with_pins(brokers: Brokers, pinned: Placements, goal: Goal, free: Plan) -> Plan | None:
    """The plan with the pins that copy least, or a better one with others; None if none was found.

    free : the plan without pins, which "even" leaves as it is as far as it can
    """
    others = pin(brokers, replace(pinned, replicas=free.replicas), goal) if goal.objective == "even" else None
    near = None if others is None else _found(brokers, replace(pinned, pins=others.placements.pins), goal)
    if near is not None and goal.resources:  # their search takes long
        return near
    plans = [near, _found(brokers, pinned, goal)]
    if goal.tolerance is not None and goal.balance == "replicas" and all(each is None or len(each.outside) for each in plans):
        within = pins_within(brokers, pinned, goal, goal.tolerance)
        plans.append(None if within is None else _found(brokers, within, goal))

    def rank(result: Plan) -> tuple[float, ...]:
        copies = copied(pinned, result.replicas)
        if not goal.within_limits(int(copies.sum()), int(copies @ pinned.bytes_of_each())):
            return np.inf, result.cost, result.evenness
        return len(result.outside), *((result.cost, result.evenness) if goal.copies_first else (result.evenness, result.cost))

    return min(filter(None, plans), key=rank, default=None)


def _bounded(brokers: Brokers, placements: Placements, goal: Goal, result: Plan, free: Plan, fewest: int) -> Plan:
    """The plan with bounds of all plans that have enough leaders of each topic, not only of those with the same pins.

    free : the plan without that rule; fewest : what any plan copies
    """
    as_few, even = result.cost <= free.lower_bound, goal.objective == "even"
    if goal.resources:
        result = with_resources(brokers, placements, goal, result, None)
        as_even_copies = fewest_for_resources(brokers, placements, goal, result)
        return replace(result, lower_bound=min(result.cost, max(fewest, as_even_copies, 0 if even else free.lower_bound)))
    floor = free.evenness_bound if even or as_few else least_unevenness(brokers, placements, goal, None)
    as_even = even and result.evenness <= free.evenness_bound * (1 + ROUNDING)
    lower_bound = max(fewest, free.lower_bound if as_even or not even else 0)
    result = replace(result, lower_bound=min(result.cost, lower_bound), evenness_bound=min(result.evenness, floor))
    return replace(result, evenness_bound=_with_as_few_copies(brokers, placements, goal, result))


def _found(brokers: Brokers, placements: Placements, goal: Goal) -> Plan | None:
    """The best placement, with enough leaders of each topic if its replicas allow them; None if none was found."""
    if goal.only_leaders:
        return _only_leaders(brokers, placements, goal)
    best = Search.of(brokers, placements, goal).best()
    if best is None:
        return None
    replicas = best.replicas
    if best.crowded and goal.objective == "even" and goal.balance == "replicas" and not (goal.limited or goal.resources):
        replicas = _settled(brokers, placements, goal, replicas)
    sizes, in_bytes = placements.bytes_of_each(), goal.balance == "bytes"
    copies = copied(placements, replicas)
    cost = int(copies @ sizes) if in_bytes else int(copies.sum())
    bound = int(best.copies @ sizes) if in_bytes else int(best.copies.sum())
    bound = bound if best.fewest is None or best.crowded else best.fewest
    fewest = min(cost, max(bound, _copied_from_full(brokers, placements, in_bytes=in_bytes)))
    if goal.resources:
        if not best.led:
            replicas = elect(brokers, placements, replicas, goal.leaders)
        within = best.copies if goal.objective != "even" and cost == fewest else None
        outside = np.flatnonzero(best.outside).astype(np.int32)
        result = with_resources(brokers, placements, goal, Plan(replicas, fewest, cost, 0.0, 0.0, outside), within)
        known = fewest_for_resources(brokers, placements, goal, result)
        return replace(result, lower_bound=min(cost, max(fewest, known)))
    evenness = unevenness(brokers, placements, goal, replicas)
    evenest = min(evenness, _evenest(brokers, placements, goal, best, int(copies.sum()), fewest=cost == fewest))
    replicas = elect(brokers, placements, replicas, goal.leaders, per_topic=goal.per_topic)
    if best.on_racks is not None and has_room(brokers, placements, best.on_racks):
        others = elect(brokers, placements, best.on_racks, goal.leaders, per_topic=goal.per_topic)
        judged = (leading(brokers, placements, rows, per_topic=goal.per_topic) for rows in (others, replicas))
        if next(judged) <= next(judged):
            replicas = others
    result = Plan(replicas, fewest, cost, evenness, evenest, outside_band(brokers, placements, goal, replicas))
    if not in_bytes:
        return result
    fewest = max(fewest, fewest_bytes(brokers, placements, goal, result))
    return replace(result, lower_bound=min(cost, fewest), evenness_bound=_with_as_few_copies(brokers, placements, goal, result))


def _with_as_few_copies(brokers: Brokers, placements: Placements, goal: Goal, result: Plan) -> float:
    """The bound of evenness, closer if copies come first or are limited in what is counted."""
    limit = goal.max_bytes if goal.balance == "bytes" else goal.max_moves
    most = result.cost if goal.copies_first else limit
    if most is None:
        return result.evenness_bound
    amounts = placements.bytes_of_each() if goal.balance == "bytes" else np.ones(len(placements), np.int64)
    return min(result.evenness, max(result.evenness_bound, evenest_with(brokers, placements, amounts, most)))


def _only_leaders(brokers: Brokers, placements: Placements, goal: Goal) -> Plan:
    """The plan that moves no replica."""
    if goal.resources and goal.leaders == "only":
        replicas = even_out_leaders(brokers, placements, goal)
    else:
        replicas = elect(brokers, placements, placements.replicas, goal.leaders, per_topic=goal.per_topic)
    evenness = unevenness(brokers, placements, goal, replicas)
    result = Plan(replicas, 0, 0, evenness, evenness)
    return with_resources(brokers, placements, goal, result, None) if goal.resources else result


def with_resources(brokers: Brokers, placements: Placements, goal: Goal, result: Plan, copies: Int64s | None) -> Plan:
    """The plan with how even its resources are. copies : as in ``least_unevenness``"""
    resources = evenness_of_resources(brokers, placements, goal, result.replicas, copies)
    scales = Loads.of(brokers, placements, goal, result.replicas).scales(brokers)
    evenness, bound = weighted(goal, resources, scales)
    return replace(result, evenness=evenness, evenness_bound=bound, resources=resources)


def _copied_from_full(brokers: Brokers, placements: Placements, *, in_bytes: bool) -> int:
    """A bound of the copies: what is above ``capacity_bytes`` has to leave, and is copied where no replica is given up."""
    if (placements.replication_factors < placements.replicas.lengths()).any():
        return 0
    replicas, count = placements.replicas, len(brokers)
    of_each = placements.bytes_of_each()[replicas.row_of_each_value()]
    excess = np.maximum(bytes_on(replicas, placements.bytes_of_each(), count) - brokers.capacity_bytes, 0)
    if not in_bytes:
        largest = np.ones(count, np.int64)
        np.maximum.at(largest, replicas.values, of_each)
        return int((-(-excess // largest)).sum())
    # Replicas that are smaller than the excess may bring just it; if they are not enough, one leaves that is not smaller.
    small = of_each < excess[replicas.values]
    of_small, least = np.zeros(count, np.int64), np.full(count, NO_LIMIT, np.int64)
    np.add.at(of_small, replicas.values[small], of_each[small])
    np.minimum.at(least, replicas.values[~small], of_each[~small])
    return int(np.where((excess > 0) & (of_small < excess), least, excess).sum())


def frontier(brokers: Brokers, placements: Placements, goal: Goal) -> tuple[Curve, Bools]:
    """The evenest load with each number of copies, from the fewest to those of the evenest, and bool[points], whether no plan
    with as few copies is more even. Raises NoPlan.

    With a least number of leaders, all points have the same pins, and are proven where the curve without that rule is no evener.
    """
    every = replace(goal, objective="even", tolerance=None, max_moves=NO_LIMIT, max_bytes=None, per_topic=False)
    free = curve = _curve(brokers, placements, every)
    if placements.topic_leaders is not None and free is not None:
        pinned = pin(brokers, placements, every)
        curve = None if pinned is None else _curve(brokers, pinned.placements, every)
    if free is None or curve is None:
        raise explain(brokers, placements, goal)
    # Pins may be in the way of replicas that the curve without them leaves on a broker that replaces another.
    comparable = placements.topic_leaders is None or not (brokers.replaced_by != NONE).any()
    as_even = curve.sums <= free.at(curve.copies) * (1 + ROUNDING)
    return curve, curve.fits & (free.optimal and comparable) & as_even


def _curve(brokers: Brokers, placements: Placements, goal: Goal) -> Curve | None:
    """The curve; None if no placement keeps the rules, or none was found."""
    best = Search.of(brokers, placements, goal, whole_curve=True).best()
    return None if best is None else best.curve


def _evenest(brokers: Brokers, placements: Placements, goal: Goal, best: BestSets, copied: int, *, fewest: bool) -> float:
    """A bound of the evenness. copied : replicas; fewest : does the plan copy as little as any?

    Where capacities make a plan copy more than the best sets without them, it may be more even than these.
    """
    even_first = not goal.copies_first
    known = best.evenest is not None and (goal.objective == "even" or fewest)
    if known and best.crowded and not even_first:
        known = copied == best.fewest
    if known and best.evenest is not None and not best.crowded:
        return best.evenest
    alone = goal.objective != "even" and fewest and copied == int(best.copies.sum())
    floor = least_unevenness(brokers, placements, goal, best.copies if alone else None)
    return max(floor, best.evenest) if known and best.evenest is not None else floor


def _settled(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged) -> Ragged:
    """Replicas that another plan would not make more even; the current ones if they keep all rules and are as even.

    Where ``capacity_bytes`` are in the way, an evenest placement that does not fit is made to fit, which may end up elsewhere
    each time.
    """
    now = placements.replicas
    stays = Search.of(brokers, placements, replace(goal, objective="fewest-moves", tolerance=None)).best()
    keeps_rules = stays is not None and len(stays.replicas.values) == len(now.values)
    if stays and keeps_rules and not copied(placements, stays.replicas).any() and not _evener(brokers, replicas, now):
        replicas = now
    for _ in range(_ROUNDS):
        following = Search.of(brokers, replace(placements, replicas=replicas), goal).best()
        if following is None or not _evener(brokers, following.replicas, replicas):
            break
        replicas = following.replicas
    return replicas


def _evener(brokers: Brokers, replicas: Ragged, others: Ragged) -> bool:
    """Do these replicas have a smaller sum of squares of replicas ÷ weight?"""
    return brokers.unevenness(replicas) < brokers.unevenness(others) * (1 - _ROUNDING)
