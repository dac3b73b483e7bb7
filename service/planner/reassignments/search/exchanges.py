"""Replica sets that change by exchanges, and which exchanges there are.

An *exchange* of a partition replaces one of its brokers, a, by another, b. It costs 1 if a replica is copied that was not before
(a is a current broker of the partition, its *home*, and b is not), -1 if a copy is saved (the reverse), otherwise 0. All sets
that keep the rack rule form the flows of a network (source → partition → partition's rack → broker → sink), and a path of
exchanges from broker to broker is a path in its residual network. So a set is optimal if and only if no path and no cycle
improves it.

``available`` counts the partitions that can make each exchange at each cost, -1 and 0 exactly. For cost 1 it may be more than 0
though no partition can: nearly all partitions could, and counting them would take most of the time. Whoever finds none sets it
to 0.

Leaders are sets of one: with the rule CHOICES a partition's only broker is its leader, and its replicas are its choices.

Kernels run in *turns* of some ten milliseconds, between which the time of a request is checked. A kernel adds what it looks at
(replicas, brokers, entries of a matrix) to ``work``, and returns MORE once that exceeds TURN.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numba import njit

from service.core.budget import check_time
from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Bytes, Int32s, Int64s

ANY_RACK, ONE_PER_RACK, EVERY_RACK, LIMITED, CHOICES = 0, 1, 2, 3, 4
"""The rules of a partition: none; at most one replica per rack; at least one on each rack; at most a given number per rack; the
leader is one of the replicas."""

PINNED, COMES = 1, 2
"""What holds of a home that must stay: a replica is there, or comes there."""

IMPOSSIBLE: Final = 2
"""Instead of the cost of an exchange that a rule forbids."""


class ReplicaSets(NamedTuple):
    """The sets, and the exchanges available.

    offsets, members : int32   Ragged partition → brokers: the sets
    home_offsets, homes : int32    Ragged partition → its current brokers, and those that a pin brings it to
    holds : uint8, of each home: PINNED or COMES if it must stay, otherwise 0
    rules : int8[partitions]
    racks_usable : int32[partitions]   EVERY_RACK: the racks that a partition may be on
    levels : int32[partitions]   LIMITED: the most replicas of a partition on a rack
    choice_offsets, choices : int32   CHOICES: Ragged partition → the brokers that it may choose from
    racks : int32[brokers]; usable : bool[brokers], those that may have replicas of some partition
    sets : int32[partitions]; keeps, receives : bool[sets, brokers]   see ``permits``
    loads, most : int64[brokers]   replicas of each broker, and the most that it may have
    weights : int64[brokers]
    low, high, base : int64[brokers], parts : int64[2]   what is evened out: the sum over brokers of parts[0] × (distance of the
        replicas from the band between low and high)² ÷ weight + parts[1] × (replicas - base)² ÷ weight; parts is 0, 1 at first
    first : int32[brokers], after, before : int32[members]   for each broker the linked list of the places that hold it
    row_of : int32[members]   the partition of each place
    available : int32[3, brokers, brokers]   at the costs -1, 0, 1
    cheapest : int8[brokers, brokers]   the least cost, or IMPOSSIBLE
    paid : bool[1]   whether exchanges of cost 1 are considered
    work : int64[1]   what kernels have looked at, see ``turns``
    """

    offsets: Int32s
    members: Int32s
    home_offsets: Int32s
    homes: Int32s
    holds: Bytes
    rules: np.ndarray  # type: ignore[type-arg]
    racks_usable: Int32s
    levels: Int32s
    choice_offsets: Int32s
    choices: Int32s
    racks: Int32s
    usable: Bools
    sets: Int32s
    keeps: Bools
    receives: Bools
    loads: Int64s
    most: Int64s
    weights: Int64s
    low: Int64s
    high: Int64s
    base: Int64s
    parts: Int64s
    first: Int32s
    after: Int32s
    before: Int32s
    row_of: Int32s
    available: Int32s
    cheapest: np.ndarray  # type: ignore[type-arg]
    paid: Bools
    work: Int64s


@njit(nogil=True, cache=True, inline="always")
def exchange_cost(s: ReplicaSets, partition: int, a: int, b: int) -> int:
    """The cost for the partition to replace its broker a by b: -1, 0, 1 or IMPOSSIBLE."""
    permitted = s.receives[s.sets[partition], b]
    if not s.keeps[s.sets[partition], b] or not _allowed(s, partition, a, b):
        return IMPOSSIBLE
    cost = 0
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        if s.homes[i] == a:
            if s.holds[i]:
                return IMPOSSIBLE
            cost += 1
        elif s.homes[i] == b:
            permitted = True
            cost -= 1
    return cost if permitted else IMPOSSIBLE


@njit(nogil=True, cache=True, inline="always")
def _allowed(s: ReplicaSets, partition: int, a: int, b: int) -> bool:  # noqa: PLR0911 (a kernel)
    """Does the partition's rule allow to replace a by b?"""
    rule = s.rules[partition]
    if rule == CHOICES:
        for i in range(s.choice_offsets[partition], s.choice_offsets[partition + 1]):
            if s.choices[i] == b:
                return b != a
        return False
    leaving, coming = s.racks[a], s.racks[b]
    on_leaving = on_coming = 0
    for i in range(s.offsets[partition], s.offsets[partition + 1]):
        member = s.members[i]
        if member == b:
            return False
        on_leaving += s.racks[member] == leaving
        on_coming += s.racks[member] == coming
    if rule == ANY_RACK or leaving == coming:
        return True
    if rule == ONE_PER_RACK:
        return on_coming == 0
    if rule == EVERY_RACK:
        return on_leaving >= 2
    return on_coming < rack_limit(s, partition, coming)


@njit(nogil=True, cache=True, inline="always")
def rack_limit(s: ReplicaSets, partition: int, rack: int) -> int:
    """LIMITED: the most replicas that the partition may have on the rack: its level, or as many as are there now and may stay."""
    now = 0
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        stays = s.keeps[s.sets[partition], s.homes[i]] and s.holds[i] != COMES
        now += stays and s.racks[s.homes[i]] == rack
    return max(now, int(s.levels[partition]))


def link(s: ReplicaSets) -> None:
    """As ``link_last_first``, with the first partitions first in each list."""
    link_last_first(s, np.arange(len(s.offsets) - 2, -1, -1, dtype=np.int32))


@kernel
def link_last_first(s: ReplicaSets, order: Int32s) -> None:
    """Fill ``first``, ``after``, ``before`` and ``row_of``: the last partitions of ``order`` come first in each list.

    order : int32[partitions]
    """
    s.first[:] = NONE
    for partition in order:
        for i in range(s.offsets[partition], s.offsets[partition + 1]):
            s.row_of[i] = partition
            push(s.first, s.after, s.before, i, s.members[i])


@borrowing_kernel
def push(first: Int32s, after: Int32s, before: Int32s, item: int, broker: int) -> None:
    """Put an item first into the broker's linked list."""
    head = first[broker]
    after[item], before[item] = head, NONE
    if head != NONE:
        before[head] = item
    first[broker] = item


@borrowing_kernel
def pull(first: Int32s, after: Int32s, before: Int32s, item: int, broker: int) -> None:
    """Take the item out of the broker's list."""
    if before[item] == NONE:
        first[broker] = after[item]
    else:
        after[before[item]] = after[item]
    if after[item] != NONE:
        before[after[item]] = before[item]


@borrowing_kernel
def is_home(s: ReplicaSets, partition: int, broker: int) -> bool:
    """Is the broker a home of the partition?"""
    home = False
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        home |= s.homes[i] == broker
    return home


@borrowing_kernel
def is_member(s: ReplicaSets, partition: int, broker: int) -> bool:
    """Has the partition a replica on the broker?"""
    member = False
    for place in range(s.offsets[partition], s.offsets[partition + 1]):
        member |= s.members[place] == broker
    return member


def list_exchanges(s: ReplicaSets) -> None:
    """Fill ``available`` and ``cheapest``."""
    s.available[:] = 0
    s.cheapest[:] = IMPOSSIBLE
    following = np.zeros(1, np.int64)
    in_turns(s, lambda: _list_all(s, following))


@kernel
def _list_all(s: ReplicaSets, following: Int64s) -> int:  # noqa: C901 (a kernel)
    """List the exchanges of the partitions from ``following`` on, and then, set by set, those of cost 1 that there may be."""
    partitions = len(s.offsets) - 1
    for partition in range(following[0], partitions):
        if s.work[0] > TURN:
            following[0] = partition
            return MORE
        homes = s.home_offsets[partition + 1] - s.home_offsets[partition]
        s.work[0] += 1 + homes * (s.offsets[partition + 1] - s.offsets[partition])
        if s.rules[partition] == CHOICES:
            _count_choices(s, partition, 1)
        elif touched(s, partition):
            _count(s, partition, 1)
    if s.paid[0] and len(s.choices) == 0:
        holders = np.zeros(s.keeps.shape, np.bool_)
        for i in range(len(s.members)):
            holders[s.sets[s.row_of[i]], s.members[i]] = True
        for row in range(max(0, following[0] - partitions), len(s.receives)):
            if s.work[0] > TURN:
                following[0] = partitions + row
                return MORE
            s.work[0] += len(s.loads) ** 2
            for a in range(len(s.loads)):
                for b in range(len(s.loads)):
                    if a != b and holders[row, a] and s.receives[row, b]:
                        s.available[2, a, b] = 1
                        s.cheapest[a, b] = min(s.cheapest[a, b], 1)
    return DONE


@borrowing_kernel
def touched(s: ReplicaSets, partition: int) -> bool:
    """Has the partition an exchange that costs less than 1: a broker that is not its home, or a usable home that it left?"""
    at_home = 0
    start, end = s.offsets[partition], s.offsets[partition + 1]
    usable_homes = 0
    for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
        home = s.homes[i]
        usable_homes += s.keeps[s.sets[partition], home]
        for j in range(start, end):
            at_home += s.members[j] == home
    return at_home < end - start or usable_homes > at_home


@borrowing_kernel
def _count_choices(s: ReplicaSets, partition: int, change: int) -> None:
    """As ``_count`` with the rule CHOICES."""
    a = s.members[s.offsets[partition]]
    s.work[0] += (s.choice_offsets[partition + 1] - s.choice_offsets[partition]) ** 2
    for i in range(s.choice_offsets[partition], s.choice_offsets[partition + 1]):
        cost = exchange_cost(s, partition, a, s.choices[i])
        if cost != IMPOSSIBLE:
            _list(s.available, s.cheapest, a, s.choices[i], cost, change)


@inner_kernel
def _count(s: ReplicaSets, partition: int, change: int) -> None:  # noqa: C901, PLR0912 (a kernel)
    """Add the partition's exchanges to ``available`` (change 1), or take them out (-1)."""
    if s.rules[partition] == CHOICES:
        _count_choices(s, partition, change)
        return
    # The same as exchange_cost for each pair, with what depends on one of the two brokers only computed once: it takes a tenth.
    members, racks = s.members[s.offsets[partition] : s.offsets[partition + 1]], s.racks
    keeps, receives = s.keeps[s.sets[partition]], s.receives[s.sets[partition]]
    homes = s.homes[s.home_offsets[partition] : s.home_offsets[partition + 1]]
    holds = s.holds[s.home_offsets[partition] : s.home_offsets[partition + 1]]
    rule, count = s.rules[partition], len(members)
    s.work[0] += (len(keeps) + count) * (count + len(homes))
    leaving = np.zeros(count, np.int8)  # 1: from a home; IMPOSSIBLE: pinned
    crowded = np.zeros(count, np.bool_)  # another replica is on the same rack
    for i in range(count):
        for j in range(len(homes)):
            if homes[j] == members[i]:
                leaving[i] = IMPOSSIBLE if holds[j] else 1
        for j in range(count):
            crowded[i] |= i != j and racks[members[i]] == racks[members[j]]
    for b in range(len(keeps)):
        if not keeps[b]:
            continue
        rack = racks[b]
        on_rack = returning = 0
        present = False
        for member in members:
            present |= member == b
            on_rack += racks[member] == rack
        if present:
            continue
        for home in homes:
            returning += home == b
        if returning == 0 and not receives[b]:
            continue
        full = (rule == ONE_PER_RACK and on_rack > 0) or (rule == LIMITED and on_rack >= rack_limit(s, partition, rack))
        for i in range(count):
            cost = leaving[i] - returning
            if leaving[i] == IMPOSSIBLE or (cost == 1 and (change < 0 or not s.paid[0])):
                continue
            a = members[i]
            if racks[a] == rack or not (full or (rule == EVERY_RACK and not crowded[i])):
                _list(s.available, s.cheapest, a, b, cost, change)


@njit(nogil=True, cache=True, inline="always")
def _list(available: Int32s, cheapest: np.ndarray, a: int, b: int, cost: int, change: int) -> None:  # type: ignore[type-arg]
    """Count one partition more, or less, that can exchange a for b."""
    available[cost + 1, a, b] += change
    least = IMPOSSIBLE
    if available[0, a, b] > 0:
        least = -1
    elif available[1, a, b] > 0:
        least = 0
    elif available[2, a, b] > 0:
        least = 1
    cheapest[a, b] = least


@borrowing_kernel
def breadth(s: ReplicaSets, partition: int) -> int:
    """What ``exchange_cost`` looks at for this partition."""
    members = s.offsets[partition + 1] - s.offsets[partition]
    choices = 0
    if len(s.choices) > 0:
        choices = s.choice_offsets[partition + 1] - s.choice_offsets[partition]
    return int(members + choices + s.home_offsets[partition + 1] - s.home_offsets[partition])


@borrowing_kernel
def find(s: ReplicaSets, a: int, b: int) -> int:
    """A partition that can exchange a for b at the least cost listed; NONE if there is none, which then is no longer listed."""
    cost = s.cheapest[a, b]
    place = s.first[a]
    while place != NONE:
        partition = s.row_of[place]
        s.work[0] += breadth(s, partition)
        if exchange_cost(s, partition, a, b) == cost:
            return int(partition)
        place = s.after[place]
    _list(s.available, s.cheapest, a, b, cost, -s.available[cost + 1, a, b])
    return NONE


@inner_kernel
def exchange(s: ReplicaSets, partition: int, a: int, b: int) -> None:
    """Replace the partition's broker a by b."""
    _count(s, partition, -1)
    replace_broker(s, partition, a, b)
    _count(s, partition, 1)


@borrowing_kernel
def replace_broker(s: ReplicaSets, partition: int, a: int, b: int) -> int:
    """The same, for those who search for no more paths: ``available`` and ``cheapest`` stay as they are, which saves most of the
    time. Returns the place.
    """
    place = int(NONE)
    for i in range(s.offsets[partition], s.offsets[partition + 1]):
        if s.members[i] == a:
            s.members[i] = b
            pull(s.first, s.after, s.before, i, a)
            push(s.first, s.after, s.before, i, b)
            place = i
    s.loads[a] -= 1
    s.loads[b] += 1
    return place


DONE, MORE, STUCK = 0, 1, 2
"""What a kernel returns: nothing is left to do; its turn is over; the rules forbid what is left."""

TURN: Final = 5_000_000

UNBOUNDED: Final = 2**62


def in_turns(s: ReplicaSets, kernel: Callable[[], int], most: int = UNBOUNDED) -> int:
    """Call the kernel until it is DONE or STUCK; MORE if it has looked at ``most`` before."""
    looked_at = 0
    while looked_at < most:
        s.work[0] = 0
        result = kernel()
        if result != MORE:
            return result
        looked_at += 1 + int(s.work[0])
        check_time()
    return MORE
