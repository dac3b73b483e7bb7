"""Sets and leaders that even out several resources: from a goal to the arrays of ``balance``, and back."""

from typing import Final

import numpy as np

from service.core.model import NONE, Bools, Int32s, Ragged
from service.core.ragged import taken
from service.planner.reassignments.feasibility.feasible import bytes_of_brokers
from service.planner.reassignments.leaders import elect, with_leaders
from service.planner.reassignments.model import Brokers, Goal, Placements
from service.planner.reassignments.order import copied, has_room, in_order
from service.planner.reassignments.resources.balance import ANY_COPIES, even_out_resources
from service.planner.reassignments.resources.loads import COUNTS, Loads, band_of
from service.planner.reassignments.resources.state import Resources
from service.planner.reassignments.resources.swaps import stay_on_racks
from service.planner.reassignments.search.exchanges import ReplicaSets, link
from service.planner.reassignments.sets import replica_state
from service.planner.reassignments.topic_leaders import spare_leaders

_LEAST: Final = 1e-5
"""What a step that copies gains at least, as a share of the sum of one broker if all is even; less if half a replica is less."""

_NEAR: Final = 1e-9
"""A load this near to a band, as a share, is within it."""


def even_out_replicas(
    brokers: Brokers, placements: Placements, goal: Goal, chosen: Int32s, state: ReplicaSets
) -> tuple[Ragged, Bools]:
    """Even out the sets, which keep the rules, and choose leaders. The replicas, leaders first, and who is outside the tolerance.

    chosen : int32[partitions of the state]
    """
    before = elect(brokers, placements, in_order(brokers, placements, chosen, state), "keep")
    loads = Loads.of(brokers, placements, goal, before)
    resources = _resources(brokers, placements, goal, chosen, state, before, loads)
    priorities = len(goal.resources)
    copies = ANY_COPIES if goal.objective == "even" else 0
    even_out_resources(state, resources, range(priorities), copies)
    if goal.tolerance is not None:
        even_out_resources(state, resources, range(priorities, 2 * priorities), 0)

    def now() -> tuple[Ragged, Int32s, Bools]:
        above, below = resources.loads > resources.high[0] * (1 + _NEAR), resources.loads < resources.low[0] * (1 - _NEAR)
        outside = ((above | below) & (resources.shares[0] > 0)).any(axis=1) & brokers.usable & (goal.tolerance is not None)
        return in_order(brokers, placements, chosen, state), resources.leaders.copy(), outside

    after, led, outside = now()
    if stay_on_racks(state, resources, brokers.listed):
        on_racks = now()
        if has_room(brokers, placements, on_racks[0]):
            after, led, outside = on_racks
    leaders = before.firsts().copy()
    leaders[chosen] = led
    return with_leaders(brokers, placements, after, leaders, goal.leaders), outside


def even_out_leaders(brokers: Brokers, placements: Placements, goal: Goal) -> Ragged:
    """The replicas where they are, with the leaders that even out the resources."""
    chosen = placements.chosen()
    state, _ = replica_state(brokers, placements, chosen, "none", hold=False)
    state.members[:] = taken(placements.replicas, chosen).values
    state.loads[:] = np.bincount(placements.replicas.values, minlength=len(brokers))
    link(state)
    return even_out_replicas(brokers, placements, goal, chosen, state)[0]


def _resources(
    brokers: Brokers, placements: Placements, goal: Goal, chosen: Int32s, state: ReplicaSets, replicas: Ragged, loads: Loads
) -> Resources:
    """replicas, loads : of the sets, with leaders first"""
    scales, count = loads.scales(brokers), len(brokers)
    weights = np.array([weight for level in goal.resources for _, weight in level])
    factors = np.divide(weights, scales, out=np.zeros(len(scales)), where=scales > 0)
    of_one = np.where(np.isin(loads.names, COUNTS) & (factors > 0), factors, np.inf) / brokers.weights.max(initial=1.0)
    ends = np.cumsum([len(level) for level in goal.resources])
    columns = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)
    least = np.array(
        [
            min(_LEAST / max(1, int(np.count_nonzero(brokers.usable))), float(of_one[first:end].min()) / 2)
            for first, end in columns.tolist()
        ]
    )
    banded = np.zeros(len(columns), np.bool_)
    low, high = np.zeros((2, count, len(scales)))
    if goal.tolerance is not None:
        bands = [band_of(brokers, name, loads.totals[:, i], goal.tolerance) for i, name in enumerate(loads.names)]
        low, high = (np.stack([each[i] for each in bands], axis=1) for i in (0, 1))
        columns, least = np.concatenate([columns, columns]), np.concatenate([least, least])
        banded = np.concatenate([~banded, banded])
    of_each = (len(columns), count, len(scales))
    leaders = replicas.firsts()[chosen]
    may_lead = brokers.usable & ~brokers.demoted
    now = placements.replicas.firsts()[chosen]
    copies = copied(placements, replicas)
    sizes = placements.bytes_of_each()
    return Resources(
        leaders.astype(np.int32),
        np.stack([np.stack([each.follower[chosen], each.leader[chosen]]) for each in loads.parts], axis=2),
        loads.totals.copy(),
        columns.astype(np.int64),
        banded,
        np.broadcast_to(factors / brokers.weights[:, None], of_each).copy(),
        np.broadcast_to(low, of_each).copy(),
        np.broadcast_to(high, of_each).copy(),
        least,
        sizes[chosen],
        bytes_of_brokers(brokers, placements, chosen, state),
        brokers.capacity_bytes.astype(np.int64),
        may_lead,
        np.where(may_lead[now], now, NONE).astype(np.int32),
        *spare_leaders(brokers, placements, chosen, replicas),
        np.array([not goal.only_leaders, goal.leaders != "keep"]),
        np.array([copies.sum(), copies @ sizes], np.int64),
        goal.limits(),
        np.zeros(len(loads.names)),
    )
