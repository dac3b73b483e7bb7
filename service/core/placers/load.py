"""How evenly a placement loads brokers and racks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.core.measures import Spread, spread
from service.core.model import NONE, Cluster, Int32s, Int64s, Ragged


@dataclass(frozen=True)
class Load:
    """What brokers, or racks, have of a placement: int64[brokers or racks] each."""

    replicas: Int64s
    leaders: Int64s

    def spreads(self) -> tuple[Spread, Spread]:
        """Of the replicas and of the leaders."""
        return spread(self.replicas), spread(self.leaders)


def broker_load(cluster: Cluster, placements: Sequence[Int32s]) -> Load:
    """Replicas and leaders of each broker, over the placements (int32[partitions, replication_factor]) of all topics."""
    replicas, leaders = np.zeros(len(cluster), np.int64), np.zeros(len(cluster), np.int64)
    for placement in placements:
        replicas += np.bincount(placement.ravel(), minlength=len(cluster))
        leaders += np.bincount(placement[:, 0], minlength=len(cluster))
    return Load(replicas, leaders)


def load_of(cluster: Cluster, placement: Ragged) -> Load:
    """Replicas and leaders of each broker. placement : Ragged partition → brokers, NONE for one that the cluster does not have"""
    first = placement.values[placement.offsets[:-1][placement.lengths() > 0]]
    replicas, leaders = (
        np.bincount(brokers[brokers != NONE], minlength=len(cluster)).astype(np.int64) for brokers in (placement.values, first)
    )
    return Load(replicas, leaders)


def rack_load(cluster: Cluster, of_brokers: Load) -> tuple[tuple[str | None, ...], Load]:
    """The racks in the order in which they first appear, those without one last, and what each has."""
    unracked = cluster.racks == NONE
    racks = np.where(unracked, len(cluster.rack_ids), cluster.racks)
    names: tuple[str | None, ...] = (*cluster.rack_ids, None) if unracked.any() else cluster.rack_ids
    replicas, leaders = (
        np.bincount(racks, weights=counts, minlength=len(names)).astype(np.int64)
        for counts in (of_brokers.replicas, of_brokers.leaders)
    )
    return names, Load(replicas, leaders)
