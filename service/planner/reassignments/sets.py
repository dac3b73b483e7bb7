"""Replica sets: which brokers may have which partitions, the order of replicas, and the state that the kernels work on."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NO_ROWS, NONE, Bools, Bytes, Float64s, Int32s, Int64s, Ragged, indices_in, offsets_of
from service.core.ragged import taken
from service.planner.reassignments.model import NO_LIMIT, Brokers, BrokerSets, Pins, Placements, bytes_on
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

# The order of a partition's replicas, and what is copied.


def in_order(brokers: Brokers, placements: Placements, chosen: Int32s, state: ReplicaSets) -> Ragged:
    """The sets as lists: a replica that stays keeps its place, and a new one takes the place of one that leaves.

    chosen : int32[...]   the partitions whose sets ``state`` has; the others keep their list
    """
    now = placements.replicas
    lengths = now.lengths()
    lengths[chosen] = np.diff(state.offsets)
    offsets = offsets_of(lengths)
    values = np.empty(offsets[-1], np.int32)
    index = np.full(len(placements), NONE, np.int32)
    index[chosen] = np.arange(len(chosen), dtype=np.int32)
    _order(now.offsets, now.values, index, state.offsets, state.members, brokers.replaced_by, offsets, values)
    return Ragged(offsets, values)


@kernel
def _order(  # noqa: C901 (a kernel)
    now_of: Int32s,
    now: Int32s,
    index: Int32s,
    set_of: Int32s,
    members: Int32s,
    replaced_by: Int32s,
    offsets: Int32s,
    values: Int32s,
) -> None:
    """Fill ``values``. index : int32[partitions]   the row of each partition in ``set_of``, or NONE"""
    for partition in range(len(index)):
        row = index[partition]
        start, end = now_of[partition], now_of[partition + 1]
        if row == NONE:
            values[offsets[partition] : offsets[partition + 1]] = now[start:end]
            continue
        left = members[set_of[row] : set_of[row + 1]].copy()
        lists = now[start:end].copy()
        for i in range(len(lists)):
            if not _take(left, lists[i]):
                target = replaced_by[lists[i]]
                lists[i] = target if target != NONE and _take(left, target) else NONE
        at = offsets[partition]
        following = 0
        for broker in lists:
            if broker == NONE:
                while following < len(left) and left[following] == NONE:
                    following += 1
                if following == len(left):
                    continue
                broker = left[following]  # noqa: PLW2901
                left[following] = NONE
            values[at] = broker
            at += 1
        for broker in left:
            if broker != NONE:
                values[at] = broker
                at += 1


@inner_kernel
def _take(left: Int32s, broker: int) -> bool:
    for i in range(len(left)):
        if left[i] == broker:
            left[i] = NONE
            return True
    return False


def copied(placements: Placements, replicas: Ragged) -> Int64s:
    """int64[partitions], how many brokers of each partition's row it does not have now."""
    return replicas.count(added(placements.replicas, replicas))


def in_sync_after(brokers: Brokers, placements: Placements, replicas: Ragged) -> Bools:
    """bool[values of replicas], those in sync once a reassignment to them is complete.

    Kafka waits until the replicas that are added are in sync, and not for those that stay.
    """
    return added(placements.replicas.where(~placements.in_sync_now(brokers)), replicas)


def added(before: Ragged, after: Ragged) -> Bools:
    """bool[values of after], those that are not in the same row of before."""
    return _added(before.offsets, before.values, after.offsets, after.values)


@kernel
def _added(before_of: Int32s, before: Int32s, after_of: Int32s, after: Int32s) -> Bools:
    result = np.ones(len(after), np.bool_)
    for row in range(len(after_of) - 1):
        for i in range(after_of[row], after_of[row + 1]):
            for j in range(before_of[row], before_of[row + 1]):
                result[i] &= before[j] != after[i]
    return result


def has_room(brokers: Brokers, placements: Placements, replicas: Ragged) -> bool:
    """Do all copies fit on the brokers before anything leaves them, so that no replica needs a detour?"""
    comes = added(placements.replicas, replicas)
    targets, rows, count = replicas.values[comes], replicas.row_of_each_value()[comes], len(brokers)
    ones = np.ones(len(placements), np.int64)
    for weights, limits in ((ones, brokers.max_replicas), (placements.bytes_of_each(), brokers.capacity_bytes)):
        if (limits == NO_LIMIT).all():
            continue
        coming = np.zeros(count, np.int64)
        np.add.at(coming, targets, weights[rows])
        if ((coming > 0) & (bytes_on(placements.replicas, weights, count) + coming > limits)).any():
            return False
    return True


# Which brokers may have which partitions: two relations between sets of partitions and brokers.
#
# A broker *keeps* what it has of a partition unless it is gone, fenced, draining or replaced, or not in the partition's broker
# set. It *receives* replicas if it also is neither cordoned nor left out of the destinations. So a partition may be on the
# brokers that receive it, and on those of its current ones that keep it.


class Permits(NamedTuple):
    """The relations.

    sets : int32[partitions], the row of each
    keeps, receives : bool[sets, brokers]
    racks : int32[brokers]; receiving : int32[sets, racks], the brokers of each rack that receive
    """

    sets: Int32s
    keeps: Bools
    receives: Bools
    racks: Int32s
    receiving: Int32s

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements) -> Permits:
        """The relations of a cluster."""
        limits = placements.broker_sets or BrokerSets(np.zeros(len(placements), np.int32), np.ones((1, len(brokers)), np.bool_))
        keeps = limits.allowed & brokers.usable
        receives, racks = keeps & brokers.receiving, brokers.racks()
        receiving = np.zeros((len(receives), int(racks.max(initial=0)) + 1), np.int32)
        rows, columns = np.nonzero(receives)
        np.add.at(receiving, (rows, racks[columns]), 1)
        return cls(limits.rows, keeps, receives, racks, receiving)

    def kept(self, rows: Ragged) -> Bools:
        """bool[replicas], which may stay where they are. rows : Ragged partition → brokers"""
        return self.keeps[self.sets[rows.row_of_each_value()], rows.values]


class Reach(NamedTuple):
    """How far partitions may spread.

    brokers, racks : int32[partitions], how many each may be on
    levels : int32[partitions]   the least level at which all replicas find a place: no rack has more of them, unless it has
        fewer brokers
    """

    brokers: Int32s
    racks: Int32s
    levels: Int32s


@kernel
def reach(permits: Permits, chosen: Int32s, homes: tuple[Int32s, Int32s], factors: Int32s) -> Reach:
    """The reach of some partitions.

    chosen : int32[...]; homes : Ragged row of ``chosen`` → its current brokers, as offsets and values
    factors : int32[...], the replicas that each is to have
    """
    count = len(chosen)
    of_brokers, of_racks, levels = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    on_rack = np.zeros(permits.receiving.shape[1], np.int64)
    at, factor, special = -1, -1, True  # the set and factor of the row before; was one of its homes counted in?
    for row in range(count):
        row_set = permits.sets[chosen[row]]
        extra = 0
        for i in range(homes[0][row], homes[0][row + 1]):
            extra += permits.keeps[row_set, homes[1][i]] and not permits.receives[row_set, homes[1][i]]
        if row_set == at and factors[row] == factor and extra == 0 and not special:
            of_brokers[row], of_racks[row], levels[row] = of_brokers[row - 1], of_racks[row - 1], levels[row - 1]
            continue
        at, factor, special = row_set, factors[row], extra > 0
        for rack in range(len(on_rack)):
            on_rack[rack] = permits.receiving[row_set, rack]
        for i in range(homes[0][row], homes[0][row + 1]):
            if permits.keeps[row_set, homes[1][i]] and not permits.receives[row_set, homes[1][i]]:
                on_rack[permits.racks[homes[1][i]]] += 1
        level = placed = 0
        while level < factor and placed < factor:
            level, placed = level + 1, 0
            for rack in range(len(on_rack)):
                placed += min(on_rack[rack], level)
        of_brokers[row], of_racks[row], levels[row] = on_rack.sum(), np.count_nonzero(on_rack), level
    return Reach(of_brokers, of_racks, levels)


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
    moves = (target != NONE) & keeps & added(rows, Ragged(rows.offsets, target))
    pinned = moves
    if hold:
        replaces = brokers.replaced_by[brokers.replaced_by != NONE]
        pinned = moves | (np.isin(rows.values, replaces) & keeps)
    homes = np.where(moves, target, rows.values).astype(np.int32)
    return Ragged(rows.offsets, homes), pinned, rows.count(moves)


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
    now = placements.replicas
    loads = np.bincount(now.values[placements.excluded[now.row_of_each_value()]], minlength=len(brokers))
    state = _state(
        brokers,
        offsets_of(factors),
        homes,
        holds,
        rules,
        within,
        (permits.sets[chosen], permits.keeps, permits.receives),
        NO_ROWS,
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
