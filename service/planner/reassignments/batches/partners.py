"""Plans as good as one that takes detours, of which fewer may take any.

A detour leads a partition by way of a broker with room to its own, which is full. If it ends there, and another partition that
was to have that broker takes the full one instead, all brokers have as many replicas as before; and if that copies no more, the
plan is as good, and may need no detour.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from service.core.model import Int32s, Int64s, Ragged
from service.planner.reassignments.batches.detours import keeps_rack_rule
from service.planner.reassignments.batches.model import Detour
from service.planner.reassignments.model import Brokers, Goal, Placements, bytes_on
from service.planner.reassignments.permits import Permits

TRIES: Final = 8
"""Partners that each detour tries, one in each plan."""

_LOOKED_AT: Final = 100
"""Partitions that are tried for one detour."""


@dataclass(frozen=True)
class _PlannedCluster:
    """A plan whose partitions may change. loads : int64[brokers], bytes, written"""

    brokers: Brokers
    placements: Placements
    goal: Goal
    replicas: Ragged
    permits: Permits
    sizes: Int64s
    loads: Int64s

    def partners(self, detour: Detour) -> Iterator[tuple[int, Int32s]]:
        """Partitions that may have the full broker instead of the one with room, and their lists; none if these are several."""
        target = self.replicas.row(detour.partition)
        left, used = np.setdiff1d(target, detour.replicas), np.setdiff1d(detour.replicas, target)
        if len(left) != 1 or len(used) != 1:
            return
        full, room = int(left[0]), int(used[0])
        places = np.flatnonzero(self.replicas.values == room)[:_LOOKED_AT]
        for partner in self.replicas.row_of_each_value()[places].tolist():
            if self._suits(detour.partition, partner, full, room):
                then = self.replicas.row(partner)
                instead = np.where(then == room, full, then).astype(np.int32)
                if keeps_rack_rule(self.permits, self.goal.racks, partner, self.placements.replicas.row(partner), then, instead):
                    yield partner, instead

    def _suits(self, partition: int, partner: int, full: int, room: int) -> bool:
        """May the partner have ``full`` instead of ``room``, and is the plan as good with it?"""
        now, of_set = self.placements.replicas.row(partner), self.permits.sets[partner]
        at_home, leaves_home = bool((now == full).any()), bool((now == room).any())
        if self.placements.excluded[partner] or (self.replicas.row(partner) == full).any() or (leaves_home and not at_home):
            return False
        if not self.permits.keeps[of_set, full] or not (at_home or self.permits.receives[of_set, full]):
            return False
        replaced_by = self.brokers.replaced_by
        if (replaced_by[now] == room).any() or (leaves_home and (replaced_by == room).any()):
            return False
        more, capacities, topics = self.more(partition, partner), self.brokers.capacity_bytes, self.placements.topics
        if self.loads[full] + more > capacities[full] or self.loads[room] - more > capacities[room]:
            return False
        return (not self.goal.per_topic or topics[partner] == topics[partition]) and (self.goal.balance != "bytes" or more == 0)

    def more(self, partition: int, partner: int) -> int:
        """The bytes that the partner has more than the partition."""
        return int(self.sizes[partner] - self.sizes[partition])


def with_partners(
    brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, detours: tuple[Detour, ...], skipped: int
) -> dict[int, Int32s]:
    """The lists of partitions that end where their detours lead, and of their partners.

    skipped : the number of partners of each detour that are passed over, where it has more
    """
    sizes = placements.bytes_of_each()
    cluster = _PlannedCluster(
        brokers, placements, goal, replicas, Permits.of(brokers, placements), sizes, bytes_on(replicas, sizes, len(brokers))
    )
    changed: dict[int, Int32s] = {}
    for detour in detours:
        if detour.partition in changed:
            continue
        found = [each for each in islice(cluster.partners(detour), skipped + 1) if each[0] not in changed]
        if found:
            partner, instead = found[-1]
            target, more = replicas.row(detour.partition), cluster.more(detour.partition, partner)
            cluster.loads[np.setdiff1d(target, detour.replicas)] += more
            cluster.loads[np.setdiff1d(detour.replicas, target)] -= more
            changed |= {detour.partition: detour.replicas, partner: instead}
    return changed
