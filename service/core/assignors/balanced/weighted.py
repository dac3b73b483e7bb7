"""The most even loads where partitions have weights or members capacities: the least maximum of load ÷ capacity, then the next.

Whether weights can be split evenly is a hard problem (NP-hard even for two members). So there is a bound that no assignment
beats, a search that mostly comes close to it, and, where that takes few enough steps, a search through all assignments.

*Bound*: the largest of (a) the heaviest partition on its strongest subscriber; (b) for sets of members, the weight of the topics
that only they read ÷ their capacity, for the worst set, which a least cut finds; (c) of the k × members + 1 heaviest partitions,
k + 1 are on one member.

*Search*: a member keeps what it owns, as far as its share by the bound goes, and gives up few heavy partitions rather than
many light ones. The others go, heaviest first, to the member that is then least loaded (Graham's longest processing time).
Then the most loaded member gives a partition to another, or exchanges one, as long as the worse of the two becomes better by
a thousandth. Last, partitions of one weight and with the same subscribers return to their owners where members exchange them
for one another.

Limits are numbers of steps, never a time, so that the same group always has the same answer.

Source: Graham, "Bounds on multiprocessing timing anomalies" (1969).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from service.core.assignors.balanced.exhaustive import Choices, exhaust
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.core.optimize.flows import augment, network

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_UNITS: Final = 1 << 50
"""The total of weights that are not integers becomes so many units, so that sums are exact."""

PIECE_STEPS: Final = 20_000_000
"""Steps of the search between two looks at the time: about half a second."""

MOST_PIECES: Final = 3
"""Pieces of the search."""

LOOK_UP: Final = 8
"""Steps that it takes to find out whether a member reads an item."""

WORTHWHILE: Final = 0.999
"""Partitions are only exchanged if the worse of two loads becomes less than this share of what it was."""

FEWEST_CUTS: Final = 64
"""Cuts after which the bound is as it is."""


class Items(NamedTuple):
    """What is to be shared out, heaviest first, and to whom. Members are in the order of their member_id.

    weights : int64[items]         in units
    topics : int32[items]          the kind of the topic
    owners : int32[items]          the member that may keep it (the first of its claimants), or NONE
    kinds : int32[members]         the kind of each member
    capacities : float64[members], more than 0
    readers_of, readers : kind of topic → kinds of members that subscribe, ascending
    """

    weights: Int64s
    topics: Int32s
    owners: Int32s
    kinds: Int32s
    capacities: Float64s
    readers_of: Int32s
    readers: Int32s


@dataclass(frozen=True)
class Shared:
    """The assignment of items.

    holders : int32[items], the member of each
    bound : the least that the largest load ÷ capacity can be, in units
    exact : were all assignments looked through?
    """

    holders: Int32s
    bound: float
    exact: bool


def units_of(weights: Float64s) -> tuple[Int64s, float]:
    """The weights as integers, int64[...], and how many units a weight of 1 has."""
    total = float(weights.sum())
    if total < MOST_UNITS and (weights == np.floor(weights)).all():
        return weights.astype(np.int64), 1.0
    scale = MOST_UNITS / total if total else 1.0
    return np.rint(weights * scale).astype(np.int64), scale


def share_out(items: Items, choices: Choices | None, check_time: Callable[[], None]) -> Shared:
    """The assignment. choices : only of few items, which are then looked through"""
    bound = least_maximum(items, check_time)
    holders = items.owners.copy()
    loads = _keep(items, holders, bound)
    _spread(items, holders, loads, bound)
    check_time()
    if len(holders):
        state = np.zeros(len(items.kinds), np.bool_), np.zeros(1, np.bool_)
        for _ in range(MOST_PIECES):
            done = _exchange(items, holders, loads, *state, PIECE_STEPS)
            check_time()
            if done:
                break
    _restore(items, holders)
    if choices is None:
        return Shared(holders, bound, exact=False)
    holders, largest, exact = exhaust(items.weights, items.capacities, choices, holders, check_time)
    if largest:
        bound = float((np.bincount(holders, items.weights, len(items.kinds)) / items.capacities).max(initial=0.0))
    return Shared(holders, bound, exact)


# ---- the bound ---------------------------------------------------------------------------------------------------------


def least_maximum(items: Items, check_time: Callable[[], None]) -> float:
    """What the largest load ÷ capacity is at least, in units."""
    weights, capacities = items.weights, items.capacities
    if not len(weights):
        return 0.0
    strongest = np.zeros(int(items.kinds.max()) + 1)
    np.maximum.at(strongest, items.kinds, capacities)
    best = np.maximum.reduceat(strongest[items.readers], items.readers_of[:-1])
    bound = float((weights / best[items.topics]).max())
    members, most = len(capacities), capacities.max()
    sums = np.append(0, np.cumsum(weights))
    for k in range(1, (len(weights) - 1) // members + 1):
        bound = max(bound, float(sums[k * members + 1] - sums[k * members - k]) / most)
        if k == members * 8:  # more of them approach the mean
            break
    return max(bound, _worst_set(items, check_time))


def _worst_set(items: Items, check_time: Callable[[], None]) -> float:
    """The weight of what only a set of members reads ÷ their capacity, for the worst set (Dinkelbach's)."""
    kinds = int(items.kinds.max()) + 1
    topics = len(items.readers_of) - 1
    weights = np.bincount(items.topics, items.weights, topics).astype(np.int64)
    capacities = np.bincount(items.kinds, items.capacities, kinds)
    total = int(weights.sum())
    worst = total / capacities.sum()
    of_topics = np.repeat(np.arange(topics), np.diff(items.readers_of))
    tails = np.concatenate([np.zeros(topics), 1 + of_topics, 1 + topics + np.arange(kinds)]).astype(np.int32)
    heads = np.concatenate([1 + np.arange(topics), 1 + topics + items.readers, np.full(kinds, 1 + topics + kinds)])
    nothing = np.zeros(len(tails), np.int64)
    for _ in range(FEWEST_CUTS):
        room = np.ceil(capacities * worst).astype(np.int64)
        limits = np.concatenate([weights, np.full(len(of_topics), total), room])
        through = network(topics + kinds + 2, tails, heads.astype(np.int32), limits, nothing)
        more, steps = augment(through)
        while more:
            check_time()
            more, steps = augment(through)
        inside = steps[1:-1] >= 0
        if not inside[:topics].any():
            break
        worse = float(weights[inside[:topics]].sum() / capacities[inside[topics:]].sum())
        if worse <= worst:
            break
        worst = worse
    return float(worst)


# ---- the search --------------------------------------------------------------------------------------------------------


@inner_kernel
def _reads(items: Items, topic: int, member: int) -> bool:
    """Does the member subscribe to this kind of topic?"""
    low, high = items.readers_of[topic], items.readers_of[topic + 1]
    kind = items.kinds[member]
    while low < high:
        middle = (low + high) // 2
        if items.readers[middle] < kind:
            low = middle + 1
        else:
            high = middle
    return bool(low < items.readers_of[topic + 1] and items.readers[low] == kind)


@kernel
def _keep(items: Items, holders: Int32s, bound: float) -> Int64s:
    """Take from members what is beyond their share by the bound; int64[members], the loads that remain.

    holders : int32[items], the owner of each; NONE is written where it is taken away

    While a member has too much, it gives the lightest partition that is enough, or if none is, the heaviest: the fewest it can.
    """
    members = len(items.kinds)
    loads = np.zeros(members, np.int64)
    for item in range(len(holders)):
        if holders[item] != NONE:
            loads[holders[item]] += items.weights[item]
    gives = np.full(members, NONE, np.int32)  # the lightest that is enough
    for item in range(len(holders)):
        member = holders[item]
        if member != NONE:
            excess = loads[member] - bound * items.capacities[member]
            if excess > 0:
                if items.weights[item] >= excess:
                    gives[member] = item
                elif gives[member] == NONE:
                    holders[item] = NONE
                    loads[member] -= items.weights[item]
                else:
                    given = gives[member]
                    holders[given] = NONE
                    loads[member] -= items.weights[given]
                    gives[member] = NONE
    for member in range(members):
        given = gives[member]
        if given != NONE and loads[member] > bound * items.capacities[member]:
            holders[given] = NONE
            loads[member] -= items.weights[given]
    return loads


@kernel
def fewest_given(items: Items, most: float) -> int:
    """How many items must leave their owners at least, if no load ÷ capacity may be above ``most``."""
    holders = items.owners.copy()
    _keep(items, holders, most)
    count = 0
    for item in range(len(holders)):
        count += holders[item] != items.owners[item]
    return count


@kernel
def _spread(items: Items, holders: Int32s, loads: Int64s, bound: float) -> None:
    """Give what nobody holds, heaviest first, to the subscriber that is then least loaded; ties to the one with fewer partitions.

    A previous owner gets it back if it is then within the bound. holders, loads : updated
    """
    counts = np.zeros(len(loads), np.int64)
    for holder in holders:
        if holder != NONE:
            counts[holder] += 1
    of_kind, members = _by_kind(items.kinds)
    for item in range(len(holders)):
        if holders[item] != NONE:
            continue
        weight, topic, owner = items.weights[item], items.topics[item], items.owners[item]
        chosen = NONE
        least = np.inf
        if owner != NONE and (loads[owner] + weight) / items.capacities[owner] <= bound:
            chosen = owner
        else:
            for i in range(items.readers_of[topic], items.readers_of[topic + 1]):
                kind = items.readers[i]
                for j in range(of_kind[kind], of_kind[kind + 1]):
                    member = members[j]
                    ratio = (loads[member] + weight) / items.capacities[member]
                    if ratio < least or (ratio == least and counts[member] < counts[chosen]):
                        least, chosen = ratio, member
        holders[item] = chosen
        loads[chosen] += weight
        counts[chosen] += 1


@inner_kernel
def _by_kind(kinds: Int32s) -> tuple[Int32s, Int32s]:
    """The members of each kind, as offsets and members."""
    count = kinds.max() + 1
    offsets = np.zeros(count + 1, np.int32)
    for kind in kinds:
        offsets[kind + 1] += 1
    for kind in range(count):
        offsets[kind + 1] += offsets[kind]
    cursor = offsets[:-1].copy()
    members = np.empty(len(kinds), np.int32)
    for member in range(len(kinds)):
        members[cursor[kinds[member]]] = member
        cursor[kinds[member]] += 1
    return offsets, members


@kernel
def _exchange(items: Items, holders: Int32s, loads: Int64s, settled: Bools, again: Bools, steps: int) -> bool:
    """Improve the most loaded members, one after the other, for so many steps; is there nothing left to improve?

    holders, loads : updated
    settled : bool[members], those that cannot be improved; again : bool[1], was anything improved since the first? Both updated
    """
    sizes = np.zeros(len(loads), np.int64)
    for holder in holders:
        sizes[holder] += 1
    room = np.empty((2, len(holders)), np.int32)
    first, following = _lists(holders, len(loads))
    while steps > 0:
        worst = _most_loaded(items, loads, settled)
        steps -= len(loads)
        if worst == NONE and not again[0]:
            return True
        if worst == NONE:
            settled[:] = False
            again[0] = False
            continue
        given, taken, other, took = _best_exchange(items, worst, loads, sizes, first, following, room)
        steps -= took
        if other == NONE:
            settled[worst] = True
            continue
        again[0] = True
        _hand(items, given, worst, other, holders, loads, first, following)
        sizes[worst] -= 1
        sizes[other] += 1
        if taken != NONE:
            _hand(items, taken, other, worst, holders, loads, first, following)
            sizes[worst] += 1
            sizes[other] -= 1
    return False


@inner_kernel
def _most_loaded(items: Items, loads: Int64s, settled: Bools) -> int:
    """The member with the largest load ÷ capacity that is not settled, or NONE."""
    worst = NONE
    most = -1.0
    for member in range(len(loads)):
        ratio = loads[member] / items.capacities[member]
        if not settled[member] and ratio > most:
            most, worst = ratio, member
    return worst


@inner_kernel
def _best_exchange(
    items: Items, worst: int, loads: Int64s, sizes: Int64s, first: Int32s, following: Int32s, room: Int32s
) -> tuple[int, int, int, int]:
    """What a member gives, what it takes or NONE, with whom, and the steps it took to find out; NONE if nothing is worthwhile.

    sizes : int64[members], the items of each; first, following : as of ``_lists``; room : int32[2, items], scratch
    """
    ours, theirs = room[0], room[1]
    one_kind = items.kinds.max() == 0 and len(items.readers_of) == 2
    here = _eligible(items, first[worst], following, worst, ours)
    steps = sizes[worst]
    ratio_of_worst = loads[worst] / items.capacities[worst]
    best = WORTHWHILE * ratio_of_worst
    given, taken, other = NONE, NONE, NONE
    for member in range(len(loads)):
        if loads[member] / items.capacities[member] < ratio_of_worst:
            if not one_kind:
                here = _eligible(items, first[worst], following, member, ours)
                steps += LOOK_UP * sizes[worst] + (LOOK_UP - 1) * sizes[member]
            there = _eligible(items, first[member], following, worst, theirs)
            steps += sizes[worst] + 2 * sizes[member]
            ratio, one, two = _closest(items, ours[:here], theirs[:there], loads, worst, member)
            if ratio < best:
                best, given, taken, other = ratio, one, two, member
    return given, taken, other, steps


@inner_kernel
def _lists(holders: Int32s, members: int) -> tuple[Int32s, Int32s]:
    """The items of each member, heaviest first, as linked lists: int32[members] the first, int32[items] the following."""
    first = np.full(members, NONE, np.int32)
    following = np.empty(len(holders), np.int32)
    for item in range(len(holders) - 1, -1, -1):
        following[item] = first[holders[item]]
        first[holders[item]] = item
    return first, following


@inner_kernel
def _eligible(items: Items, item: int, following: Int32s, member: int, room: Int32s) -> int:
    """Write the items of a list that the member may have to ``room``; returns how many."""
    count = 0
    topic, reads = NONE, False
    while item != NONE:
        if items.topics[item] != topic:
            topic = items.topics[item]
            reads = _reads(items, topic, member)
        if reads:
            room[count] = item
            count += 1
        item = following[item]
    return count


@inner_kernel
def _closest(items: Items, ours: Int32s, theirs: Int32s, loads: Int64s, worst: int, member: int) -> tuple[float, int, int]:
    """The item to give, and the one to take or NONE, after which the worse of the two is least loaded; and that ratio.

    ours, theirs : items that may change hands, heaviest first
    """
    load, its = loads[worst], loads[member]
    capacity, its_capacity = items.capacities[worst], items.capacities[member]
    ideal = (load * its_capacity - its * capacity) / (capacity + its_capacity)
    best = np.inf
    given, taken = NONE, NONE
    at = 0
    for place in range(len(theirs) + 1):  # lighter and lighter things to take, at last nothing: lighter ones to give
        back = items.weights[theirs[place]] if place < len(theirs) else np.int64(0)
        while at < len(ours) and items.weights[ours[at]] - back > ideal:
            at += 1
        for near in (at - 1, at):
            if 0 <= near < len(ours):
                less = items.weights[ours[near]] - back
                ratio = max((load - less) / capacity, (its + less) / its_capacity)
                if less > 0 and ratio < best:
                    best, given = ratio, ours[near]
                    taken = theirs[place] if place < len(theirs) else NONE
    return best, given, taken


@inner_kernel
def _hand(
    items: Items, item: int, source: int, target: int, holders: Int32s, loads: Int64s, first: Int32s, following: Int32s
) -> None:
    """Hand an item from one member to another."""
    before = NONE
    at = first[source]
    while at != item:
        before, at = at, following[at]
    if before == NONE:
        first[source] = following[item]
    else:
        following[before] = following[item]
    before = NONE
    at = first[target]
    while NONE < at < item:
        before, at = at, following[at]
    following[item] = at
    if before == NONE:
        first[target] = item
    else:
        following[before] = item
    holders[item] = target
    loads[source] -= items.weights[item]
    loads[target] += items.weights[item]


def _restore(items: Items, holders: Int32s) -> None:
    """Let members exchange partitions of one weight and kind of topic so that owners keep as many as they can."""
    if not len(holders):
        return
    classes = np.unique(items.topics.astype(np.int64) << 52 | items.weights, return_inverse=True)[1].astype(np.int32)
    order = np.argsort(classes, kind="stable").astype(np.int32)
    _return(holders, items.owners, order, classes, len(items.kinds))


@kernel
def _return(holders: Int32s, owners: Int32s, order: Int32s, classes: Int32s, members: int) -> None:
    """``_restore``. order : int32[items], items of one class together"""
    room = np.zeros(members, np.int32)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and classes[order[stop]] == classes[order[start]]:
            room[holders[order[stop]]] += 1
            stop += 1
        if stop - start > 1:
            _within(holders, owners, order[start:stop], room)
        for i in range(start, stop):
            room[holders[order[i]]] = 0
        start = stop


@inner_kernel
def _within(holders: Int32s, owners: Int32s, some: Int32s, room: Int32s) -> None:
    """The same within a class. room : int32[members], how many of the class each has; counted down"""
    left = np.empty(len(some), np.int32)  # the members of what is not kept
    kept = np.zeros(len(some), np.bool_)
    for i in range(len(some)):
        owner = owners[some[i]]
        if owner != NONE and room[owner] > 0:
            room[owner] -= 1
            kept[i] = True
    count = 0
    for item in some:
        member = holders[item]
        if room[member] > 0:
            room[member] -= 1
            left[count] = member
            count += 1
    at = 0
    for i in range(len(some)):
        if kept[i]:
            holders[some[i]] = owners[some[i]]
        else:
            holders[some[i]] = left[at]
            at += 1
