"""Sets that keep all hard rules and copy as little as they can; or the reason why there are none."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from service.core.kernels import kernel
from service.core.model import Int32s, Int64s
from service.core.reassignments.byte_balance import EXCEEDED, byte_loads, fit_capacities
from service.core.reassignments.exchanges import ONE_PER_RACK, ReplicaSets, link, list_exchanges
from service.core.reassignments.improvement import relieve_all
from service.core.reassignments.model import NO_LIMIT, Brokers, Goal, Placements
from service.core.reassignments.packing import Effort, Space, pack
from service.core.reassignments.sets import replica_state, rows_of
from service.core.reassignments.start import keep_and_fill
from service.core.reassignments.turns import DONE, MORE, in_turns


@dataclass(frozen=True)
class Sets:
    """An attempt.

    state : the sets; None if a partition has more replicas than there are brokers for it
    copies : int64[partitions of the state]   the fewest copies of each partition that is alone in the cluster
    feasible : whether the sets keep all rules but capacities
    proven : if they do not, whether none do
    """

    state: ReplicaSets | None
    copies: Int64s
    feasible: bool
    proven: bool = True


def feasible_sets(
    brokers: Brokers,
    placements: Placements,
    goal: Goal,
    chosen: Int32s,
    check: Callable[[], None],
    *,
    paid: bool = False,
    hold: bool = False,
) -> Sets:
    """Sets with the fewest copies for these partitions.

    paid : with all exchanges listed, for whatever comes next; hold : as in ``homes_of``
    """
    factors = placements.replication_factors[chosen]
    usable = brokers.usable
    if factors.max(initial=0) > np.count_nonzero(usable):
        return Sets(None, np.zeros(len(chosen), np.int64), feasible=False)
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=hold)
    if not keep_and_fill(state, len(np.unique(brokers.racks()[usable])), copies, check):
        return Sets(None, copies, feasible=False)
    pins_kept = _pins_kept(state)
    link(state)
    state.paid[0] = paid
    list_exchanges(state, check)
    result = relieve_all(state, check)
    return Sets(state, copies, feasible=result == DONE and pins_kept, proven=result != MORE)


@kernel
def _pins_kept(s: ReplicaSets) -> bool:
    """Is every pinned home in its set, and no two of them on one rack if that is against the rule?"""
    for partition in range(len(s.offsets) - 1):
        for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
            if not s.pinned[i]:
                continue
            kept, on_rack = False, 0
            for j in range(s.offsets[partition], s.offsets[partition + 1]):
                kept |= s.members[j] == s.homes[i]
                on_rack += s.racks[s.members[j]] == s.racks[s.homes[i]]
            if not kept or (s.rules[partition] == ONE_PER_RACK and on_rack > 1):
                return False
    return True


def bytes_of_brokers(brokers: Brokers, placements: Placements, chosen: Int32s, state: ReplicaSets) -> Int64s:
    """int64[brokers], the bytes of the sets and of what is excluded."""
    sizes = placements.bytes_of_each()
    excluded = np.flatnonzero(placements.excluded).astype(np.int32)
    rows = rows_of(placements.replicas, excluded)
    loads = np.zeros(len(brokers), np.int64)
    np.add.at(loads, rows.values, sizes[excluded][rows.row_of_each_value()])
    byte_loads(state, sizes[chosen], loads)
    return loads


def packed(
    brokers: Brokers,
    placements: Placements,
    chosen: Int32s,
    state: ReplicaSets,
    effort: Effort,
    check: Callable[[], None],
) -> int:
    """Bring the sets below ``capacity_bytes`` where ``fits`` did not succeed. PACKED, IMPOSSIBLE or UNKNOWN, see ``packing``."""
    loads = bytes_of_brokers(brokers, placements, chosen, state)
    space = Space(placements.bytes_of_each()[chosen], loads, np.where(brokers.usable, brokers.capacity_bytes, NO_LIMIT))
    return pack(state, brokers, space, effort, check)


def fits(brokers: Brokers, placements: Placements, chosen: Int32s, state: ReplicaSets, check: Callable[[], None]) -> int:
    """Bring the sets below ``capacity_bytes``; returns the moves that this took, or EXCEEDED if it did not succeed."""
    if (brokers.capacity_bytes == NO_LIMIT).all():
        return 0
    loads = bytes_of_brokers(brokers, placements, chosen, state)
    sizes, moves = placements.bytes_of_each()[chosen], np.zeros(1, np.int64)
    done = in_turns(state, lambda: fit_capacities(state, sizes, loads, brokers.capacity_bytes, moves), check) == DONE
    return int(moves[0]) if done and (loads <= brokers.capacity_bytes)[brokers.usable].all() else EXCEEDED
