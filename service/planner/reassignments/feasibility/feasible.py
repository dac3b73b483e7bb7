"""Sets that keep all hard rules and copy as little as they can, or the reason why there are none; and pins."""

from dataclasses import dataclass, replace

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Int32s, Int64s
from service.planner.reassignments.evenness import band
from service.planner.reassignments.feasibility.packing import (
    IMPOSSIBLE,
    MOST_CELLS,
    MOST_NODES,
    PACKED,
    UNKNOWN,
    Effort,
    Formulas,
    PackingProgram,
    Space,
    pack,
    solve,
)
from service.planner.reassignments.feasibility.start import keep_and_fill, pairs_of, pin
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Pins, Placements, bytes_on
from service.planner.reassignments.search.byte_balance import EXCEEDED, count_touched, fit_capacities
from service.planner.reassignments.search.exchanges import (
    DONE,
    LIMITED,
    MORE,
    ONE_PER_RACK,
    ReplicaSets,
    in_turns,
    link,
    link_last_first,
    list_exchanges,
    rack_limit,
)
from service.planner.reassignments.search.paths import relieve_all
from service.planner.reassignments.sets import replica_state


@dataclass(frozen=True)
class Attempt:
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
    brokers: Brokers, placements: Placements, goal: Goal, chosen: Int32s, *, paid: bool = False, hold: bool = False
) -> Attempt:
    """Sets with the fewest copies for these partitions.

    paid : with all exchanges listed, for whatever comes next; hold : as in ``homes_of``
    """
    if placements.replication_factors[chosen].max(initial=0) > np.count_nonzero(brokers.usable):
        return Attempt(None, np.zeros(len(chosen), np.int64), feasible=False)
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=hold)
    if not keep_and_fill(state, copies):
        return Attempt(None, copies, feasible=False)
    pins_kept = _pins_kept(state)
    link(state)
    state.paid[0] = paid
    list_exchanges(state)
    result = relieve_all(state)
    return Attempt(state, copies, feasible=result == DONE and pins_kept, proven=result != MORE)


@kernel
def _pins_kept(s: ReplicaSets) -> bool:
    """Is every pinned home in its set, and are no more on its rack than the rule allows?"""
    for partition in range(len(s.offsets) - 1):
        for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
            if not s.holds[i]:
                continue
            kept, on_rack = False, 0
            for j in range(s.offsets[partition], s.offsets[partition + 1]):
                kept |= s.members[j] == s.homes[i]
                on_rack += s.racks[s.members[j]] == s.racks[s.homes[i]]
            rule = s.rules[partition]
            crowded = rule == LIMITED and on_rack > rack_limit(s, partition, s.racks[s.homes[i]])
            if not kept or crowded or (rule == ONE_PER_RACK and on_rack > 1):
                return False
    return True


def bytes_of_brokers(brokers: Brokers, placements: Placements, chosen: Int32s, state: ReplicaSets) -> Int64s:
    """int64[brokers], the bytes of the sets and of what is excluded."""
    sizes = placements.bytes_of_each()
    loads = bytes_on(placements.replicas, np.where(placements.excluded, sizes, 0), len(brokers))
    np.add.at(loads, state.members, np.repeat(sizes[chosen], np.diff(state.offsets)))
    return loads


def packed(brokers: Brokers, placements: Placements, chosen: Int32s, state: ReplicaSets, effort: Effort) -> int:
    """Bring the sets below ``capacity_bytes`` where ``fits`` did not succeed. PACKED, IMPOSSIBLE or UNKNOWN, see ``packing``."""
    loads = bytes_of_brokers(brokers, placements, chosen, state)
    space = Space(placements.bytes_of_each()[chosen], loads, np.where(brokers.usable, brokers.capacity_bytes, NO_LIMIT))
    return pack(state, brokers, space, effort)


def fits(brokers: Brokers, placements: Placements, chosen: Int32s, state: ReplicaSets) -> int:
    """Bring the sets below ``capacity_bytes``; returns the moves that this took, or EXCEEDED if it did not succeed."""
    if (brokers.capacity_bytes == NO_LIMIT).all():
        return 0
    loads = bytes_of_brokers(brokers, placements, chosen, state)
    if (loads <= brokers.capacity_bytes).all():
        return 0
    sizes, cheap, moves = placements.bytes_of_each()[chosen], count_touched(state), np.zeros(1, np.int64)
    largest_first = np.lexsort((-np.arange(len(chosen)), sizes)).astype(np.int32)
    link_last_first(state, largest_first)
    done = in_turns(state, lambda: fit_capacities(state, sizes, loads, brokers.capacity_bytes, cheap, moves)) == DONE
    link(state)
    return int(moves[0]) if done and (loads <= brokers.capacity_bytes)[brokers.usable].all() else EXCEEDED


def verdict(brokers: Brokers, placements: Placements, goal: Goal, effort: Effort) -> int:
    """PACKED if there is a placement that keeps all rules, IMPOSSIBLE if there is none, UNKNOWN if none was found."""
    pinned = pin(brokers, placements, goal)
    if pinned is None:
        return IMPOSSIBLE
    if goal.only_leaders:
        return PACKED
    found = _verdict(brokers, pinned[0], goal, effort)
    if found == PACKED or pinned[0].pins is None:
        return found
    without = _verdict(brokers, replace(placements, pins=None), goal, effort)
    return IMPOSSIBLE if without == IMPOSSIBLE else UNKNOWN  # other pins may do


def _verdict(brokers: Brokers, placements: Placements, goal: Goal, effort: Effort) -> int:
    """The same with the present pins."""
    chosen = placements.chosen()
    sets = feasible_sets(brokers, placements, goal, chosen)
    if sets.state is None or not sets.feasible:
        return IMPOSSIBLE if sets.proven else UNKNOWN
    cluster = brokers, placements, chosen, sets.state
    return PACKED if fits(*cluster) != EXCEEDED else packed(*cluster, effort)


# Pins with which a small cluster comes within a tolerance, where those of a flow (``topic_leaders``) do not: an integer
# program.
#
# It has the variables and rules of ``packing``, and one more for each partition and broker that may lead it for a pair.


def pins_within(brokers: Brokers, placements: Placements, goal: Goal, tolerance: float) -> Placements | None:
    """The placements with the pins of a placement that keeps all rules and is within the tolerance, with the fewest copies; None
    if none was found, or the cluster is too large.
    """
    least, placements = placements.topic_leaders, replace(placements, pins=None)
    chosen, usable = placements.chosen(), np.flatnonzero(brokers.usable).astype(np.int32)
    cells, width = len(chosen) * len(usable), len(usable)
    if least is None or not 0 < cells <= MOST_CELLS:
        return None
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=False)
    if not keep_and_fill(state, copies):
        return None
    low, high = band(brokers.usable, brokers.weights, state.loads, tolerance)
    state.most[:] = np.minimum(state.most, high)
    loads = bytes_of_brokers(brokers, placements, chosen, state)
    space = Space(placements.bytes_of_each()[chosen], loads, np.where(brokers.usable, brokers.capacity_bytes, NO_LIMIT))
    formulas = PackingProgram(state, space, np.arange(len(chosen), dtype=np.int32), usable, brokers.usable).formulas()
    stays = state.loads - np.bincount(state.members, minlength=len(brokers))
    formulas.low[len(chosen) : len(chosen) + width] = (low - stays)[usable]
    pairs = pairs_of(least, np.repeat(placements.topics[chosen], width), np.tile(usable, len(chosen)))
    cell_of = np.flatnonzero((pairs != NONE) & (formulas.bounds[1] > 0))
    excluded = np.flatnonzero(placements.excluded)
    led_already = pairs_of(least, placements.topics[excluded], placements.replicas.firsts()[excluded])
    lacking = np.maximum(0, least.least - np.bincount(led_already[led_already != NONE], minlength=len(least.least)))
    leads = _leads(formulas, cell_of, pairs[cell_of], lacking, width)
    solved = solve(leads, min(MOST_NODES, Effort().left // len(leads.costs)))
    if solved.x is None:
        return None
    led = cell_of[np.round(solved.x[cells:]) > 0]
    return replace(placements, pins=Pins(chosen[led // width], usable[led % width]))


def _leads(formulas: Formulas, cell_of: Int64s, pairs: Int64s, lacking: Int64s, width: int) -> Formulas:
    """The formulas with a variable for each cell that leads for a pair: where a replica is, at most one of a partition.

    lacking : int64[pairs], how many are to be; width : cells of a partition
    """
    cells, rows, count = len(formulas.costs), len(formulas.low), len(cell_of)
    each, ones = np.arange(count), np.ones(count)
    rows_of = cell_of // width
    partitions = int(rows_of.max(initial=-1)) + 1
    columns = [formulas.entries[0], cells + each, cell_of, cells + each, cells + each]
    at_rows = [formulas.entries[1], rows + each, rows + each, rows + count + rows_of, rows + count + partitions + pairs]
    values = [formulas.entries[2], ones, -ones, ones, ones]
    return Formulas(
        np.append(formulas.costs, np.zeros(count)),
        (np.append(formulas.bounds[0], np.zeros(count)), np.append(formulas.bounds[1], ones)),
        (np.concatenate(columns), np.concatenate(at_rows), np.concatenate(values)),
        np.concatenate([formulas.low, np.full(count + partitions, -np.inf), lacking]),
        np.concatenate([formulas.high, np.zeros(count), np.ones(partitions), lacking]),
    )
