"""Who reads which partition, and how long each has had no reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

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


@dataclass
class Ledger:
    """The readers of the partitions.

    reader : int32[partitions], the number of the member that reads each, or NONE
    idle_since : int64[partitions], since when it has no reader; NEVER where it has one, or needs none
    counted : bool[partitions], those that exist and that somebody subscribes to
    weights : float64[partitions], or None
    idle : of the idle times that are over, but ``start_idle`` of those that ended as the group formed; ``undelivered`` likewise
    existing : bool[partitions]; uncounted_since : int64[partitions], since when each that exists is not counted
    log : (time, number of a member, partitions that it began to read, or stopped reading if negative); None if it is not needed
    """

    reader: Int32s
    idle_since: Int64s
    counted: Bools
    weights: Float64s | None
    idle: Idle = field(default_factory=Idle)
    undelivered: float = 0.0
    start_idle: Idle = field(default_factory=Idle)
    start_undelivered: float = 0.0
    existing: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    uncounted_since: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    log: list[tuple[int, int, int]] | None = None

    @classmethod
    def of(cls, partitions_count: int, weights: Float64s | None, *, logs: bool) -> Ledger:
        """No member reads anything, and nothing is counted."""
        return cls(
            np.full(partitions_count, NONE, np.int32),
            np.full(partitions_count, NEVER, np.int64),
            np.zeros(partitions_count, np.bool_),
            weights,
            existing=np.zeros(partitions_count, np.bool_),
            uncounted_since=np.zeros(partitions_count, np.int64),
            log=[] if logs else None,
        )

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
            self._end(ended, np.full(len(ended), now_ms, np.int64), None)
        self._note(self.reader[~counted], now_ms, -1)
        self.reader[~counted] = NONE
        self.counted = counted

    def stop(self, partitions: Int32s, at_ms: Int64s | int) -> None:
        """No member reads these any longer. at_ms : int64 for each, or one for all"""
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
    ) -> Float64s | None:
        """These get readers at these times, NEVER for one whose process has ended.

        Returns float64[partitions], what has come in for each of them meanwhile, or None without weights.
        """
        alive = at_ms < NEVER
        if not alive.all():
            partitions, readers, at_ms = partitions[alive], readers[alive], at_ms[alive]
        self._note(readers, at_ms, 1)
        self.reader[partitions] = readers
        return self._end(partitions, at_ms, rebalance, wait)

    def start_one(
        self, partitions: Int32s, number: int, now_ms: int, rebalance: TimelineRebalance | None, wait: Wait | None = None
    ) -> float | None:
        """Of these, those that are counted get the same reader now. Returns what came in for them meanwhile, or None."""
        starts = partitions[self.counted[partitions]]
        self.reader[starts] = number
        if self.log is not None and len(starts):
            self.log.append((now_ms, number, len(starts)))
        idle, missed = self._ended(starts, np.full(len(starts), now_ms, np.int64), wait)
        total = float(np.cumsum(missed)[-1:].sum())  # added one by one
        self._add(idle, total, rebalance)
        return None if self.weights is None else total

    def _bounded(self, partitions: Int32s, at_ms: Int64s, wait: Wait) -> Idle:
        """The idle times that end then, whose last part could have been shorter or longer.

        If the figure is to be the middle, ``idle_since`` becomes such that it is.
        """
        is_idle = self.idle_since[partitions] != NEVER
        partitions, at_ms = partitions[is_idle], at_ms[is_idle]
        begin = np.maximum(self.idle_since[partitions], wait.from_ms)
        if wait.each_from_ms is not None:
            begin = np.maximum(begin, wait.each_from_ms[partitions])
        idle = np.maximum(0, at_ms - self.idle_since[partitions])
        least = idle - np.minimum(np.maximum(0, at_ms - begin), idle)
        if wait.is_middle:
            idle = least + wait.most_ms // 2
            self.idle_since[partitions] = at_ms - idle
        each = (idle, least, np.maximum(idle, least + wait.most_ms))
        return Idle(*(int(figure) for times in each for figure in (times.sum(), times.max(initial=0))))

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
        weights = np.zeros(0) if self.weights is None else self.weights
        bounds = None
        if wait is not None:
            starts = (self.reader == NONE) & (owner != NONE) & self.counted
            starts[starts] = start_of[owner[starts]] <= now_ms
            begin = np.flatnonzero(starts).astype(np.int32)
            bounds = self._bounded(begin, np.full(len(begin), now_ms, np.int64), wait)
        before = self.reader.copy() if self.log is not None else self.reader
        loses, missed, total, longest = _hand_out(
            self.reader, self.idle_since, self.counted, owner, start_of, now_ms, NEVER, weights
        )
        if self.log is not None:
            changed = before != self.reader
            old, new = before[changed], self.reader[changed]
            self._note(old, now_ms, -1)
            self._note(new[new != NONE], now_ms, 1)
        self._add(bounds or Idle.exactly(total, longest), float(missed.sum()), rebalance)
        return loses, missed

    def _end(
        self, partitions: Int32s, at_ms: Int64s, rebalance: TimelineRebalance | None, wait: Wait | None = None
    ) -> Float64s | None:
        idle, missed = self._ended(partitions, at_ms, wait)
        self._add(idle, float(missed.sum()), rebalance)
        return None if self.weights is None else missed

    def _ended(self, partitions: Int32s, at_ms: Int64s, wait: Wait | None) -> tuple[Idle, Float64s]:
        """The idle times that end then, and float64[partitions], what came in meanwhile; 0 without weights."""
        bounds = None if wait is None else self._bounded(partitions, at_ms, wait)
        idle = np.maximum(0, at_ms - self.idle_since[partitions])  # of one that is not idle, NEVER is later
        self.idle_since[partitions] = NEVER
        missed = np.zeros(len(idle)) if self.weights is None else self.weights[partitions] * idle / 1000
        return bounds or Idle.exactly(int(idle.sum()), int(idle.max(initial=0))), missed

    def unread_since(self) -> Int64s:
        """int64[partitions], since when each that exists has no reader; NEVER for one that has."""
        since = np.where(self.counted, self.idle_since, self.uncounted_since)
        return np.where(self.existing & (self.reader == NONE), since, NEVER)


@kernel
def _hand_out(
    reader: Int32s, idle_since: Int64s, counted: Bools, owner: Int32s, start_of: Int64s, now: int, never: int, weights: Float64s
) -> tuple[Bools, Float64s, int, int]:
    """``Ledger.hand_out``, ``weights`` may be empty; also the idle times' sum and longest. Twin: tests/reference/ledger.py."""
    loses: Bools = np.zeros(len(start_of), np.bool_)
    missed = np.zeros(len(start_of), np.float64)
    total = longest = np.int64(0)
    for partition in range(len(reader)):
        old, new = reader[partition], owner[partition]
        if old == new:
            continue
        if old != NONE:
            if now < start_of[old] < never:
                continue
            loses[old] = True
            reader[partition] = NONE
            idle_since[partition] = now
        if new == NONE or not counted[partition] or start_of[new] > now:
            continue
        idle = np.int64(max(0, now - idle_since[partition]))  # of one that is not idle, never is later than now
        records = weights[partition] * idle / 1000 if len(weights) > 0 else 0.0
        reader[partition], idle_since[partition] = new, never
        total += idle
        longest = max(longest, idle)
        missed[new] += records
    return loses, missed, int(total), int(longest)
