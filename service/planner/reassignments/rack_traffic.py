"""What a plan takes across racks: replicas that change their rack, and copies from a leader on another rack.

Kafka copies a replica from the partition's leader. So a replica that stays on its rack crosses racks all the same, unless it is
the leader's own: with a replica on each rack, every copy of a follower comes from another rack.
"""

from dataclasses import dataclass

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s, Ragged
from service.planner.reassignments.batches.model import Steps
from service.planner.reassignments.model import Brokers, Placements
from service.planner.reassignments.order import added


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
    """The traffic of a plan; None where no broker has a rack.

    replicas : Ragged partition → brokers, those of the plan; steps : of its batches
    """
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
    racks = np.where(brokers.listed, brokers.racks(), NONE).astype(np.int32)
    return int(_changes(before.offsets, racks[before.values], after.offsets, racks[after.values]))


@kernel
def _changes(before_of: Int32s, before: Int32s, after_of: Int32s, after: Int32s) -> int:
    """The sum over rows. before, after : Ragged row → racks, NONE for none"""
    changes = 0
    for row in range(len(after_of) - 1):
        now, then = before[before_of[row] : before_of[row + 1]], after[after_of[row] : after_of[row + 1]]
        changes += min(_beyond(then, now), _beyond(now, then))
    return changes


@inner_kernel
def _beyond(racks: Int32s, others: Int32s) -> int:
    """How many of these racks the others have not as often."""
    count = 0
    for i in range(len(racks)):
        more = 1
        for j in range(i):
            more += racks[j] == racks[i]
        for other in others:
            more -= other == racks[i]
        count += racks[i] != NONE and more > 0
    return count
