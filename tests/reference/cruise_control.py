"""What Cruise Control does when a broker is removed, as far as numbers of replicas decide it.

Its default goals in their order are ``RackAwareGoal``, capacities, ``ReplicaDistributionGoal``, and goals for bytes, topics and
leaders. Here: the first and the third, for equal brokers, equal sizes and no capacity. While a broker is being removed the later
goals move no replica that was not on it, so they add no copy.

Source: linkedin/cruise-control, ``RackAwareGoal`` and ``AbstractRackAwareGoal`` (commits 8b9ca91f and 10909347),
``ReplicaDistributionGoal`` and ``ReplicaDistributionAbstractGoal`` (55ecbfe6 and 045b7067), ``GoalUtils.legitMove`` (b16f6517);
``replica.count.balance.threshold`` 1.10.
"""

from __future__ import annotations

from math import ceil, floor

import numpy as np

from service.planner.reassignments.model import Brokers, Placements

THRESHOLD, MARGIN = 1.10, 0.9


class Removal:
    """The draining brokers are removed. rows : the brokers of each partition"""

    def __init__(self, brokers: Brokers, placements: Placements) -> None:
        self.rows = [set(placements.replicas.row(i).tolist()) for i in range(len(placements))]
        self.start = [set(row) for row in self.rows]
        self.alive = np.flatnonzero(brokers.usable).tolist()
        self.racks = brokers.racks().tolist()
        self.counts = np.bincount(placements.replicas.values, minlength=len(brokers))
        average = self.counts.sum() / len(self.alive)
        share = (THRESHOLD - 1) * MARGIN
        self.upper, self.lower = ceil(average * (1 + share)), floor(average * max(0, 1 - share))
        self.keep_racks()
        for broker in self.alive:
            self.balance(broker)

    @property
    def copies(self) -> int:
        """Replicas that are not where they were."""
        return sum(len(row - old) for row, old in zip(self.rows, self.start, strict=True))

    def accepts(self, partition: int, source: int, target: int) -> bool:
        """Is the target on another rack than the partition's other replicas, and not one of them?"""
        others = self.rows[partition] - {source}
        return target not in self.rows[partition] and self.racks[target] not in {self.racks[b] for b in others}

    def move(self, partition: int, source: int, target: int) -> None:
        """Move a replica."""
        self.rows[partition] = self.rows[partition] - {source} | {target}
        self.counts[source] -= 1
        self.counts[target] += 1

    def keep_racks(self) -> None:
        """Each replica that has to move goes to the first broker, by id, on a rack without another of its partition."""
        for source in range(len(self.counts)):
            for partition, row in enumerate(self.rows):
                crowded = any(self.racks[b] == self.racks[source] for b in row - {source})
                if source in row and (source not in self.alive or crowded):
                    self.move(partition, source, next(b for b in self.alive if self.accepts(partition, source, b)))

    def immigrants(self, broker: int) -> list[int]:
        """The partitions that have come to the broker; no others may leave it while a broker is being removed."""
        return [i for i, row in enumerate(self.rows) if broker in row and broker not in self.start[i]]

    def may_move(self, partition: int, source: int, target: int) -> bool:
        """Do the rack rule and the limits of both brokers allow it?"""
        limits = self.counts[target] + 1 <= self.upper and self.counts[source] - 1 >= self.lower
        return bool(limits and self.accepts(partition, source, target))

    def balance(self, broker: int) -> None:
        """Bring the broker's replicas within 9 % of the average."""
        if self.counts[broker] > self.upper:
            for partition in self.immigrants(broker):
                targets = sorted((b for b in self.alive if self.counts[b] < self.upper), key=lambda b: (self.counts[b], b))
                target = next((b for b in targets if self.may_move(partition, broker, b)), None)
                if target is not None:
                    self.move(partition, broker, target)
                if self.counts[broker] <= self.upper:
                    return
        sources = [b for b in self.alive if self.counts[b] > self.lower]
        while sources and self.counts[broker] < self.lower:
            source = min(sources, key=lambda b: (-self.counts[b], b))
            sources.remove(source)
            for partition in self.immigrants(source):
                if not self.may_move(partition, source, broker):
                    continue
                self.move(partition, source, broker)
                if self.counts[broker] >= self.lower:
                    return
                if sources and self.counts[source] < max(self.counts[b] for b in sources):
                    sources.append(source)
                    break
