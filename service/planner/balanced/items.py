"""What is to be shared out where partitions have weights or members capacities."""

from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import inner_kernel
from service.core.model import Float64s, Int32s, Int64s

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
