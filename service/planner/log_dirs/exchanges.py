"""Improves a plan for the directories of one broker, by moves and by swaps of two replicas.

The search of ``service.planner.reassignments`` knows single moves only, which are enough where a broker has many replicas. Of few
large ones, a swap often evens out what no move does, or copies a smaller replica instead of a larger one.
"""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.planner.reassignments.evenness import band, squares
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, bytes_on

MOST_WORK: Final = 2_000_000
"""Moves and swaps that are tried for one broker, in some two tenths of a second."""

MOST_WORK_IN_ALL: Final = 40_000_000
"""The same for all brokers of a question."""

_LEAST_SWEEPS: Final = 2
"""Looks at all replicas, of a search that is worth its work."""

_ROUNDING: Final = 1e-9
"""The share of the squares of two directories by which the evenness changes at least."""

_NOTHING: Final = (0, 0.0, 0.0)
"""The rank of what changes nothing."""


class DirState(NamedTuple):
    """Where replicas are.

    dirs, homes : int32[replicas], where each is in the plan, which is written, and now
    sizes : int64[replicas]; free : bool[replicas], those that may move
    loads, room, low, high : int64[dirs], bytes: those in the plan, which are written, the most, and the band around the mean
    weights : float64[dirs], sizes of the disks
    may_be : bool[replicas, dirs], whether each may be in each
    limits : int64[2], the most replicas and bytes that are copied; copied : int64[2], those of the plan, which are written
    even_first : whether evenness comes before copies
    """

    dirs: Int32s
    homes: Int32s
    sizes: Int64s
    free: Bools
    loads: Int64s
    room: Int64s
    low: Int64s
    high: Int64s
    weights: Float64s
    may_be: Bools
    limits: Int64s
    copied: Int64s
    even_first: bool


def improved(brokers: Brokers, placements: Placements, goal: Goal, dirs: Int32s, most_work: int) -> Int32s:
    """int32[partitions], where the replicas of one broker go, at least as good as in ``dirs``.

    brokers : its directories; placements : its replicas, one for each partition
    goal : in bytes; most_work : the moves and swaps that are tried
    """
    count, width = len(placements), len(brokers)
    if count * (count // 2 + width) * _LEAST_SWEEPS > most_work:
        return dirs
    start = _state(brokers, placements, goal, dirs)
    states = [start]
    if not start.even_first:  # from where the replicas are, few moves may do
        homes = placements.replicas.values
        near = _state(brokers, placements, goal, np.where(brokers.usable[homes] | placements.excluded, homes, dirs))
        states += [near] * bool((near.loads <= near.room).all())
    for state in states:
        exchange(state, most_work // len(states))

    def worth(s: DirState) -> tuple[int, float, float]:  # what is to be the least, in this order
        outside = int(np.maximum(np.maximum(s.low - s.loads, s.loads - s.high), 0).sum())
        evenness, amount = squares(brokers, s.loads), float(s.copied[1])
        return outside, *((evenness, amount) if s.even_first else (amount, evenness))

    return min(states, key=worth).dirs


def _state(brokers: Brokers, placements: Placements, goal: Goal, dirs: Int32s) -> DirState:
    homes, sizes, usable = placements.replicas.values, placements.bytes_of_each(), brokers.usable
    loads = bytes_on(replace(placements.replicas, values=dirs), sizes, len(brokers))
    low, high = np.zeros(len(brokers), np.int64), np.full(len(brokers), NO_LIMIT, np.int64)
    if goal.tolerance is not None:
        low, high = band(usable, brokers.weights, loads, goal.tolerance)
    low[~usable], high[~usable] = 0, NO_LIMIT
    moved = dirs != homes
    return DirState(
        dirs.copy(),
        homes,
        sizes,
        ~placements.excluded,
        loads,
        np.where(usable, brokers.capacity_bytes, NO_LIMIT),
        low,
        high,
        brokers.weights,
        brokers.receiving | (usable & (homes[:, None] == np.arange(len(brokers)))),
        goal.limits(),
        np.array([moved.sum(), sizes[moved].sum()], np.int64),
        goal.objective == "even" and goal.tolerance is None,
    )


@kernel
def exchange(s: DirState, most_work: int) -> None:  # noqa: C901 (a kernel)
    """Take the best move or swap of each replica in turn until none gains, see ``_rank``; of equal ones the first.

    With a limit of copies, take the best of all each time.
    """
    limited, work, gained = s.limits.min() < NO_LIMIT, 0, True
    while gained and work < most_work:
        best, first, second, target, gained = _NOTHING, NONE, NONE, NONE, False
        for i in range(len(s.dirs)):
            if not s.free[i]:
                continue
            if not limited:
                best, first = _NOTHING, NONE
            a = s.dirs[i]
            for b in range(len(s.loads)):
                if b != a and s.may_be[i, b]:
                    rank = _rank(s, i, NONE, b)
                    if rank < best:
                        best, first, second, target = rank, i, NONE, b
            for j in range(i):
                b = s.dirs[j]
                if s.free[j] and b != a and s.sizes[i] != s.sizes[j] and s.may_be[i, b] and s.may_be[j, a]:
                    rank = _rank(s, i, j, b)
                    if rank < best:
                        best, first, second, target = rank, i, j, b
            work += len(s.loads) + i
            if first != NONE and not limited:
                gained = _take(s, first, second, target)
        if first != NONE and limited:
            gained = _take(s, first, second, target)


@borrowing_kernel
def _take(s: DirState, first: int, second: int, target: int) -> bool:
    """Have the first go to the target, and the second, unless it is NONE, to where the first was. True"""
    for replica, log_dir in ((first, target), (second, int(np.int64(s.dirs[first])))):
        if replica == NONE:
            continue
        size, now, home = s.sizes[replica], s.dirs[replica], s.homes[replica]
        s.loads[now] -= size
        s.loads[log_dir] += size
        more = int(log_dir != home) - int(now != home)
        s.copied[0] += more
        s.copied[1] += more * size
        s.dirs[replica] = log_dir
    return True


@borrowing_kernel
def _rank(s: DirState, i: int, j: int, b: int) -> tuple[int, float, float]:
    """What changes if i goes to b, and j, unless it is NONE, from b to where i is: the less, the better; zeros if that cannot be.

    First come bytes outside the bands; then the sum of squares, if it is ``even_first``, and the bytes that are copied, or the
    other way round.
    """
    a, size, other = s.dirs[i], s.sizes[i], np.int64(0)
    count = np.int64(b != s.homes[i]) - np.int64(a != s.homes[i])
    amount = count * size
    if j != NONE:
        other = s.sizes[j]
        more = np.int64(a != s.homes[j]) - np.int64(b != s.homes[j])
        count, amount = count + more, amount + more * other
    shift = size - other
    of_a, of_b = s.loads[a], s.loads[b]
    if (shift > 0 and of_b + shift > s.room[b]) or (shift < 0 and of_a - shift > s.room[a]):
        return _NOTHING
    if (count > 0 and s.copied[0] + count > s.limits[0]) or (amount > 0 and s.copied[1] + amount > s.limits[1]):
        return _NOTHING
    beyond = _beyond(s, a, of_a - shift) - _beyond(s, a, of_a) + _beyond(s, b, of_b + shift) - _beyond(s, b, of_b)
    x, y, d = float(of_a), float(of_b), float(shift)
    evenness = d * (d - 2.0 * x) / s.weights[a] + d * (d + 2.0 * y) / s.weights[b]
    if abs(evenness) <= _ROUNDING * (x * x / s.weights[a] + y * y / s.weights[b]):
        evenness = 0.0
    if s.even_first:
        return beyond, evenness, float(amount)
    return beyond, float(amount), evenness


@borrowing_kernel
def _beyond(s: DirState, log_dir: int, load: int) -> int:
    """Bytes outside the band."""
    return int(max(s.low[log_dir] - load, load - s.high[log_dir], 0))
