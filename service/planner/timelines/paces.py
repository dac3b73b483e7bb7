"""When the members of a group heartbeat and poll."""

from dataclasses import dataclass

import numpy as np

from service.core.model import NONE, Bools, Int32s, Int64s
from service.planner.timelines.ledger import Ledger
from service.planner.timelines.members import PHASES, Members
from service.planner.timelines.model import Timing


@dataclass(frozen=True)
class Paces:
    """The heartbeats and polls of members."""

    timing: Timing
    members: Members
    ledger: Ledger

    def next_beats(self, numbers: Int32s, now_ms: int) -> Int64s:
        """int64[...], the next heartbeat of each member after now: Heartbeat.timeToNextHeartbeat."""
        every, base = self.timing.heartbeat_interval_ms, self.members.columns.beat[numbers]
        return base + ((now_ms - base) // every + 1) * every

    def coming_beats(self, numbers: Int32s, now_ms: int) -> Int64s:
        """int64[...], the next heartbeat of each member, one that is due now included, if it has not just sent another."""
        base = self.members.columns.beat[numbers]
        due = (base < now_ms) & ((now_ms - base) % self.timing.heartbeat_interval_ms == 0)
        return np.where(due, now_ms, self.next_beats(numbers, now_ms))

    def next_polls(self, numbers: Int32s, from_ms: Int64s) -> Int64s:
        """int64[...], the first poll of each member then or later. from_ms : int64[...]"""
        polls = np.maximum(from_ms, self.members.columns.stalled_until[numbers])
        every = self.timing.poll_interval_ms
        if every:
            polls += (self.members.columns.phase[numbers] * every // PHASES - polls) % every
        return polls

    def polls_after(self, numbers: Int32s, from_ms: Int64s) -> Int64s:
        """int64[...], the first poll of each member later than that; the same time if polls take none."""
        return self.next_polls(numbers, from_ms + (self.timing.poll_interval_ms > 0))

    def reading(self, numbers: Int32s) -> Bools:
        """bool[...], which of these members read a partition."""
        readers = self.ledger.reader
        return np.bincount(readers[readers != NONE], minlength=len(self.members.all))[numbers] > 0

    def next_poll(self, number: int, from_ms: int) -> int:
        """The same for one member."""
        polls = max(from_ms, int(self.members.columns.stalled_until[number]))
        every = self.timing.poll_interval_ms
        return polls + (int(self.members.columns.phase[number]) * every // PHASES - polls) % every if every else polls

    def last_beat(self, number: int, now_ms: int) -> int:
        """The last heartbeat of a member until now."""
        base, every = int(self.members.columns.beat[number]), self.timing.heartbeat_interval_ms
        return base + max(0, now_ms - base) // every * every
