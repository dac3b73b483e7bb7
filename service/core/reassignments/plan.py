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
from typing import Final

import numpy as np

from service.core.model import NONE, Int32s
from service.core.reassignments.byte_balance import DONE, balance_bytes
from service.core.reassignments.exchanges import State
from service.core.reassignments.feasible import bytes_of_brokers, feasible_sets, fits
from service.core.reassignments.improvement import improve
from service.core.reassignments.infeasibility import explain
from service.core.reassignments.leaders import elect
from service.core.reassignments.model import Brokers, Goal, Placements, Plan
from service.core.reassignments.order import copied, in_order
from service.core.reassignments.topic_balance import even_out_topics

_SCANNED: Final = 20_000_000
"""Replicas that are looked at between two checks of the time, when bytes are evened out."""


def plan(brokers: Brokers, placements: Placements, goal: Goal, check: Callable[[], None] = lambda: None) -> Plan:
    """The best placement that can be reached from the current one. Raises Infeasible.

    check : called every few milliseconds; may raise to give up
    """
    if goal.leaders == "only":
        return Plan(elect(brokers, placements, placements.replicas, goal.leaders, check), 0, 0)
    sizes = placements.bytes_of_each()
    # Small partitions first: they stand first in the brokers' lists, so paths take them first.
    chosen = np.flatnonzero(~placements.excluded).astype(np.int32)
    chosen = chosen[np.argsort(sizes[chosen], kind="stable")]
    in_bytes, even_first = goal.balance == "bytes", goal.objective == "even"
    # Evening out may take replicas from a broker that replaces another, which is to keep them, unless the rules forbid that.
    for hold in (True, False) if even_first and (brokers.replaced_by != NONE).any() else (False,):
        sets = feasible_sets(brokers, placements, goal, chosen, check, paid=even_first, hold=hold)
        if not sets.feasible or sets.state is None:
            continue
        proven = _improve(brokers, placements, goal, chosen, sets.state, check)
        if proven is not None:
            break
    else:
        raise explain(brokers, placements, goal, chosen, check)
    replicas = in_order(brokers, placements, chosen, sets.state)
    copies = copied(placements, replicas)
    cost = int(copies @ sizes) if in_bytes else int(copies.sum())
    bound = int(sets.copies @ sizes[chosen]) if in_bytes else int(sets.copies.sum())
    replicas = elect(brokers, placements, replicas, goal.leaders, check)
    return Plan(replicas, cost if proven else min(bound, cost), cost)


def _improve(
    brokers: Brokers, placements: Placements, goal: Goal, chosen: Int32s, state: State, check: Callable[[], None]
) -> bool | None:
    """Even out the sets; returns whether the plan's copies are proven to be the fewest, None if capacities are exceeded."""
    even_first = goal.objective == "even"
    if goal.balance == "bytes":
        if fits(brokers, placements, chosen, state) == DONE:
            return None
        loads = bytes_of_brokers(brokers, placements, chosen, state)
        exhausted, exchanged = np.zeros(len(brokers), np.bool_), np.zeros(1, np.bool_)
        sizes = placements.bytes_of_each()[chosen]
        steps = 1 + _SCANNED // (len(state.members) + 1)
        for _ in range(4 * len(state.members) // steps + 1):
            if balance_bytes(state, sizes, loads, brokers.capacity_bytes, int(even_first), exhausted, exchanged, steps):
                break
            check()
        return False
    optimal = improve(state, even_first=even_first, check=check)
    if goal.per_topic:
        even_out_topics(state, placements.topics[chosen], check)
    moves = fits(brokers, placements, chosen, state)
    if moves == DONE:
        return None
    return optimal and moves == 0
