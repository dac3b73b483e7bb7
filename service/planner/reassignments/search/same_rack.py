"""Replicas that move stay on their rack where the plan is as good.

*Question*: a plan says how many replicas each broker gets, and seldom of which partitions. Which of the plans that copy as many
and load the brokers alike leave most replicas on the rack that they are on?

*Algorithm*: a replica *strays* if it is copied to a rack on which its partition then has more replicas than now. If the partition
has fewer than now on another rack, the replica should go there: either to a broker that may as well have one more, or by a swap
with a stray of another partition. Each swap leaves fewer strays, so it ends; it does not prove that longer chains of partitions
would not leave fewer still.

In which order and from which broker each is copied makes no difference; see ``rack_traffic`` for what crosses racks.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import Bools, Int32s, Int64s
from service.planner.reassignments.search.exchanges import (
    DONE,
    MORE,
    TURN,
    ReplicaSets,
    breadth,
    exchange_cost,
    in_turns,
    is_home,
    replace_broker,
)

MOST: Final = 1_000_000_000
"""What one look at all strays looks at, in some seconds; then no further swaps are tried."""

_LOOKS: Final = 10
"""Most looks at all strays: few of them gain anything after the second."""


class Swaps(NamedTuple):
    """Which swaps leave a plan as good.

    sizes : int64[partitions]    bytes of a replica
    room : int64[brokers]        bytes that each may have in addition
    topics : int32[partitions]   only partitions of one topic swap; all 0 where topics do not matter
    same_size : bool[1]          only partitions of one size swap
    alone : bool[1]              may a replica go to a broker with one less, without a swap?
    """

    sizes: Int64s
    room: Int64s
    topics: Int32s
    same_size: Bools
    alone: Bools


def stay_on_racks(s: ReplicaSets, swaps: Swaps, on_rack: Bools) -> bool:
    """Have replicas stay on their rack; returns whether anything has changed. on_rack : see ``look_at_strays``"""
    return look_at_strays(s, on_rack, lambda *strays: _swap_each(s, swaps, on_rack, *strays))


def look_at_strays(s: ReplicaSets, on_rack: Bools, take: Callable[[Int32s, Int32s, Int64s], int]) -> bool:
    """Look at all strays until nothing gains; returns whether anything has changed.

    on_rack : bool[brokers], False for those of unknown rack, since they are gone; take : a kernel, called as ``_swap_each``
    """
    changed = False
    if len(np.unique(s.racks[s.usable])) < 2:
        return False
    for _ in range(_LOOKS):
        guests = np.flatnonzero(_strays(s, on_rack)).astype(np.int32)
        guests = guests[np.argsort(s.members[guests], kind="stable")]
        offsets = np.searchsorted(s.members[guests], np.arange(len(s.loads) + 1)).astype(np.int32)
        progress = np.zeros(2, np.int64)
        done = in_turns(s, lambda: take(offsets, guests, progress), MOST) == DONE  # noqa: B023
        changed |= bool(progress[1])
        if not (done and progress[1]):
            break
    return changed


@kernel
def _strays(s: ReplicaSets, on_rack: Bools) -> Bools:
    """bool[members], which stray."""
    found = np.zeros(len(s.members), np.bool_)
    for place in range(len(s.members)):
        found[place] = strays(s, on_rack, s.row_of[place], s.members[place])
    return found


@borrowing_kernel
def strays(s: ReplicaSets, on_rack: Bools, partition: int, broker: int) -> bool:
    """Does the partition's replica on this broker stray?"""
    return not is_home(s, partition, broker) and more_than_now(s, on_rack, partition, s.racks[broker]) > 0


@borrowing_kernel
def more_than_now(s: ReplicaSets, on_rack: Bools, partition: int, rack: int) -> int:
    """How many replicas more than now the partition has on the rack."""
    more = 0
    for place in range(s.offsets[partition], s.offsets[partition + 1]):
        more += s.racks[s.members[place]] == rack
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        more -= on_rack[s.homes[i]] and s.racks[s.homes[i]] == rack
    return more


@kernel
def _swap_each(s: ReplicaSets, swaps: Swaps, on_rack: Bools, offsets: Int32s, guests: Int32s, progress: Int64s) -> int:
    """Look once at each stray. DONE or MORE.

    offsets, guests : Ragged broker → places of strays, when this began
    progress : int64[2]   the next of them, and how many have changed their broker; kept between calls
    """
    while progress[0] < len(guests):
        if s.work[0] > TURN:
            return MORE
        progress[1] += _swap(s, swaps, on_rack, (offsets, guests), guests[progress[0]])
        progress[0] += 1
    return DONE


@borrowing_kernel
def _swap(s: ReplicaSets, swaps: Swaps, on_rack: Bools, guests: tuple[Int32s, Int32s], place: int) -> bool:
    """Have the replica at this place go back to its rack; False if it does not stray or nothing allows it."""
    partition, a = s.row_of[place], int(s.members[place])
    s.work[0] += breadth(s, partition)
    if not strays(s, on_rack, partition, a):
        return False
    for b in range(len(s.loads)):
        s.work[0] += breadth(s, partition)
        if s.racks[b] == s.racks[a] or more_than_now(s, on_rack, partition, s.racks[b]) >= 0:
            continue
        if exchange_cost(s, partition, a, b) != 0:
            continue
        change_roles = s.weights[a] == s.weights[b] and s.loads[b] == s.loads[a] - 1 and s.loads[b] < s.most[b]
        if swaps.alone[0] and change_roles and swaps.sizes[partition] <= swaps.room[b]:
            replace_broker(s, partition, a, b)
            swaps.room[a] += swaps.sizes[partition]
            swaps.room[b] -= swaps.sizes[partition]
            return True
        for i in range(guests[0][b], guests[0][b + 1]):
            guest = guests[1][i]
            other = s.row_of[guest]
            s.work[0] += breadth(s, other)
            if s.members[guest] != b or other == partition or not strays(s, on_rack, other, b):
                continue
            more = swaps.sizes[partition] - swaps.sizes[other]  # bytes that b gets
            if swaps.topics[other] != swaps.topics[partition] or (more != 0 and swaps.same_size[0]):
                continue
            fits = (more <= 0 or more <= swaps.room[b]) and (more >= 0 or -more <= swaps.room[a])
            if fits and exchange_cost(s, other, b, a) == 0:
                replace_broker(s, partition, a, b)
                replace_broker(s, other, b, a)
                swaps.room[a] += more
                swaps.room[b] -= more
                return True
    return False
