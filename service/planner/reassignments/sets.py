"""The state that the kernels work on, from brokers and placements."""

from fractions import Fraction
from math import lcm
from typing import Final

import numpy as np

from service.core.model import NONE, Bools, Bytes, Float64s, Int32s, Int64s, Ragged, indices_in, offsets_of
from service.core.ragged import taken
from service.planner.reassignments.model import NO_LIMIT, Brokers, Pins, Placements
from service.planner.reassignments.permits import Permits, Reach, reach
from service.planner.reassignments.search.exchanges import (
    ANY_RACK,
    CHOICES,
    COMES,
    EVERY_RACK,
    LIMITED,
    ONE_PER_RACK,
    PINNED,
    ReplicaSets,
)

_LARGEST_WEIGHT: Final = 2**30
"""Times twice the replicas of a broker, this stays within int64."""


def integer_weights(weights: Float64s) -> Int64s:
    """int64[brokers], integers in the same ratios. Exact if they fit into 30 bits, as 1, 2.5 and 0.1 do; otherwise rounded."""
    if (weights == weights[:1]).all():
        return np.ones(len(weights), np.int64)
    exact = [Fraction(repr(weight)) for weight in weights.tolist()]
    denominator = lcm(*(weight.denominator for weight in exact))
    largest = max(exact)
    if largest * denominator > _LARGEST_WEIGHT:
        return np.array([max(1, round(weight / largest * _LARGEST_WEIGHT)) for weight in exact], np.int64)
    return np.array([int(weight * denominator) for weight in exact], np.int64)


def homes_of(brokers: Brokers, placements: Placements, chosen: Int32s, *, hold: bool) -> tuple[Ragged, Bools, Int64s]:
    """The homes of these partitions; which of them are pinned, bool[homes]; how many pins are copies, int64[partitions].

    A replica on a replaced broker has the broker that replaces it as its home, and has to go there; not if the partition has one
    there already, or is to lose a replica.

    hold : pin what is on a broker that replaces another too: so a second plan, or one made halfway, leaves it there
    """
    rows = taken(placements.replicas, chosen)
    row = rows.row_of_each_value()
    keeps = (placements.replication_factors[chosen] >= rows.lengths())[row]
    target = brokers.replaced_by[rows.values]
    moves = (target != NONE) & keeps
    if moves.any():
        present = row.astype(np.int64) * len(brokers) + rows.values
        moves &= ~np.isin(row.astype(np.int64) * len(brokers) + target, present)
    pinned = moves
    if hold:
        replaces = brokers.replaced_by[brokers.replaced_by != NONE]
        pinned = moves | (np.isin(rows.values, replaces) & keeps)
    homes = np.where(moves, target, rows.values).astype(np.int32)
    return Ragged(rows.offsets, homes), pinned, np.bincount(row[moves], minlength=len(chosen))


def with_pins(pins: Pins, chosen: Int32s, homes: Ragged, pinned: Bools, copies: Int64s) -> tuple[Ragged, Bytes]:
    """The homes with those of the pins, and what holds of each, see ``ReplicaSets``; adds what pins copy to ``copies``."""
    rows = indices_in(chosen, pins.partitions)
    rows, targets = rows[rows != NONE], pins.brokers[rows != NONE]
    holds, width = pinned.astype(np.uint8), 1 + int(max(homes.values.max(initial=0), targets.max(initial=0)))
    places = indices_in(
        *(row.astype(np.int64) * width + of for row, of in ((homes.row_of_each_value(), homes.values), (rows, targets)))
    )
    there = places != NONE
    holds[places[there]] = PINNED
    rows, targets = rows[~there], targets[~there]
    np.add.at(copies, rows, 1)
    ends, extra = homes.offsets[1:][rows], np.bincount(rows, minlength=len(chosen))
    return Ragged(homes.offsets + offsets_of(extra), np.insert(homes.values, ends, targets)), np.insert(holds, ends, COMES)


def replica_state(
    brokers: Brokers, placements: Placements, chosen: Int32s, racks_rule: str, *, hold: bool
) -> tuple[ReplicaSets, Int64s]:
    """The sets of these partitions, not yet filled, and how many replicas of each are pinned to another broker.

    The loads are those of the excluded partitions. racks_rule : as in Goal; hold : as in ``homes_of``
    """
    factors = placements.replication_factors[chosen]
    homes, pinned, copies = homes_of(brokers, placements, chosen, hold=hold)
    holds, permits = pinned.astype(np.uint8), Permits.of(brokers, placements)
    if placements.pins is not None:
        homes, holds = with_pins(placements.pins, chosen, homes, pinned, copies)
    within = reach(permits, chosen, (homes.offsets, homes.values), factors)
    rules = np.full(len(chosen), {"none": ANY_RACK, "spread": LIMITED, "strict": ONE_PER_RACK}[racks_rule], np.int8)
    if racks_rule == "strict":
        rules[factors > within.racks] = EVERY_RACK
    excluded = taken(placements.replicas, np.flatnonzero(placements.excluded).astype(np.int32))
    loads = np.bincount(excluded.values, minlength=len(brokers))
    state = _state(
        brokers,
        offsets_of(factors),
        homes,
        holds,
        rules,
        within,
        (permits.sets[chosen], permits.keeps, permits.receives),
        Ragged(np.zeros(1, np.int32), np.empty(0, np.int32)),
        loads,
        np.where(brokers.usable, brokers.max_replicas, NO_LIMIT),
    )
    return state, copies


def leader_state(brokers: Brokers, choices: Ragged, leaders: Int32s, loads: Int64s) -> ReplicaSets:
    """Leaders as sets of one. leaders : int32[partitions], those that need no change, or NONE; loads : of other partitions"""
    homes = leaders[leaders != NONE]
    offsets = offsets_of(leaders != NONE)
    count = len(leaders)
    nothing, usable = np.zeros(count, np.int32), brokers.usable[None, :]
    return _state(
        brokers,
        np.arange(count + 1, dtype=np.int32),
        Ragged(offsets, homes),
        np.zeros(len(homes), np.uint8),
        np.full(count, CHOICES, np.int8),
        Reach(nothing, nothing, nothing),
        (nothing, usable, usable),
        choices,
        loads,
        np.full(len(brokers), NO_LIMIT, np.int64),
    )


def _state(
    brokers: Brokers,
    offsets: Int32s,
    homes: Ragged,
    holds: Bytes,
    rules: np.ndarray,  # type: ignore[type-arg]
    within: Reach,
    permits: tuple[Int32s, Bools, Bools],
    choices: Ragged,
    loads: Int64s,
    most: Int64s,
) -> ReplicaSets:
    count, places = len(brokers), int(offsets[-1])
    low, high, base = np.zeros((3, count), np.int64)
    after, before = np.full((2, places), NONE, np.int32)
    return ReplicaSets(
        offsets,
        np.full(places, NONE, np.int32),
        homes.offsets,
        homes.values,
        holds,
        rules,
        within.racks,
        within.levels,
        choices.offsets,
        choices.values,
        brokers.racks(),
        brokers.usable,
        *permits,
        loads.astype(np.int64),
        most.copy(),
        integer_weights(brokers.weights),
        low,
        high,
        base,
        np.array([0, 1], np.int64),
        np.full(count, NONE, np.int32),
        after,
        before,
        np.empty(places, np.int32),
        np.zeros((3, count, count), np.int32),
        np.zeros((count, count), np.int8),
        np.zeros(1, np.bool_),
        np.zeros(1, np.int64),
    )
