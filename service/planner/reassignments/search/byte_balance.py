"""Bytes: evened out by single exchanges, and brought below ``capacity_bytes``. Good, but not proven: sizes make it a packing
problem.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Int64s
from service.planner.reassignments.model import NO_LIMIT
from service.planner.reassignments.search.exchanges import (
    DONE,
    IMPOSSIBLE,
    MORE,
    STUCK,
    TURN,
    ReplicaSets,
    breadth,
    exchange_cost,
    link_last_first,
    replace_broker,
    touched,
)
from service.planner.reassignments.search.trade import Record, mark

EXCEEDED: Final = -1
"""Instead of a number of moves: some broker exceeds its capacity whatever moves."""

_NO_RANK: Final = (IMPOSSIBLE, 0, 0, 0)
"""The rank of no exchange: cost, whether it does not suffice, the size or its negative, and how full the other broker is."""

_ROUNDING: Final = 1e-9
"""What an exchange gains at least, as a share of what it takes from a broker: so rounding makes no exchange go back and forth."""


@kernel
def count_touched(s: ReplicaSets) -> Int64s:
    """int64[brokers], the replicas of each whose partition has an exchange that costs less than 1."""
    counts = np.zeros(len(s.loads), np.int64)
    for partition in range(len(s.offsets) - 1):
        _count_touched(s, partition, counts, 1)
    return counts


@borrowing_kernel
def _count_touched(s: ReplicaSets, partition: int, counts: Int64s, change: int) -> None:
    if touched(s, partition):
        for i in range(s.offsets[partition], s.offsets[partition + 1]):
            counts[s.members[i]] += change


@kernel
def fit_capacities(s: ReplicaSets, sizes: Int64s, loads: Int64s, capacities: Int64s, cheap: Int64s, moves: Int64s) -> int:
    """Move replicas from the broker that exceeds its capacity most to others with room. DONE, MORE, or STUCK if some exceeds.

    First come exchanges without a copy, then the smallest replica that suffices, otherwise the largest; it goes to the broker
    with the most room for its weight. The largest replicas stand first in the brokers' lists: what others get does not leave
    them again, for no broker exceeds its capacity by it.

    cheap : int64[brokers], see ``count_touched``; moves : int64[1], counted up, at most twice the replicas; kept between calls
    """
    while moves[0] <= 2 * len(s.members):
        if s.work[0] > TURN:
            return MORE
        a = int(NONE)
        for broker in range(len(loads)):
            over = loads[broker] - capacities[broker]
            if over > 0 and s.first[broker] != NONE and (a == NONE or over > loads[a] - capacities[a]):
                a = broker
        if a == NONE:
            return DONE
        partition, b = _to_fit(s, sizes, loads, capacities, cheap[a], a)
        if partition == NONE:
            return STUCK
        moves[0] += 1
        _count_touched(s, partition, cheap, -1)
        replace_broker(s, partition, a, b)
        _count_touched(s, partition, cheap, 1)
        loads[a] -= sizes[partition]
        loads[b] += sizes[partition]
    return STUCK


@borrowing_kernel
def _to_fit(s: ReplicaSets, sizes: Int64s, loads: Int64s, capacities: Int64s, cheap: int, a: int) -> tuple[int, int]:  # noqa: C901 (a kernel)
    """The replica of a that leaves, and where it goes; NONE if none can.

    cheap : those that may cost less than 1. Once they are looked at, the list ends where what is left, which is smaller, is no
    better than the best so far.
    """
    over = loads[a] - capacities[a]
    best, target = NONE, NONE
    best_rank = _NO_RANK
    most_room, least = _room(s, loads, capacities, a, 0)
    place = s.first[a]
    while place != NONE and sizes[s.row_of[place]] > 0:
        partition = s.row_of[place]
        size = sizes[partition]
        place = s.after[place]
        s.work[0] += 1
        if cheap > 0:
            cheap -= touched(s, partition)
        elif best != NONE:
            suffices = best_rank[1] == 0
            alike = size == sizes[best] and best_rank[3] <= least
            if best_rank[0] < 1 or size < (over if suffices else sizes[best]) or (alike and not suffices):
                break
            if alike:
                continue
        if size > most_room:
            continue
        s.work[0] += len(loads) * breadth(s, partition)
        better = False
        for b in range(len(loads)):
            if loads[b] + size > capacities[b] or s.loads[b] >= s.most[b]:
                continue
            enough = size >= over
            rank = (exchange_cost(s, partition, a, b), int(not enough), size if enough else -size, loads[b] // s.weights[b])
            if rank < best_rank:
                best, target, best_rank, better = partition, b, rank, True
        if better:
            _, least = _room(s, loads, capacities, a, size)
    return best, target


@borrowing_kernel
def _room(s: ReplicaSets, loads: Int64s, capacities: Int64s, a: int, size: int) -> tuple[int, int]:
    """The most room that a broker other than a has, and the least bytes ÷ weight of one with room for ``size``."""
    most, least = -1, int(NO_LIMIT)
    for b in range(len(loads)):
        room = capacities[b] - loads[b]
        if b != a and s.loads[b] < s.most[b] and room >= size:
            most, least = max(most, int(room)), min(least, int(loads[b] // s.weights[b]))
    return most, least


class Exchanged(NamedTuple):
    """How far ``balance_bytes`` has come.

    smaller : int64[partitions], the largest size that is smaller than that of each; 0: none
    moved : bool[members], the places that an exchange has changed; all others are in the brokers' lists from the largest to the
        smallest, or with a limit of bytes from the smallest to the largest
    exhausted : bool[brokers], those that no exchange relieves
    counts : int64[2], exchanges since ``exhausted`` was cleared, and in all, at most four times the replicas
    """

    smaller: Int64s
    moved: Bools
    exhausted: Bools
    counts: Int64s

    @classmethod
    def none(cls, s: ReplicaSets, sizes: Int64s, *, per_byte: bool) -> Exchanged:
        """Before the first exchange; makes the lists anew.

        sizes : int64[partitions of the state], ascending; per_byte : is there a limit of bytes?
        """
        order = np.arange(len(sizes), dtype=np.int32)
        link_last_first(s, order[::-1].copy() if per_byte else order)
        steps = np.append(0, np.unique(sizes))
        smaller = steps[np.searchsorted(steps[1:], sizes)]
        return cls(smaller, np.zeros(len(s.members), np.bool_), np.zeros(len(s.loads), np.bool_), np.zeros(2, np.int64))


@kernel
def balance_bytes(s: ReplicaSets, record: Record, band: tuple[Int64s, Int64s], most_cost: int, done: Exchanged) -> int:
    """Lower the sum of squares of bytes ÷ weight by the best single exchange of the fullest broker. DONE or MORE.

    band : int64[brokers] twice: an exchange takes from a broker above the second or gives to one below the first
    most_cost : of an exchange; done : what has been exchanged, which is kept between calls
    """
    loads, sizes = record.loads, record.sizes
    exhausted, exchanged = done.exhausted, done.counts
    while exchanged[1] < 4 * len(s.members):
        if s.work[0] > TURN:
            return MORE
        s.work[0] += len(loads)
        if record.points[0] == 0:
            mark(record, loads, s.weights, s.usable)
        a = int(NONE)
        for broker in range(len(loads)):
            fuller = a == NONE or loads[broker] / s.weights[broker] > loads[a] / s.weights[a]
            if fuller and not exhausted[broker] and s.first[broker] != NONE:
                a = broker
        if a == NONE:
            if exchanged[0] == 0:
                return DONE
            exhausted[:] = False  # another broker's exchange may have given it a way
            exchanged[0] = 0
            continue
        partition, b = _best(s, record, band, most_cost, done, a)
        if partition == NONE:
            exhausted[a] = True
            continue
        cost = exchange_cost(s, partition, a, b)
        done.moved[replace_broker(s, partition, a, b)] = True
        exchanged[:] += 1
        loads[a] -= sizes[partition]
        loads[b] += sizes[partition]
        record.copied[0] += cost
        record.copied[1] += cost * sizes[partition]
        mark(record, loads, s.weights, s.usable)
    return DONE


@inner_kernel
def _best(  # noqa: C901 (a kernel)
    s: ReplicaSets, record: Record, band: tuple[Int64s, Int64s], most_cost: int, done: Exchanged, a: int
) -> tuple[int, int]:
    """The exchange of a that gains most, or with a limit of bytes most per byte; of equal ones that of the smallest partition.

    The emptiest brokers are looked at first, until none of the rest could gain more than the best so far. What a replica gains at
    most grows with its size up to ``peak``, so from there on no smaller one gains more than the next size does. Per byte, the
    smallest gains most.
    """
    loads, low, high = record.loads, band[0], band[1]
    left, left_bytes = record.limits[0] - record.copied[0], record.limits[1] - record.copied[1]
    fullness = loads / s.weights
    emptiest_first = np.argsort(fullness, kind="mergesort")
    largest_weight = float(s.weights.max())
    per_byte = record.limits[1] < NO_LIMIT
    best, target = NONE, NONE
    best_gain = 0.0
    s.work[0] += len(loads)
    least = fullness[emptiest_first[0]]
    peak = (loads[a] / s.weights[a] - least) / (1.0 / s.weights[a] + 1.0 / largest_weight)
    place = s.first[a]
    while place != NONE:
        partition = s.row_of[place]
        size, moved = float(record.sizes[partition]), done.moved[place]
        place = s.after[place]
        s.work[0] += 1
        relief = size * (2.0 * loads[a] - size) / s.weights[a]
        if best != NONE and per_byte and not moved:
            if 2.0 * (loads[a] / s.weights[a] - least) - size * (1.0 / s.weights[a] + 1.0 / largest_weight) <= best_gain:
                break
        elif best != NONE and not moved and size <= peak:
            next_size = float(done.smaller[partition])
            next_gain = next_size * ((2.0 * loads[a] - next_size) / s.weights[a] - 2.0 * least - next_size / largest_weight)
            gain = relief - size * (2.0 * least + size / largest_weight)
            limit = best_gain * (1.0 - _ROUNDING)
            if next_gain <= limit and gain <= (best_gain * (1.0 + _ROUNDING) if size == record.sizes[best] else limit):
                break
        unit = size if per_byte else 1.0
        enough = best_gain * (1.0 - _ROUNDING if best != NONE and size < record.sizes[best] else 1.0 + _ROUNDING)
        for b in emptiest_first:
            if relief - size * (2.0 * fullness[b] + size / largest_weight) <= enough * unit:
                break
            s.work[0] += 1
            gain = relief - size * (2.0 * loads[b] + size) / s.weights[b]
            if (
                gain <= _ROUNDING * relief
                or loads[b] + record.sizes[partition] > record.capacities[b]
                or s.loads[b] >= s.most[b]
                or not (loads[a] > high[a] or loads[b] < low[b] or high[a] < 0)
            ):
                continue
            if gain <= enough * unit:
                continue
            s.work[0] += breadth(s, partition)
            cost = exchange_cost(s, partition, a, b)
            if cost <= most_cost and cost <= left and cost * record.sizes[partition] <= left_bytes:
                best, target, best_gain = partition, int(b), gain / unit
                enough = best_gain * (1.0 + _ROUNDING)
    return best, target
