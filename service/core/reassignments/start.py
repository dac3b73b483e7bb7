"""The sets to start from: each partition keeps as many replicas as it can, and the rest fill the least loaded brokers.

So every partition has the fewest copies that it could have if it were alone, and together they have the fewest of all, unless
``max_replicas`` of a broker is in the way.
"""

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s, Int64s
from service.core.reassignments.exchanges import EVERY_RACK, LIMITED, ONE_PER_RACK, State, rack_limit


@kernel
def keep_and_fill(s: State, racks_usable: int, copies: Int64s) -> int:
    """Fill ``members`` and add to ``loads`` and ``copies``; returns a partition for which there is no broker, or NONE.

    racks_usable : the number of racks with a usable broker
    copies : int64[partitions]   the replicas of each that are copied, so far those pinned to another broker
    """
    partitions = len(s.offsets) - 1
    kept = np.zeros(partitions, np.int32)
    for partition in range(partitions):
        _keep(s, partition, racks_usable, kept)
    for partition in range(partitions):
        for place in range(s.offsets[partition] + kept[partition], s.offsets[partition + 1]):
            broker = _least_loaded(s, partition, place, racks_usable)
            if broker == NONE:
                return partition
            s.members[place] = broker
            s.loads[broker] += 1
            copies[partition] += 1
    return NONE


@inner_kernel
def _keep(s: State, partition: int, racks_usable: int, kept: Int32s) -> None:
    """Keep as many homes as the rack rule allows: first those pinned, then those on further racks, then any."""
    start, end = s.offsets[partition], s.offsets[partition + 1]
    rule = s.rules[partition]
    by_rack = rule in (ONE_PER_RACK, EVERY_RACK)
    covered = 0
    for turn in range(3):
        for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
            home, place = s.homes[i], start + kept[partition]
            if place == end or not s.usable[home] or (turn == 0) != s.pinned[i] or _holds(s.members, start, place, home):
                continue
            new_rack = not _on_rack(s, start, place, s.racks[home])
            if turn == 1 and not new_rack:
                continue
            if turn == 2 and rule == ONE_PER_RACK:
                continue
            if rule == EVERY_RACK and not new_rack and end - place <= racks_usable - covered:
                continue
            covered += new_rack and by_rack
            s.members[place] = home
            s.loads[home] += 1
            kept[partition] += 1


@inner_kernel
def _holds(members: Int32s, start: int, end: int, broker: int) -> bool:
    for i in range(start, end):  # noqa: SIM110 (a kernel)
        if members[i] == broker:
            return True
    return False


@inner_kernel
def _on_rack(s: State, start: int, end: int, rack: int) -> int:
    """How many of these members are on the rack."""
    count = 0
    for i in range(start, end):
        count += s.racks[s.members[i]] == rack
    return count


@inner_kernel
def _least_loaded(s: State, partition: int, place: int, racks_usable: int) -> int:
    """The broker for which one more replica weighs least, of those with room if any; NONE if the rules leave none."""
    start, end = s.offsets[partition], s.offsets[partition + 1]
    rule = s.rules[partition]
    covered = 0
    if rule == EVERY_RACK:
        for i in range(start, place):
            covered += _on_rack(s, start, i, s.racks[s.members[i]]) == 0
    new_rack_only = rule == ONE_PER_RACK or (rule == EVERY_RACK and end - place <= racks_usable - covered)
    best = NONE
    for broker in range(len(s.loads)):
        if not s.usable[broker] or (best != NONE and not _better(s.loads, s.most, s.weights, broker, best)):
            continue
        if _holds(s.members, start, place, broker):
            continue
        if new_rack_only and _on_rack(s, start, place, s.racks[broker]):
            continue
        if rule == LIMITED and _on_rack(s, start, place, s.racks[broker]) >= rack_limit(s, partition, s.racks[broker]):
            continue
        best = broker
    return best


@inner_kernel
def _better(loads: Int64s, most: Int64s, weights: Int64s, a: int, b: int) -> bool:
    room_a, room_b = loads[a] < most[a], loads[b] < most[b]
    if room_a != room_b:
        return bool(room_a)
    return bool((2 * loads[a] + 1) * weights[b] < (2 * loads[b] + 1) * weights[a])
