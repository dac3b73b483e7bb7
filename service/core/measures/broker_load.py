"""How evenly a placement loads brokers and racks: what every answer, page and judge says about the load of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from service.core.measures.skew import Spread, spread
from service.core.model import NONE, Bools, Cluster, Float64s, Int32s, Int64s, Ragged, distinct

COUNTS = ("replicas", "leaders")


@dataclass(frozen=True)
class Load:
    """What brokers, or racks, have of a placement.

    totals : measure → int64[holders] counts of "replicas" and "leaders", float64[holders] of the measures with weights
    counted : bool[holders], those whose evenness counts
    """

    totals: Mapping[str, Int64s | Float64s]
    counted: Bools

    @property
    def replicas(self) -> Int64s:
        """int64[holders]."""
        return self.totals["replicas"].astype(np.int64, copy=False)

    @property
    def leaders(self) -> Int64s:
        """int64[holders]."""
        return self.totals["leaders"].astype(np.int64, copy=False)

    def spread(self, measure: str = "replicas") -> Spread:
        """How even the counted holders are."""
        return spread(self.totals[measure][self.counted])


def load_of(
    cluster: Cluster, placement: Ragged, counted: Bools | None = None, weights: Mapping[str, Int64s | Float64s] | None = None
) -> Load:
    """What each broker has.

    placement : Ragged partition → brokers, the leader first, NONE for one that the cluster does not have
    counted : bool[brokers], those whose evenness counts; default: all
    weights : measure → int64[partitions] or float64[partitions], what each replica of a partition adds to it
    """
    first = placement.values[placement.offsets[:-1][placement.lengths() > 0]]
    totals: dict[str, Int64s | Float64s] = {
        name: np.bincount(brokers[brokers != NONE], minlength=len(cluster)).astype(np.int64)
        for name, brokers in zip(COUNTS, (placement.values, first), strict=True)
    }
    if weights:
        known, partitions = placement.values != NONE, placement.row_of_each_value()
        for name, each in weights.items():
            amounts = each[partitions[known]].astype(np.float64)
            totals[name] = np.bincount(placement.values[known], amounts, len(cluster)).astype(np.float64, copy=False)
    return Load(totals, np.ones(len(cluster), np.bool_) if counted is None else counted)


def rows_of_topics(placements: Sequence[Int32s]) -> Ragged:
    """The placements (int32[partitions, replication_factor]) of topics, end to end."""
    lengths = [np.full(len(placement), placement.shape[1], np.int32) for placement in placements]
    offsets = np.concatenate([np.zeros(1, np.int32), *lengths]).cumsum(dtype=np.int32)
    return Ragged(offsets, np.concatenate([np.empty(0, np.int32), *(placement.ravel() for placement in placements)]))


def racks_of(cluster: Cluster) -> Int32s:
    """int32[brokers], the rack of each; all those without one share a rack, the last."""
    return np.where(cluster.racks == NONE, len(cluster.rack_ids), cluster.racks).astype(np.int32)


def rack_load(cluster: Cluster, of_brokers: Load) -> tuple[tuple[str | None, ...], Load]:
    """The racks in the order in which they first appear, those without one last, and what each has."""
    racks = racks_of(cluster)
    names: tuple[str | None, ...] = (*cluster.rack_ids, None) if (cluster.racks == NONE).any() else cluster.rack_ids
    totals: dict[str, Int64s | Float64s] = {}
    for name, each in of_brokers.totals.items():
        of_racks = np.bincount(racks, each, len(names))
        totals[name] = of_racks.astype(np.int64) if name in COUNTS else of_racks
    return names, Load(totals, np.bincount(racks[of_brokers.counted], minlength=len(names)) > 0)


def distinct_in_rows(rows: Ragged, holders: Int32s, counted: Bools) -> Int64s:
    """int64[rows], how many different brokers, or racks, each row has.

    holders : int32[values], the broker or rack of each replica, at least 0 where it is counted;  counted : bool[values]
    """
    count = int(holders.max(initial=0)) + 1
    pairs = distinct(rows.row_of_each_value()[counted].astype(np.int64) * count + holders[counted])
    return np.bincount(pairs // count, minlength=len(rows)).astype(np.int64)
