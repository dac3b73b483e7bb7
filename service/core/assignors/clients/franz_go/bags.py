"""Bags: Go's slices from which franz-go takes an element by putting the last in its place.

An item is in at most one bag of its kind. Bags are lists linked both ways, so that their order is that of the slice.
"""

from typing import NamedTuple

import numpy as np

from service.core.kernels import inner_kernel
from service.core.model import NONE, Int32s


class Bags(NamedTuple):
    """All bags of a kind.

    head, tail, size : int32[bags] each     the first and last item of each, or NONE, and how many it has
    before, after : int32[items] each       the neighbours of each item, or NONE
    """

    head: Int32s
    tail: Int32s
    size: Int32s
    before: Int32s
    after: Int32s


@inner_kernel
def no_items(bags: int, items: int) -> Bags:
    """Empty bags, for so many items."""
    return Bags(
        np.full(bags, NONE, np.int32),
        np.full(bags, NONE, np.int32),
        np.zeros(bags, np.int32),
        np.full(items, NONE, np.int32),
        np.full(items, NONE, np.int32),
    )


@inner_kernel
def add(bags: Bags, bag: int, item: int) -> None:
    """Append the item."""
    last = bags.tail[bag]
    bags.before[item] = last
    bags.after[item] = NONE
    if last == NONE:
        bags.head[bag] = item
    else:
        bags.after[last] = item
    bags.tail[bag] = item
    bags.size[bag] += 1


@inner_kernel
def take(bags: Bags, bag: int, item: int) -> None:
    """Take the item out; those behind it move up."""
    before, after = bags.before[item], bags.after[item]
    if before == NONE:
        bags.head[bag] = after
    else:
        bags.after[before] = after
    if after == NONE:
        bags.tail[bag] = before
    else:
        bags.before[after] = before
    bags.size[bag] -= 1


@inner_kernel
def replace_by_last(bags: Bags, bag: int, item: int) -> None:
    """Take the item out; the last one takes its place."""
    last = bags.tail[bag]
    take(bags, bag, last)
    if last == item:
        return
    before, after = bags.before[item], bags.after[item]
    bags.before[last], bags.after[last] = before, after
    if before == NONE:
        bags.head[bag] = last
    else:
        bags.after[before] = last
    if after == NONE:
        bags.tail[bag] = last
    else:
        bags.before[after] = last
