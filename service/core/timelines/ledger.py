"""Who reads which partition, and how long each has had no reader."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.core.timelines.model import NEVER, Rebalance


@dataclass
class Ledger:
    """The readers of the partitions.

    reader : int32[partitions], the number of the member that reads each, or NONE
    idle_since : int64[partitions], since when it has no reader; NEVER where it has one, or needs none
    counted : bool[partitions], those that exist and that somebody subscribes to
    weights : float64[partitions], or None
    ended_ms, longest_ms : of the idle times that are over
    """

    reader: Int32s
    idle_since: Int64s
    counted: Bools
    weights: Float64s | None
    ended_ms: int = 0
    longest_ms: int = 0
    undelivered: float = 0.0

    @classmethod
    def of(cls, partitions_count: int, weights: Float64s | None) -> Ledger:
        """Nobody reads anything, and nothing is counted."""
        return cls(
            np.full(partitions_count, NONE, np.int32),
            np.full(partitions_count, NEVER, np.int64),
            np.zeros(partitions_count, np.bool_),
            weights,
        )

    def count(self, counted: Bools, now_ms: int) -> None:
        """From now on these partitions need a reader, and no others."""
        begins = counted & ~self.counted & (self.reader == NONE)
        self.idle_since[begins] = now_ms
        ends = self.counted & ~counted & (self.idle_since != NEVER)
        if ends.any():
            self._end(np.flatnonzero(ends).astype(np.int32), np.int64(now_ms), None)
        self.reader[~counted] = NONE
        self.counted = counted

    def stop(self, partitions: Int32s, at_ms: Int64s | int) -> None:
        """Nobody reads these any longer. at_ms : int64 for each, or one for all"""
        self.reader[partitions] = NONE
        self.idle_since[partitions] = np.where(self.counted[partitions], at_ms, NEVER)

    def stop_member(self, number: int, at_ms: int) -> None:
        """A member reads nothing any longer."""
        self.stop(np.flatnonzero(self.reader == number).astype(np.int32), at_ms)

    def start(self, partitions: Int32s, readers: Int32s, at_ms: Int64s, rebalance: Rebalance | None) -> Float64s | None:
        """These get readers at these times, NEVER for one whose process has ended.

        Returns float64[partitions], what has come in for each of them meanwhile, or None without weights.
        """
        alive = at_ms < NEVER
        if not alive.all():
            partitions, readers, at_ms = partitions[alive], readers[alive], at_ms[alive]
        self.reader[partitions] = readers
        return self._end(partitions, at_ms, rebalance)

    def _end(self, partitions: Int32s, at_ms: Int64s | np.int64, rebalance: Rebalance | None) -> Float64s | None:
        since = self.idle_since[partitions]
        idle = np.where(since == NEVER, 0, np.maximum(at_ms - since, 0))
        self.idle_since[partitions] = NEVER
        if len(idle):
            total, longest = int(idle.sum()), int(idle.max())
            self.ended_ms += total
            self.longest_ms = max(self.longest_ms, longest)
            if rebalance is not None:
                rebalance.idle_ms += total
                rebalance.longest_idle_ms = max(rebalance.longest_idle_ms, longest)
        if self.weights is None:
            return None
        missed: Float64s = self.weights[partitions] * idle / 1000
        self.undelivered += float(missed.sum())
        return missed

    def open_ms(self, now_ms: int) -> tuple[int, int, float]:
        """Of the idle times that are not over: their sum and the longest until now, and what has come in."""
        idle = np.where(self.idle_since == NEVER, 0, np.maximum(now_ms - self.idle_since, 0))
        missed = 0.0 if self.weights is None else float((self.weights * idle).sum()) / 1000
        return int(idle.sum()), int(idle.max(initial=0)), missed
