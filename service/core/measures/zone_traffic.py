"""How much of what is read lies on the reader's rack, and how much crosses zones.

*An assignment*: a member reads a partition on its own rack if one of the replicas is there: consumers with ``client.rack`` fetch
from the closest replica, where brokers have ``replica.selector.class=RackAwareReplicaSelector`` (KIP-392). What is not known does
not count: a partition whose replicas have no racks, and one that is read by a member without one.

*A placement*: the readers are not known, so equally many are assumed on each rack. Followers fetch from the leader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Cluster, Float64s, Group, Int32s, Int64s, Ragged

SECONDS_PER_MONTH: Final = 730 * 3600
"""A twelfth of a year, as clouds reckon."""

GB: Final = 10**9
"""Bytes."""

FIGURES: Final = ("local_share", "cross_zone_bytes_per_second", "cost_per_month")
"""The figures of an answer and its tables."""


@dataclass(frozen=True)
class ZoneTraffic:
    """What is read on the reader's rack, and what is not.

    local_share : the share of the weight that is read there, or of the number of partitions where nothing has weight; None if
        nothing is known of any
    crossing : the weight that is read from other racks, in a placement with what followers fetch from there; None without weights
    """

    local_share: float | None
    crossing: float | None

    def cost_per_month(self, price_per_gb: float | None) -> float | None:
        """What the crossing weight costs, if it is bytes per second; None without a price or weights."""
        if self.crossing is None or price_per_gb is None:
            return None
        return self.crossing * SECONDS_PER_MONTH / GB * price_per_gb

    def figures(self, price_per_gb: float | None, *, of_lag: bool = False) -> dict[str, float | None]:
        """What an answer tells, by the names of FIGURES. of_lag : are the weights a lag, which is no rate?"""
        rates = ZoneTraffic(self.local_share, None) if of_lag else self
        figures = (rates.local_share, rates.crossing, rates.cost_per_month(price_per_gb))
        return dict(zip(FIGURES, figures, strict=True))


NOT_KNOWN: Final = ZoneTraffic(None, None)
"""For tables: nothing has racks."""

CLOSEST: Final = "If consumers fetch from the closest replica (replica.selector.class of brokers, client.rack)"
"""The condition of every figure of racks."""


def read_nearby(figures: Mapping[str, float | None], before: Mapping[str, float | None] | None = None) -> Iterator[str]:
    """How much can be read on the reader's rack, and what the rest costs, in a sentence; none if no rack is known.

    figures : by the names of FIGURES; before : of the assignment or placement that is changed
    """

    def written(name: str, form: str) -> str | None:
        value, earlier = figures[name], None if before is None else before[name]
        return None if value is None else f"{value:{form}}" + ("" if earlier is None else f" ({earlier:{form}} now)")

    share, crossing, cost = (written(*each) for each in zip(FIGURES, (".4g", ",.0f", ",.2f"), strict=True))
    if share is None:
        return
    text = f"{CLOSEST}, share {share} can be read on the reader's rack"
    text += "" if crossing is None else f"; then across racks {crossing} bytes/s"
    text += "" if cost is None else f", cost per month {cost}"
    yield f"{text}; by default they read from leaders."


def zone_traffic(group: Group, owners: Ragged) -> ZoneTraffic | None:
    """The traffic of an assignment; None where partitions or members have no racks.

    owners : Ragged partition → its members; several share what is read of it equally
    """
    racks, weights = group.topics.racks, group.topics.weights
    if racks is None or not (group.racks != NONE).any():
        return None
    pairs = int(owners.offsets[group.topics.partitions_count])  # what does not exist comes after
    partitions, readers = owners.row_of_each_value()[:pairs], group.racks[owners.values[:pairs]]
    known = (racks.lengths()[partitions] > 0) & (readers != NONE)
    partitions, readers = partitions[known], readers[known]
    near = _near(racks, partitions, readers, len(group.rack_ids))
    share = 1 / owners.lengths()[partitions]
    if weights is not None:
        return _measured(near, weights[partitions] * share, share)
    return ZoneTraffic(_share(near, share), None)


def placed_traffic(cluster: Cluster, placement: Ragged, rates: Float64s | None) -> ZoneTraffic | None:
    """The traffic of a placement; None where no broker has a rack.

    placement : Ragged partition → brokers, the leader first, NONE for one that the cluster does not have
    rates : float64[partitions], bytes per second that are written, and read once; None: not known
    """
    count = len(cluster.rack_ids)
    if not count:
        return None
    racks = np.where(placement.values == NONE, NONE, cluster.racks[placement.values])
    partitions = placement.row_of_each_value()
    is_known = racks != NONE
    shares = _racks_of_each(placement.offsets, racks.astype(np.int32), count) / count
    known = shares > 0
    if rates is None or not rates[known].any():
        share = float(shares[known].mean()) if known.any() else None
        return ZoneTraffic(share, None if rates is None else 0.0)
    leader_racks = np.repeat(racks[np.minimum(placement.offsets[:-1], max(len(racks) - 1, 0))], placement.lengths())
    fetched = is_known & (leader_racks != NONE) & (racks != leader_racks)
    crossing = float((rates[known] * (1 - shares[known])).sum() + rates[partitions[fetched]].sum())
    return ZoneTraffic(float(np.average(shares[known], weights=rates[known])), crossing)


@kernel
def _racks_of_each(offsets: Int32s, racks: Int32s, count: int) -> Int32s:
    """How many racks each partition has a replica on: int32[partitions].

    offsets, racks : partition → the racks of its replicas, 0 … ``count`` - 1 or NONE
    """
    seen, found = np.full(count, NONE, np.int32), np.zeros(len(offsets) - 1, np.int32)
    for partition in range(len(found)):
        for i in range(offsets[partition], offsets[partition + 1]):
            if racks[i] != NONE and seen[racks[i]] != partition:
                seen[racks[i]] = partition
                found[partition] += 1
    return found


def _measured(near: Bools, weights: Float64s, shares: Float64s) -> ZoneTraffic:
    has_weight = bool(weights.any())
    return ZoneTraffic(_share(near, weights if has_weight else shares), float(weights[~near].sum()))


def _share(near: Bools, weights: Float64s) -> float | None:
    return float(weights[near].sum() / weights.sum()) if len(weights) else None


def _near(racks: Ragged, partitions: Int32s, readers: Int32s, count: int) -> Bools:
    """bool[...], has the partition a replica on the reader's rack?

    racks : Ragged partition → racks, ascending; partitions, readers : int32[...], pairs of a partition and a rack
    count : the number of racks
    """
    there: Int64s = racks.row_of_each_value().astype(np.int64) * count + racks.values  # ascending, as the racks are
    wanted = partitions.astype(np.int64) * count + readers
    at = np.searchsorted(there, wanted)
    near: Bools = there[np.minimum(at, len(there) - 1)] == wanted
    return near
