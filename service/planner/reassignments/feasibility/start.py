"""The sets to start from: each partition keeps as many replicas as it can, and the rest fill the least loaded brokers.

So every partition has the fewest copies that it could have if it were alone, and together they have the fewest of all, unless
``max_replicas`` of a broker is in the way.
"""

from typing import NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s
from service.planner.reassignments.search.exchanges import (
    COMES,
    DONE,
    EVERY_RACK,
    LIMITED,
    MORE,
    ONE_PER_RACK,
    STUCK,
    TURN,
    ReplicaSets,
    in_turns,
    rack_limit,
)

_KEEP, _FILL = 0, 1
"""Steps."""


class _Partition(NamedTuple):
    """The partition that is being filled.

    holds : bool[brokers], whether its set has the broker
    on_rack, homes_on_rack : int32[racks], its replicas, and its homes that may stay, on each rack
    covered : int64[1], the racks that it is on
    """

    holds: Bools
    on_rack: Int32s
    homes_on_rack: Int32s
    covered: Int64s


def keep_and_fill(s: ReplicaSets, copies: Int64s) -> bool:
    """Fill ``members`` and add to ``loads`` and ``copies``; False if there is no broker for a partition.

    copies : int64[partitions]   the replicas of each that are copied, so far those pinned to another broker
    """
    racks = int(s.racks.max(initial=NONE)) + 1
    one = _Partition(
        np.zeros(len(s.loads), np.bool_), np.zeros(racks, np.int32), np.zeros(racks, np.int32), np.zeros(1, np.int64)
    )
    kept = np.zeros(len(s.offsets) - 1, np.int32)
    for step in (_KEEP, _FILL):
        following = np.zeros(1, np.int64)
        if in_turns(s, lambda: _each(s, one, step, kept, copies, following)) != DONE:  # noqa: B023
            return False
    return True


@kernel
def _each(s: ReplicaSets, one: _Partition, step: int, kept: Int32s, copies: Int64s, following: Int64s) -> int:
    """Take a step with the partitions from ``following`` on; STUCK at one for which there is no broker.

    kept : int32[partitions], how many replicas are kept, which _KEEP writes
    """
    for partition in range(following[0], len(s.offsets) - 1):
        if s.work[0] > TURN:
            following[0] = partition
            return MORE
        start, end = s.offsets[partition], s.offsets[partition + 1]
        if step == _KEEP:
            _keep(s, one, partition, kept)
            end = start + kept[partition]
            s.work[0] += 1 + 3 * (s.home_offsets[partition + 1] - s.home_offsets[partition])
        elif not _fill(s, one, partition, start + kept[partition], copies):
            return STUCK
        else:
            s.work[0] += 1 + (end - start - kept[partition]) * len(s.loads)
        for place in range(start, end):
            one.holds[s.members[place]] = False
            one.on_rack[s.racks[s.members[place]]] = 0
        one.covered[0] = 0
    return DONE


@borrowing_kernel
def _fill(s: ReplicaSets, one: _Partition, partition: int, first: int, copies: Int64s) -> bool:  # noqa: C901 (a kernel)
    """Fill the places from ``first`` on; False if the rules leave no broker for one.

    Each gets the broker for which one more replica weighs least, of those with room if any.
    """
    end, rule = s.offsets[partition + 1], s.rules[partition]
    homes = range(s.home_offsets[partition], s.home_offsets[partition + 1])
    for i in homes:
        one.homes_on_rack[s.racks[s.homes[i]]] += s.keeps[s.sets[partition], s.homes[i]] and s.holds[i] != COMES
    for place in range(s.offsets[partition], first):
        _add(s, one, s.members[place])
    for place in range(first, end):
        new_rack_only = rule == ONE_PER_RACK or (rule == EVERY_RACK and end - place <= s.racks_usable[partition] - one.covered[0])
        best = NONE
        for broker in range(len(s.loads)):
            if not s.receives[s.sets[partition], broker] or one.holds[broker]:
                continue
            if best != NONE:
                room, best_room = s.loads[broker] < s.most[broker], s.loads[best] < s.most[best]
                weighs, best_weighs = (2 * s.loads[broker] + 1) * s.weights[best], (2 * s.loads[best] + 1) * s.weights[broker]
                if not room if room != best_room else weighs >= best_weighs:
                    continue
            on_rack, limit = one.on_rack[s.racks[broker]], max(one.homes_on_rack[s.racks[broker]], s.levels[partition])
            if (new_rack_only and on_rack > 0) or (rule == LIMITED and on_rack >= limit):
                continue
            best = broker
        if best == NONE:
            return False
        s.members[place] = best
        s.loads[best] += 1
        copies[partition] += 1
        _add(s, one, best)
    for i in homes:
        one.homes_on_rack[s.racks[s.homes[i]]] = 0
    return True


@borrowing_kernel
def _add(s: ReplicaSets, one: _Partition, broker: int) -> None:
    one.holds[broker] = True
    one.covered[0] += one.on_rack[s.racks[broker]] == 0
    one.on_rack[s.racks[broker]] += 1


@borrowing_kernel
def _keep(s: ReplicaSets, one: _Partition, partition: int, kept: Int32s) -> None:
    """Keep as many homes as the rack rule allows: first those pinned, then those on further racks, then any."""
    start, end = s.offsets[partition], s.offsets[partition + 1]
    rule = s.rules[partition]
    for turn in range(3):
        for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
            home, place = s.homes[i], start + kept[partition]
            if place == end or not s.keeps[s.sets[partition], home] or (turn == 0) != (s.holds[i] > 0) or one.holds[home]:
                continue
            new_rack = one.on_rack[s.racks[home]] == 0
            if turn == 1 and not new_rack:
                continue
            if turn == 2 and rule == ONE_PER_RACK:
                continue
            if rule == EVERY_RACK and not new_rack and end - place <= s.racks_usable[partition] - one.covered[0]:
                continue
            if rule == LIMITED and turn > 0 and one.on_rack[s.racks[home]] >= rack_limit(s, partition, s.racks[home]):
                continue
            s.members[place] = home
            s.loads[home] += 1
            kept[partition] += 1
            _add(s, one, home)
