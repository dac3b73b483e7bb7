"""The plan: where all replicas and leaders end.

*Question*: which sets of brokers keep the hard rules (distinct usable brokers, the rack rule, ``max_replicas``), copy the fewest
replicas, and among these load the brokers most evenly, or the reverse?

*Algorithm*: both orders are minimum-cost flows with a convex cost at each broker, and the network is never built. The sets to
start from (``start``) have the fewest copies. Then paths of exchanges (``paths``) improve what comes next in the order until none
improves, which proves the optimum. As long as no partition copies more than it would alone, an exchange that costs a copy cannot
be part of a path without cost; so "fewest-moves" considers the partitions that move, and no others.

``per_topic`` swaps replicas of two topics as long as that evens them out, without a proof that no other swaps would do better.

With bytes, and where ``capacity_bytes`` bind, this is a packing problem: single exchanges improve it, and a bound says how far
it may be from the optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.core.model import NONE, Int32s, Int64s, Ragged
from service.core.reassignments.byte_balance import EXCEEDED, balance_bytes
from service.core.reassignments.evenness import least_unevenness, squares, unevenness
from service.core.reassignments.exchanges import ReplicaSets
from service.core.reassignments.feasible import bytes_of_brokers, feasible_sets, fits
from service.core.reassignments.improvement import improve
from service.core.reassignments.infeasibility import explain
from service.core.reassignments.leaders import elect
from service.core.reassignments.model import Brokers, Goal, Placements, Plan
from service.core.reassignments.order import copied, in_order
from service.core.reassignments.topic_balance import even_out_topics
from service.core.reassignments.turns import in_turns

_ROUNDS: Final = 100
"""Most plans that are made one after another until the next would not be more even."""
_ROUNDING: Final = 1e-12


def plan(brokers: Brokers, placements: Placements, goal: Goal, check: Callable[[], None] = lambda: None) -> Plan:
    """The best placement that can be reached from the current one. Raises Infeasible.

    check : called every few milliseconds; may raise to give up
    """
    if goal.leaders == "only":
        stays = unevenness(brokers, placements, goal, placements.replicas)
        return Plan(elect(brokers, placements, placements.replicas, goal.leaders, check), 0, 0, stays, stays)
    best = _best_sets(brokers, placements, goal, check)
    if best is None:
        raise explain(brokers, placements, goal, np.flatnonzero(~placements.excluded).astype(np.int32), check)
    replicas = best.replicas
    if best.crowded and goal.objective == "even" and goal.balance == "replicas":
        replicas = _settled(brokers, placements, goal, replicas, check)
    sizes, in_bytes = placements.bytes_of_each(), goal.balance == "bytes"
    copies = copied(placements, replicas)
    cost = int(copies @ sizes) if in_bytes else int(copies.sum())
    bound = int(best.copies @ sizes) if in_bytes else int(best.copies.sum())
    fewest = cost if best.proven else min(bound, cost)
    evenness = unevenness(brokers, placements, goal, replicas)
    evenest = evenness if best.proven else _evenest(brokers, placements, goal, best, fewest=cost == fewest)
    replicas = elect(brokers, placements, replicas, goal.leaders, check)
    return Plan(replicas, fewest, cost, evenness, min(evenness, evenest))


@dataclass(frozen=True)
class _Best:
    """Where the replicas go.

    copies : int64[partitions]   the fewest copies of each partition that is alone in the cluster
    proven : are the copies the fewest, and the load as even as it can be?
    relaxed : the evenness of the optimum without ``capacity_bytes``; None if it is not known
    crowded : did replicas have to move again because of ``capacity_bytes``?
    """

    replicas: Ragged
    copies: Int64s
    proven: bool
    relaxed: float | None
    crowded: bool


def _evenest(brokers: Brokers, placements: Placements, goal: Goal, best: _Best, *, fewest: bool) -> float:
    """A bound of the evenness where it is not proven the best. fewest : does the plan copy as little as any?"""
    within = goal.objective == "even" or fewest
    floor = least_unevenness(brokers, placements, goal, best.copies if goal.objective != "even" and fewest else None)
    return floor if best.relaxed is None or not within else max(floor, best.relaxed)


def _best_sets(brokers: Brokers, placements: Placements, goal: Goal, check: Callable[[], None]) -> _Best | None:
    """The sets, in order; None if none are found that keep all rules."""
    # Small partitions first: they stand first in the brokers' lists, so paths take them first.
    chosen = np.flatnonzero(~placements.excluded).astype(np.int32)
    chosen = chosen[np.argsort(placements.bytes_of_each()[chosen], kind="stable")]
    even_first = goal.objective == "even"
    # Evening out may take replicas from a broker that replaces another, which is to keep them, unless the rules forbid that.
    for hold in (True, False) if even_first and (brokers.replaced_by != NONE).any() else (False,):
        sets = feasible_sets(brokers, placements, goal, chosen, check, paid=even_first, hold=hold)
        if not sets.feasible or sets.state is None:
            continue
        state = sets.state
        relaxed, moves = _improve(brokers, placements, goal, chosen, state, check)
        if moves == EXCEEDED:  # evened out, they do not fit
            state = feasible_sets(brokers, placements, goal, chosen, check, hold=hold).state or state
            if fits(brokers, placements, chosen, state, check) == EXCEEDED:
                continue
        copies = np.zeros(len(placements), np.int64)
        copies[chosen] = sets.copies
        proven = relaxed is not None and moves == 0
        return _Best(in_order(brokers, placements, chosen, state), copies, proven, relaxed, moves != 0)
    return None


def _settled(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, check: Callable[[], None]) -> Ragged:
    """Replicas that another plan would not make more even; the current ones if they keep all rules and are as even.

    Where ``capacity_bytes`` are in the way, an evenest placement that does not fit is made to fit, which may end up elsewhere
    each time.
    """
    now = placements.replicas
    stays = _best_sets(brokers, placements, replace(goal, objective="fewest-moves"), check)
    keeps_rules = stays is not None and len(stays.replicas.values) == len(now.values)
    if stays and keeps_rules and not copied(placements, stays.replicas).any() and not _evener(brokers, replicas, now):
        replicas = now
    for _ in range(_ROUNDS):
        following = _best_sets(brokers, replace(placements, replicas=replicas), goal, check)
        if following is None or not _evener(brokers, following.replicas, replicas):
            break
        replicas = following.replicas
    return replicas


def _evener(brokers: Brokers, replicas: Ragged, others: Ragged) -> bool:
    """Do these replicas have a smaller sum of squares of replicas ÷ weight?"""
    return brokers.unevenness(replicas) < brokers.unevenness(others) * (1 - _ROUNDING)


def _improve(
    brokers: Brokers, placements: Placements, goal: Goal, chosen: Int32s, state: ReplicaSets, check: Callable[[], None]
) -> tuple[float | None, int]:
    """Even out the sets; returns the evenness of the optimum without ``capacity_bytes``, None if it is not known, and what
    ``fits`` returns.
    """
    even_first = goal.objective == "even"
    if goal.balance == "bytes":
        moves = fits(brokers, placements, chosen, state, check)
        if moves == EXCEEDED:
            return None, EXCEEDED
        loads = bytes_of_brokers(brokers, placements, chosen, state)
        exhausted, exchanged = np.zeros(len(brokers), np.bool_), np.zeros(2, np.int64)
        sizes, limits = placements.bytes_of_each()[chosen], brokers.capacity_bytes
        in_turns(state, lambda: balance_bytes(state, sizes, loads, limits, int(even_first), exhausted, exchanged), check)
        return None, moves
    optimal = improve(state, even_first=even_first, check=check)
    relaxed = squares(brokers, state.loads) if optimal else None
    if goal.per_topic:
        even_out_topics(state, placements.topics[chosen], check)
    return relaxed, fits(brokers, placements, chosen, state, check)
