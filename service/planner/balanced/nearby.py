"""How many partitions are read on the reader's rack, and how many could be."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.clock import check_time
from service.core.measures.certificate import Objective
from service.core.model import NONE, Bools, Float64s, Group, Int32s, Ragged, distinct

EACH_BY_ITSELF: Final = "The bound counts partitions that could be read nearby, each by itself."

MOST_CELLS: Final = 10_000_000
"""Racks of partitions × prices up to which the prices of racks are sought: half a second."""

SWEEPS: Final = 2
"""How often each price is set anew."""

SLACK: Final = 1e-9
"""What is added to the room of racks, as a share of it, and to the bound: more than rounding takes away."""


def nearest(group: Group, near: int, bound: int | None, method: str) -> Objective:
    """How many partitions are read nearby, as an aim. bound : how many could be, by this method; None: it is not known"""
    if bound is None:
        every = np.arange(group.topics.partitions_count, dtype=np.int32)
        could_be = int(np.count_nonzero(near_racks(group, every).lengths()))
        return Objective(near, could_be, EACH_BY_ITSELF, most=True)
    return Objective(near, bound, method, most=True)


def near_racks(group: Group, partitions: Int32s) -> Ragged:
    """Ragged partition of these → racks of its replicas on which a member subscribes to its topic, ascending."""
    racks, width = group.topics.racks, len(group.rack_ids) + 1
    if racks is None:
        return Ragged(np.zeros(len(partitions) + 1, np.int32), np.empty(0, np.int32))
    subscribed = group.subscriptions.below(len(group.topics))
    there = distinct(subscribed.values.astype(np.int64) * width + group.racks[subscribed.row_of_each_value()])
    of_each = racks.row_of_each_value()
    could = np.isin(group.topics.topic_of[of_each].astype(np.int64) * width + racks.values, there)
    places = np.full(group.topics.partitions_count, NONE, np.int64)
    places[partitions] = np.arange(len(partitions))
    could &= places[of_each] != NONE
    pairs = distinct(places[of_each[could]] * width + racks.values[could])
    offsets = np.zeros(len(partitions) + 1, np.int32)
    np.cumsum(np.bincount(pairs // width, minlength=len(partitions)), out=offsets[1:])
    return Ragged(offsets, (pairs % width).astype(np.int32))


@dataclass(frozen=True)
class RackOptions:
    """Where items can be: each option is an item on a rack, or elsewhere (NONE). Every item can be elsewhere.

    items, racks : int32[options], by item; weights : float64[options], of the item; 0 elsewhere
    near, moves : bool[options], is it then read nearby, and is it a move that need not be?
    room : float64[racks], what the members there may read together; spare : how many such moves there may be
    """

    items: Int32s
    racks: Int32s
    weights: Float64s
    near: Bools
    moves: Bools
    room: Float64s
    spare: int


def most_near(options: RackOptions) -> int:
    """What no assignment has more items near than, whose members keep the room of their rack, and that moves no more.

    The bound is the dual of the linear programme of that: at any prices of room and of moves no more can be near than what room
    and moves are worth, and what each item gains at most beyond what it pays. The prices are set one after the other, each to
    its best.
    """
    if not options.near.any():
        return 0
    starts = np.flatnonzero(np.diff(options.items, prepend=-1))
    racks = options.racks
    room = np.append(options.room, 0)  # there is no room to pay for elsewhere
    prices, price = np.zeros(len(room)), 0.0
    kinds = [NONE, *np.unique(racks[racks != NONE]).tolist()]
    if len(kinds) * SWEEPS * len(options.items) > MOST_CELLS:
        kinds = [NONE]
    for kind in kinds * SWEEPS:
        check_time()
        if kind == NONE:
            price = 0.0
            pays, amounts, most = options.moves, np.ones(len(starts)), float(options.spare)
        else:
            prices[kind] = 0.0
            pays, most = racks == kind, float(room[kind])
            amounts = np.maximum.reduceat(np.where(pays, options.weights, 0), starts)
        gains = options.near - options.weights * prices[racks] - options.moves * price
        others = np.maximum.reduceat(np.where(pays, -np.inf, gains), starts)
        worth = np.maximum.reduceat(np.where(pays, gains, -np.inf), starts) - others
        # The price at which no more is bought than there is room for: the least of a dual that is convex in it.
        buys = (worth > 0) & (amounts > 0)
        limits = worth[buys] / amounts[buys]
        order = np.argsort(-limits, kind="stable")
        over = np.flatnonzero(np.cumsum(amounts[buys][order]) > most)
        best = float(limits[order[over[0]]]) if len(over) else 0.0
        if kind == NONE:
            price = best
        else:
            prices[kind] = best
    gains = options.near - options.weights * prices[racks] - options.moves * price
    bound = np.maximum.reduceat(gains, starts).sum() + room @ prices + options.spare * price
    return min(len(distinct(options.items[options.near])), int(bound * (1 + SLACK) + SLACK))
