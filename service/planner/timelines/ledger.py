"""Who reads which partition, and how long each has had no reader."""

from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.planner.timelines.model import NEVER, Idle, TimelineRebalance


class Wait(NamedTuple):
    """The last part of idle times, which hangs on when clients heartbeat and poll.

    from_ms : when it began; each_from_ms : int64[partitions], where it began later for some of all partitions, or None
    most_ms : how long it can be, and it can be 0
    is_middle : is the half of that to be counted? Otherwise what it was in this simulation
    """

    from_ms: int
    most_ms: int
    is_middle: bool
    each_from_ms: Int64s | None = None


NO_WAIT: Final = Wait(NEVER, 0, is_middle=False)


class Ledger:
    """The readers of the partitions. At first no member reads anything, and nothing is counted.

    reader : int32[partitions], the number of the member that reads each, or NONE
    idle_since : int64[partitions], since when it has no reader; NEVER where it has one, or needs none
    counted : bool[partitions], those that exist and that somebody subscribes to
    weights : float64[partitions], or None
    idle : of the idle times that are over, but ``start_idle`` of those that ended as the group formed; ``undelivered`` likewise
    existing : bool[partitions]; uncounted_since : int64[partitions], since when each that exists is not counted
    log : (time, number of a member, partitions that it began to read, or stopped reading if negative); None if it is not needed
    """

    def __init__(self, partitions_count: int, weights: Float64s | None, *, logs: bool) -> None:
        self.reader = np.full(partitions_count, NONE, np.int32)
        self.idle_since = np.full(partitions_count, NEVER, np.int64)
        self.counted: Bools = np.zeros(partitions_count, np.bool_)
        self.existing: Bools = np.zeros(partitions_count, np.bool_)
        self.weights = weights
        self.idle, self.undelivered = Idle(), 0.0
        self.start_idle, self.start_undelivered = Idle(), 0.0
        self.uncounted_since = np.zeros(partitions_count, np.int64)
        self.log: list[tuple[int, int, int]] | None = [] if logs else None

    def _note(self, readers: Int32s, at_ms: Int64s | int, sign: int) -> None:
        """Log what these readers begin to read, or stop reading."""
        if self.log is not None and len(readers):
            pairs = np.stack([np.broadcast_to(at_ms, readers.shape), readers], axis=1)
            rows, counts = np.unique(pairs[readers != NONE], axis=0, return_counts=True)
            self.log += [(at, number, sign * count) for (at, number), count in zip(rows.tolist(), counts.tolist(), strict=True)]

    def exist(self, existing: Bools, now_ms: int) -> None:
        """From now on these partitions exist, and no others."""
        self.uncounted_since[existing & ~self.existing] = now_ms
        self.existing = existing

    def count(self, counted: Bools, now_ms: int) -> None:
        """From now on these partitions need a reader, and no others."""
        begins = counted & ~self.counted & (self.reader == NONE)
        self.idle_since[begins] = now_ms
        self.uncounted_since[self.counted & ~counted] = now_ms
        ends = self.counted & ~counted & (self.idle_since != NEVER)
        if ends.any():
            ended = np.flatnonzero(ends).astype(np.int32)
            self.start(ended, np.full(len(ended), NONE, np.int32), np.full(len(ended), now_ms, np.int64), None)
        self._note(self.reader[~counted], now_ms, -1)
        self.reader[~counted] = NONE
        self.counted = counted

    def stop(self, partitions: Int32s, at_ms: Int64s | int) -> None:
        """No member reads these any longer. at_ms : int64 for each, or one for all"""
        if not len(partitions):
            return
        self._note(self.reader[partitions], at_ms, -1)
        self.reader[partitions] = NONE
        self.idle_since[partitions] = np.where(self.counted[partitions], at_ms, NEVER)

    def stop_one(self, partitions: Int32s, number: int, now_ms: int) -> None:
        """The member stops reading those of these that it reads."""
        self.stop(partitions[self.reader[partitions] == number], now_ms)

    def stop_member(self, number: int, at_ms: int) -> None:
        """A member reads nothing any longer."""
        self.stop(np.flatnonzero(self.reader == number).astype(np.int32), at_ms)

    def start(
        self, partitions: Int32s, readers: Int32s, at_ms: Int64s, rebalance: TimelineRebalance | None, wait: Wait | None = None
    ) -> Float64s:
        """These get readers at these times, NEVER for one that gets none.

        Returns float64[partitions], what has come in for each of them meanwhile; 0 without weights.
        """
        if not len(partitions):
            return np.zeros(0)
        if self.log is not None:
            starts = at_ms < NEVER
            self._note(readers[starts], at_ms[starts], 1)
        idle, missed = self._ended(partitions, readers, at_ms, wait)
        self._add(idle, 0.0 if self.weights is None else float(missed.sum()), rebalance)
        return missed

    def start_one(
        self, partitions: Int32s, number: int, now_ms: int, rebalance: TimelineRebalance | None, wait: Wait | None = None
    ) -> float | None:
        """Of these, those that are counted get the same reader now. Returns what came in for them meanwhile, or None."""
        starts = partitions[self.counted[partitions]]
        if self.log is not None and len(starts):
            self.log.append((now_ms, number, len(starts)))
        idle, missed = self._ended(starts, np.full_like(starts, number), np.full(len(starts), now_ms, np.int64), wait)
        total = float(np.cumsum(missed)[-1:].sum())  # added one by one
        self._add(idle, total, rebalance)
        return None if self.weights is None else total

    def _add(self, idle: Idle, missed: float, rebalance: TimelineRebalance | None) -> None:
        """Note idle times that are over. missed : what came in meanwhile"""
        if rebalance is not None and rebalance.is_start:
            self.start_idle, self.start_undelivered = self.start_idle.with_more(idle), self.start_undelivered + missed
        else:
            self.idle, self.undelivered = self.idle.with_more(idle), self.undelivered + missed
        if rebalance is not None:
            rebalance.idle = rebalance.idle.with_more(idle)

    def hand_out(
        self, owner: Int32s, start_of: Int64s, now_ms: int, rebalance: TimelineRebalance, wait: Wait | None = None
    ) -> tuple[Bools, Float64s]:
        """Partitions change to these owners: who loses one stops reading it, who gets one reads it.

        owner : int32[partitions], the number of the new owner, or NONE
        start_of : int64[members], when each hears of it. One that hears later keeps what it reads until then, and gets nothing;
            one with NEVER, whose process has ended, gets nothing either

        Returns bool[members], which of them lose something, and float64[members], what has come in for each meanwhile.
        """
        changing = np.flatnonzero(self.reader != owner).astype(np.int32)
        old, new = self.reader[changing], owner[changing]
        had, hears_at = old != NONE, start_of[old]
        hears_later = had & (now_ms < hears_at) & (hears_at < NEVER)
        stops = changing[had & ~hears_later]
        starts = changing[~hears_later & (new != NONE) & self.counted[changing] & (start_of[new] <= now_ms)]
        loses = np.zeros(len(start_of), np.bool_)
        loses[self.reader[stops]] = True
        self.stop(stops, now_ms)
        of_each = self.start(starts, owner[starts], np.full(len(starts), now_ms, np.int64), rebalance, wait)
        if self.weights is None:
            return loses, np.zeros(len(start_of))
        return loses, np.bincount(owner[starts], of_each, len(start_of)).astype(np.float64, copy=False)

    def _ended(self, partitions: Int32s, readers: Int32s, at_ms: Int64s, wait: Wait | None) -> tuple[Idle, Float64s]:
        """The idle times that end then, and float64[partitions], what came in meanwhile; 0 without weights."""
        from_ms, most_ms, is_middle, each_from_ms = wait or NO_WAIT
        each_from = self.idle_since[:0] if each_from_ms is None else each_from_ms
        figures, idle_ms = _start(
            self.reader, self.idle_since, partitions, readers, at_ms, from_ms, most_ms, is_middle, each_from
        )
        missed = np.zeros(len(idle_ms)) if self.weights is None else self.weights[partitions] * idle_ms / 1000
        return Idle(*figures), missed

    def unread_since(self) -> Int64s:
        """int64[partitions], since when each that exists has no reader; NEVER for one that has."""
        since = np.where(self.counted, self.idle_since, self.uncounted_since)
        return np.where(self.existing & (self.reader == NONE), since, NEVER)


@kernel
def _start(
    reader: Int32s,
    idle_since: Int64s,
    partitions: Int32s,
    readers: Int32s,
    at_ms: Int64s,
    from_ms: int,
    most_ms: int,
    is_middle: bool,  # noqa: FBT001 (a kernel)
    each_from_ms: Int64s,
) -> tuple[tuple[int, int, int, int, int, int], Int64s]:
    """Give partitions their readers; none at NEVER. Returns the figures of ``Idle``, and int64[partitions], the idle times.

    readers, at_ms : of each of the partitions
    each_from_ms : int64[all partitions], or empty; the rest is a ``Wait``

    Twin: tests/reference/ledger.py.
    """
    idle_ms = np.zeros(len(partitions), np.int64)
    total = longest = least_total = least_longest = most_total = most_longest = np.int64(0)
    for i in range(len(partitions)):
        partition = partitions[i]
        if at_ms[i] == NEVER:
            continue
        reader[partition], since = readers[i], idle_since[partition]
        if since == NEVER:
            continue
        begin = max(since, from_ms)
        if len(each_from_ms) > 0:
            begin = max(begin, each_from_ms[partition])
        idle = max(0, at_ms[i] - since)
        least = idle - min(max(0, at_ms[i] - begin), idle)
        if is_middle:
            idle = least + most_ms // 2
        most = max(idle, least + most_ms)
        idle_since[partition], idle_ms[i] = NEVER, idle
        total, longest = total + idle, max(longest, idle)
        least_total, least_longest = least_total + least, max(least_longest, least)
        most_total, most_longest = most_total + most, max(most_longest, most)
    return (int(total), int(longest), int(least_total), int(least_longest), int(most_total), int(most_longest)), idle_ms
