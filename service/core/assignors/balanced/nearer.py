"""Partitions with weights are exchanged for ones about as heavy, so that more are read on the reader's rack.

A partition that is read elsewhere goes to a member on a rack of its replicas, for a partition of that member. No more partitions
move, no load ÷ capacity grows beyond the largest, and none by more than a ten-thousandth. Partitions are in the order of their
weights, so those that are about as heavy are next to each other. Each exchange reads more nearby, so there is an end; before it
the number of steps is limited.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from service.core.assignors.balanced.items import Items, reads
from service.core.assignors.classic.racks import on_rack
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s

MOST_STEPS: Final = 4_000_000
"""Partitions that are looked at, in all: less than half a second."""

FEWEST_LOOKS: Final = 64
"""Partitions that are looked at for each that is read elsewhere, while there are steps."""

LOOKED_UP: Final = 8
"""Racks and claimants of partitions that are looked up in a step."""

GROWTH: Final = 10_000
"""A load may grow by one part of so many."""


class Places(NamedTuple):
    """Where items and members are, and what moves.

    racks_of, racks : item → racks of its replicas, of those on which a member subscribes to its topic
    member_racks : int32[members], or NONE
    claimants_of, claimants : item → members that claim and read it
    claimed : bool[items], does any member claim it?
    """

    racks_of: Int32s
    racks: Int32s
    member_racks: Int32s
    claimants_of: Int32s
    claimants: Int32s
    claimed: Bools


@kernel
def draw_near(items: Items, places: Places, holders: Int32s, loads: Int64s, steps: int) -> None:
    """Exchange items so that more are near their holders. holders, loads : updated; steps : at most so many

    Plain-Python twin: tests/reference/balanced_groups.py.
    """
    most = (loads / items.capacities).max()
    strongest = items.capacities.max()
    limits = loads + loads // GROWTH
    improved = True
    while improved and steps > 0:
        improved = False
        growth, least = (limits - loads).max(), loads.min()  # of any member
        far, away = _away(places, holders)
        steps -= 2 * len(holders)
        for item in range(len(holders)):
            if steps <= 0:
                break
            if not _may_gain(places, item, holders[item], away):
                continue
            looks = max(FEWEST_LOOKS, steps // max(far, 1))
            ratio = loads[holders[item]] / items.capacities[holders[item]]
            room = int(max(growth, ratio * strongest - least))
            other, took = _partner(items, places, holders, loads, limits, most, room, item, looks)
            steps -= took
            if other != NONE:
                improved = True
                difference = items.weights[item] - items.weights[other]
                loads[holders[item]] -= difference
                loads[holders[other]] += difference
                holders[item], holders[other] = holders[other], holders[item]
                for member in (holders[item], holders[other]):
                    growth, least = max(growth, limits[member] - loads[member]), min(least, loads[member])


@inner_kernel
def _away(places: Places, holders: Int32s) -> tuple[int, Int32s]:
    """How many items may gain, and how many of those that a member claims have gone to others: int32[members]."""
    away = np.zeros(len(places.member_racks), np.int32)
    for item in range(len(holders)):
        if _moves(places, item, holders[item]):
            for i in range(places.claimants_of[item], places.claimants_of[item + 1]):
                away[places.claimants[i]] += 1
    far = 0
    for item in range(len(holders)):
        far += _may_gain(places, item, holders[item], away)
    return far, away


@inner_kernel
def _may_gain(places: Places, item: int, member: int, away: Int32s) -> bool:
    """Is the item read elsewhere though it could be read nearby, and may its holder give it?

    What moves if it goes may only go for what comes back; away : of ``_away``
    """
    if places.racks_of[item] == places.racks_of[item + 1] or _is_near(places, item, member):
        return False
    claimants = places.claimants_of[item + 1] - places.claimants_of[item]
    return claimants != 1 or _moves(places, item, member) > 0 or away[member] > 0


@inner_kernel
def _partner(
    items: Items,
    places: Places,
    holders: Int32s,
    loads: Int64s,
    limits: Int64s,
    most: float,
    room: int,
    item: int,
    looks: int,
) -> tuple[int, int]:
    """The item closest in weight that may be exchanged for this one, or NONE; and the steps it took to find out.

    limits : int64[members], how large each load may be; most : a load ÷ capacity; room : how much a load may grow at most
    """
    heavier, lighter = item - 1, item + 1
    own = np.int64(most * items.capacities[holders[item]]) - loads[holders[item]]
    width = _width(places, item)
    took = 0
    while took < looks:
        more = items.weights[heavier] - items.weights[item] if heavier >= 0 else own + 1
        less = items.weights[item] - items.weights[lighter] if lighter < len(holders) else room + 1
        if more > own and less > room:
            break
        if less > room or (more <= own and (more < less or (more == less and item - heavier <= lighter - item))):
            other = heavier
            heavier -= 1
        else:
            other = lighter
            lighter += 1
        took += 1 + (width + _width(places, other)) // LOOKED_UP
        if _may_exchange(items, places, holders, loads, limits, most, item, other):
            return other, took
    return NONE, took


@inner_kernel
def _may_exchange(
    items: Items, places: Places, holders: Int32s, loads: Int64s, limits: Int64s, most: float, item: int, other: int
) -> bool:
    """Is it right to exchange an item that is not near its holder for another?"""
    member, its = holders[item], holders[other]
    if member == its or not _is_near(places, item, its):
        return False
    if _is_near(places, other, its) and not _is_near(places, other, member):
        return False
    difference = items.weights[item] - items.weights[other]
    grows, falls = (its, member) if difference > 0 else (member, its)
    load = loads[grows] + abs(difference)
    ratio = load / items.capacities[grows]
    if ratio > most or (load > limits[grows] and ratio > loads[falls] / items.capacities[falls]):
        return False
    moves = _moves(places, item, its) + _moves(places, other, member)
    if moves > _moves(places, item, member) + _moves(places, other, its):
        return False
    return reads(items, items.topics[item], its) and reads(items, items.topics[other], member)


@inner_kernel
def _width(places: Places, item: int) -> int:
    """The racks and claimants of an item."""
    racks = places.racks_of[item + 1] - places.racks_of[item]
    return int(racks + places.claimants_of[item + 1] - places.claimants_of[item])


@inner_kernel
def _is_near(places: Places, item: int, member: int) -> bool:
    return on_rack(places.racks_of, places.racks, item, places.member_racks[member])


@inner_kernel
def _moves(places: Places, item: int, member: int) -> int:
    """Does the item move if this member has it? 0 or 1."""
    for i in range(places.claimants_of[item], places.claimants_of[item + 1]):
        if places.claimants[i] == member:
            return 0
    return int(places.claimed[item])
