"""A plan and its figures: what its sentences are made of.

Kafka copies a replica from the partition's leader. So a replica that stays on its rack crosses racks all the same, unless it is
the leader's own: with a replica on each rack, every copy of a follower comes from another rack.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.measures.broker_load import Load
from service.core.model import NONE, Bools, Int32s, Ragged
from service.core.printable import all_of, counted, first_few
from service.planner.reassignments.batches.model import Batches, BatchTiming, Pace, Steps
from service.planner.reassignments.leadership import Leadership
from service.planner.reassignments.model import Brokers, Goal, Placements, Plan
from service.planner.reassignments.moves import ReplicaMoves
from service.planner.reassignments.order import added

NAMED: Final = 3
"""Brokers with a sentence of their own, and names in a sentence, at most."""


@dataclass(frozen=True)
class Planned:
    """A plan.

    loads : of the brokers, before and after
    racks_accepted : does the question say that racks are not known?
    """

    brokers: Brokers
    placements: Placements
    goal: Goal
    plan: Plan
    batches: Batches
    moves: ReplicaMoves
    loads: tuple[Load, Load]
    leadership: Leadership
    timing: BatchTiming
    pace: Pace
    racks_accepted: bool = False

    @property
    def copies(self) -> int:
        """The replicas copied."""
        return int(self.batches.moves.sum())

    @property
    def left(self) -> Bools:
        """bool[brokers], those that somebody wants to be empty."""
        leaving: Bools = self.brokers.draining | (self.brokers.replaced_by != NONE)
        return leaving

    @property
    def changed(self) -> Int32s:
        """int32[...], the partitions whose list changes."""
        return np.flatnonzero(self.batches.batch_of != NONE).astype(np.int32)

    @property
    def rates_known(self) -> bool:
        """Is it known what producers write meanwhile?"""
        return self.placements.rates is not None

    @property
    def racks_matter(self) -> bool:
        """Could racks change the plan?"""
        several = self.placements.replication_factors[~self.placements.excluded] > 1
        return self.goal.racks != "none" and not self.goal.only_leaders and bool(several.any())

    def broker(self, broker: int) -> str:
        """``broker 7``."""
        return f"broker {self.brokers.cluster.broker_ids[broker]}"

    def names(self, partitions: Int32s) -> str:
        """``orders-0 and orders-1``."""
        return all_of([self.placements.name(partition) for partition in partitions.tolist()], NAMED)

    def topics_of(self, partitions: Int32s) -> str:
        """The names of their topics."""
        return first_few([self.placements.topic_names[i] for i in np.unique(self.placements.topics[partitions]).tolist()], NAMED)

    @property
    def topics(self) -> str:
        """``the 40 topics given``."""
        return f"the {counted(len(self.placements.topic_names), 'topic')} given"

    def on(self, broker: int, *, after: bool) -> Int32s:
        """int32[...], the partitions with a replica on this broker."""
        rows = self.plan.replicas if after else self.placements.replicas
        partitions: Int32s = rows.row_of_each_value()[rows.values == broker]
        return partitions

    def dead_before(self) -> Int32s:
        """int32[...], the brokers to which a rollback copies, and that are gone, fenced, or in sync with nothing."""
        now, gone = self.placements.replicas, ~self.brokers.live | self.placements.lagging(self.brokers)
        back = np.bincount(now.values[added(self.plan.replicas, now)], minlength=len(self.brokers)) > 0
        return np.flatnonzero(back & gone).astype(np.int32)


@dataclass(frozen=True)
class PlanRackTraffic:
    """What crosses racks.

    changes : replicas that move to another rack
    copies, amount : replicas, and bytes, copied from a leader on another rack
    """

    changes: int
    copies: int
    amount: int


def rack_traffic(brokers: Brokers, placements: Placements, replicas: Ragged, steps: Steps) -> PlanRackTraffic | None:
    """The traffic of a plan (replicas, and steps of its batches); None where no broker has a rack."""
    if not len(brokers.cluster.rack_ids):
        return None
    comes = added(steps.before, steps.after)
    step = steps.after.row_of_each_value()[comes]
    racks = brokers.racks()
    crosses = racks[steps.after.values[comes]] != racks[steps.sources[step]]
    amount = int(placements.bytes_of_each()[steps.partitions[step]][crosses].sum())
    return PlanRackTraffic(rack_changes(brokers, placements.replicas, replicas), int(np.count_nonzero(crosses)), amount)


def rack_changes(brokers: Brokers, before: Ragged, after: Ragged) -> int:
    """The replicas that move to another rack; a broker that is gone is on no rack."""
    racks, width = np.where(brokers.listed, brokers.racks(), NONE), len(brokers) + 1
    keys = [rows.row_of_each_value().astype(np.int64) * width + racks[rows.values] for rows in (before, after)]
    keys = [key[racks[rows.values] != NONE] for key, rows in zip(keys, (before, after), strict=True)]
    pairs, index = np.unique(np.concatenate(keys), return_inverse=True)  # of a partition and a rack
    more = np.bincount(index, np.repeat([-1, 1], [len(keys[0]), len(keys[1])]), len(pairs))
    come, go = (np.bincount(pairs // width, np.maximum(each, 0), len(before)) for each in (more, -more))
    return int(np.minimum(come, go).sum())
