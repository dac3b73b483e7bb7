"""The plan: where all replicas and leaders end.

*Question*: which sets of brokers keep the hard rules (distinct usable brokers, the rack rule, ``max_replicas``), copy the fewest
replicas, and among these load the brokers most evenly, or the reverse?

*Algorithm*: both orders are minimum-cost flows with a convex cost at each broker, and the network is never built. The sets to
start from (``start``) have the fewest copies. Then paths of exchanges (``paths``) improve what comes next in the order until none
improves, which proves the optimum. As long as no partition copies more than it would alone, an exchange that costs a copy cannot
be part of a path without cost; so "fewest-moves" considers the partitions that move, and no others.

``per_topic`` swaps replicas of two topics as long as that evens them out, without a proof that no other swaps would do better.

Between no copy and the evenest load, ``tolerance`` gives each broker a band within which replicas weigh nothing
(``ReplicaSets.low``), and ``max_moves`` goes along the curve of copies against evenness (``trade``).

With bytes, and where ``capacity_bytes`` bind, this is a packing problem: single exchanges improve it, and a bound says how far
it may be from the optimum.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from service.core.model import Ragged
from service.core.reassignments.best_sets import BestSets, Search
from service.core.reassignments.curve import Curve
from service.core.reassignments.evenness import least_unevenness, unevenness
from service.core.reassignments.infeasibility import explain
from service.core.reassignments.leaders import elect
from service.core.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, Plan
from service.core.reassignments.order import copied

_ROUNDS: Final = 100
"""Most plans that are made one after another until the next would not be more even."""
_ROUNDING: Final = 1e-12


def plan(brokers: Brokers, placements: Placements, goal: Goal, check: Callable[[], None] = lambda: None) -> Plan:
    """The best placement that can be reached from the current one. Raises Infeasible.

    With a limit of copies that the rules alone exceed, the plan is the one with the fewest copies.
    check : called every few milliseconds; may raise to give up
    """
    if goal.leaders == "only":
        stays = unevenness(brokers, placements, goal, placements.replicas)
        return Plan(
            elect(brokers, placements, placements.replicas, goal.leaders, check, per_topic=goal.per_topic), 0, 0, stays, stays
        )
    best = Search.of(brokers, placements, goal, check).best()
    if best is None:
        raise explain(brokers, placements, goal, np.flatnonzero(~placements.excluded).astype(np.int32), check)
    replicas = best.replicas
    if best.crowded and goal.objective == "even" and goal.balance == "replicas" and not goal.limited:
        replicas = _settled(brokers, placements, goal, replicas, check)
    sizes, in_bytes = placements.bytes_of_each(), goal.balance == "bytes"
    copies = copied(placements, replicas)
    cost = int(copies @ sizes) if in_bytes else int(copies.sum())
    bound = int(best.copies @ sizes) if in_bytes else int(best.copies.sum())
    fewest = min(cost, bound if best.fewest is None or (best.crowded and not goal.limited) else best.fewest)
    evenness = unevenness(brokers, placements, goal, replicas)
    evenest = min(evenness, _evenest(brokers, placements, goal, best, fewest=cost == fewest))
    replicas = elect(brokers, placements, replicas, goal.leaders, check, per_topic=goal.per_topic)
    return Plan(replicas, fewest, cost, evenness, evenest, np.flatnonzero(best.outside).astype(np.int32))


def frontier(brokers: Brokers, placements: Placements, goal: Goal, check: Callable[[], None] = lambda: None) -> Curve:
    """The evenest load with each number of copies, from the fewest to those of the evenest. Raises Infeasible."""
    every = replace(goal, objective="even", tolerance=None, max_moves=NO_LIMIT, max_bytes=None, per_topic=False)
    best = Search.of(brokers, placements, every, check, whole_curve=True).best()
    if best is None or best.curve is None:
        raise explain(brokers, placements, goal, np.flatnonzero(~placements.excluded).astype(np.int32), check)
    return best.curve


def _evenest(brokers: Brokers, placements: Placements, goal: Goal, best: BestSets, *, fewest: bool) -> float:
    """A bound of the evenness. fewest : does the plan copy as little as any?"""
    within = goal.objective == "even" or fewest
    if best.evenest is not None and within and not best.crowded:
        return best.evenest
    floor = least_unevenness(brokers, placements, goal, best.copies if goal.objective != "even" and fewest else None)
    return floor if best.evenest is None or not within else max(floor, best.evenest)


def _settled(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, check: Callable[[], None]) -> Ragged:
    """Replicas that another plan would not make more even; the current ones if they keep all rules and are as even.

    Where ``capacity_bytes`` are in the way, an evenest placement that does not fit is made to fit, which may end up elsewhere
    each time.
    """
    now = placements.replicas
    stays = Search.of(brokers, placements, replace(goal, objective="fewest-moves", tolerance=None), check).best()
    keeps_rules = stays is not None and len(stays.replicas.values) == len(now.values)
    if stays and keeps_rules and not copied(placements, stays.replicas).any() and not _evener(brokers, replicas, now):
        replicas = now
    for _ in range(_ROUNDS):
        following = Search.of(brokers, replace(placements, replicas=replicas), goal, check).best()
        if following is None or not _evener(brokers, following.replicas, replicas):
            break
        replicas = following.replicas
    return replicas


def _evener(brokers: Brokers, replicas: Ragged, others: Ragged) -> bool:
    """Do these replicas have a smaller sum of squares of replicas ÷ weight?"""
    return brokers.unevenness(replicas) < brokers.unevenness(others) * (1 - _ROUNDING)
