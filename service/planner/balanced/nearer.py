"""Two members exchange partitions with weights, several for several, so that fewer move and more are read on the reader's rack.

Of each pair of members a few partitions are tried, first those that gain if they change hands. All sets of them that the one
could give, and all that the other could give for it, are ordered by their weight; a pass over both finds the two sets that gain
most, among those after which no load ÷ capacity is beyond the largest and no load has grown by more than a ten-thousandth; two
members of one capacity may also exchange their loads. Once no pair gains, sets that gain nothing are exchanged a few times, from
which other pairs may gain. The number of steps is limited.

Source: Horowitz and Sahni, "Computing partitions with applications to the knapsack problem" (1974), on sums of two halves.
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.assignors.classic.members import on_rack
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s
from service.planner.balanced.exchanges import LOOK_UP, Items, lists, reads

STEPS: Final = 4_000_000
STEPS_OF_EACH: Final = 100
"""Partitions and sets that are tried: in all, a tenth of a second, and more for each partition, some microseconds."""

MOST_OFFERED: Final = 8
"""Partitions of a member that are tried with those of another."""

MOST_LOSING: Final = 3
"""Of these, such that lose if they change hands."""

IDLE_PASSES: Final = 3
"""Passes without a gain after which it is the end."""

MOVE: Final = 64
"""What a move counts, if a partition that is read nearby counts 1: more than partitions are offered."""

LOOKED_UP: Final = 8
"""Racks and claimants of partitions that are looked up in a step."""

GROWTH: Final = 10_000
"""A load may grow by one part in this number."""


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


class ItemSets(NamedTuple):
    """Sets of the items that a member offers, lightest first, those of one weight by mask.

    weights, gains, masks : int64[sets]; gains : what is gained if they change hands; masks : a bit for each item
    """

    weights: Int64s
    gains: Int64s
    masks: Int64s


@kernel
def draw_near(items: Items, places: Places, holders: Int32s, loads: Int64s, steps: int) -> None:  # noqa: C901, PLR0912, PLR0915 (a kernel)
    """Exchange items so that fewer move, and among as few moves more are near. holders, loads : updated; steps : about so many

    Plain-Python twin: tests/reference/balanced_groups.py.
    """
    members = len(loads)
    most, limits = (loads / items.capacities).max(), loads + loads // GROWTH  # how large each load may be
    first, following = lists(holders, members)
    could = np.zeros(members, np.int64)  # the items of each member that could gain
    for member in range(members):
        if limits[member] / items.capacities[member] > most:
            limits[member] = max(loads[member], np.int64(most * items.capacities[member]))
        if limits[member] / items.capacities[member] > most:
            limits[member] = loads[member]  # rounded
        could[member] = _count(places, first[member], following, member)
    offered, gains = np.empty((2, len(holders)), np.int32), np.empty((2, len(holders)), np.int64)
    passes, idle = 0, 0
    while idle < IDLE_PASSES and steps > 0:
        improved = False
        for apart in range(1, members):
            steps -= members - apart
            for one in range(members - apart):
                other = one + apart
                if steps <= 0 or could[one] + could[other] == 0:
                    continue
                ours, width = _offer(items, places, first[one], following, one, other, passes, offered[0], gains[0])
                theirs, its_width = _offer(items, places, first[other], following, other, one, passes, offered[1], gains[1])
                steps -= width + its_width
                if not (gains[0, :ours] > 0).any() and not (gains[1, :theirs] > 0).any():
                    continue
                give = _sets(items.weights, offered[0, :ours], gains[0])
                take = _sets(items.weights, offered[1, :theirs], gains[1])
                steps -= len(give.weights) + len(take.weights)
                gain, given, taken = _best(give, take, limits[other] - loads[other], limits[one] - loads[one], idle > 0)
                if limits[one] != limits[other] and items.capacities[one] == items.capacities[other]:
                    # They may also exchange their loads.
                    found = _best(give, take, limits[one] - loads[other], limits[other] - loads[one], idle > 0)
                    if found[0] > gain:
                        gain, given, taken = found
                        limits[one], limits[other] = limits[other], limits[one]
                if given | taken == 0:
                    continue
                improved |= gain > 0
                _hand(items, offered[0, :ours], given, one, other, holders, loads)
                _hand(items, offered[1, :theirs], taken, other, one, holders, loads)
                # Sort the items of the two lists anew into that of their holder.
                left, right, last = first[one], first[other], np.full(2, NONE, np.int32)
                first[one] = first[other] = NONE
                while left != NONE or right != NONE:
                    if right == NONE or NONE < left < right:
                        item, left = left, following[left]
                    else:
                        item, right = right, following[right]
                    which = 0 if holders[item] == one else 1
                    if last[which] == NONE:
                        first[holders[item]] = item
                    else:
                        following[last[which]] = item
                    last[which] = item
                for item in last:
                    if item != NONE:
                        following[item] = NONE
                could[one] = _count(places, first[one], following, one)
                could[other] = _count(places, first[other], following, other)
        passes += 1
        idle = 0 if improved else idle + 1


@inner_kernel
def _count(places: Places, item: int, following: Int32s, member: int) -> int:
    """How many items of a list could gain with any other member."""
    count, rack = 0, places.member_racks[member]
    while item != NONE:
        gains = places.claimants_of[item] < places.claimants_of[item + 1] and _moves(places, item, member) == 1
        if not gains and places.racks_of[item] < places.racks_of[item + 1]:
            gains = not on_rack(places.racks_of, places.racks, item, rack)
        count += gains
        item = following[item]
    return count


@inner_kernel
def _offer(
    items: Items, places: Places, item: int, following: Int32s, member: int, other: int, passes: int, room: Int32s, gains: Int64s
) -> tuple[int, int]:
    """Write the items of a list that a member offers to another to ``room``, and their gains; how many, and the steps it took.

    First those that gain, then those that gain nothing, then a few that lose; of too many, others in each pass.
    """
    count, took = 0, 0
    topic, may_have = NONE, False
    while item != NONE:
        if items.topics[item] != topic:
            topic = items.topics[item]
            may_have = reads(items, topic, other)
            took += LOOK_UP
        took += 1
        if may_have:
            racks = places.racks_of[item + 1] - places.racks_of[item]
            took += int(racks + places.claimants_of[item + 1] - places.claimants_of[item]) // LOOKED_UP
            moves = _moves(places, item, member) - _moves(places, item, other)
            near = on_rack(places.racks_of, places.racks, item, places.member_racks[member])
            room[count] = item
            gains[count] = MOVE * moves + on_rack(places.racks_of, places.racks, item, places.member_racks[other]) - near
            count += 1
        item = following[item]
    chosen, offered = np.empty(MOST_OFFERED, np.int32), 0
    for sign in (1, 0, -1):
        found = 0
        for i in range(count):
            found += np.sign(gains[i]) == sign
        most = min(found, MOST_OFFERED - offered, MOST_LOSING if sign < 0 else MOST_OFFERED)
        skipped = passes * most % max(found, 1) if found > most else 0
        at = 0
        for i in range(count):
            if np.sign(gains[i]) == sign:
                if (at - skipped) % found < most:
                    chosen[offered] = i
                    offered += 1
                at += 1
    chosen[:offered].sort()
    for i in range(offered):
        room[i], gains[i] = room[chosen[i]], gains[chosen[i]]
    return offered, took


@inner_kernel
def _sets(weights: Int64s, offered: Int32s, gains: Int64s) -> ItemSets:
    """All sets of items."""
    sums, merged = np.zeros((2, 3, 1 << len(offered)), np.int64)
    size = 1
    for place in range(len(offered)):
        without, among = 0, 0
        for at in range(2 * size):
            heavier = sums[0, among] + weights[offered[place]] if among < size else np.int64(0)
            if among == size or (without < size and sums[0, without] <= heavier):
                merged[:, at] = sums[:, without]
                without += 1
            else:
                merged[0, at], merged[1, at] = heavier, sums[1, among] + gains[place]
                merged[2, at] = sums[2, among] | 1 << place
                among += 1
        size *= 2
        sums[:, :size] = merged[:, :size]
    return ItemSets(sums[0], sums[1], sums[2])


@inner_kernel
def _best(give: ItemSets, take: ItemSets, more: int, less: int, idly: bool) -> tuple[int, int, int]:  # noqa: FBT001 - for Numba
    """The gain of the best sets to give and to take, and their masks, 0 for nothing.

    more, less : what is given may be heavier, and lighter, than what is taken by so much; idly : also without a gain
    """
    best, given, taken = -1 if idly else 0, np.int64(0), np.int64(0)
    window = np.empty(len(take.weights), np.int64)  # what may be taken, of decreasing gains; a later one has at least as much
    head, tail, at = 0, 0, 0
    for place in range(len(give.weights)):
        while at < len(window) and take.weights[at] <= give.weights[place] + less:
            while tail > head and take.gains[window[tail - 1]] <= take.gains[at]:
                tail -= 1
            window[tail] = at
            tail += 1
            at += 1
        while head < tail and take.weights[window[head]] < give.weights[place] - more:
            head += 1
        if head < tail:
            other = window[head]
            gain = give.gains[place] + take.gains[other]
            if gain > best and give.masks[place] | take.masks[other] != 0:
                best, given, taken = gain, give.masks[place], take.masks[other]
    return best, int(given), int(taken)


@inner_kernel
def _hand(items: Items, offered: Int32s, mask: int, source: int, target: int, holders: Int32s, loads: Int64s) -> None:
    """Hand a set of items from one member to another."""
    for place in range(len(offered)):
        if mask >> place & 1:
            holders[offered[place]] = target
            loads[source] -= items.weights[offered[place]]
            loads[target] += items.weights[offered[place]]


@inner_kernel
def _moves(places: Places, item: int, member: int) -> int:
    """Does the item move if this member has it? 0 or 1."""
    for i in range(places.claimants_of[item], places.claimants_of[item + 1]):
        if places.claimants[i] == member:
            return 0
    return int(places.claimed[item])
