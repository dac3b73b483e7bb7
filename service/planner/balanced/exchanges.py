"""The most loaded member exchanges partitions with others, as long as the worse of two loads becomes better.

A step of one in ten thousand counts: a member whose one heavy partition sets the bound gives up many light ones.
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s

# What is to be shared out where partitions have weights or members capacities.

MOST_UNITS: Final = 1 << 50
"""Units that the total of weights becomes where they are not integers, so that sums are exact."""


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


def units_of(weights: Float64s) -> tuple[Int64s, float]:
    """The weights as integers, int64[...], and how many units a weight of 1 has."""
    total = float(weights.sum())
    if total < MOST_UNITS and (weights == np.floor(weights)).all():
        return weights.astype(np.int64), 1.0
    scale = MOST_UNITS / total if total else 1.0
    return np.rint(weights * scale).astype(np.int64), scale


@inner_kernel
def reads(items: Items, topic: int, member: int) -> bool:
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


LOOK_UP: Final = 8
"""Steps that it takes to find out whether a member reads an item."""

WORTHWHILE: Final = 0.9999
"""Partitions are only exchanged if the worse of two loads becomes less than this share of what it was."""


@kernel
def exchange(items: Items, holders: Int32s, loads: Int64s, left: Int64s, settled: Bools, again: Bools, steps: int) -> bool:
    """Improve the most loaded members, one after the other, for a number of steps; is there nothing left to improve?

    holders, loads : updated
    left : int64[1], how many more items may leave their owners; updated
    settled : bool[members], those that cannot be improved; again : bool[1], was anything improved since the first? Both updated
    """
    sizes = np.zeros(len(loads), np.int64)
    for holder in holders:
        sizes[holder] += 1
    room = np.empty((2, len(holders)), np.int32)
    first, following = lists(holders, len(loads))
    while steps > 0:
        worst, most = NONE, -1.0  # the member with the largest load ÷ capacity that is not settled
        for member in range(len(loads)):
            ratio = loads[member] / items.capacities[member]
            if not settled[member] and ratio > most:
                most, worst = ratio, member
        steps -= len(loads)
        if worst == NONE and not again[0]:
            return True
        if worst == NONE:
            settled[:] = False
            again[0] = False
            continue
        given, taken, other, took = _best_exchange(items, worst, loads, left[0], sizes, first, following, room)
        steps -= took
        if other == NONE:
            settled[worst] = True
            continue
        again[0] = True
        left[0] -= _moves(items, given, worst, other) + (0 if taken == NONE else _moves(items, taken, other, worst))
        _hand(items, given, worst, other, holders, loads, first, following)
        sizes[worst] -= 1
        sizes[other] += 1
        if taken != NONE:
            _hand(items, taken, other, worst, holders, loads, first, following)
            sizes[worst] += 1
            sizes[other] -= 1
    return False


@inner_kernel
def _best_exchange(
    items: Items, worst: int, loads: Int64s, left: int, sizes: Int64s, first: Int32s, following: Int32s, room: Int32s
) -> tuple[int, int, int, int]:
    """What a member gives, what it takes or NONE, with whom, and the steps it took to find out; NONE if nothing is worthwhile.

    left : how many more items may leave their owners
    sizes : int64[members], the items of each; first, following : as of ``lists``; room : int32[2, items], scratch
    """
    ours, theirs = room[0], room[1]
    one_kind = items.kinds.max() == 0 and len(items.readers_of) == 2
    here = _eligible(items, first[worst], following, worst, ours)
    steps = sizes[worst]
    best = WORTHWHILE * loads[worst] / items.capacities[worst]
    given, taken, other = NONE, NONE, NONE
    for member in range(len(loads)):
        # What both have together, shared ideally: no exchange between them is better.
        ideal = (loads[worst] + loads[member]) / (items.capacities[worst] + items.capacities[member])
        if ideal < best:
            if not one_kind:
                here = _eligible(items, first[worst], following, member, ours)
                steps += LOOK_UP * sizes[worst] + (LOOK_UP - 1) * sizes[member]
            there = _eligible(items, first[member], following, worst, theirs)
            steps += sizes[worst] + 2 * sizes[member]
            ratio, one, two = _closest(items, ours[:here], theirs[:there], loads, left, worst, member)
            if ratio < best:
                best, given, taken, other = ratio, one, two, member
    return given, taken, other, steps


@inner_kernel
def _moves(items: Items, item: int, source: int, target: int) -> int:
    """How many more items are away from their owners once this one has gone from source to target: -1, 0 or 1."""
    owner = items.owners[item]
    return 0 if owner == NONE else int(target != owner) - int(source != owner)


@inner_kernel
def lists(holders: Int32s, members: int) -> tuple[Int32s, Int32s]:
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
    topic, may_have = NONE, False
    while item != NONE:
        if items.topics[item] != topic:
            topic = items.topics[item]
            may_have = reads(items, topic, member)
        if may_have:
            room[count] = item
            count += 1
        item = following[item]
    return count


@inner_kernel
def _closest(
    items: Items, ours: Int32s, theirs: Int32s, loads: Int64s, left: int, worst: int, member: int
) -> tuple[float, int, int]:
    """The item to give, and the one to take or NONE, after which the worse of the two is least loaded; and that ratio.

    ours, theirs : items that may change hands, heaviest first; left : how many more may leave their owners
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
                if left < 2:
                    moves = _moves(items, ours[near], worst, member)
                    if place < len(theirs):
                        moves += _moves(items, theirs[place], member, worst)
                    if moves > left:
                        continue
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
