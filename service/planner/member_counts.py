"""What a group with each of several numbers of members would be: the worst load, what moves, and which numbers gain anything.

24 partitions among 9, 10 or 11 members: one of them has 3, as among 8. So 9, 10 and 11 do not *gain*; 12 does.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.core.assignors import Assignor
from service.core.budget import check_time
from service.core.measures import ZoneTraffic, zone_traffic
from service.core.model import Float64s, Group, Int64s, LeftOpen, Ragged
from service.core.ragged import transposed
from service.planner.rebalances import final_rows, movement

ALIKE: Final = 1 - 1e-9
"""A load gains on another if it is below this share of it: sums of the same weights in another order differ by less."""


@dataclass(frozen=True)
class LoadBounds:
    """What there is to read of each partition, float64[partitions] each: the least and the most that it can be.

    is_unbounded : have some partitions no most? They have the least there
    """

    least: Float64s
    most: Float64s
    is_unbounded: bool = False

    @classmethod
    def of(cls, group: Group) -> "LoadBounds":
        """The weights of a group, all known."""
        weights = np.ones(group.topics.partitions_count) if group.topics.weights is None else group.topics.weights
        return cls(weights, weights)

    @property
    def are_known(self) -> bool:
        """Is there no doubt about any?"""
        return not self.is_unbounded and bool((self.least == self.most).all())


@dataclass(frozen=True)
class MembersLoad:
    """How much the members of a group have to read.

    worst, mean : of the members, in partitions, or in the unit of the partitions' weights, divided by the member's capacity. A
        partition that several members share counts for each as its share. Of what is not known the least counts
    worst_at_most : with the most that is not known
    most_partitions : of one member
    idle_members : those without a partition
    traffic : between zones; None without racks
    """

    worst: float
    worst_at_most: float
    mean: float
    most_partitions: int
    idle_members: int
    traffic: ZoneTraffic | None


@dataclass(frozen=True)
class MembersPlan:
    """The group with a number of members.

    moved : partitions that go to a member other than their present owner
    unread : partitions that no member subscribes to, though one of more members would
    bound : the least worst load with this number of members, if the assignor has proven anything
    gains : are all partitions read, and is the worst load lower than with every smaller number with which they are?
    left_open : what the assignor leaves to chance; the figures are those of one run
    """

    members_count: int
    load: MembersLoad
    moved: int
    unread: int
    bound: float | None
    gains: bool
    left_open: LeftOpen | None


def load_of(group: Group, rows: Ragged, of_partitions: LoadBounds | None = None) -> MembersLoad:
    """The load of an assignment of a group. rows : Ragged member → partitions; of_partitions : None: the group's weights"""
    weights = of_partitions or LoadBounds.of(group)
    capacities = np.ones(len(rows)) if group.capacities is None else group.capacities
    loads, counts = _shares(rows, weights.least)
    most = loads if weights.are_known else _shares(rows, weights.most)[0]
    return MembersLoad(
        float((loads / capacities).max(initial=0.0)),
        float((most / capacities).max(initial=0.0)),
        float(loads.sum() / capacities.sum()) if len(rows) else 0.0,
        int(counts.max(initial=0)),
        int(np.count_nonzero(counts == 0)),
        None if group.topics.racks is None else zone_traffic(group, transposed(rows, group.total_partitions)),
    )


def _shares(rows: Ragged, weights: Float64s) -> tuple[Float64s, Int64s]:
    """The weight of each member, float64[members], and the number of its partitions, int64[members].

    rows : Ragged member → partitions; those from ``len(weights)`` on do not exist
    weights : float64[partitions]   each is divided among the members that have the partition
    """
    known = rows.below(len(weights))
    share = weights / np.maximum(1, np.bincount(known.values, minlength=len(weights)))
    loads = np.bincount(known.row_of_each_value(), share[known.values], len(rows))
    return loads.astype(np.float64, copy=False), known.lengths().astype(np.int64)


def plans(group: Group, current: int, counts: Iterable[int], assignor: Assignor, loads: LoadBounds) -> list[MembersPlan]:
    """A plan for each number of members.

    group : with as many members as the largest number; the first ``current`` are those of now, with what they own
    counts : ascending, none twice
    """
    now, read = group.first_members(current), _read_by_first(group)
    made = []
    for count in counts:
        check_time()
        made.append(_plan(group.first_members(count), now, int(read[-1] - read[count]), assignor, loads))
    return _with_gains(made)


def at_most(made: Sequence[MembersPlan]) -> list[MembersPlan]:
    """The plans with the most that is to be read, where that is not known."""
    return _with_gains([replace(plan, load=replace(plan.load, worst=plan.load.worst_at_most)) for plan in made])


def _with_gains(made: Sequence[MembersPlan]) -> list[MembersPlan]:
    least, judged = np.inf, []
    for plan in made:
        gains = not plan.unread and plan.load.worst < ALIKE * least
        if gains:
            least = plan.load.worst
        judged.append(replace(plan, gains=gains))
    return judged


def _read_by_first(group: Group) -> Int64s:
    """int64[members + 1], the partitions of the topics that the first 0, 1, 2 … members subscribe to."""
    subscribed, topics = group.subscriptions.below(len(group.topics)), group.topics
    known, first = np.unique(subscribed.values, return_index=True)
    new = np.bincount(subscribed.row_of_each_value()[first], topics.partitions_counts()[known], len(group))
    return np.append(0, np.cumsum(new)).astype(np.int64)


def _plan(group: Group, now: Group, unread: int, assignor: Assignor, loads: LoadBounds) -> MembersPlan:
    assignment = assignor.run(group)
    rows = final_rows(assignment)
    moves = movement(now, transposed(rows, group.total_partitions))
    bound = assignment.certificate.load.bound if assignment.certificate and loads.are_known else None
    load = load_of(group, rows, loads)
    return MembersPlan(len(group), load, moves.moved, unread, bound, gains=False, left_open=assignment.left_open)


def useful_counts(partitions: int) -> list[int]:
    """The numbers of members with which the largest share of the partitions is less than with every smaller number.

    There are fewer than 2 √partitions. 24 → 1, 2, 3, 4, 5, 6, 8, 12, 24
    """
    counts, count = [], 1
    while count <= partitions:
        counts.append(count)
        share = -(-partitions // count)
        if share == 1:
            break
        count = -(-partitions // (share - 1))
    return counts


def smallest(plans: Sequence[MembersPlan], meets: Sequence[bool]) -> int | None:
    """The smallest number of members that meets what it must."""
    return next((plan.members_count for plan, met in zip(plans, meets, strict=True) if met), None)


# How many replicas KEDA would have for a group's lag: its Kafka scalers, and the HorizontalPodAutoscaler that they feed.
#
# KEDA reports one number, the *total lag*, already cut down by its options; Kubernetes divides it by ``lagThreshold``.
#
# Source: KEDA's pkg/scalers/kafka_scaler.go and apache_kafka_scaler.go, which compute alike: getLagForPartition, getTotalLag,
# getNextFactorThatBalancesConsumersToTopicPartitions, FindFactors; Kubernetes'
# pkg/controller/podautoscaler/replica_calculator.go: GetExternalPerPodMetricReplicas. ``excludePersistentLag`` compares two
# polls; it changes nothing at the first, which this is.

RELEASE: Final = "2.20.2"
"""The release of KEDA that is reproduced."""

UNKNOWN: Final = -1
"""The committed offset of a partition without one, and the end of a log that brokers do not tell."""

INT64: Final = 2**63 - 1


@dataclass(frozen=True)
class Trigger:
    """A trigger of type ``kafka`` or ``apache-kafka``, its options and their defaults."""

    lag_threshold: int = 10
    activation_lag_threshold: int = 0
    offset_reset_policy: str = "latest"
    scale_to_zero_on_invalid_offset: bool = False
    allow_idle_consumers: bool = False
    limit_to_partitions_with_lag: bool = False
    ensure_even_distribution_of_partitions: bool = False


@dataclass(frozen=True)
class Scaling:
    """What the ScaledObject says beside its triggers. tolerance : of the HorizontalPodAutoscaler, up and down"""

    min_replica_count: int = 0
    max_replica_count: int = 100
    tolerance: float = 0.1


@dataclass(frozen=True)
class Metric:
    """What a trigger reports. total_lag : after its options; is_active : does it keep the workload from scaling to zero?"""

    total_lag: int
    is_active: bool


def partition_lags(committed: Int64s, ends: Int64s, trigger: Trigger) -> Int64s:
    """int64[...], the lag of each partition that has an end, the only ones which KEDA counts: getLagForPartition, getTotalLag.

    committed, ends : int64[partitions], committed and log end offsets, or UNKNOWN
    """
    known = ends != UNKNOWN
    committed, ends = committed[known], ends[known]
    if trigger.scale_to_zero_on_invalid_offset:
        uncommitted = np.zeros_like(ends)
    else:
        uncommitted = ends if trigger.offset_reset_policy == "earliest" else np.ones_like(ends)
    return np.where(committed == UNKNOWN, uncommitted, ends - committed)


def metric(lags: Int64s, trigger: Trigger) -> Metric:
    """What the trigger reports for these lags, int64[...]: getTotalLag, GetMetricsAndActivity."""
    total = (int((lags >> 32).sum()) << 32) + int((lags & 0xFFFFFFFF).sum())  # which may be beyond 64 bits
    is_active = total > trigger.activation_lag_threshold
    even, limited = trigger.ensure_even_distribution_of_partitions, trigger.limit_to_partitions_with_lag
    if not trigger.allow_idle_consumers or limited or even:
        if even:
            enough = (factor for factor in factors(len(lags)) if factor * trigger.lag_threshold >= total)
            total = next(enough, len(lags)) * trigger.lag_threshold  # getNextFactorThatBalancesConsumersToTopicPartitions
        most = int(np.count_nonzero(lags > 0)) if limited else len(lags)
        total = min(total, most * trigger.lag_threshold) if total // trigger.lag_threshold > most else total
    return Metric(total, is_active)


def factors(number: int) -> list[int]:
    """All factors of a number, ascending; none of 0: FindFactors."""
    low = [factor for factor in range(1, math.isqrt(number) + 1) if number % factor == 0]
    return low + [number // factor for factor in reversed(low) if factor * factor != number]


def replicas(metrics: list[Metric], threshold: int, current: int, scaling: Scaling) -> int:
    """The replicas that a workload comes to, as if it could scale there in one step.

    metrics : of each trigger, all with this lagThreshold; the HorizontalPodAutoscaler takes the most that one asks for
    current : the replicas now. From none KEDA goes to one, or ``min_replica_count``, before the HorizontalPodAutoscaler decides

    Reproduces GetExternalPerPodMetricReplicas for a target of type AverageValue, KEDA's default.
    """
    least = max(1, scaling.min_replica_count)
    if scaling.min_replica_count == 0 and not any(each.is_active for each in metrics):
        return 0
    present = current or least
    wanted = max(_replicas(each.total_lag, threshold, present, scaling.tolerance) for each in metrics)
    return max(least, min(wanted, scaling.max_replica_count))


def _replicas(total_lag: int, threshold: int, current: int, tolerance: float) -> int:
    """For one metric, in thousandths as Kubernetes has it; a negative one is 0 (GenerateMetricInMili)."""
    usage, target = min(max(0, total_lag) * 1000, INT64), threshold * 1000
    ratio = float(usage) / (float(target) * float(current))
    if 1.0 - tolerance <= ratio <= 1.0 + tolerance:
        return current
    return math.ceil(float(usage) / float(target))
