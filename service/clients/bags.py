"""Bags: lists linked both ways, such as Go's slices, from which franz-go takes an element by putting the last in its place.

An item is in at most one bag of its kind.
"""

from typing import NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, inner_kernel
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
    """Empty bags for a number of items."""
    return Bags(
        np.full(bags, NONE, np.int32),
        np.full(bags, NONE, np.int32),
        np.zeros(bags, np.int32),
        np.full(items, NONE, np.int32),
        np.full(items, NONE, np.int32),
    )


@borrowing_kernel
def add(bags: Bags, bag: int, item: int) -> None:
    """Append the item."""
    _link(bags, bag, bags.tail[bag], item)
    _link(bags, bag, item, NONE)
    bags.size[bag] += 1


@borrowing_kernel
def take(bags: Bags, bag: int, item: int) -> None:
    """Take the item out; those behind it move up."""
    _link(bags, bag, bags.before[item], bags.after[item])
    bags.size[bag] -= 1


@borrowing_kernel
def replace_by_last(bags: Bags, bag: int, item: int) -> None:
    """Take the item out; the last one takes its place."""
    last = bags.tail[bag]
    take(bags, bag, last)
    if last != item:
        after = bags.after[item]
        _link(bags, bag, bags.before[item], last)
        _link(bags, bag, last, after)


@borrowing_kernel
def _link(bags: Bags, bag: int, one: int, other: int) -> None:
    """Let one item come before another; NONE: the bag's start or end."""
    if one == NONE:
        bags.head[bag] = other
    else:
        bags.after[one] = other
    if other == NONE:
        bags.tail[bag] = one
    else:
        bags.before[other] = one
