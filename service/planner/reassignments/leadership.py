"""Who leads each partition, now and once a plan is executed, and what has no leader to copy from.

Kafka copies from the leader and completes a reassignment when the replicas that it adds are in sync. A leader that keeps its
replica goes on leading until an election; one that loses it is followed by the first replica of the list that is in sync.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.planner.reassignments.model import Brokers, Goal, Placements
from service.planner.reassignments.order import added, in_sync_after


@dataclass(frozen=True)
class Leadership:
    """Who leads.

    known : is it given who leads now? If not, the first replica in sync is taken for the leader
    now, after : int32[partitions], the broker that leads now and after all copying and elections; NONE: no broker
    elected : int32[...], the partitions with a preferred leader election after all copying
    refused : int32[...], those that would need one, whose preferred leader is not in sync
    stuck : int32[...], those whose replicas would change, but that have no leader to copy from
    """

    known: bool
    now: Int32s
    after: Int32s
    elected: Int32s
    refused: Int32s
    stuck: Int32s

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, goal: Goal, then: Ragged) -> Leadership:
        """Who leads before and after a plan. then : Ragged partition → brokers, those of the plan"""
        before, first, count = placements.replicas, then.firsts(), len(placements)
        now, known = leaders_now(brokers, placements), placements.leaders is not None
        rows = then.row_of_each_value()
        next_leader = first_of(then, in_sync_after(brokers, placements, then) & brokers.live[then.values])
        changes = np.bincount(rows[added(before, then)], minlength=count) > 0
        changes |= np.bincount(before.row_of_each_value()[added(then, before)], minlength=count) > 0
        stuck = changes & ((now == NONE) | (next_leader == NONE))
        settled = now
        if placements.leaving is not None:  # once the reassignments in progress are complete
            row = before.row_of_each_value()
            stays = np.bincount(row[before.values == now[row]], minlength=count) > 0
            settled = np.where(stays | (now == NONE), now, first_of(before, placements.in_sync_now(brokers)))
        stays = np.bincount(rows[then.values == settled[rows]], minlength=count) > 0
        leads = np.where(stays | stuck | (now == NONE), settled, next_leader)
        wants = before.firsts() != first
        if known:
            asked = ~placements.excluded & ~brokers.demoted[first]
            if goal.leaders not in ("balance", "only"):
                asked &= brokers.demoted[leads]
            wants = (wants | asked) & (leads != first)
        wants &= (leads != NONE) & ~stuck
        elected, refused = (np.flatnonzero(wants & can).astype(np.int32) for can in (next_leader == first, next_leader != first))
        after = leads.astype(np.int32)
        after[elected] = first[elected]
        return cls(known, now, after, elected, refused, np.flatnonzero(stuck).astype(np.int32))

    def counts(self, brokers_count: int) -> tuple[Int64s, Int64s]:
        """int64[brokers] twice, the partitions that each leads now and afterwards."""
        now, after = (np.bincount(leaders[leaders != NONE], minlength=brokers_count) for leaders in (self.now, self.after))
        return now, after


def leaders_now(brokers: Brokers, placements: Placements) -> Int32s:
    """int32[partitions], who leads: as given, or the first replica in sync where that is not known or does not serve; or NONE."""
    following, given = first_of(placements.replicas, placements.in_sync_now(brokers)), placements.leaders
    if given is None:
        return following
    return np.where((given == NONE) | brokers.live[given], given, following).astype(np.int32)


def first_of(rows: Ragged, which: Bools) -> Int32s:
    """int32[rows], the first of these values of each row, NONE without any. which : bool[values]"""
    first = np.full(len(rows), NONE, np.int32)
    at = np.flatnonzero(which)[::-1]
    first[rows.row_of_each_value()[at]] = rows.values[at]
    return first
