"""The most even numbers of partitions within a number of moves, where members subscribe to different topics or racks matter.

1. The *largest load*: a minimum-cost flow finds the fewest moves if no member may have more than a cap; the least cap for which
   these are within the limit is exact, since fewer moves never allow a lower cap.
2. The *evenness* within the cap, by the sum of squares of loads: of a member's j-th partition its price is j, and a move has the
   price of ``patience`` such steps: who moves, improves the sum by more. The least patience with few enough moves is found by
   halving; then as many partitions as the limit leaves move where that improves it by just as much.

3. Where racks matter, the same with a price of a move in reads from other racks: which partitions move, and where to.

By the Lagrangian of 2., no assignment within cap and limit has a sum smaller by more than 2 × patience × the moves left, and none
with the same sum moves fewer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from service.core.model import NONE
from service.planner.balanced.transport import Rooms, Routes, Shipped, ship

MOST_STEPS: Final = 150_000
"""Edges for the steps of all members, above which a step holds several partitions."""


@dataclass(frozen=True)
class Limited:
    """An assignment within the limit.

    largest : the least largest load; fewest_moves : with which it can be reached
    patience : of the flow; None: the steps held several partitions, so that nothing is known of the sum of squares
    elsewhere : how many partitions are read on other racks at least, with as even loads and as many moves; None: not known
    """

    shipped: Shipped
    largest: int
    fewest_moves: int
    patience: int | None
    elsewhere: int | None


def ship_within(routes: Routes, least: int, max_moves: int) -> Limited:
    """The assignment. least : what the largest load is at least."""
    kinds = len(routes.kinds.counts)

    def capped(cap: int) -> Shipped:
        return ship(routes, Rooms(np.full((1, kinds), cap), np.zeros(1, np.int64)))

    uncapped = capped(int(routes.some.sizes.sum()))
    low, high = least, int(np.bincount(uncapped.holders[uncapped.holders != NONE]).max(initial=least))
    while low < high:
        middle = (low + high) // 2
        tried = capped(middle)
        if tried.fits and tried.moves <= max_moves:
            high = middle
        else:
            low = middle + 1
    cap, fewest = high, capped(high).moves
    members = kinds + len(routes.keeping)
    width = max(1, -(-cap * members // MOST_STEPS))
    steps = -(-cap // width)
    sizes = np.full((steps, kinds), width)
    sizes[-1] = cap - width * (steps - 1)

    def patient(patience: int, eager: int = 0, tie: int | None = None) -> Shipped:
        return ship(routes, Rooms(sizes, np.arange(steps) * width, patience, eager, tie))

    patience = _least(0, steps * width, lambda each: patient(each).moves <= max_moves)
    eager = 0
    if patience and width == 1:
        claimed = int(routes.some.sizes[routes.some.claimed].sum())
        eager = claimed - _least(0, claimed, lambda fewer: patient(patience, claimed - fewer).moves <= max_moves)
    shipped = patient(patience, eager)
    if width > 1 or not shipped.proven:
        return Limited(shipped, cap, fewest, None, None)
    if not eager or not routes.racks_matter:
        return Limited(shipped, cap, fewest, patience, shipped.elsewhere)
    shipped, elsewhere = _nearest(routes, shipped, partial(patient, patience))
    return Limited(shipped, cap, fewest, patience, elsewhere)


def _nearest(routes: Routes, shipped: Shipped, tied: Callable[[int, int], Shipped]) -> tuple[Shipped, int | None]:
    """As even an assignment with as many moves that reads more nearby, if one is found, and how much is read elsewhere at least.

    tied : the cheapest assignment for this number of eager partitions and such a tie

    The least tie with few enough moves is found by halving. No assignment beats its price of reads and moves together.
    """
    most, claimed = routes.turns(), int(routes.some.sizes[routes.some.claimed].sum())
    tie = _least(-most, most, lambda each: tied(0, each).moves <= shipped.moves)
    base = tied(0, tie)
    if not base.proven:
        return shipped, None
    eager = claimed - _least(0, claimed, lambda fewer: tied(claimed - fewer, tie).moves <= shipped.moves)
    found = tied(eager, tie)
    if found.proven and found.moves == shipped.moves and found.elsewhere < shipped.elsewhere:
        shipped = found
    return shipped, base.elsewhere + tie * (base.moves - shipped.moves)


def _least(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least number for which it holds, by halving; the highest if for none below."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high
