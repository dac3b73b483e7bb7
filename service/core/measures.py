"""How good an answer is: skew, load of brokers, traffic between zones, and how good any answer could be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.frozen import frozen
from service.core.kernels import brief_kernel, kernel
from service.core.model import NONE, Bools, Cluster, Float64s, Group, Int32s, Int64s, Ragged, distinct

# How much of what is read lies on the reader's rack, and how much crosses zones.
#
# *An assignment*: a member reads a partition on its own rack if one of the replicas is there: consumers with ``client.rack``
# fetch from the closest replica, where brokers have ``replica.selector.class=RackAwareReplicaSelector`` (KIP-392). What is not
# known does not count: a partition whose replicas have no racks, and one that is read by a member without one.
#
# *A placement*: the readers are not known, so equally many are assumed on each rack. Followers fetch from the leader.

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
    if weights is None:
        return ZoneTraffic(_share(near, share), None)
    read = weights[partitions] * share
    return ZoneTraffic(_share(near, read if read.any() else share), float(read[~near].sum()))


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


# How even a result is.


@frozen
class Spread:
    """Evenness of the loads of partitions, members or brokers.

    min, max : integers of counts, floats of loads
    skew : max ÷ mean; 1.0 is perfectly even, and is the skew of an empty result.
    """

    min: float
    max: float
    mean: float
    stddev: float
    skew: float


def spread(loads: Int32s | Int64s | Float64s, holders: int | None = None) -> Spread:
    """The spread of some loads.

    loads : int32[...] or int64[...] counts, float64[...] weights   the load of each holder (partition, member or broker)
    holders : the number of holders, if ``loads`` leaves out those with no load; default: ``len(loads)``
    """
    holders = len(loads) if holders is None else holders
    weighted = loads.dtype == np.float64
    if holders == 0:
        zero = 0.0 if weighted else 0
        return Spread(zero, zero, 0.0, 0.0, 1.0)
    if weighted:
        least, most, total, squares = _moments_of_weights(loads.astype(np.float64, copy=False), holders)
    else:
        least, most, total, squares = _moments(loads.astype(np.int64, copy=False), holders)
    return _spread(least, most, total, squares, holders)


def distribution(indices: Int32s, holders: int) -> tuple[Int64s, Spread]:
    """int64[holders], how often each index occurs, and the spread of that; indices outside ``[0, holders)`` are skipped.

    indices : int32[...]; holders : at least one
    """
    counts = occurrences(indices, holders)
    return counts, _spread(*_moments(counts, holders), holders)


def _spread(least: float, most: float, total: float, squares: float, holders: int) -> Spread:
    mean = total / holders
    return Spread(least, most, mean, (squares / holders) ** 0.5, most / mean if total else 1.0)


def weighted_load(rows: Ragged, weights: Float64s) -> Float64s:
    """float64[len(rows)], the total weight of the values of each row; a value beyond ``weights`` has no weight."""
    holders, known = rows.row_of_each_value(), rows.values < len(weights)
    return np.bincount(holders[known], weights[rows.values[known]], len(rows)).astype(np.float64, copy=False)


def _moments_of_weights(loads: Float64s, holders: int) -> tuple[float, float, float, float]:
    """The result of ``_moments``, for weights."""
    absent, total = holders - len(loads), float(loads.sum())
    mean = total / holders
    squares = float(((loads - mean) ** 2).sum()) + absent * mean * mean
    return 0.0 if absent else float(loads.min()), float(loads.max(initial=0.0)), total, squares


@brief_kernel
def _moments(counts: Int64s, holders: int) -> tuple[int, int, int, float]:
    """Least, most, total, and the sum of the squared distances from the mean. Holders that ``counts`` leaves out have 0."""
    absent = holders - len(counts)
    least = counts[0] if absent == 0 else np.int64(0)
    most = total = np.int64(0)
    for count in counts:
        total += count
        least = min(least, count)
        most = max(most, count)
    mean = total / holders
    squares = absent * mean * mean
    for count in counts:
        squares += (count - mean) * (count - mean)
    return int(least), int(most), int(total), float(squares)


@brief_kernel
def occurrences(indices: Int32s, holders: int) -> Int64s:
    """int64[holders], how often each index occurs; indices outside ``[0, holders)`` are skipped."""
    counts = np.zeros(holders, np.int64)
    for index in indices:
        if 0 <= index < holders:
            counts[index] += 1
    return counts


# How evenly a placement loads brokers and racks: what every answer, page and judge says about the load of one.

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


def load_of(cluster: Cluster, placement: Ragged, counted: Bools | None = None) -> Load:
    """How many replicas and leaders each broker has.

    placement : Ragged partition → brokers, the leader first, NONE for one that the cluster does not have
    counted : bool[brokers], those whose evenness counts; default: all
    """
    first = placement.values[placement.offsets[:-1][placement.lengths() > 0]]
    totals = {
        name: np.bincount(brokers[brokers != NONE], minlength=len(cluster)).astype(np.int64)
        for name, brokers in zip(COUNTS, (placement.values, first), strict=True)
    }
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
